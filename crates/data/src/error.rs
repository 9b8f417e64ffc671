//! Everything that can go wrong between a file name and a batch, one variant a cause.

use std::io;
use std::path::PathBuf;

/// The result of this crate's functions.
pub type Result<T, E = DataError> = std::result::Result<T, E>;

/// A bad input or setting. Every message names the file, the 1-based line where there is one, the value, and a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The file does not exist.
    #[error("{path}: no such file; check the path (`-` reads standard input)", path = path.display())]
    NotFound {
        /// The path as given.
        path: PathBuf,
    },
    /// The file exists but cannot be read: a directory, a permission, a failing disk.
    #[error("{path}: cannot be read: {cause}; check that it is a file you may read", path = path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The file holds no line at all.
    #[error("{path}: the file is empty; give a file with one sentence a line", path = path.display())]
    Empty {
        /// The path as given.
        path: PathBuf,
    },
    /// The two sides of a corpus do not have the same number of lines.
    #[error(
        "{shorter} ends after line {shorter_lines}, but {longer} has {longer_lines} lines; line {at} has no partner: \
         the sides of a corpus must be translations line by line, so find where they lost step",
        shorter = shorter.display(), longer = longer.display(), at = shorter_lines + 1
    )]
    LineCountMismatch {
        /// The side that ended first.
        shorter: PathBuf,
        /// Lines in the shorter side.
        shorter_lines: u64,
        /// The other side.
        longer: PathBuf,
        /// Lines in the longer side.
        longer_lines: u64,
    },
    /// A line is not UTF-8 and the policy is [`Utf8Policy::Error`](crate::Utf8Policy::Error).
    #[error(
        "{path}:{line}: byte 0x{byte:02x} at byte {column} is not valid UTF-8; convert the file \
         (`iconv -f latin1 -t utf-8`), or choose to replace or skip such lines", path = path.display()
    )]
    InvalidUtf8 {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// 1-based byte within the line.
        column: usize,
        /// The first byte that fits no character.
        byte: u8,
    },
    /// A line of a TSV corpus has not exactly one tab.
    #[error(
        "{path}:{line}: {columns} column(s) where source<TAB>target were expected, in {excerpt:?}; \
         keep the first two columns (`cut -f1,2`) and make sure that no sentence holds a tab", path = path.display()
    )]
    NotTwoColumns {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// Columns found.
        columns: usize,
        /// The start of the line.
        excerpt: String,
    },
    /// A line is longer than any sentence; most likely the file is not text, or has no line ends.
    #[error(
        "{path}:{line}: the line is longer than {limit} bytes; one sentence a line is expected, \
         is this a text file with line ends?", path = path.display()
    )]
    LineTooLong {
        /// The file.
        path: PathBuf,
        /// 1-based line.
        line: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// A gzip or zstd stream ends early or is corrupt.
    #[error(
        "{path}: the compressed data is truncated or damaged after line {line}: {cause}; \
         test it (`gzip -t`, `zstd -t`) and fetch it again", path = path.display()
    )]
    DamagedCompression {
        /// The file.
        path: PathBuf,
        /// Complete lines read before the damage.
        line: u64,
        /// What the decoder said.
        cause: io::Error,
    },
    /// A file is named `.gz` or `.zst` but holds something else.
    #[error("{path}: the name says {expected}, the content does not; rename the file or compress it", path = path.display())]
    NotCompressed {
        /// The file.
        path: PathBuf,
        /// The format that the name promises.
        expected: &'static str,
    },
    /// Standard input or another pipe was given for more than one text.
    #[error(
        "`{path}` was given twice, but standard input and pipes can be read only once; give one TSV, or write the text \
         to a file first (`cat > corpus.tsv`)", path = path.display()
    )]
    PipeTwice {
        /// The path as given.
        path: PathBuf,
    },
    /// Standard input or another pipe was given where the text has to be read more than once.
    #[error(
        "`{path}` cannot be used here, because the text is read more than once and a pipe can be read only once; write \
         it to a file first (`cat > corpus.tsv`)", path = path.display()
    )]
    NotRepeatable {
        /// The path as given.
        path: PathBuf,
    },
    /// A setting is out of its range.
    #[error("{name} = {value}: {remedy}")]
    InvalidSetting {
        /// The setting's name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What values are allowed.
        remedy: String,
    },
    /// The vocabulary cannot hold the special tokens, the 256 bytes and at least one character.
    #[error(
        "vocab_size = {asked}: at least {needed} are needed (4 special tokens, 256 bytes, 1 character); ask for more"
    )]
    VocabularyTooSmall {
        /// The size asked for.
        asked: usize,
        /// The smallest size possible.
        needed: usize,
    },
    /// The text is too small for the vocabulary.
    #[error(
        "vocab_size = {asked}: the text yields only {possible} tokens; ask for at most {possible}, \
         add text, or set allow_smaller = true"
    )]
    VocabularyTooLarge {
        /// The size asked for.
        asked: usize,
        /// The size that the text yields.
        possible: usize,
    },
    /// The text holds nothing to train a tokeniser on.
    #[error("the corpus holds no text to train a tokeniser on; every line is blank")]
    NoTrainingText,
    /// The tokeniser's trainer failed.
    #[error(
        "training the tokeniser failed: {message}; try `bpe`, a smaller vocabulary or other text"
    )]
    TokenizerTraining {
        /// What the trainer said.
        message: String,
    },
    /// A `tokenizer.json` cannot be parsed.
    #[error("{path}: not a usable tokenizer.json: {message}; save it with Hugging Face tokenizers or train a new one", path = path.display())]
    TokenizerInvalid {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        message: String,
    },
    /// A `tokenizer.json` lacks a special token, or has it at another id.
    #[error(
        "{path}: the token {token} must have id {expected}, found {found}; \
         train the tokeniser with <pad> <s> </s> <unk> as its first four tokens",
        path = path.display(), found = found.map_or("none".to_owned(), |id| id.to_string())
    )]
    TokenizerSpecialToken {
        /// The file.
        path: PathBuf,
        /// The token.
        token: &'static str,
        /// The id it must have.
        expected: u32,
        /// The id it has, if any.
        found: Option<u32>,
    },
    /// A part of a `tokenizer.json` asks for what the tokenizers library cannot do: it would panic, never end or fill the
    /// memory.
    #[error(
        "{path}: the {part} of this tokenizer.json cannot be used: {message}",
        path = path.display()
    )]
    TokenizerPart {
        /// The file.
        path: PathBuf,
        /// The part, as the file calls it.
        part: String,
        /// What is wrong with it, and what to change.
        message: String,
    },
    /// Cleaning left no pair.
    #[error(
        "no sentence pair is left after cleaning ({report}); relax the limits or check that the text is what you meant"
    )]
    NothingLeft {
        /// Why pairs were dropped.
        report: Box<crate::CleaningReport>,
    },
    /// No pair fits the token budget.
    #[error(
        "no sentence pair fits a budget of {budget} tokens (the shortest needs {shortest}); raise the budget"
    )]
    BudgetTooSmall {
        /// Padded tokens a side.
        budget: usize,
        /// Tokens that the shortest pair needs.
        shortest: usize,
    },
    /// A saved position does not belong to this corpus and budget.
    #[error(
        "the saved position is batch {next_batch} of epoch {epoch}, but that epoch has {batches} batches; \
         resume with the corpus, seed and budget of the saved run"
    )]
    StalePosition {
        /// Epoch of the position.
        epoch: u64,
        /// Batch of the position.
        next_batch: u64,
        /// Batches in that epoch.
        batches: u64,
    },
    /// A file cannot be written.
    #[error("{path}: cannot be written: {cause}; check the folder, its permissions and the free space", path = path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// A cache file is not what it claims to be. `prepare` rebuilds such a file instead of reporting it.
    #[error("{path}: the cache is damaged: {message}; delete it and it is built again", path = path.display())]
    DamagedCache {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        message: String,
    },
    /// The thread that prepares batches panicked.
    #[error(
        "the thread that prepares batches panicked: {message}; this is a bug, please report it"
    )]
    PrefetchPanicked {
        /// The panic's message.
        message: String,
    },
}
