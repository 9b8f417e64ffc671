use std::collections::HashMap;
use std::sync::Arc;

use burn::tensor::Device;
use burnformer_core::{Mode, Model, ModelConfig, Precision};
use burnformer_data::{BatchSampler, SamplerSettings, SpecialIds, TokenizedCorpus, Tokenizers};
use burnformer_infer::{
    Calibration, GenerationSettings, InferError, LengthPenalty, NeuralModel, TranslateOptions,
    Translator,
};
use burnformer_metrics::{Chrf, Metric, References, WritingSystem, as_strs};

use crate::config::{EarlyStoppingMetric, TrainConfig, ValidationScore, ValidationSettings};
use crate::error::Result;
use crate::run::Corpora;
use crate::update::Recipe;

/// At most one sentence in this many is searched twice in a validation; the second search takes up
/// to five times as long as the first.
const SHARE: usize = 48;
/// This many second searches, about a second of work, are always allowed.
const FEW: usize = 16;

/// The quality of a model on text that it was not trained on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Validation {
    /// The label-smoothed loss per real target token, in nats.
    pub loss: f64,
    /// The negative log-likelihood per real target token, in nats.
    pub nll: f64,
    /// The BLEU of the decoded text, if it was decoded.
    pub bleu: Option<f64>,
    /// The sacreBLEU signature of that BLEU.
    pub signature: Option<String>,
    /// The chrF of the decoded text, if it was decoded.
    pub chrf: Option<f64>,
    /// The decoded text, if it was decoded.
    pub hypotheses: Vec<String>,
    /// The ratio of characters in the decoded text to characters in its references, if it was
    /// decoded.
    pub length_ratio: Option<f64>,
    /// How much the decoded text depends on its sources, if it was decoded and has enough sentences.
    pub relation: Option<Relation>,
}

/// How much translations depend on their sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// The chrF of the translations.
    pub own: f64,
    /// The chrF of the translations if each is exchanged with that of another source.
    pub exchanged: f64,
    /// The share of the most frequent translation.
    pub same: f64,
}

/// The smallest number of sentences that show a relation.
const MIN_RELATED: usize = 30;

impl Validation {
    /// The value of `metric`, and the loss. Without decoding, the value of BLEU and chrF is the
    /// negative perplexity, so that higher is better.
    pub fn score(&self, metric: EarlyStoppingMetric) -> ValidationScore {
        let value = match metric {
            EarlyStoppingMetric::Auto | EarlyStoppingMetric::Bleu => self.bleu,
            EarlyStoppingMetric::Chrf => self.chrf,
            EarlyStoppingMetric::Ppl => Some(self.perplexity()),
            EarlyStoppingMetric::Loss => Some(self.loss),
        };
        ValidationScore {
            value: value.unwrap_or(-self.perplexity()),
            nll: self.nll,
        }
    }

    /// The perplexity: e to the negative log-likelihood per token, where tokens are subwords.
    pub fn perplexity(&self) -> f64 {
        self.nll.exp()
    }
}

/// The validated model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The current model.
    Model,
    /// The average of the last checkpoints, in its place.
    Average,
}

/// Measures models by loss, perplexity, and the BLEU and chrF of real translations.
pub struct Validator {
    settings: ValidationSettings,
    /// The writing system of the target text, which determines the suitable metrics.
    writing: WritingSystem,
    recipe: Recipe,
    tokenizers: Tokenizers,
    sampler: BatchSampler,
    /// The number of tokens in the longest source, `</s>` included.
    longest: usize,
    source: Vec<String>,
    references: Vec<String>,
    /// The default settings of the run's models.
    generation: GenerationSettings,
}

