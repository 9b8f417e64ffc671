//! The texts of a pair of languages: `[[data.pairs]]`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The texts of a pair of languages.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct LanguagePair {
    /// The code of the language that is translated, such as `de`, `pt-BR` or `zh-Hant`.
    pub source: String,
    /// The code of the language into which it is translated.
    pub target: String,
    /// The training text, named like `data.train`.
    pub train: Vec<PathBuf>,
    /// The validation text, named like `data.valid`.
    #[serde(default)]
    pub valid: Vec<PathBuf>,
    /// The test text, named like `data.test`.
    #[serde(default)]
    pub test: Vec<PathBuf>,
    /// The factor on the number of sentence pairs that are drawn from the training text; above 0.
    #[serde(default = "one")]
    pub weight: f64,
    /// If true, the same texts are also used from the target into the source.
    #[serde(default)]
    pub both_ways: bool,
}

fn one() -> f64 {
    1.0
}

/// The place of the tokens that name languages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LanguageTokens {
    /// The source begins with a token of the target language, such as `>>de<<` (Johnson et al. 2017),
    /// as in OPUS-MT.
    #[default]
    Source,
    /// The source begins with a token of its language, such as `__en__`, and the target with one of
    /// its own, as in M2M100 and NLLB.
    Target,
}

impl LanguageTokens {
    /// The tokens in the source and in the target for translations between `directions`, each once.
    pub fn of(self, directions: &[[String; 2]]) -> [Vec<String>; 2] {
        let side = |index: usize, token: fn(&str) -> String| {
            let mut tokens = Vec::new();
            for codes in directions {
                let token = token(&codes[index]);
                if !tokens.contains(&token) {
                    tokens.push(token);
                }
            }
            tokens
        };
        match self {
            Self::Source => [side(1, |code| format!(">>{code}<<")), vec![]],
            Self::Target => {
                let token = |code: &str| format!("__{code}__");
                [side(0, token), side(1, token)]
            }
        }
    }
}

/// A direction of a pair of languages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Direction {
    /// The codes of the source and the target language.
    pub languages: [String; 2],
    /// The index of the pair in `data.pairs`.
    pub pair: usize,
    /// If true, the sources are the targets of the pair's texts.
    pub is_reversed: bool,
}

impl Direction {
    /// The name of the direction, such as `de-en`, or `pt-BR:en` where a code has a hyphen.
    pub fn name(&self) -> String {
        let joint = if self.languages.iter().any(|code| code.contains('-')) {
            ":"
        } else {
            "-"
        };
        self.languages.join(joint)
    }
}

/// The keys of the texts of pairs.
pub(crate) const TRAIN: &str = "data.pairs.train";
pub(crate) const VALID: &str = "data.pairs.valid";
pub(crate) const TEST: &str = "data.pairs.test";
