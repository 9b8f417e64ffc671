use std::sync::Arc;

use burn::module::Module;
use burn::tensor::Device;
use burnformer_core::{Mode, Precision, Seq2Seq};
use burnformer_data::{BatchSampler, SamplerSettings, TokenizedCorpus, Tokenizers};
use burnformer_infer::{
    LengthPenalty, LongSources, NeuralModel, SearchSettings, TranslateOptions, Translator,
};
use burnformer_metrics::{Bleu, Metric as _, References, as_strs};
use burnformer_models::{Model, ModelConfig};

use crate::config::{TrainConfig, ValidationSettings};
use crate::corpora::Corpora;
use crate::error::TrainError;
use crate::sums::batch_loss;

/// A model measured on text it was not trained on.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// Label-smoothed loss a real target token.
    pub loss: f64,
    /// Negative log-likelihood a real target token.
    pub nll: f64,
    /// BLEU of the decoded text, if it was decoded.
    pub bleu: Option<f64>,
    /// How that BLEU was computed.
    pub signature: Option<String>,
    /// The decoded text, if it was decoded.
    pub hypotheses: Vec<String>,
}

impl Validation {
    /// e to the negative log-likelihood a token; tokens are subwords.
    pub fn perplexity(&self) -> f64 {
        self.nll.exp()
    }
}

/// Measures models by loss, perplexity, and BLEU of real decoding.
pub struct Validator {
    settings: ValidationSettings,
    label_smoothing: f64,
    tokenizers: Tokenizers,
    sampler: BatchSampler,
    source: Vec<String>,
    references: Vec<String>,
}

impl Validator {
    /// A validator over the validation text of `corpora`; `None` if there is none.
    ///
    /// # Errors
    /// [`TrainError::Data`] if no pair fits the token budget.
    pub fn new(config: &TrainConfig, corpora: &Corpora) -> Result<Option<Self>, TrainError> {
        let (Some(corpus), Some((source, target))) = (&corpora.valid, &corpora.valid_text) else {
            return Ok(None);
        };
        let decoded = match config.validation.max_sentences {
            0 => source.len(),
            most => most.min(source.len()),
        };
        Ok(Some(Self {
            settings: config.validation.clone(),
            label_smoothing: config.training.label_smoothing,
            tokenizers: corpora.tokenizers.clone(),
            sampler: sampler(corpus, config.training.budget)?,
            source: source[..decoded].to_vec(),
            references: target[..decoded].to_vec(),
        }))
    }

    /// Measures `model`, whose shape is `config`.
    ///
    /// # Errors
    /// [`TrainError::Infer`] if decoding fails.
    pub fn validate(
        &self,
        config: &ModelConfig,
        model: &Model,
        device: &Device,
    ) -> Result<Validation, TrainError> {
        // What is measured is what the saved model will be: it translates in float32.
        let mut model = model.valid();
        model.set_precision(Precision::Float32);
        let device = device.clone().inner();
        let (loss, nll) = self.losses(&model, &device);
        let mut validation =
            Validation { loss, nll, bleu: None, signature: None, hypotheses: vec![] };
        if self.settings.bleu {
            self.decode(config, &model, &device, &mut validation)?;
        }
        Ok(validation)
    }

    fn losses(&self, model: &Model, device: &Device) -> (f64, f64) {
        let (mut loss, mut nll, mut tokens) = (0.0, 0.0, 0);
        for pairs in self.sampler.ordered().batches() {
            let batch = self.sampler.batch(pairs);
            let sums = batch_loss(model, &batch, Mode::Inference, self.label_smoothing, device);
            loss += f64::from(sums.smoothed.into_scalar::<f32>());
            nll += f64::from(sums.nll.into_scalar::<f32>());
            tokens += batch.target_tokens;
        }
        (loss / tokens as f64, nll / tokens as f64)
    }

    fn decode(
        &self,
        config: &ModelConfig,
        model: &Model,
        device: &Device,
        validation: &mut Validation,
    ) -> Result<(), TrainError> {
        let search = SearchSettings {
            beam_size: self.settings.beam,
            length_penalty: LengthPenalty::Gnmt(self.settings.alpha),
            ..SearchSettings::default()
        };
        let model = NeuralModel::new(config.clone(), model.clone(), device);
        let translator = Translator::new(Box::new(model), self.tokenizers.clone(), search)?;
        let options =
            TranslateOptions { long_sources: LongSources::Truncate, ..translator.options() };
        let translations = translator.translate(&self.source, &options)?;
        let texts: Vec<String> = translations.into_iter().map(|t| t.text).collect();
        let streams = [as_strs(&self.references)];
        let score = Bleu::default().evaluate(&as_strs(&texts), &References::new(&streams))?;
        validation.bleu = Some(score.value);
        validation.signature = Some(score.signature.to_string());
        validation.hypotheses = texts;
        Ok(())
    }
}

fn sampler(corpus: &Arc<TokenizedCorpus>, budget: usize) -> Result<BatchSampler, TrainError> {
    let settings = SamplerSettings { budget, max_sentences: None, multiple: 1, seed: 0 };
    Ok(BatchSampler::new(corpus.clone(), settings)?)
}