impl Validator {
    /// Creates a validator over the validation text of `corpora`, for models with the special ids
    /// `special` and the default settings `generation`. Returns `None` if there is no validation
    /// text.
    ///
    /// # Errors
    /// Returns [`TrainError::Data`](crate::TrainError::Data) if the text has no pair.
    pub fn new(
        config: &TrainConfig,
        corpora: &Corpora,
        special: SpecialIds,
        generation: GenerationSettings,
    ) -> Result<Option<Self>> {
        let (Some(corpus), Some((source, target))) = (&corpora.valid, &corpora.valid_text) else {
            return Ok(None);
        };
        let decoded = match config.validation.max_sentences {
            0 => source.len(),
            most => most.min(source.len()),
        };
        Ok(Some(Self {
            settings: config.validation.clone(),
            writing: WritingSystem::of(target),
            recipe: Recipe::new(config),
            tokenizers: corpora.tokenizers.clone(),
            sampler: sampler(corpus, config.training.budget, special)?,
            longest: corpora.longest_validated + 1,
            source: source[..decoded].to_vec(),
            references: target[..decoded].to_vec(),
            generation,
        }))
    }

    /// The metric that chooses the best model.
    pub fn metric(&self) -> EarlyStoppingMetric {
        self.settings.metric.resolved(self.writing)
    }

    /// The metric for translations.
    fn score(&self) -> Box<dyn Metric> {
        self.settings.metric.of_translations(self.writing)
    }

    /// The search and the metric, in a sentence.
    pub(crate) fn announcement(&self) -> Option<String> {
        let ValidationSettings {
            bleu, beam, alpha, ..
        } = self.settings;
        let metric = self.score();
        let name = metric.name();
        let signature = metric.signature(1usize.into());
        let why = match self.writing {
            WritingSystem::Spaced => String::new(),
            other => format!(", as the target text is in {other} (validation.metric)"),
        };
        bleu.then(|| {
            format!(
                "translations are scored by {name}|{signature}{why}; validations search with a beam of {beam} and α {alpha}, \
                 and as with --second-search false --keep-parts false where more than {FEW} sentences and one in {SHARE} would be searched for again"
            )
        })
    }

    /// Measures `model`, whose configuration is `config`.
    ///
    /// # Errors
    /// Returns [`Infer`](crate::TrainError::Infer) if decoding fails,
    /// [`Data`](crate::TrainError::Data) if the text can no longer be read.
    pub fn validate(
        &self,
        config: &ModelConfig,
        model: &Model,
        device: &Device,
    ) -> Result<Validation> {
        let model = as_saved(model);
        let device = device.clone().inner();
        let (loss, nll) = self.losses(&model, &device)?;
        let mut validation = Validation {
            loss,
            nll,
            ..Validation::default()
        };
        if self.settings.bleu {
            self.decode(config, &model, &device, &mut validation)?;
        }
        Ok(validation)
    }

    /// The negative log-likelihood per token of the whole validation text, in nats.
    pub(crate) fn nll(&self, model: &Model, device: &Device) -> Result<f64> {
        Ok(self.losses(&as_saved(model), &device.clone().inner())?.1)
    }

    fn losses(&self, model: &Model, device: &Device) -> Result<(f64, f64)> {
        let mut loss = 0.0;
        let mut nll = 0.0;
        let mut tokens = 0;
        for rows in self.sampler.ordered()?.batches() {
            let batch = self.sampler.batch(&rows.pairs)?;
            let sums = self.recipe.loss(model, &batch, Mode::Inference, device);
            loss += f64::from(sums.smoothed.into_scalar::<f32>());
            nll += f64::from(sums.nll.into_scalar::<f32>());
            tokens += batch.target_tokens;
        }
        Ok((loss / tokens as f64, nll / tokens as f64))
    }

