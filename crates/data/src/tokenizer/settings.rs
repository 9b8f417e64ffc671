//! The settings for training a tokeniser.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TokenizerError;
use crate::error::{DataError, Result};
use crate::special;

/// The settings for training a tokeniser. [`Default`] is a joint 8,000-token BPE.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct TokenizerSettings {
    /// The number of tokens in each vocabulary, special tokens and the 256 bytes included; at least
    /// 261. The trained vocabulary has exactly this size, or training it fails: see
    /// `allow_smaller`. The paper has 37,000 (§5.1); 4,000 to 16,000 suit corpora below a million
    /// pairs.
    pub vocab_size: usize,
    /// If true, both languages share one vocabulary, as in the paper (§5.1). If false, each has its
    /// own, which suits languages of different scripts; then `model.sharing` cannot be `all`.
    pub joint: bool,
    /// If true, every digit is a separate token, so that numbers are copied digit by digit;
    /// otherwise runs of digits are treated like words.
    pub split_digits: bool,
    /// The share of the text's characters that get a token of their own, above 0 and at most 1; the
    /// rarest others are spelt in bytes. Lower it to 0.9995 for Chinese or Japanese.
    pub character_coverage: f64,
    /// The largest number of characters of text that the tokeniser is trained on; from 1 to
    /// 1,000,000,000. Of longer text a sample is taken over its whole length, pair by pair. This
    /// bounds memory and time; more text changes little.
    pub max_training_chars: usize,
    /// If true, a text that is too small for `vocab_size` tokens gives a smaller vocabulary instead
    /// of an error.
    pub allow_smaller: bool,
}

impl Default for TokenizerSettings {
    fn default() -> Self {
        Self {
            vocab_size: 8_000,
            joint: true,
            split_digits: false,
            character_coverage: 0.9999,
            max_training_chars: 20_000_000,
            allow_smaller: false,
        }
    }
}

/// The longest piece, in characters.
pub(super) const MAX_PIECE_CHARS: usize = 16;
/// Largest `max_training_chars`: the BPE trainer numbers characters in 32 bits.
const MAX_TRAINING_CHARS: usize = 1_000_000_000;

/// Number of special tokens and bytes, which are in every vocabulary.
pub(super) const FIXED_TOKENS: usize = special::TOKENS.len() + 256;

impl TokenizerSettings {
    /// Settings for a joint BPE vocabulary of `vocab_size` tokens.
    pub fn bpe(vocab_size: usize) -> Self {
        Self {
            vocab_size,
            ..Self::default()
        }
    }

    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// Returns [`TokenizerError::VocabularyTooSmall`] or [`DataError::InvalidSetting`] for the
    /// first setting that is out of its range.
    pub fn validate(&self) -> Result<()> {
        let asked = self.vocab_size;
        let needed = FIXED_TOKENS + 1;
        if asked < needed {
            return Err(TokenizerError::VocabularyTooSmall { asked, needed }.into());
        }
        let coverage = self.character_coverage;
        let good = coverage > 0.0 && coverage <= 1.0;
        let remedy = "choose a share above 0 and at most 1";
        DataError::check(good, "character_coverage", coverage, remedy)?;
        let good = (1..=MAX_TRAINING_CHARS).contains(&self.max_training_chars);
        let remedy = "choose from 1 to 1000000000; the default is 20000000";
        DataError::check(good, "max_training_chars", self.max_training_chars, remedy)
    }
}
