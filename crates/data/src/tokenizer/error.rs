use std::path::PathBuf;

use burnformer_sentencepiece::SentencePieceError;

/// A tokeniser that cannot be trained, loaded or used.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The vocabulary cannot hold the special tokens, the 256 bytes and at least one character.
    #[error(
        "vocab_size = {asked}: at least {needed} are needed (4 special tokens, 256 bytes, a token for each language \
         of data.pairs, 1 character); ask for more"
    )]
    VocabularyTooSmall {
        /// The requested size.
        asked: usize,
        /// The smallest size possible.
        needed: usize,
    },
    /// The text is too small for the vocabulary.
    #[error(
        "vocab_size = {asked}: the text yields only {possible} tokens; ask for at most {possible}, \
         add text, or allow a smaller vocabulary (in a configuration: tokenizer.train.vocab_size = {possible}, or \
         tokenizer.train.allow_smaller = true)"
    )]
    VocabularyTooLarge {
        /// The requested size.
        asked: usize,
        /// The size that the text yields.
        possible: usize,
    },
    /// There is no text to train a tokeniser on.
    #[error("the corpus holds no text to train a tokeniser on; every line is blank")]
    NoTrainingText,
    /// The trainer of the tokeniser failed with this message.
    #[error("training the tokeniser failed: {0}; try `bpe`, a smaller vocabulary or other text")]
    Training(String),
    /// A `tokenizer.json` cannot be parsed. The second field is the message of the parser.
    #[error(
        "{0}: not a usable tokenizer.json: {1}; save it with Hugging Face tokenizers or train a new one"
    )]
    Invalid(PathBuf, String),
    /// A `tokenizer.json` lacks a special token, or has it at another id.
    #[error(
        "{path}: the token {token} must have id {expected}, found {found}; \
         train the tokeniser with <pad> <s> </s> <unk> as its first four tokens", found = found.map_or("none".to_owned(), |id| id.to_string())
    )]
    SpecialToken {
        /// The file.
        path: PathBuf,
        /// The token.
        token: &'static str,
        /// The id it must have.
        expected: u32,
        /// The id it has; `None` if it is missing.
        found: Option<u32>,
    },
    /// The tokenisers of both sides give a special token different ids.
    #[error(
        "{token} is {source_id} in the source's vocabulary and {target_id} in the target's, but a model has one id for \
         both; give it the same id in both vocabularies"
    )]
    SpecialIdsDiffer {
        /// The token.
        token: &'static str,
        /// The id of the token on the source side.
        source_id: u32,
        /// The id of the token on the target side.
        target_id: u32,
    },
    /// A part of a `tokenizer.json` asks for something that the `tokenizers` library cannot do: it
    /// would panic, never end or fill the memory.
    #[error("{path}: the {part} of this tokenizer.json cannot be used: {message}")]
    Part {
        /// The file.
        path: PathBuf,
        /// The part, by its name in the file.
        part: String,
        /// The problem of the part, and its remedy.
        message: String,
    },
    /// A SentencePiece model cannot be used.
    #[error(transparent)]
    SentencePiece(#[from] SentencePieceError),
    /// The vocabulary of a SentencePiece model cannot be used. The second field names the problem.
    #[error(
        "{0}: not a usable vocab.json: {1}; it is a JSON object of pieces and ids, with </s>, <unk> and <pad>"
    )]
    VocabularyFile(PathBuf, String),
}

burnformer_text::debug_as_message!(TokenizerError);

impl TokenizerError {
    /// Returns the error for a failure of the trainer.
    pub(super) fn training(error: impl ToString) -> Self {
        Self::Training(error.to_string())
    }
}
