mod text;

use burn::tensor::Device;
use burnformer_core::{Mode, Model, ModelConfig, Precision};
use burnformer_data::{SpecialIds, Tokenizers};
use burnformer_infer::{
    Calibration, GenerationSettings, InferError, LengthPenalty, NeuralModel, TranslateOptions,
    Translator,
};
use burnformer_metrics::{Chrf, Metric, WritingSystem};

use crate::config::{EarlyStoppingMetric, TrainConfig, ValidationScore, ValidationSettings};
use crate::error::Result;
use crate::run::Corpora;
use crate::update::Recipe;
pub use text::Relation;
use text::Text;

/// The smallest number of sentences of a validation for each second search, which takes up to five
/// times as long as the first.
const MIN_SENTENCES_FOR_EACH_RETRY: usize = 48;
/// The number of second searches, about a second of work, that are always allowed.
const ALLOWED_RETRIES: usize = 16;

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
    /// How much the decoded text depends on its sources, if it was decoded and has enough
    /// sentences.
    pub relation: Option<Relation>,
    /// The quality by direction in a run with several pairs of languages. The other fields are then
    /// means over the directions, and there is no decoded text.
    pub pairs: Vec<PairValidation>,
}

/// The quality of a model in one direction between two languages.
#[derive(Clone, Debug, PartialEq)]
pub struct PairValidation {
    /// The name of the direction, such as `de-en`.
    pub pair: String,
    /// The quality.
    pub validation: Validation,
}

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

    /// The mean over `pairs`.
    fn mean_of(pairs: Vec<PairValidation>) -> Self {
        let all = || pairs.iter().map(|pair| &pair.validation);
        let relation = mean(all().map(|one| one.relation.map(|it| it.own)))
            .zip(mean(all().map(|one| one.relation.map(|it| it.exchanged))))
            .zip(mean(all().map(|one| one.relation.map(|it| it.same))));
        Self {
            loss: mean(all().map(|one| Some(one.loss))).unwrap_or_default(),
            nll: mean(all().map(|one| Some(one.nll))).unwrap_or_default(),
            bleu: mean(all().map(|one| one.bleu)),
            signature: None,
            chrf: mean(all().map(|one| one.chrf)),
            hypotheses: Vec::new(),
            length_ratio: mean(all().map(|one| one.length_ratio)),
            relation: relation.map(|((own, exchanged), same)| Relation {
                own,
                exchanged,
                same,
            }),
            pairs,
        }
    }
}

