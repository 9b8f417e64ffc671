//! The pieces of a model with their scores and types, and the lookup of ids by piece.

use std::sync::Arc;

use crate::error::{ModelProblem, PieceProblem};
use crate::proto::{ModelProto, PieceProto};
use crate::trie::Trie;
use crate::{ModelType, PieceType};

/// Pieces are shorter than this, in bytes, as in the C++ library.
const PIECE_LIMIT: usize = 8000;
/// The number of characters of a piece that a message shows.
const EXCERPT: usize = 40;

/// All pieces of a model, indexed by id.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The texts of all pieces, one after the other.
    texts: String,
    /// The offset at which the text of each piece ends.
    ends: Vec<u32>,
    scores: Vec<f32>,
    types: Vec<PieceType>,
    /// The ids of the pieces into which text is segmented: normal, user-defined and unused ones.
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
        let is_symbol = |id: &u32| types[*id as usize] == PieceType::UserDefined;
        let symbols = trie(pieces, ordinary.iter().copied().filter(is_symbol)).into();
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

    /// The number of pieces.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text of a piece.
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

    /// The id of the piece with this text, of whatever type.
    pub fn id(&self, text: &str) -> Option<u32> {
        let of = |id: u32| self.text(id).unwrap_or_default();
        let reserved = self.reserved.binary_search_by(|&id| of(id).cmp(text));
        match reserved {
            Ok(index) => Some(self.reserved[index]),
            Err(_) => self.ordinary.get(text.as_bytes()),
        }
    }
}

/// The name of the piece for `byte`.
pub fn byte_piece(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// The byte that a piece of type BYTE stands for.
pub fn byte_of(piece: &str) -> Option<u8> {
    let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
    let hexadecimal = |c: char| c.is_ascii_digit() || ('A'..='F').contains(&c);
    let valid = digits.len() == 2 && digits.chars().all(hexadecimal);
    valid.then(|| u8::from_str_radix(digits, 16).ok())?
}

/// The error for piece `id`.
fn problem(pieces: &[PieceProto], id: usize, problem: PieceProblem) -> ModelProblem {
    let piece = pieces[id].piece.chars().take(EXCERPT).collect();
    ModelProblem::Piece { id, piece, problem }
}

/// Returns whether a piece is a single NUL, which some converters write although there are pieces
/// for bytes. The C++ library ignores it.
fn is_skipped(piece: &PieceProto, kind: PieceType) -> bool {
    piece.piece == "\0" && kind == PieceType::Unused
}

fn types(pieces: &[PieceProto], byte_fallback: bool) -> Result<Vec<PieceType>, ModelProblem> {
    let kind = |(id, piece): (usize, &PieceProto)| match piece.kind() {
        _ if byte_fallback && piece.piece == "\0" => Ok(PieceType::Unused),
        1 => Ok(PieceType::Normal),
        2 => Ok(PieceType::Unknown),
        3 => Ok(PieceType::Control),
        4 => Ok(PieceType::UserDefined),
        5 => Ok(PieceType::Unused),
        6 => Ok(PieceType::Byte),
        found => Err(problem(pieces, id, PieceProblem::Type(found))),
    };
    pieces.iter().enumerate().map(kind).collect()
}

/// Checks each piece separately.
fn check(
    pieces: &[PieceProto],
    types: &[PieceType],
    model_type: ModelType,
    byte_fallback: bool,
) -> Result<(), ModelProblem> {
    let wrong = |piece: &PieceProto, kind: PieceType| match piece.piece.as_str() {
        _ if model_type == ModelType::Unigram && !piece.score.is_finite() => {
            Some(PieceProblem::Score)
        }
        "" => Some(PieceProblem::Empty),
        text if text.len() >= PIECE_LIMIT => Some(PieceProblem::TooLong),
        text if text.contains('\0') && !is_skipped(piece, kind) => Some(PieceProblem::Nul),
        _ if kind != PieceType::Byte => None,
        _ if !byte_fallback => Some(PieceProblem::ByteWithoutFallback),
        text => byte_of(text).is_none().then_some(PieceProblem::ByteText),
    };
    let found = (0..pieces.len()).find_map(|id| Some((id, wrong(&pieces[id], types[id])?)));
    found.map_or(Ok(()), |(id, wrong)| Err(problem(pieces, id, wrong)))
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

/// The ids of ordinary and of reserved pieces, in the order of their texts.
///
/// The pieces of a BPE model share one namespace; in other models the two kinds have separate ones.
fn sorted(
    pieces: &[PieceProto],
    types: &[PieceType],
    model_type: ModelType,
) -> Result<(Vec<u32>, Vec<u32>), ModelProblem> {
    let text = |id: u32| pieces[id as usize].piece.as_str();
    let kind = |id: u32| types[id as usize];
    let kept = |&id: &u32| !is_skipped(&pieces[id as usize], kind(id));
    let mut ids: Vec<u32> = (0..pieces.len() as u32).filter(kept).collect();
    let space = |id: u32| model_type != ModelType::Bpe && is_reserved(kind(id));
    ids.sort_unstable_by_key(|&id| (space(id), text(id), id));
    let same = |two: &&[u32]| space(two[0]) == space(two[1]) && text(two[0]) == text(two[1]);
    if let Some(two) = ids.windows(2).find(same) {
        let first = two[0] as usize;
        return Err(problem(
            pieces,
            two[1] as usize,
            PieceProblem::Duplicate(first),
        ));
    }
    let reserved = ids
        .iter()
        .copied()
        .filter(|&id| is_reserved(kind(id)))
        .collect();
    ids.retain(|&id| !is_reserved(kind(id)));
    Ok((ids, reserved))
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
