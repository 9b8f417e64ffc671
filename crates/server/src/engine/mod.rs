//! Engines, which translate sentences.

mod translator;

pub use translator::TranslatorEngine;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burnformer_documents::{Link, Remembered};
pub use burnformer_infer::Report;
use burnformer_infer::view::SentenceAttention;
use burnformer_infer::{QualityWarning, Term, TextRequest};
use burnformer_translation::Model;
pub use burnformer_translation::Sentence;

/// The search settings of a request. Sentences with the same choice can share a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The beam size, at least `n_best`. If `None`, it is the model's, widened to `n_best` if that is
    /// narrower.
    pub beam: Option<usize>,
    /// The exponent α of the length penalty, in thousandths; the default of the model if `None`.
    pub alpha: Option<u32>,
    /// The number of translations per sentence, at least 1.
    pub n_best: usize,
}

/// The model's own settings, for the best translation alone.
impl Default for Choice {
    fn default() -> Self {
        Self {
            beam: None,
            alpha: None,
            n_best: 1,
        }
    }
}

/// A waiting sentence, prepared by the engine.
pub struct Job {
    /// The sentence.
    pub sentence: Sentence,
    /// The cost of the sentence: tokens times beam size of all its searches, and the tokens of the
    /// forward pass that finds links. It bounds the size of a batch.
    pub cost: usize,
    /// The request prepared by the engine, if it needs one, so that the sentence is not tokenised
    /// twice.
    pub request: Option<TextRequest>,
    /// Takes the settled beginning of the best translation each time that it has grown. An engine may
    /// ignore it.
    pub report: Option<Report>,
}

/// One translation of a sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The translation.
    pub text: String,
    /// The log-probability divided by the length penalty.
    pub score: f64,
    /// The links between parts of the translation and of the sentence, if they were requested.
    pub links: Vec<Link>,
    /// The signs that the translation is wrong.
    pub doubts: Vec<QualityWarning>,
    /// The confidence in the translation, from 0 to 1, if the model is calibrated.
    pub confidence: Option<f64>,
    /// If true, a [second search](burnformer_infer::Hypothesis::is_second) found the translation.
    pub is_second: bool,
    /// If true, the translation comes from a translation memory.
    pub is_known: bool,
}

/// An error that prevents sentences from being translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The request is at fault.
    #[error("{0}")]
    Request(String),
    /// The model or the machine is at fault.
    #[error("{0}")]
    Failed(String),
}

/// Translates the sentences in the queue of a language pair. Several threads call it at once.
pub trait Engine: Send + Sync + 'static {
    /// Translates `jobs` and returns, in their order, up to `choice.n_best` translations of each
    /// sentence, best first. A sentence that is too long is truncated. The jobs come from
    /// [`prepare`](Self::prepare) of the same engine.
    ///
    /// `cancelled` contains a flag for each sentence. It becomes true when the sentence is no
    /// longer needed. An engine should check the flags often and stop translating such sentences;
    /// their candidates are not used.
    ///
    /// # Errors
    /// Returns an [`EngineError`] for the whole batch; no sentence is translated then.
    fn translate(
        &self,
        jobs: &[&Job],
        choice: Choice,
        cancelled: &[Arc<AtomicBool>],
    ) -> Result<Vec<Vec<Candidate>>, EngineError>;

    /// Prepares `sentence` before it enters the queue. The default implementation estimates the cost
    /// at four bytes per token.
    ///
    /// # Errors
    /// Returns [`EngineError::Request`] if the sentence, its prefix or its terms cannot be
    /// translated by this model.
    fn prepare(&self, sentence: Sentence, choice: Choice) -> Result<Job, EngineError> {
        let tokens = 1 + (sentence.text.len() + sentence.prefix.len()) / 4;
        let cost = tokens * choice.beam.unwrap_or(1).max(choice.n_best);
        Ok(Job {
            sentence,
            cost,
            request: None,
            report: None,
        })
    }

    /// The number of previous sentences in the context of a sentence; 0 for a model that translates
    /// sentences alone, as in the default implementation.
    fn context(&self) -> usize {
        0
    }

    /// Returns whether `sentence` fits into the model without being cut.
    fn fits(&self, sentence: &str) -> bool;

    /// Returns whether the model can write each translation of `term`.
    fn can_write(&self, _term: &Term) -> bool {
        true
    }

    /// Returns the translation of `segment`, a message in `context`, from the translation memory of
    /// the engine, if there is one.
    fn remembered(&self, _segment: &str, _context: &str) -> Option<Remembered> {
        None
    }

    /// Returns the attention weights of the model for `sentence` and `translation`. The default
    /// implementation has none.
    ///
    /// # Errors
    /// Returns [`EngineError::Request`] if the engine has no weights to show.
    fn attention(
        &self,
        _sentence: &str,
        _translation: &str,
    ) -> Result<SentenceAttention, EngineError> {
        Err(EngineError::Request(
            "this model has no attention to show".into(),
        ))
    }
}

impl Model for dyn Engine {
    fn fits(&self, sentence: &str) -> bool {
        Engine::fits(self, sentence)
    }

    fn context(&self) -> usize {
        Engine::context(self)
    }

    fn can_write(&self, term: &Term) -> bool {
        Engine::can_write(self, term)
    }
}
