use burnformer_infer::{TranslateOptions, Translator, perplexity};
use burnformer_metrics::{Bleu, Bootstrap, Metric as _, References, as_strs};
use burnformer_train::TrainError;
use serde::{Deserialize, Serialize};

/// The quality of a model, measured on a text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The largest number of source tokens of its sentences, if the text is divided by length;
    /// `None` for the last part or the whole text.
    pub longest: Option<usize>,
    /// The number of sentences of the text.
    pub sentences: usize,
    /// The perplexity: e to the negative log-likelihood per token of the references, `</s>`
    /// included.
    pub perplexity: f64,
    /// The BLEU of the translations with the model's search settings.
    pub bleu: f64,
    /// Half the width of the 95 % bootstrap interval of BLEU.
    pub interval: f64,
    /// The signature, which says how BLEU was computed.
    pub signature: String,
}

impl Measure {
    /// Measures `translator` under `options` on the lines `sources` with the translations
    /// `references`.
    ///
    /// # Errors
    /// The errors of decoding and scoring.
    pub(super) fn of(
        translator: &Translator,
        options: &TranslateOptions,
        longest: Option<usize>,
        sources: &[String],
        references: &[String],
    ) -> Result<Self, TrainError> {
        let scores = translator.score(sources, references, options)?;
        let translations = translator.translate(sources, options)?;
        let texts: Vec<&str> = translations.iter().map(|t| t.text.as_str()).collect();
        let streams = [as_strs(references)];
        let (references, bootstrap) = (References::new(&streams), Bootstrap::default());
        let score = Bleu::default().evaluate_with_confidence(&texts, &references, bootstrap)?;
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
