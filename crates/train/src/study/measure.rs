use burnformer_infer::{TranslateOptions, Translator, perplexity};
use burnformer_metrics::{Bleu, Bootstrap, Metric as _, References, as_strs};
use serde::{Deserialize, Serialize};

use crate::error::TrainError;

/// What a model is worth on a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Most source pieces of its sentences, where the text is divided by length; `None` for the last part
    /// or the whole.
    pub longest: Option<usize>,
    /// Sentences of the text.
    pub sentences: usize,
    /// e to the negative log-likelihood a piece of the references, `</s>` counted.
    pub perplexity: f64,
    /// BLEU of the translations by the model's own search settings.
    pub bleu: f64,
    /// Half the width of BLEU's 95 % bootstrap interval.
    pub interval: f64,
    /// How BLEU was computed.
    pub signature: String,
}

impl Measure {
    /// Measures `translator` under `options` on the lines `sources` with the translations `references`.
    ///
    /// # Errors
    /// Those of decoding and scoring.
    pub(super) fn of(
        translator: &Translator,
        options: &TranslateOptions,
        longest: Option<usize>,
        sources: &[String],
        references: &[String],
    ) -> Result<Self, TrainError> {
        let scores = translator.score(sources, references, options)?;
        let texts = translator.translate(sources, options)?;
        let texts: Vec<String> = texts.into_iter().map(|t| t.text).collect();
        let streams = [as_strs(references)];
        let references = References::new(&streams);
        let score = Bleu::default().evaluate_with_confidence(
            &as_strs(&texts),
            &references,
            Bootstrap::default(),
        )?;
        Ok(Self {
            longest,
            sentences: sources.len(),
            perplexity: perplexity(&scores),
            bleu: score.value,
            interval: score.confidence.map_or(0.0, |confidence| confidence.interval),
            signature: score.signature.to_string(),
        })
    }
}
