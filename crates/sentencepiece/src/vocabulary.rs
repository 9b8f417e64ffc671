//! The pieces of a model with their scores and types, and the lookup of ids by piece.

use std::sync::Arc;

use crate::error::{ModelProblem, PieceProblem};
use crate::proto::{ModelProto, PieceProto};
use crate::trie::Trie;
use crate::{ModelType, PieceType};

/// Pieces are shorter than this, in bytes, as in the C++ library.
const PIECE_LIMIT: usize = 8000;
/// The number of characters of a piece that a message shows.
const MAX_SHOWN_CHARACTERS: usize = 40;

/// All pieces of a model, indexed by id.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The texts of all pieces, one after the other.
    texts: String,
    /// The end of the text of each piece.
    ends: Vec<u32>,
    scores: Vec<f32>,
    types: Vec<PieceType>,
    /// The ids of the pieces of segmented text: normal, user-defined and unused ones.
    pub ordinary: Trie,
    /// The user-defined symbols among them, which are never cut.
    pub symbols: Arc<Trie>,
    /// The ids of the other pieces, in the order of their texts.
    reserved: Vec<u32>,
    /// The id of the piece of type UNKNOWN.
    pub unknown: Option<u32>,
    /// The ids of the 256 bytes, if text outside of the vocabulary is spelt in bytes.
    pub bytes: Option<Box<[u32; 256]>>,
}

impl Vocabulary {
    /// Creates the vocabulary from the pieces of `model`, with the checks of the C++ library.
    pub fn new(model: &ModelProto, model_type: ModelType) -> Result<Self, ModelProblem> {
        let byte_fallback = model
            .trainer_spec
            .as_ref()
            .is_some_and(|spec| spec.byte_fallback);
        let pieces = &model.pieces;
        if pieces.is_empty() {
            return Err(ModelProblem::NoPieces);
        }
        let types = types(pieces, byte_fallback)?;
        check(pieces, &types, model_type, byte_fallback)?;
        let unknown = unknown(pieces, &types)?;
        let bytes = if byte_fallback {
            Some(bytes(pieces, &types)?)
        } else {
            None
        };
        if unknown.is_none() && bytes.is_none() {
            return Err(ModelProblem::NoUnknown);
        }
        let (ordinary, reserved) = sorted(pieces, &types, model_type)?;
        let mut texts = String::with_capacity(pieces.iter().map(|piece| piece.piece.len()).sum());
        let ends = pieces.iter().map(|piece| {
            texts.push_str(&piece.piece);
            texts.len() as u32
        });
        let ends = ends.collect();
        let scores = pieces.iter().map(|piece| piece.score).collect();
        let symbols = ordinary
            .iter()
            .copied()
            .filter(|&id| types[id as usize] == PieceType::UserDefined);
        let symbols = trie(pieces, symbols).into();
        let ordinary = trie(pieces, ordinary.into_iter());
        Ok(Self {
            texts,
            ends,
            scores,
            types,
            ordinary,
            symbols,
            reserved,
            unknown,
            bytes,
        })
    }

    /// Returns the number of pieces.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the text of a piece.
    pub fn text(&self, id: u32) -> Option<&str> {
        let id = id as usize;
        let end = *self.ends.get(id)? as usize;
        let start = if id == 0 {
            0
        } else {
            self.ends[id - 1] as usize
        };
        Some(&self.texts[start..end])
    }

    /// Returns the score of the piece with this id, which must exist.
    #[inline]
    pub fn score(&self, id: u32) -> f32 {
        self.scores[id as usize]
    }

    /// Returns the type of the piece with this id, which must exist.
    #[inline]
    pub fn kind(&self, id: u32) -> PieceType {
        self.types[id as usize]
    }

    /// Returns the id of the piece with this text, of any type.
    pub fn id(&self, text: &str) -> Option<u32> {
        let reserved = self
            .reserved
            .binary_search_by_key(&text, |&id| self.text(id).unwrap_or_default());
        match reserved {
            Ok(index) => Some(self.reserved[index]),
            Err(_) => self.ordinary.get(text.as_bytes()),
        }
    }
}

