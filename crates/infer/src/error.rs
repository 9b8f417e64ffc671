use std::path::PathBuf;

use burnformer_core::model_dir::ModelDirError;
use burnformer_data::DataError;
use burnformer_glossary::GlossaryError;
use burnformer_shortlist::ShortlistError;

/// A result whose error, where no other is named, is [`InferError`].
pub(crate) type Result<T, E = InferError> = std::result::Result<T, E>;

/// The reasons why text cannot be translated or scored.
#[derive(thiserror::Error)]
pub enum InferError {
    /// The model directory cannot be read or trusted.
    #[error(transparent)]
    ModelDir(#[from] ModelDirError),
    /// A tokeniser cannot be read or written.
    #[error(transparent)]
    Tokenizer(#[from] DataError),
    /// A glossary is wrong.
    #[error(transparent)]
    Glossary(#[from] GlossaryError),
    /// A shortlist cannot be used with the model.
    #[error(transparent)]
    Shortlist(#[from] ShortlistError),
    /// The model directory holds no tokeniser.
    #[error("{}: holds neither tokenizer.json nor source_tokenizer.json and target_tokenizer.json, \
        nor source.spm; make it again with its tokeniser, as by `import --sentencepiece SOURCE \
        TARGET`", .0.display())]
    NoTokenizer(PathBuf),
    /// A tokeniser and the model know different numbers of tokens.
    #[error(
        "the {side} tokeniser has {tokenizer} tokens but the model {model}; \
         use the tokeniser that the model was trained with"
    )]
    Vocabulary {
        /// `source` or `target`.
        side: &'static str,
        /// The number of tokens of the tokeniser.
        tokenizer: usize,
        /// The number of tokens of the model.
        model: usize,
    },
    /// The model's special ids are not the tokeniser's.
    #[error(
        "the model's {token} has id {model} but the tokeniser's {tokenizer}; \
         use the tokeniser that the model was trained with"
    )]
    SpecialId {
        /// The token.
        token: &'static str,
        /// The id of the token in the model.
        model: u32,
        /// The id of the token in the tokeniser.
        tokenizer: u32,
    },
    /// Search settings cannot be read or written.
    #[error("{0}: {1}")]
    SettingsFile(PathBuf, String),
    /// The device has no matrix products of this type.
    #[error("the device has no products in {0}; use the CPU (--device cpu), or float32")]
    ComputeType(&'static str),
    /// A setting is out of its range.
    #[error("{name} = {value}: {remedy}")]
    Setting {
        /// The name of the setting.
        name: &'static str,
        /// The given value.
        value: String,
        /// The allowed values.
        remedy: &'static str,
    },
    /// A setting exceeds another setting that limits it.
    #[error("{name} = {value}: it cannot exceed {most}; lower it, or raise {most}")]
    Above {
        /// The name of the setting.
        name: &'static str,
        /// The value given.
        value: usize,
        /// The name of the setting that limits it.
        most: &'static str,
    },
    /// A sentence cannot be translated or scored.
    #[error("sentence {sentence}: {error}")]
    Sentence {
        /// The number of the sentence, from 1.
        sentence: usize,
        /// The problem.
        error: SentenceError,
    },
    /// The model does not know a language, or needs a language that is not given.
    #[error("{side} language: {what}")]
    Language {
        /// `source` or `target`.
        side: &'static str,
        /// The problem and its remedy.
        what: String,
    },
    /// The model's vocabulary has no tokens for a term.
    #[error("{}the model can write the term {term:?} only as {written:?}; give it in characters of \
        the model's vocabulary",
        location.as_ref().map(|location| format!("{location}: ")).unwrap_or_default())]
    TermText {
        /// The position of the entry in the glossary, if the glossary was checked as a whole.
        location: Option<String>,
        /// The term.
        term: String,
        /// The text of its tokens.
        written: String,
    },
    /// The numbers of sources and targets, or of sources and prefixes, differ.
    #[error("{sources} sources but {others} {what}; give one for each source")]
    Count {
        /// Number of sources.
        sources: usize,
        /// Number of the others.
        others: usize,
        /// The kind of the other entries.
        what: &'static str,
    },
    /// The model has no attention weights to show.
    #[error("this kind of model has no attention to show; give a single model that has")]
    NoAttention,
    /// An ensemble has no models.
    #[error("an ensemble needs at least one model")]
    EmptyEnsemble,
    /// The members of an ensemble do not share their vocabularies.
    #[error(
        "model {member} of the ensemble has another {what} than model 1; ensemble models of one vocabulary"
    )]
    Ensemble {
        /// The number of the member, from 1.
        member: usize,
        /// The difference.
        what: &'static str,
    },
}

