//! Decoding: from pieces to text.

use crate::model::{SentencePiece, UnknownId};
use crate::normalizer::{REPLACEMENT, SPACE};
use crate::types::PieceType;
use crate::vocabulary::byte_of;

/// The text of the pieces so far.
struct Text<'a> {
    model: &'a SentencePiece,
    text: String,
    /// Bytes at the end that may still become characters.
    bytes: Vec<u8>,
    /// If true, the space that normalisation adds before the text may still follow.
    at_start: bool,
}

impl SentencePiece {
    /// Decodes `ids` to text. Control symbols give no text. Bytes that do not form a character
    /// become U+FFFD.
    ///
    /// # Errors
    /// Returns [`UnknownId`] if an id is outside the vocabulary.
    pub fn decode(&self, ids: &[u32]) -> Result<String, UnknownId> {
        let len = self.len();
        if let Some(id) = ids.iter().copied().find(|&id| id as usize >= len) {
            return Err(UnknownId { id, len });
        }
        let pieces = ids
            .iter()
            .map(|&id| (self.piece(id).unwrap_or_default(), Some(id)));
        Ok(decode(self, pieces))
    }

    /// Decodes `pieces` to text. A piece that is not in the vocabulary is used as text.
    pub fn decode_pieces<S: AsRef<str>>(&self, pieces: &[S]) -> String {
        let vocabulary = &self.vocabulary;
        let pieces = pieces.iter().map(AsRef::as_ref);
        let pieces = pieces.map(|piece| (piece, vocabulary.id(piece).or(vocabulary.unknown)));
        decode(self, pieces)
    }
}

/// Returns the text of `pieces`, each with its id if it has one.
fn decode<'a>(
    model: &SentencePiece,
    pieces: impl Iterator<Item = (&'a str, Option<u32>)>,
) -> String {
    let mut text = Text {
        model,
        text: String::new(),
        bytes: Vec::new(),
        at_start: true,
    };
    for (piece, id) in pieces {
        text.add(piece, id);
    }
    text.end_bytes();
    match &model.denormalizer {
        Some(denormalizer) => denormalizer.normalize(&text.text),
        None => text.text,
    }
}

impl Text<'_> {
    fn add(&mut self, piece: &str, id: Option<u32>) {
        let kind = id.map_or(PieceType::Unknown, |id| self.model.vocabulary.kind(id));
        if kind == PieceType::Byte
            && let Some(byte) = byte_of(piece)
        {
            self.bytes.push(byte);
            return;
        }
        self.end_bytes();
        self.at_start &= self.text.is_empty();
        if kind == PieceType::Control {
            return;
        }
        let (rest, is_added_space) = self.without_added_space(piece);
        if kind == PieceType::Unknown {
            let is_placeholder = id.and_then(|id| self.model.piece(id)) == Some(piece);
            self.text.push_str(if is_placeholder {
                &self.model.unknown_surface
            } else {
                piece
            });
        } else {
            self.text.push_str(&rest.replace(SPACE, " "));
        }
        self.at_start &= !is_added_space && self.text.is_empty();
    }

    /// Returns `piece` without a space at the start of the text, and whether normalisation added
    /// that space.
    fn without_added_space<'p>(&self, piece: &'p str) -> (&'p str, bool) {
        let normalizer = &self.model.normalizer;
        if !self.at_start || !(normalizer.adds_space() || normalizer.removes_extra_spaces) {
            return (piece, false);
        }
        match piece.strip_prefix(SPACE) {
            // If no text starts with a space, none of them is kept.
            Some(rest) => (rest, !normalizer.removes_extra_spaces),
            None => (piece, false),
        }
    }

    /// Turns the bytes so far into characters. Each invalid byte becomes a replacement character.
    fn end_bytes(&mut self) {
        for chunk in self.bytes.utf8_chunks() {
            self.text.push_str(chunk.valid());
            for _ in chunk.invalid() {
                self.text.push_str(REPLACEMENT);
            }
        }
        self.bytes.clear();
    }
}