    fn decode(
        &self,
        config: &ModelConfig,
        model: &Model,
        device: &Device,
        validation: &mut Validation,
    ) -> Result<()> {
        let model = NeuralModel::new(config.clone(), model.clone(), device);
        let generation = self.generation(self.settings.beam, self.settings.alpha);
        let tokenizers = self.tokenizers.clone();
        let translator = Translator::new(Box::new(model), tokenizers, generation.clone())?;
        let texts = self.quick_translations(&translator, &generation)?;
        let bleu = self.writing.bleu();
        validation.bleu = Some(self.value(&bleu, &texts)?);
        validation.chrf = Some(self.value(&Chrf::default(), &texts)?);
        validation.signature = Some(bleu.signature(1usize.into()).to_string());
        validation.length_ratio = Some(characters(&texts) / characters(&self.references).max(1.0));
        validation.relation = self.relation(&texts)?;
        validation.hypotheses = texts;
        Ok(())
    }

    /// How much the translations `texts` depend on their sources.
    fn relation(&self, texts: &[String]) -> Result<Option<Relation>> {
        if texts.len() < MIN_RELATED {
            return Ok(None);
        }
        let mut exchanged = texts.to_vec();
        exchanged.rotate_left(texts.len() / 2);
        let mut counts = HashMap::new();
        for text in texts {
            *counts.entry(text).or_insert(0) += 1;
        }
        let most = counts.into_values().max().unwrap_or(0);
        Ok(Some(Relation {
            own: self.value(&Chrf::default(), texts)?,
            exchanged: self.value(&Chrf::default(), &exchanged)?,
            same: f64::from(most) / texts.len() as f64,
        }))
    }

    /// Translates the validation text by `translator`, with the beam size `beam` and the length
    /// penalty `alpha`, and returns the name and the value of the score.
    ///
    /// # Errors
    /// Returns [`TrainError::Infer`](crate::TrainError::Infer) if decoding fails.
    pub fn score_with(
        &self,
        translator: &Translator,
        beam: usize,
        alpha: f64,
    ) -> Result<(String, f64)> {
        let texts = self.translations(translator, &self.generation(beam, alpha))?;
        let metric = self.score();
        Ok((metric.name(), self.value(&*metric, &texts)?))
    }

    /// The calibration of `translator` by the chrF of its translations of the validation text;
    /// `None` if chrF does not rise with their probabilities.
    ///
    /// # Errors
    /// Returns [`TrainError::Infer`](crate::TrainError::Infer) if decoding fails.
    pub fn calibration(
        &self,
        translator: &Translator,
        settings: &GenerationSettings,
    ) -> Result<Option<Calibration>> {
        let options = self.options(translator, settings);
        let translations = translator.translate(&self.source, &options)?;
        let texts: Vec<&str> = translations
            .iter()
            .map(|found| found.text.as_str())
            .collect();
        let references = [as_strs(&self.references)];
        let quality = Chrf::default().by_segment(&texts, &References::new(&references))?;
        let hypotheses = translations.iter().map(|found| &found.n_best[0].hypothesis);
        let quality = quality.into_iter().map(|chrf| chrf / 100.0);
        Ok(Calibration::fit(hypotheses.zip(quality)))
    }

    fn options(&self, translator: &Translator, settings: &GenerationSettings) -> TranslateOptions {
        TranslateOptions {
            longest: self.longest,
            search: settings.search.clone(),
            protections: settings.protections,
            ..translator.options()
        }
    }

    fn translations(
        &self,
        translator: &Translator,
        settings: &GenerationSettings,
    ) -> Result<Vec<String>> {
        let options = self.options(translator, settings);
        let translations = translator.translate(&self.source, &options)?;
        Ok(translations.into_iter().map(|t| t.text).collect())
    }