/// The reasons why one sentence cannot be translated or scored.
#[derive(Debug, thiserror::Error)]
pub enum SentenceError {
    /// A source, or a target to be scored, is too long for the options or for the model's learned
    /// positions.
    #[error("the {side} has {length} tokens with </s> but at most {limit} are taken; split the \
        sentence{}", if *side == "source" { ", or let it be truncated" } else { "" })]
    TooLong {
        /// `source` or `target`.
        side: &'static str,
        /// The number of its tokens, `</s>` included.
        length: usize,
        /// The largest number of tokens that is allowed.
        limit: usize,
    },
    /// A forced prefix is longer than a translation may be.
    #[error(
        "the forced prefix has {length} tokens but the length limit is {limit}; shorten the \
        prefix or raise the limit"
    )]
    PrefixTooLong {
        /// The number of tokens of the prefix.
        length: usize,
        /// The largest number of tokens of a translation.
        limit: usize,
    },
    /// A forced prefix holds this id, which is the id of `</s>` or of padding.
    #[error("the forced prefix holds the special id {0}; give ordinary tokens only")]
    PrefixToken(u32),
    /// A translation cannot be made to contain the terms. The field names the problem and its
    /// remedy.
    #[error("{0}")]
    Terms(&'static str),
    /// The terms that a translation has to contain do not fit into it.
    #[error(
        "the prefix and the terms have {length} tokens with </s> but at most {limit} are \
        possible; split the sentence, or ask for fewer terms"
    )]
    TermsTooLong {
        /// The number of tokens that are needed.
        length: usize,
        /// The largest number of tokens of a translation.
        limit: usize,
    },
    /// An id lies outside the vocabulary.
    #[error(
        "the {side} id {id} is outside the vocabulary of {vocab} tokens; encode with the \
        model's tokeniser"
    )]
    UnknownId {
        /// `source` or `target`.
        side: &'static str,
        /// The id.
        id: u32,
        /// The number of tokens in the vocabulary.
        vocab: usize,
    },
    /// The model's output after this number of tokens is NaN or infinite.
    #[error(
        "the model's output after {0} tokens is not finite; the weights are damaged or \
        training diverged"
    )]
    NotFinite(usize),
}

impl SentenceError {
    /// The error of the sentence with this number, from 1.
    pub(crate) fn of(self, sentence: usize) -> InferError {
        InferError::Sentence { sentence, error: self }
    }
}

burnformer_files::debug_as_message!(InferError);

impl InferError {
    /// The number, from 1, of the sentence that caused the error; `None` if the error does not
    /// belong to a single sentence.
    pub fn sentence(&self) -> Option<usize> {
        match self {
            Self::Sentence { sentence, .. } => Some(*sentence),
            _ => None,
        }
    }

    /// Adds `offset` to the index of the sentence that caused the error. The index counts from the
    /// start of a batch or chunk; its caller adds the number of sentences before it.
    pub fn offset(mut self, offset: usize) -> Self {
        if let Self::Sentence { sentence, .. } = &mut self {
            *sentence += offset;
        }
        self
    }
}

/// The result of `work` for the sentences before the first one that causes an error, and that
/// error. `work` takes the number of sentences, from the first on, of `count` in all.
pub(crate) fn until_error<T>(
    mut count: usize,
    mut work: impl FnMut(usize) -> Result<Vec<T>>,
) -> (Vec<T>, Option<InferError>) {
    let mut failure = None;
    loop {
        match work(count) {
            Ok(done) => return (done, failure),
            Err(error) => {
                // A model that gives NaN may do so for several, and not in the order of the
                // sentences.
                count = error.sentence().map_or(0, |sentence| sentence - 1);
                failure = Some(error);
                if count == 0 {
                    return (Vec::new(), failure);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use burnformer_core::model_dir::ModelDirProblem;

    use super::*;

    #[test]
    fn an_error_that_main_returns_is_printed_as_a_sentence() {
        let error = InferError::from(ModelDirProblem::NoDirectory.at("runs/x"));
        let printed = format!("{error:?}");
        assert!(printed.starts_with("runs/x: no such folder; give a model directory"), "{printed}");
    }

    #[test]
    fn results_before_the_first_bad_sentence_are_kept() {
        // Sentences 7 and 4 are bad, and the later is found first.
        let work = |count: usize| match count {
            7.. => Err(SentenceError::NotFinite(0).of(7)),
            4.. => Err(SentenceError::NotFinite(0).of(4)),
            _ => Ok((0..count).collect()),
        };
        let (done, failure) = until_error(10, work);
        assert_eq!(done, [0, 1, 2]);
        assert!(matches!(failure, Some(InferError::Sentence { sentence: 4, .. })));
        let (done, failure) = until_error(3, work);
        assert_eq!((done.len(), failure.is_none()), (3, true));
        let setting = || InferError::EmptyEnsemble;
        let (done, failure) = until_error(3, |_| Err::<Vec<()>, _>(setting()));
        assert!(done.is_empty() && failure.is_some());
    }
}
