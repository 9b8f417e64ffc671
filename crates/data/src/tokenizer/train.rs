//! Trains a tokeniser from lines of text.

use serde_json::Value;

use super::layout::{bpe_json, document, empty, fixed_tokens, parse};
use super::sample::Sample;
use super::settings::{FIXED_TOKENS, TokenizerKind, TokenizerSettings};
use super::words::{self, Words};
use super::{Tokenizer, bpe, unigram};
use crate::error::{DataError, Result};

/// Collects text and trains a [`Tokenizer`] on it. Memory is bounded by
/// [`TokenizerSettings::max_training_chars`].
pub struct TokenizerTrainer {
    settings: TokenizerSettings,
    sample: Sample,
}

impl TokenizerTrainer {
    /// A trainer without text.
    ///
    /// # Errors
    /// The errors of [`TokenizerSettings::validate`].
    pub fn new(settings: TokenizerSettings) -> Result<Self> {
        settings.validate()?;
        Ok(Self { sample: Sample::new(settings.max_training_chars), settings })
    }

    /// Adds one line of text. If the text is longer than the limit, the number of the line decides
    /// whether it is sampled.
    pub fn feed(&mut self, line: &str) {
        self.sample.push(&[line]);
    }

    /// Adds a line and its translation. They are sampled together: a joint tokeniser learns from
    /// the same number of lines on both sides.
    pub fn feed_pair(&mut self, source: &str, target: &str) {
        self.sample.push(&[source, target]);
    }

    /// Trains the tokeniser. The same lines and settings give the same `tokenizer.json`, byte for
    /// byte, on any number of threads.
    ///
    /// # Errors
    /// No text, a vocabulary too small for the alphabet or too large for the text, or a failure of
    /// the trainer.
    pub fn train(self) -> Result<Tokenizer> {
        let settings = &self.settings;
        let pipeline = empty(settings)?;
        let room = settings.vocab_size - FIXED_TOKENS;
        let words =
            words::count(&pipeline, &self.sample.into_lines(), settings.character_coverage, room)?;
        let (model, size) = match settings.kind {
            TokenizerKind::Bpe => bpe_model(&words, settings),
            TokenizerKind::Unigram => unigram::model(words, settings)?,
        };
        if size < settings.vocab_size && !settings.allow_smaller {
            let asked = settings.vocab_size;
            return Err(DataError::VocabularyTooLarge { asked, possible: size });
        }
        Ok(Tokenizer::wrap(parse(&document(model, settings))?))
    }
}

impl Tokenizer {
    /// Trains a tokeniser on `lines`, which are streamed.
    ///
    /// # Errors
    /// The errors of [`TokenizerTrainer::train`].
    pub fn train<S: AsRef<str>>(
        lines: impl IntoIterator<Item = S>,
        settings: &TokenizerSettings,
    ) -> Result<Self> {
        let mut trainer = TokenizerTrainer::new(settings.clone())?;
        lines.into_iter().for_each(|line| trainer.feed(line.as_ref()));
        trainer.train()
    }
}

fn bpe_model(words: &Words, settings: &TokenizerSettings) -> (Value, usize) {
    let learnt = bpe::learn(
        &words.counts,
        fixed_tokens(),
        &words.alphabet,
        settings.vocab_size,
        settings.max_piece_chars,
    );
    (bpe_json(&learnt.tokens, &learnt.merges), learnt.tokens.len())
}
