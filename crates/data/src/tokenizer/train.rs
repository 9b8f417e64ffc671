//! Trains a tokeniser from lines of text.

use burnformer_text::visible;

use super::layout::{bpe_json, document, empty, fixed_tokens, parse};
use super::sample::Sample;
use super::settings::{FIXED_TOKENS, MAX_PIECE_CHARS, TokenizerSettings};
use super::words;
use super::{Tokenizer, bpe};
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
        self.sample.push(&[&visible(line)]);
    }

    /// Adds a line and its translation. They are sampled together: a joint tokeniser learns from
    /// the same number of lines on both sides.
    pub fn feed_pair(&mut self, source: &str, target: &str) {
        self.sample.push(&[&visible(source), &visible(target)]);
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
        let (asked, longest) = (settings.vocab_size, MAX_PIECE_CHARS);
        let learnt = bpe::learn(&words.counts, fixed_tokens(), &words.alphabet, asked, longest);
        let (model, possible) = (bpe_json(&learnt.tokens, &learnt.merges), learnt.tokens.len());
        if possible < asked && !settings.allow_smaller {
            return Err(DataError::VocabularyTooLarge { asked, possible });
        }
        Ok(Tokenizer { tells_rule: true, ..Tokenizer::wrap(parse(&document(model, settings))?) })
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
