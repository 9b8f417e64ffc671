//! The section `[data]`: the texts of a run, and the cleaning of its training text.

use std::path::PathBuf;

use burnformer_data::{CleaningSettings, CorpusPaths, Utf8Policy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{ConfigFileError, Result};
use super::language_pair::{LanguagePair, LanguageTokens, TEST, TRAIN, VALID};

/// The corpora, and the sentence pairs of them that are kept.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct DataSettings {
    /// The text to learn from: two texts (source, target) or one TSV text of `source<TAB>target`;
    /// plain, gzip or zstd. Each is a file, a text inside the program
    /// (`embedded:tatoeba-de-en/train.de`) or a text in the folder of the configuration file
    /// (`run:corpus/train.tsv`, where a run keeps what came through a pipe). An empty list stands
    /// for the embedded German–English corpus (Tatoeba). `--train` sets it on the command line.
    pub train: Vec<PathBuf>,
    /// The text to validate on, given like `data.train`. An empty list means no validation, or the
    /// embedded validation text if the training text is the embedded one. `--valid` sets it on the
    /// command line.
    pub valid: Vec<PathBuf>,
    /// The text that is translated and scored after training, given like `data.train`. An empty
    /// list means no test, or the embedded test text if the training text is the embedded one.
    /// `--test` sets it on the command line.
    pub test: Vec<PathBuf>,
    /// The folder that holds trained tokenisers and tokenised corpora, so that the next run on the
    /// same text starts at once. It may be deleted at any time between runs. An empty path stands
    /// for the user's cache folder (`$XDG_CACHE_HOME/burnformer`, usually `~/.cache/burnformer`);
    /// name another one where that disk is small or slow.
    pub cache: PathBuf,
    /// The longest source sentence, in tokens, that is kept in the training text; at least 1.
    /// Longer sentences cost memory and are often misaligned; raise it to learn from paragraphs.
    pub max_source_len: usize,
    /// The longest target sentence, in tokens, that is kept in the training text; at least 1.
    pub max_target_len: usize,
    /// Pairs of which one side has more than this many times the tokens of the other are dropped
    /// from the training text, since they are rarely translations of each other; at least 1, or 0
    /// to keep all pairs.
    pub max_length_ratio: f64,
    /// If true, a pair is dropped from the training text if its target has other numbers than its
    /// source, as a model learns to change numbers from such pairs. Values are compared in the
    /// spelling of both languages (1.234,5 and 1,234.5; 3 and three). A new run says how many pairs
    /// of the training text have unlike numbers.
    pub drop_unlike_numbers: bool,
    /// If true, a pair whose two texts occurred before is dropped from the training text. Switch it
    /// on for text collected from the web; it costs 16 bytes of memory per pair.
    pub drop_duplicates: bool,
    /// The policy for a line that is not valid UTF-8.
    pub utf8: Utf8Policy,
    /// More text to learn from, besides `data.train`: a list of tables, each with `train`, named
    /// like `data.train`, and a `weight` above 0, `[[data.mix]]` in a file. Sentence pairs are
    /// drawn in the proportions of the weights, whatever the sizes of the texts; that of
    /// `data.train` is 1. An epoch is as many pairs as all texts together have, so that a text of
    /// little weight is gone through over several epochs and one of much weight several times in
    /// one. A tokeniser that is trained learns from `data.train` alone. `--mix` sets it on the
    /// command line.
    pub mix: Vec<MixedText>,
    /// The codes of the source and the target language of the texts, such as `["en", "fr"]`, for a
    /// run that starts from a model of several languages (`training.from`). An empty list names
    /// none. `--languages` sets it on the command line.
    pub languages: Vec<String>,
    /// The place of the tokens that name the languages of `data.pairs`. No effect if the tokenisers
    /// come from `training.from` or `tokenizer.files`, which have their own.
    pub language_token: LanguageTokens,
    /// The temperature T over `data.pairs`: sentence pairs are drawn in proportion to `weight` ×
    /// `size^(1/T)`, where the size is that of the training text of the pair; at least 1. With 1, an
    /// epoch has every sentence pair once. A higher one repeats small texts and leaves out part of
    /// the large ones; 5 is usual for texts of very different sizes (Arivazhagan et al. 2019).
    pub temperature: f64,
    /// The previous sentences of the document with which each sentence is learned, `[data.context]` in a
    /// file. Empty lines on both sides divide the texts into documents, or the third column of a TSV text;
    /// without them, a text is one document. A tokeniser that is trained has a token `<sep>` that stands
    /// behind each previous sentence.
    pub context: ContextSizes,
    /// Pairs of languages for one model, instead of `data.train`, `data.valid`, `data.test` and
    /// `data.mix`: a list of tables, `[[data.pairs]]` in a file, each with the codes `source` and
    /// `target`, the texts `train`, `valid` and `test`, a `weight` (1 if it is left out) and
    /// `both_ways`, which adds the other direction from the same texts. An epoch is as many sentence
    /// pairs as all training texts together have, in all directions. Every pair is validated by
    /// itself, and the best model is that of the best mean over the pairs. A tokeniser that is trained
    /// learns from the training texts of all pairs.
    pub pairs: Vec<LanguagePair>,
}

