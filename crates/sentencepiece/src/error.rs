use std::io;
use std::path::PathBuf;

/// The error for a file that is not a usable SentencePiece model. The message names the file, the
/// problem and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct SentencePieceError {
    /// The file.
    pub path: PathBuf,
    /// The error in the file.
    pub problem: ModelProblem,
}

/// The reasons why a file is not a usable SentencePiece model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelProblem {
    /// The file cannot be read.
    #[error("cannot be read: {0}; check the path and its permissions")]
    Unreadable(io::Error),
    /// The file is larger than 2 GiB, the limit of Protocol Buffers.
    #[error("{0} bytes are too many for a SentencePiece model; is it another file?")]
    TooLarge(u64),
    /// The bytes are not a message of `sentencepiece_model.proto`. The inner error names the bad
    /// field and the reason.
    #[error("is no SentencePiece model: {0}; copy the .spm or .model file anew")]
    Protobuf(prost::DecodeError),
    /// The vocabulary is empty.
    #[error("the model holds no pieces; copy the .spm or .model file anew")]
    NoPieces,
    /// The model is of a type that this crate and the C++ library do not know.
    #[error("model_type {0} is unknown; unigram is 1, BPE 2, word 3, char 4")]
    ModelType(i32),
    /// A piece of the vocabulary is not valid.
    #[error("piece {id} ({piece:?}) {problem}; train the model anew or repair what wrote it")]
    Piece {
        /// The id of the piece, from 0.
        id: usize,
        /// The piece, cut after 40 characters.
        piece: String,
        /// The error in the piece.
        problem: PieceProblem,
    },
    /// There is neither a piece for unknown text nor pieces for the bytes to spell it.
    #[error(
        "no piece has the type UNKNOWN, and byte_fallback is off; text outside the vocabulary could not be encoded, \
         so train the model anew"
    )]
    NoUnknown,
    /// `byte_fallback` is on, and a byte has no piece.
    #[error(
        "byte_fallback is on, but the piece <0x{0:02X}> is missing; all 256 from <0x00> to <0xFF> are needed"
    )]
    MissingByte(u8),
    /// The table of replacements is damaged.
    #[error("the precompiled_charsmap of {spec} {problem}; copy the .spm or .model file anew")]
    Charsmap {
        /// `normalizer_spec` or `denormalizer_spec`.
        spec: &'static str,
        /// The error in the map.
        problem: CharsmapProblem,
    },
}

/// The problem with a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PieceProblem {
    /// The piece has no text.
    #[error("is empty")]
    Empty,
    /// The text of the piece has 8,000 bytes or more, which is the C++ library's limit.
    #[error("is too long: fewer than 8000 bytes are allowed")]
    TooLong,
    /// The text of the piece contains a NUL character.
    #[error("holds a NUL character")]
    Nul,
    /// Another piece has the same text.
    #[error("has the same text as piece {0}")]
    Duplicate(usize),
    /// The type of the piece is unknown to the C++ library.
    #[error("has the unknown type {0}")]
    Type(i32),
    /// There is another unknown piece.
    #[error("is of type UNKNOWN, as piece {0} is already")]
    SecondUnknown(usize),
    /// The piece is of type BYTE, but `byte_fallback` is off.
    #[error("is of type BYTE, but byte_fallback is off")]
    ByteWithoutFallback,
    /// The piece is of type BYTE, but not written as `<0x0A>`.
    #[error("is of type BYTE, but not written as <0x0A>")]
    ByteText,
    /// The score of the piece is NaN or infinite, which a unigram model cannot add up.
    #[error("has a score that is not finite")]
    Score,
}

/// The problem with a table of replacements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CharsmapProblem {
    /// The table ends before its trie does.
    #[error("is shorter than the trie it claims to hold")]
    Truncated,
    /// The size of the trie is not a positive multiple of 1,024 bytes.
    #[error("holds a trie of {0} bytes, which is not a multiple of 1024")]
    TrieSize(usize),
    /// The trie points outside of itself or of the replacements.
    #[error("points outside of itself at unit {0}")]
    Unit(usize),
    /// The replacements are not UTF-8, or the last one does not end with NUL.
    #[error("holds replacements that are not UTF-8 with a NUL after each")]
    Replacements,
}
