//! Tokenisers: each turns a line into words that are separated by spaces.

mod flores;
pub(crate) mod mteval;
pub(crate) mod tercom;

use std::borrow::Cow;
use std::str::FromStr;

use derive_more::Display;

use crate::{MetricError, Result};

/// The tokenisers of BLEU, which divide texts into words, with sacreBLEU's names.
#[derive(Debug, Clone, Copy, Display, PartialEq, Eq, Hash, Default)]
#[display("{}", self.name())]
pub enum BleuTokenizer {
    /// `13a`, the default: the tokeniser of mteval-v13a.pl, which WMT uses.
    #[default]
    V13a,
    /// `intl`: the international tokeniser of mteval-v14.pl, which uses Unicode's punctuation and
    /// symbols.
    International,
    /// `char`: every character is a word.
    Char,
    /// `zh`: every Chinese character is a word, and the rest is tokenised as by `13a`.
    Chinese,
    /// `none`: words are separated by spaces already.
    None,
    /// `flores101`, also `spm`: the pieces of the SentencePiece model of FLORES-101, in a file that
    /// sacreBLEU fetches.
    Flores101,
    /// `flores200`: the pieces of the SentencePiece model of FLORES-200.
    Flores200,
}

impl BleuTokenizer {
    /// All tokenisers that need no file.
    pub const ALL: [Self; 5] = [
        Self::V13a,
        Self::International,
        Self::Char,
        Self::Chinese,
        Self::None,
    ];

    /// sacreBLEU's name of the tokeniser, as in signatures.
    pub fn name(self) -> &'static str {
        match self {
            Self::V13a => "13a",
            Self::International => "intl",
            Self::Char => "char",
            Self::Chinese => "zh",
            Self::None => "none",
            Self::Flores101 => "flores101",
            Self::Flores200 => "flores200",
        }
    }

    /// Reads the file of the tokeniser, if it has one, for all later calls of
    /// [`tokenize`](Self::tokenize).
    ///
    /// # Errors
    /// Returns [`MetricError::NoTokenizerFile`] if the file is missing or is not a SentencePiece
    /// model.
    pub fn load(self) -> Result<()> {
        match self {
            Self::Flores101 => flores::FLORES_101.load(self.name()),
            Self::Flores200 => flores::FLORES_200.load(self.name()),
            _ => Ok(()),
        }
    }

    /// Puts spaces between words. `none` does not change the line, not even repeated spaces.
    ///
    /// # Panics
    /// Panics if the tokeniser has a file that was not [loaded](Self::load).
    pub fn tokenize(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::V13a => Cow::Owned(mteval::tokenize_13a(line)),
            Self::International => Cow::Owned(mteval::tokenize_international(line)),
            Self::Char => Cow::Owned(spaced(line)),
            Self::Chinese => Cow::Owned(mteval::tokenize_chinese(line)),
            Self::None => Cow::Borrowed(line),
            Self::Flores101 => Cow::Owned(flores::FLORES_101.tokenize(line)),
            Self::Flores200 => Cow::Owned(flores::FLORES_200.tokenize(line)),
        }
    }
}

impl FromStr for BleuTokenizer {
    type Err = MetricError;

    fn from_str(name: &str) -> Result<Self> {
        let all = Self::ALL
            .into_iter()
            .chain([Self::Flores101, Self::Flores200]);
        let name = if name == "spm" {
            Self::Flores101.name()
        } else {
            name
        };
        let known = all.into_iter().find(|tokenizer| tokenizer.name() == name);
        known.ok_or_else(|| MetricError::UnknownTokenizer(name.into()))
    }
}

/// Puts a space between every two characters.
fn spaced(line: &str) -> String {
    line.chars().flat_map(|c| [' ', c]).skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for tokenizer in BleuTokenizer::ALL {
            assert_eq!(tokenizer.name().parse(), Ok(tokenizer));
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_lists_the_known() {
        let error = "14a".parse::<BleuTokenizer>().unwrap_err();
        assert_eq!(error, MetricError::UnknownTokenizer("14a".into()));
        assert!(error.to_string().contains("13a, intl"));
    }

    #[test]
    fn char_makes_words_of_characters() {
        assert_eq!(BleuTokenizer::Char.tokenize("äb c"), "ä b   c");
    }
}
