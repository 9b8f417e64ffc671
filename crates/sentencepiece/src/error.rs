use std::io;
use std::path::{Path, PathBuf};

/// Why a file is no SentencePiece model that can be used. Every message names the file, what is wrong and a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SentencePieceError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {cause}; check the path and its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// The file is larger than any model: Protocol Buffers end at 2 GiB.
    #[error("{}: {bytes} bytes are too many for a SentencePiece model; is it another file?", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The bytes are no message of `sentencepiece_model.proto`.
    #[error("{}: is no SentencePiece model: {message}; copy the .spm or .model file anew", path.display())]
    Protobuf {
        /// The file.
        path: PathBuf,
        /// The field at which reading ended, and why.
        message: String,
    },
    /// The vocabulary is empty.
    #[error("{}: the model holds no pieces; copy the .spm or .model file anew", path.display())]
    NoPieces {
        /// The file.
        path: PathBuf,
    },
    /// The model is of a type that this crate and the C++ library do not know.
    #[error("{}: model_type {found} is unknown; unigram is 1, BPE 2, word 3, char 4", path.display())]
    ModelType {
        /// The file.
        path: PathBuf,
        /// The number found.
        found: i32,
    },
    /// A piece of the vocabulary is not valid.
    #[error("{}: piece {id} ({piece:?}) {problem}; train the model anew or repair what wrote it", path.display())]
    Piece {
        /// The file.
        path: PathBuf,
        /// The piece's id, from 0.
        id: usize,
        /// The piece, cut after 40 characters.
        piece: String,
        /// What is wrong with it.
        problem: PieceProblem,
    },
    /// No piece stands for unknown text, and there are no bytes to spell it in.
    #[error(
        "{}: no piece has the type UNKNOWN, and byte_fallback is off; text outside the vocabulary could not be \
         encoded, so train the model anew", path.display()
    )]
    NoUnknown {
        /// The file.
        path: PathBuf,
    },
    /// `byte_fallback` is on, and a byte has no piece.
    #[error(
        "{}: byte_fallback is on, but the piece {} is missing; all 256 from <0x00> to <0xFF> are needed",
        path.display(), crate::vocabulary::byte_piece(*byte)
    )]
    MissingByte {
        /// The file.
        path: PathBuf,
        /// The first byte without a piece.
        byte: u8,
    },
    /// The table of replacements is damaged.
    #[error(
        "{}: the precompiled_charsmap of {spec} {problem}; copy the .spm or .model file anew",
        path.display()
    )]
    Charsmap {
        /// The file.
        path: PathBuf,
        /// `normalizer_spec` or `denormalizer_spec`.
        spec: &'static str,
        /// What is wrong with it.
        problem: CharsmapProblem,
    },
}

/// What is wrong with a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PieceProblem {
    /// It has no text.
    #[error("is empty")]
    Empty,
    /// Its text has 8,000 bytes or more, which is the C++ library's limit.
    #[error("is too long: fewer than 8000 bytes are allowed")]
    TooLong,
    /// Its text holds a NUL character.
    #[error("holds a NUL character")]
    Nul,
    /// Another piece has the same text.
    #[error("has the same text as piece {first}")]
    Duplicate {
        /// The id of the other.
        first: usize,
    },
    /// Its type is none of the C++ library's.
    #[error("has the unknown type {found}")]
    Type {
        /// The number found.
        found: i32,
    },
    /// There is another unknown piece.
    #[error("is of type UNKNOWN, as piece {first} is already")]
    SecondUnknown {
        /// The id of the other.
        first: usize,
    },
    /// It is of type BYTE, but `byte_fallback` is off.
    #[error("is of type BYTE, but byte_fallback is off")]
    ByteWithoutFallback,
    /// It is of type BYTE, but not written as `<0x0A>`.
    #[error("is of type BYTE, but not written as <0x0A>")]
    ByteText,
    /// Its score is NaN or infinite, which a unigram model cannot add up.
    #[error("has a score that is not finite")]
    Score,
}

/// What is wrong with a table of replacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CharsmapProblem {
    /// It ends before its trie does.
    #[error("is shorter than the trie it claims to hold")]
    Truncated,
    /// The size of the trie is no multiple of 1,024 bytes above 0.
    #[error("holds a trie of {bytes} bytes, which is no multiple of 1024")]
    TrieSize {
        /// The size that it claims.
        bytes: usize,
    },
    /// The trie points outside of itself or of the replacements.
    #[error("points outside of itself at unit {unit}")]
    Unit {
        /// The first unit of the trie that does.
        unit: usize,
    },
    /// The replacements are not UTF-8, or the last does not end in NUL.
    #[error("holds replacements that are not UTF-8 with a NUL behind each")]
    Replacements,
}

/// A problem without the file's name, which the caller adds.
pub(crate) type WithoutPath = Box<dyn FnOnce(PathBuf) -> SentencePieceError>;

/// Puts the file's name to a problem.
pub(crate) fn named<T>(
    path: &Path,
    result: Result<T, WithoutPath>,
) -> Result<T, SentencePieceError> {
    result.map_err(|problem| problem(path.into()))
}
