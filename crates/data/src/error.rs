//! The errors of this crate, one variant per cause.

use std::io;
use std::path::PathBuf;

use crate::cleaning_report::counted;

/// The result type of this crate's functions.
pub type Result<T, E = DataError> = std::result::Result<T, E>;

/// Bad input or a bad setting. Every message names the file, the line (counted from 1) if there is
/// one, the value, and a remedy.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file does not exist.
    #[error("{0}: no such file; check the path (`-` reads standard input)")]
    NotFound(PathBuf),
    /// The file exists but cannot be read: it is a directory, or permissions or the disk prevent
    /// it.
    #[error("{0}: cannot be read: {1}; check that it is a file you may read")]
    Unreadable(PathBuf, io::Error),
    /// The file has no line.
    #[error("{0}: the file is empty; give a file with one sentence per line")]
    Empty(PathBuf),
    /// The two sides of a corpus do not have the same number of lines.
    #[error(
        "{shorter} ends after line {shorter_lines}, but {longer} has {}; line {at} has no partner: \
         the sides of a corpus must be translations line by line, so find where they lost step",
        counted(longer_lines, "line"), at = shorter_lines + 1
    )]
    LineCountMismatch {
        /// The side that ended first.
        shorter: PathBuf,
        /// Number of lines of the shorter side.
        shorter_lines: u64,
        /// The other side.
        longer: PathBuf,
        /// Number of lines of the longer side.
        longer_lines: u64,
    },
    /// A line is not UTF-8 and the policy is [`Utf8Policy::Error`](crate::Utf8Policy::Error).
    #[error(
        "{path}:{line}: byte 0x{byte:02x} at byte {column} is not valid UTF-8; convert the file \
         from the encoding that it has (`iconv -f latin1 -t utf-8`)"
    )]
    InvalidUtf8 {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The byte within the line, from 1.
        column: usize,
        /// The first byte that is not part of a valid character.
        byte: u8,
    },
    /// A line of a TSV corpus does not have exactly one tab.
    #[error(
        "{path}:{line}: {} where source<TAB>target were expected, in {excerpt:?}; {remedy}",
        counted(columns, "column"),
        remedy = match columns {
            1 => "if the target sentences are in a file of their own, name both files",
            _ => "keep the first two columns (`cut -f1,2`) and make sure that no sentence holds a tab",
        }
    )]
    NotTwoColumns {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// Number of columns found.
        columns: usize,
        /// The start of the line.
        excerpt: String,
    },
    /// Two TSV files, each of which has both sides, were given as the two sides of a corpus.
    #[error(
        "{first} and {second} are TSV files, each of which has both sides; give one of them alone, or join them first \
         (`cat {first} {second} > corpus.tsv`)"
    )]
    TwoTables {
        /// The file given as the source side.
        first: PathBuf,
        /// The file given as the target side.
        second: PathBuf,
    },
    /// The text is UTF-16 or UTF-32. The encoding has the name that iconv uses.
    #[error("{0}: the text is {name}; convert it to UTF-8 (`iconv -f {1} -t utf-8`)",
        name = .1.to_uppercase())]
    Wide(PathBuf, &'static str),
    /// A line is longer than any sentence. Most likely the file is not text, or has no line ends.
    #[error(
        "{path}:{line}: the line is longer than {limit} bytes; one sentence per line is expected, \
         is this a text file with line ends?"
    )]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// A gzip or zstd stream ends early or is corrupt.
    #[error(
        "{path}: the compressed data is truncated or damaged after line {line}: {cause}; \
         test it (`gzip -t`, `zstd -t`) and fetch it again"
    )]
    DamagedCompression {
        /// The file.
        path: PathBuf,
        /// Number of complete lines before the damage.
        line: u64,
        /// The error of the decoder.
        cause: io::Error,
    },
    /// The name of a file ends in `.gz` or `.zst`, but its content is not in that format.
    #[error("{0}: the name says {1}, the content does not; rename the file or compress it")]
    NotCompressed(PathBuf, &'static str),
    /// Standard input or another pipe was given for more than one text.
    #[error(
        "`{0}` was given twice, but standard input and pipes can be read only once; give one TSV, or write the text \
         to a file first (`cat > corpus.tsv`)"
    )]
    PipeTwice(PathBuf),
    /// Standard input or another pipe was given where the text has to be read more than once.
    #[error(
        "`{0}` cannot be used here, because the text is read more than once and a pipe can be read only once; write \
         it to a file first (`cat > corpus.tsv`)"
    )]
    NotRepeatable(PathBuf),
    /// A setting is out of its range.
    #[error("{name} = {value}: {remedy}")]
    InvalidSetting {
        /// The name of the setting.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The values that are allowed.
        remedy: &'static str,
    },
    /// The vocabulary cannot hold the special tokens, the 256 bytes and at least one character.
    #[error(
        "vocab_size = {asked}: at least {needed} are needed (4 special tokens, 256 bytes, 1 character); ask for more"
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
    TokenizerTraining(String),
    /// A `tokenizer.json` cannot be parsed. The second field is the message of the parser.
    #[error(
        "{0}: not a usable tokenizer.json: {1}; save it with Hugging Face tokenizers or train a new one"
    )]
    TokenizerInvalid(PathBuf, String),
    /// A `tokenizer.json` lacks a special token, or has it at another id.
    #[error(
        "{path}: the token {token} must have id {expected}, found {found}; \
         train the tokeniser with <pad> <s> </s> <unk> as its first four tokens", found = found.map_or("none".to_owned(), |id| id.to_string())
    )]
    TokenizerSpecialToken {
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
    TokenizerPart {
        /// The file.
        path: PathBuf,
        /// The part, by its name in the file.
        part: String,
        /// The problem of the part, and its remedy.
        message: String,
    },
    /// A SentencePiece model cannot be used.
    #[error(transparent)]
    SentencePiece(#[from] burnformer_sentencepiece::SentencePieceError),
    /// The vocabulary of a SentencePiece model cannot be used. The second field names the problem.
    #[error(
        "{0}: not a usable vocab.json: {1}; it is a JSON object of pieces and ids, with </s>, <unk> and <pad>"
    )]
    VocabularyFile(PathBuf, String),
    /// Cleaning dropped all pairs. The report counts them by reason.
    #[error(
        "no sentence pair is left after cleaning ({0}); relax the limits or check that the text is what you meant"
    )]
    NothingLeft(Box<crate::CleaningReport>),
    /// No pair fits the token budget.
    #[error(
        "no sentence pair fits a budget of {budget} tokens (the shortest needs {shortest}); raise the budget"
    )]
    BudgetTooSmall {
        /// The budget: padded tokens per side.
        budget: usize,
        /// Number of tokens that the shortest pair needs.
        shortest: usize,
    },
    /// A saved position does not belong to this corpus and token budget.
    #[error(
        "the saved position is batch {next_batch} of epoch {epoch}, but that epoch has {batches} batches; \
         resume with the corpus, seed and budget of the saved run"
    )]
    StalePosition {
        /// The epoch of the position.
        epoch: u64,
        /// The batch of the position.
        next_batch: u64,
        /// Number of batches in that epoch.
        batches: u64,
    },
    /// A file cannot be written.
    #[error("{0}: cannot be written: {1}; check the folder, its permissions and the free space")]
    Unwritable(PathBuf, io::Error),
    /// A cache file is damaged. `prepare` does not report this error: it builds the file again.
    #[error("{0}: the cache is damaged: {1}; delete it and it is built again")]
    DamagedCache(PathBuf, String),
}

impl DataError {
    /// An error that names the setting `name`, unless its `value` is `good`.
    pub(crate) fn check(
        good: bool,
        name: &'static str,
        value: impl ToString,
        remedy: &'static str,
    ) -> Result<()> {
        let invalid = || Self::InvalidSetting { name, value: value.to_string(), remedy };
        if good { Ok(()) } else { Err(invalid()) }
    }

    /// The paths of the texts that the error names. The user may know such a text by another name.
    pub fn texts_mut(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::NotFound(path)
            | Self::Unreadable(path, _)
            | Self::Empty(path)
            | Self::Wide(path, _)
            | Self::NotCompressed(path, _)
            | Self::InvalidUtf8 { path, .. }
            | Self::NotTwoColumns { path, .. }
            | Self::LineTooLong { path, .. }
            | Self::DamagedCompression { path, .. } => vec![path],
            Self::LineCountMismatch { shorter, longer, .. } => vec![shorter, longer],
            Self::TwoTables { first, second } => vec![first, second],
            _ => vec![],
        }
    }

    /// The error for a failure of the trainer of tokenisers.
    pub(crate) fn training(error: impl ToString) -> Self {
        Self::TokenizerTraining(error.to_string())
    }
}

burnformer_files::debug_as_message!(DataError);