    /// Translates like [`translations`](Self::translations), but makes second searches only if few
    /// sentences need one. Early in training, nearly all sentences with a number do.
    fn quick_translations(
        &self,
        translator: &Translator,
        settings: &GenerationSettings,
    ) -> Result<Vec<String>> {
        let twice = self.options(translator, settings);
        let mut once = twice.clone();
        once.protections.second_search = false;
        once.protections.keep_parts = false;
        let requests = translator
            .requests(&self.source, &twice)
            .map_err(InferError::from)?;
        let mut found = translator.translate_requests(requests.clone(), &once)?;
        let again: Vec<usize> = (0..found.len())
            .filter(|&i| {
                let best = &found[i].n_best[0].hypothesis;
                translator.asks_again(&requests[i], best, twice.protections)
            })
            .collect();
        if again.len() <= FEW.max(found.len() / SHARE) {
            let requests = again.iter().map(|&i| requests[i].clone()).collect();
            for (i, better) in again
                .into_iter()
                .zip(translator.translate_requests(requests, &twice)?)
            {
                found[i] = better;
            }
        }
        Ok(found
            .into_iter()
            .map(|translation| translation.text)
            .collect())
    }

    fn value(&self, metric: &dyn Metric, texts: &[String]) -> Result<f64> {
        let streams = [as_strs(&self.references)];
        Ok(metric
            .evaluate(&as_strs(texts), &References::new(&streams))?
            .value)
    }

    /// The default settings of the run's models, with another beam and length penalty.
    fn generation(&self, beam_size: usize, alpha: f64) -> GenerationSettings {
        let mut generation = self.generation.clone();
        generation.search.beam_size = beam_size;
        generation.search.length_penalty = LengthPenalty::Gnmt(alpha);
        generation
    }
}

/// `model` as it is saved, in float32.
pub(crate) fn as_saved(model: &Model) -> Model {
    let mut model = model.valid();
    model.set_precision(Precision::Float32);
    model
}

fn characters(texts: &[String]) -> f64 {
    texts
        .iter()
        .map(|text| burnformer_text::visible(text).chars().count())
        .sum::<usize>() as f64
}

/// Batches of all pairs, within the `budget` of training; a longer pair is a batch of its own.
fn sampler(
    corpus: &Arc<TokenizedCorpus>,
    budget: usize,
    special: SpecialIds,
) -> Result<BatchSampler> {
    let lengths = corpus.lengths(0..corpus.len())?;
    let longest = lengths.into_iter().flatten().max().unwrap_or(0) as usize + 1;
    let budget = longest.max(budget);
    let settings = SamplerSettings {
        budget,
        seed: 0,
        special,
        ..SamplerSettings::default()
    };
    Ok(BatchSampler::new(corpus.clone(), settings)?)
}

#[cfg(test)]
mod tests {
    use burnformer_data::Batch;

    use super::*;
    use crate::run::Texts;

    /// Text that training would mostly drop: a duplicate, empty sides, and sides that are too long
    /// for training or its budget.
    const TEXT: [(&str, &str); 7] = [
        ("1 a b", "1 c d"),
        ("1 a b", "1 c d"),
        ("2 a", "2 c"),
        ("", "3 c"),
        ("4 a", ""),
        (
            "5 a a a a a a a a a a a a a a a a a a a a a a a a a a a a",
            "5 c",
        ),
        (
            "6 a",
            "6 c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c",
        ),
    ];

    /// A run with `text` as validation text.
    fn prepared(folder: &std::path::Path, text: &[(&str, &str)]) -> (TrainConfig, Corpora) {
        let train: String = (0..200).map(|i| format!("{i} a b\t{i} c d\n")).collect();
        let valid: String = text
            .iter()
            .map(|(source, target)| format!("{source}\t{target}\n"))
            .collect();
        let paths = ["train.tsv", "valid.tsv", "cache"].map(|name| folder.join(name));
        std::fs::write(&paths[0], train).unwrap();
        std::fs::write(&paths[1], valid).unwrap();
        let [train, valid, cache] = paths.map(|path| path.display().to_string());
        let settings = [
            format!("data.train=[{train:?}]"),
            format!("data.valid=[{valid:?}]"),
            format!("data.cache={cache:?}"),
            "data.drop_duplicates=true".into(),
            "data.max_source_len=12".into(),
            "data.max_target_len=12".into(),
            "training.budget=16".into(),
            "model.d_model=16".into(),
            "tokenizer.train.vocab_size=300".into(),
            "tokenizer.train.allow_smaller=true".into(),
        ];
        let config = TrainConfig::resolve(Some("tiny"), None, &settings).unwrap();
        let corpora = Corpora::prepare(&config, Texts::files(&config.data), &mut |_| ()).unwrap();
        (config, corpora)
    }