/// The mean of `values`; `None` if one is missing or there are none.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    let count = values.len() as f64;
    (count > 0.0).then(|| values.iter().sum::<f64>() / count)
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
    recipe: Recipe,
    tokenizers: Tokenizers,
    /// The number of tokens in the longest source, `</s>` included.
    longest: usize,
    texts: Vec<Text>,
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
        if corpora.valid.is_empty() {
            return Ok(None);
        }
        let texts = corpora.valid.iter();
        let texts = texts.map(|text| Text::new(config, text, special));
        Ok(Some(Self {
            settings: config.validation.clone(),
            recipe: Recipe::new(config),
            tokenizers: corpora.tokenizers.clone(),
            longest: corpora.longest_validated + 1,
            texts: texts.collect::<Result<_>>()?,
            generation,
        }))
    }

    /// The writing system that decides the metric: one that BLEU does not fit, if there is any.
    fn writing(&self) -> WritingSystem {
        let mut all = self.texts.iter().map(|text| text.writing);
        let unfit = all.clone().find(|writing| !writing.fits_bleu());
        unfit.or(all.next()).expect("a validator has a text")
    }

    /// The metric that chooses the best model.
    pub fn metric(&self) -> EarlyStoppingMetric {
        self.settings.metric.resolved(self.writing())
    }

    /// The metric for translations, the same one for all texts. BLEU divides each text by its
    /// writing system.
    fn score(&self, text: &Text) -> Box<dyn Metric> {
        let writing = self.writing();
        let metric = match self.metric() {
            chosen @ (EarlyStoppingMetric::Bleu | EarlyStoppingMetric::Chrf) => chosen,
            _ => EarlyStoppingMetric::Auto.resolved(writing),
        };
        metric.of_translations(text.writing)
    }

    /// The search and the metric, in a sentence.
    pub(crate) fn announcement(&self) -> Option<String> {
        let ValidationSettings {
            bleu, beam, alpha, ..
        } = self.settings;
        let metric = self.score(&self.texts[0]);
        let name = metric.name();
        let signature = metric.signature(1usize.into());
        let why = match self.writing() {
            WritingSystem::Spaced => String::new(),
            other => format!(", as the target text is in {other} (validation.metric)"),
        };
        let several = if self.texts.len() > 1 {
            "; the best model has the highest mean score over all language pairs"
        } else {
            ""
        };
        bleu.then(|| {
            format!(
                "translations are scored by {name} ({signature}){why}{several}. Validation searches with beam {beam} and α {alpha}. \
                 If more than {ALLOWED_RETRIES} sentences, and more than one in {MIN_SENTENCES_FOR_EACH_RETRY}, need a second \
                 search, it skips second searches"
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
        let translator = self
            .settings
            .bleu
            .then(|| self.translator(config, &model, &device))
            .transpose()?;
        let mut pairs = Vec::new();
        for text in &self.texts {
            let validation = self.measure(text, &model, translator.as_ref(), &device)?;
            let Some(pair) = &text.pair else {
                return Ok(validation);
            };
            pairs.push(PairValidation {
                pair: pair.clone(),
                validation,
            });
        }
        Ok(Validation::mean_of(pairs))
    }

    /// The quality of `model` on `text`, and of the translations of `translator`.
    fn measure(
        &self,
        text: &Text,
        model: &Model,
        translator: Option<&Translator>,
        device: &Device,
    ) -> Result<Validation> {
        let (loss, nll) = self.losses(text, model, device)?;
        let mut validation = Validation {
            loss,
            nll,
            ..Validation::default()
        };
        if let Some(translator) = translator {
            self.decode(text, translator, &mut validation)?;
        }
        Ok(validation)
    }

    /// The negative log-likelihood per token of the whole validation text, in nats; the mean over
    /// several texts.
    pub(crate) fn nll(&self, model: &Model, device: &Device) -> Result<f64> {
        let model = as_saved(model);
        let device = device.clone().inner();
        let mut sum = 0.0;
        for text in &self.texts {
            sum += self.losses(text, &model, &device)?.1;
        }
        Ok(sum / self.texts.len() as f64)
    }

    fn losses(&self, text: &Text, model: &Model, device: &Device) -> Result<(f64, f64)> {
        let mut loss = 0.0;
        let mut nll = 0.0;
        let mut tokens = 0;
        for rows in text.sampler.ordered()?.batches() {
            let batch = text.sampler.batch(&rows.pairs)?;
            let sums = self.recipe.loss(model, &batch, Mode::Inference, device);
            loss += f64::from(sums.smoothed.into_scalar::<f32>());
            nll += f64::from(sums.nll.into_scalar::<f32>());
            tokens += batch.target_tokens;
        }
        Ok((loss / tokens as f64, nll / tokens as f64))
    }

    /// The translator of a validation by `model`.
    fn translator(
        &self,
        config: &ModelConfig,
        model: &Model,
        device: &Device,
    ) -> Result<Translator> {
        let model = NeuralModel::new(config.clone(), model.clone(), device);
        let generation = self.generation(self.settings.beam, self.settings.alpha)?;
        let tokenizers = self.tokenizers.clone();
        Ok(Translator::new(Box::new(model), tokenizers, generation)?)
    }

    fn decode(
        &self,
        text: &Text,
        translator: &Translator,
        validation: &mut Validation,
    ) -> Result<()> {
        let generation = self.generation(self.settings.beam, self.settings.alpha)?;
        let texts = self.quick_translations(text, translator, &generation)?;
        let bleu = text.writing.bleu();
        validation.bleu = Some(text.metric_value(&bleu, &texts)?);
        validation.chrf = Some(text.metric_value(&Chrf::default(), &texts)?);
        validation.signature = Some(bleu.signature(1usize.into()).to_string());
        validation.length_ratio = Some(characters(&texts) / characters(&text.references).max(1.0));
        validation.relation = text.relation(&texts)?;
        validation.hypotheses = texts;
        Ok(())
    }

    /// Translates the validation text by `translator`, with the beam size `beam` and the length
    /// penalty `alpha`, and returns the name and the value of the score; the mean over several
    /// texts.
    ///
    /// # Errors
    /// Returns [`TrainError::Infer`](crate::TrainError::Infer) if decoding fails.
    pub fn score_with(
        &self,
        translator: &Translator,
        beam: usize,
        alpha: f64,
    ) -> Result<(String, f64)> {
        let generation = self.generation(beam, alpha)?;
        let mut sum = 0.0;
        for text in &self.texts {
            let texts = self.translations(text, translator, &generation)?;
            sum += text.metric_value(&*self.score(text), &texts)?;
        }
        let name = self.score(&self.texts[0]).name();
        Ok((name, sum / self.texts.len() as f64))
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
        let mut found = Vec::new();
        let mut quality = Vec::new();
        for text in &self.texts {
            let options = self.options(text, translator, settings);
            let translations = text.translate(translator, &options)?;
            quality.extend(text.chrf_by_segment(&translations)?);
            found.extend(translations);
        }
        let hypotheses = found.iter().map(|found| &found.n_best[0].hypothesis);
        let quality = quality.into_iter().map(|chrf| chrf / 100.0);
        Ok(Calibration::fit(hypotheses.zip(quality)))
    }

    fn options(
        &self,
        text: &Text,
        translator: &Translator,
        settings: &GenerationSettings,
    ) -> TranslateOptions {
        let mut options = TranslateOptions {
            longest: self.longest,
            search: settings.search.clone(),
            protections: settings.protections,
            ..translator.options()
        };
        if text.languages.codes().is_some() {
            options.languages = text.languages.clone();
        }
        options
    }

    fn translations(
        &self,
        text: &Text,
        translator: &Translator,
        settings: &GenerationSettings,
    ) -> Result<Vec<String>> {
        let options = self.options(text, translator, settings);
        let translations = text.translate(translator, &options)?;
        Ok(translations.into_iter().map(|t| t.text).collect())
    }

    /// Translates `text`, but makes second searches only if few sentences need one. Early in
    /// training, nearly all sentences with a number do.
    fn quick_translations(
        &self,
        text: &Text,
        translator: &Translator,
        settings: &GenerationSettings,
    ) -> Result<Vec<String>> {
        let twice = self.options(text, translator, settings);
        let mut once = twice.clone();
        once.protections.second_search = false;
        once.protections.keep_parts = false;
        let mut requests = text.requests(translator, &twice)?;
        let mut translations = text.translate_requests(translator, &mut requests, &once)?;
        let again: Vec<usize> = (0..translations.len())
            .filter(|&i| {
                let best = &translations[i].n_best[0].hypothesis;
                translator.asks_again(&requests[i], best, twice.protections)
            })
            .collect();
        if again.len() <= ALLOWED_RETRIES.max(translations.len() / MIN_SENTENCES_FOR_EACH_RETRY) {
            let requests = again.iter().map(|&i| requests[i].clone()).collect();
            for (i, better) in again
                .into_iter()
                .zip(translator.translate_requests(requests, &twice)?)
            {
                translations[i] = better;
            }
        }
        Ok(translations
            .into_iter()
            .map(|translation| translation.text)
            .collect())
    }

    /// The default settings of the run's models for the best translation of each line, with another
    /// beam and length penalty.
    ///
    /// # Errors
    /// Returns [`TrainError::Infer`](crate::TrainError::Infer) if either is out of its range.
    fn generation(&self, beam: usize, alpha: f64) -> Result<GenerationSettings> {
        let mut generation = self.generation.clone();
        generation.search.length_penalty = LengthPenalty::Gnmt(alpha);
        let set = generation.search.set_n_best(1, Some(beam));
        set.map_err(InferError::from)?;
        Ok(generation)
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
        let valid = &corpora.valid[0];
        let text: Vec<_> = valid
            .source
            .iter()
            .zip(&valid.target)
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
        for (count, asks) in [(ALLOWED_RETRIES, false), (80, true)] {
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
            let mut generation = validator.generation(1, 0.0).unwrap();
            generation.protections.second_search = !asks;
            generation.protections.keep_parts = !asks;
            let model = NeuralModel::new(shape.clone(), as_saved(&model), &device);
            let translator = Translator::new(
                Box::new(model),
                corpora.tokenizers.clone(),
                generation.clone(),
            );
            let expected = validator
                .translations(&validator.texts[0], &translator.unwrap(), &generation)
                .unwrap();
            assert_eq!(measured.hypotheses, expected);
        }
    }
}