/// Returns the name of the piece for `byte`.
pub fn byte_piece(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// Returns the byte that a piece of type BYTE stands for.
pub fn byte_of(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    let is_upper = digits
        .chars()
        .all(|c| c.is_ascii_digit() || ('A'..='F').contains(&c));
    if digits.len() != 2 || !is_upper {
        return None;
    }
    u8::from_str_radix(digits, 16).ok()
}

/// Returns the error for piece `id`.
fn problem(pieces: &[PieceProto], id: usize, problem: PieceProblem) -> ModelProblem {
    let piece = pieces[id]
        .piece
        .chars()
        .take(MAX_SHOWN_CHARACTERS)
        .collect();
    ModelProblem::Piece { id, piece, problem }
}

/// Returns whether a piece is a single NUL, which some converters write although there are pieces
/// for bytes. The C++ library ignores it.
fn is_skipped(piece: &PieceProto, kind: PieceType) -> bool {
    piece.piece == "\0" && kind == PieceType::Unused
}

fn types(pieces: &[PieceProto], byte_fallback: bool) -> Result<Vec<PieceType>, ModelProblem> {
    let mut types = Vec::with_capacity(pieces.len());
    for (id, piece) in pieces.iter().enumerate() {
        types.push(match piece.kind() {
            _ if byte_fallback && piece.piece == "\0" => PieceType::Unused,
            1 => PieceType::Normal,
            2 => PieceType::Unknown,
            3 => PieceType::Control,
            4 => PieceType::UserDefined,
            5 => PieceType::Unused,
            6 => PieceType::Byte,
            found => return Err(problem(pieces, id, PieceProblem::Type(found))),
        });
    }
    Ok(types)
}

/// Checks each piece separately.
fn check(
    pieces: &[PieceProto],
    types: &[PieceType],
    model_type: ModelType,
    byte_fallback: bool,
) -> Result<(), ModelProblem> {
    for (id, (piece, &kind)) in pieces.iter().zip(types).enumerate() {
        let found = match piece.piece.as_str() {
            _ if model_type == ModelType::Unigram && !piece.score.is_finite() => {
                PieceProblem::Score
            }
            "" => PieceProblem::Empty,
            text if text.len() >= PIECE_LIMIT => PieceProblem::TooLong,
            text if text.contains('\0') && !is_skipped(piece, kind) => PieceProblem::Nul,
            _ if kind != PieceType::Byte => continue,
            _ if !byte_fallback => PieceProblem::ByteWithoutFallback,
            text if byte_of(text).is_none() => PieceProblem::ByteText,
            _ => continue,
        };
        return Err(problem(pieces, id, found));
    }
    Ok(())
}

fn unknown(pieces: &[PieceProto], types: &[PieceType]) -> Result<Option<u32>, ModelProblem> {
    let mut unknown = (0..types.len()).filter(|&id| types[id] == PieceType::Unknown);
    match (unknown.next(), unknown.next()) {
        (Some(first), Some(second)) => {
            Err(problem(pieces, second, PieceProblem::SecondUnknown(first)))
        }
        (first, _) => Ok(first.map(|id| id as u32)),
    }
}

fn bytes(pieces: &[PieceProto], types: &[PieceType]) -> Result<Box<[u32; 256]>, ModelProblem> {
    let mut ids = [None; 256];
    for (id, piece) in (0..).zip(pieces) {
        if types[id as usize] == PieceType::Byte
            && let Some(byte) = byte_of(&piece.piece)
        {
            ids[byte as usize] = Some(id);
        }
    }
    if let Some(byte) = ids.iter().position(Option::is_none) {
        return Err(ModelProblem::MissingByte(byte as u8));
    }
    Ok(Box::new(ids.map(Option::unwrap_or_default)))
}

/// Returns the ids of ordinary and of reserved pieces, in the order of their texts.
///
/// The pieces of a BPE model share one namespace; in other models the two kinds have separate ones.
fn sorted(
    pieces: &[PieceProto],
    types: &[PieceType],
    model_type: ModelType,
) -> Result<(Vec<u32>, Vec<u32>), ModelProblem> {
    let mut ids: Vec<u32> = (0..pieces.len() as u32)
        .filter(|&id| !is_skipped(&pieces[id as usize], types[id as usize]))
        .collect();
    ids.sort_unstable_by_key(|&id| (name(pieces, types, model_type, id), id));
    for two in ids.windows(2) {
        let first = name(pieces, types, model_type, two[0]);
        if first == name(pieces, types, model_type, two[1]) {
            let duplicate = PieceProblem::Duplicate(two[0] as usize);
            return Err(problem(pieces, two[1] as usize, duplicate));
        }
    }
    let reserved = ids
        .iter()
        .copied()
        .filter(|&id| is_reserved(types[id as usize]))
        .collect();
    ids.retain(|&id| !is_reserved(types[id as usize]));
    Ok((ids, reserved))
}

/// Returns whether a piece is in the separate namespace of reserved pieces, and its text.
fn name<'a>(
    pieces: &'a [PieceProto],
    types: &[PieceType],
    model_type: ModelType,
    id: u32,
) -> (bool, &'a str) {
    let is_separate = model_type != ModelType::Bpe && is_reserved(types[id as usize]);
    (is_separate, &pieces[id as usize].piece)
}

/// Returns whether text is never segmented into pieces of this type.
fn is_reserved(kind: PieceType) -> bool {
    matches!(
        kind,
        PieceType::Unknown | PieceType::Control | PieceType::Byte
    )
}

fn trie(pieces: &[PieceProto], ids: impl Iterator<Item = u32>) -> Trie {
    let keys: Vec<(&[u8], u32)> = ids
        .map(|id| (pieces[id as usize].piece.as_bytes(), id))
        .collect();
    Trie::new(&keys)
}