    /// The negative log-likelihood per token of the text, pair by pair: without sampler and cache.
    fn nll_by_pairs(model: &Model, tokenizers: &Tokenizers, device: &Device) -> f64 {
        let sources = tokenizers
            .source
            .encode_batch(&TEXT.map(|(source, _)| source));
        let targets = tokenizers
            .target
            .encode_batch(&TEXT.map(|(_, target)| target));
        let mut nll = 0.0;
        let mut tokens = 0;
        for pair in sources.into_iter().zip(targets) {
            let batch = Batch::new(vec![0], &[pair]);
            let sums = Recipe::default().loss(model, &batch, Mode::Inference, device);
            nll += f64::from(sums.nll.into_scalar::<f32>());
            tokens += batch.target_tokens;
        }
        nll / tokens as f64
    }

    #[test]
    fn loss_perplexity_and_bleu_are_of_every_pair_of_the_validation_text() {
        let folder = tempfile::tempdir().unwrap();
        let (config, corpora) = prepared(folder.path(), &TEXT);
        let (source, target) = corpora.valid_text.as_ref().unwrap();
        let text: Vec<_> = source
            .iter()
            .zip(target)
            .map(|(s, t)| (s.as_str(), t.as_str()))
            .collect();
        assert_eq!(text, TEXT);
        let vocab = corpora.tokenizers.target.vocab_size();
        let shape = config.model.over([vocab; 2], SpecialIds::OURS);
        let device = Device::default();
        let model = shape.build(1, &device).unwrap();
        let validator = Validator::new(
            &config,
            &corpora,
            SpecialIds::OURS,
            GenerationSettings::default(),
        )
        .unwrap()
        .unwrap();
        let measured = validator.validate(&shape, &model, &device).unwrap();
        assert_eq!(measured.hypotheses.len(), TEXT.len());
        let nll = nll_by_pairs(&model, &corpora.tokenizers, &device);
        assert!((measured.nll - nll).abs() < 1e-5, "{} {nll}", measured.nll);
    }

    #[test]
    fn a_validation_makes_second_searches_for_few_sentences() {
        let sources: Vec<String> = (10..90).map(|number| format!("{number} a b")).collect();
        for (count, asks) in [(FEW, false), (80, true)] {
            let folder = tempfile::tempdir().unwrap();
            let text: Vec<_> = sources[..count]
                .iter()
                .map(|source| (&**source, "c d"))
                .collect();
            let (config, corpora) = prepared(folder.path(), &text);
            let vocab = corpora.tokenizers.target.vocab_size();
            let shape = config.model.over([vocab; 2], SpecialIds::OURS);
            let device = Device::default();
            let model = shape.build(1, &device).unwrap();
            let mut generation = GenerationSettings::default();
            generation.protections.keep_parts = true;
            let validator = Validator::new(&config, &corpora, SpecialIds::OURS, generation)
                .unwrap()
                .unwrap();
            let measured = validator.validate(&shape, &model, &device).unwrap();
            let mut generation = validator.generation(1, 0.0);
            generation.protections.second_search = !asks;
            generation.protections.keep_parts = !asks;
            let model = NeuralModel::new(shape.clone(), as_saved(&model), &device);
            let translator = Translator::new(
                Box::new(model),
                corpora.tokenizers.clone(),
                generation.clone(),
            );
            let expected = validator
                .translations(&translator.unwrap(), &generation)
                .unwrap();
            assert_eq!(measured.hypotheses, expected);
        }
    }
}