/// The numbers of previous sentences that a model reads with each sentence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct ContextSizes {
    /// The number of previous sources in front of each source; from 0 to 100. 0 learns sentences alone.
    /// A source with its context has at most `data.max_source_len` tokens: the oldest context is left out
    /// first.
    pub source: usize,
    /// The number of previous targets in front of each target; at most `data.context.source`. A model with
    /// previous targets translates the sentences of a document one after the other.
    pub target: usize,
}

/// A text to learn from besides `data.train`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct MixedText {
    /// The text, named like `data.train`.
    pub train: Vec<PathBuf>,
    /// The number of sentence pairs that are drawn from it for each one of `data.train`; above 0.
    pub weight: f64,
}

/// The key of the texts besides `data.train`.
pub(crate) const MIX: &str = "data.mix";

impl Default for DataSettings {
    fn default() -> Self {
        let cleaning = CleaningSettings::default();
        Self {
            train: vec![],
            valid: vec![],
            test: vec![],
            cache: PathBuf::new(),
            max_source_len: cleaning.max_source_len,
            max_target_len: cleaning.max_target_len,
            max_length_ratio: cleaning.max_length_ratio.unwrap_or(0.0),
            drop_unlike_numbers: false,
            drop_duplicates: false,
            utf8: Utf8Policy::Error,
            mix: vec![],
            languages: vec![],
            language_token: LanguageTokens::Source,
            temperature: 1.0,
            context: ContextSizes::default(),
            pairs: vec![],
        }
    }
}

impl DataSettings {
    /// The keys that name texts, with their values.
    pub fn texts(&self) -> Vec<(&'static str, &Vec<PathBuf>)> {
        let named = [
            ("data.train", &self.train),
            ("data.valid", &self.valid),
            ("data.test", &self.test),
        ];
        named
            .into_iter()
            .chain(self.mix.iter().map(|text| (MIX, &text.train)))
            .chain(self.pairs.iter().flat_map(|pair| {
                [
                    (TRAIN, &pair.train),
                    (VALID, &pair.valid),
                    (TEST, &pair.test),
                ]
            }))
            .collect()
    }

    /// The keys that name texts, with mutable references to their values.
    pub fn texts_mut(&mut self) -> Vec<(&'static str, &mut Vec<PathBuf>)> {
        let Self {
            train,
            valid,
            test,
            mix,
            pairs,
            ..
        } = self;
        let texts = [
            ("data.train", train),
            ("data.valid", valid),
            ("data.test", test),
        ];
        texts
            .into_iter()
            .chain(mix.iter_mut().map(|text| (MIX, &mut text.train)))
            .chain(pairs.iter_mut().flat_map(|pair| {
                [
                    (TRAIN, &mut pair.train),
                    (VALID, &mut pair.valid),
                    (TEST, &mut pair.test),
                ]
            }))
            .collect()
    }

    /// Returns whether there is a validation text.
    pub fn validates(&self) -> bool {
        let has_pair_text = self.pairs.iter().any(|pair| !pair.valid.is_empty());
        has_pair_text || !self.valid.is_empty()
    }

    /// Returns whether sentences are learned with the previous sentences of their documents.
    pub fn has_context(&self) -> bool {
        self.context.source > 0
    }

    /// The corpus of `paths`, divided into documents if there is context.
    pub fn in_documents(&self, paths: CorpusPaths) -> CorpusPaths {
        if self.has_context() {
            paths.in_documents()
        } else {
            paths
        }
    }

    /// The rules by which training text is cleaned under a token budget.
    pub fn cleaning(&self, budget: usize) -> CleaningSettings {
        CleaningSettings {
            max_source_len: self.max_source_len,
            max_target_len: self.max_target_len,
            max_length_ratio: (self.max_length_ratio > 0.0).then_some(self.max_length_ratio),
            drop_unlike_numbers: self.drop_unlike_numbers,
            drop_duplicates: self.drop_duplicates,
            utf8: self.utf8,
            budget: Some(budget),
            keep_empty: false,
        }
    }
}

/// A corpus of one path (TSV) or two paths (source, target).
///
/// # Errors
/// Returns [`ConfigFileError::Paths`] for any other number of paths.
pub fn corpus_paths(key: &'static str, paths: &[PathBuf]) -> Result<CorpusPaths> {
    match paths {
        [source, target] => Ok(CorpusPaths::pair(source, target)),
        [tsv] => Ok(CorpusPaths::tsv(tsv)),
        more => {
            let join = match more {
                [first, .., last] => {
                    let first = first.display();
                    let last = last.display();
                    format!(", of several parts joined first: `cat {first} … {last} > all.tsv`")
                }
                _ => String::new(),
            };
            let remedy = format!("give two (source, target) or one TSV{join}");
            Err(ConfigFileError::Paths {
                key,
                found: more.len(),
                remedy,
            })
        }
    }
}
