//! The pieces of a document, in the order in which they are read.

use crate::block::Block;
use crate::builder::{Builder, Space};
use crate::words::{Span, has_letters, moved};

/// A part of a document.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Bytes of the document that stay unchanged.
    Verbatim(Span),
    Block(Box<Block>),
}

/// The pieces of a document that was read so far.
#[derive(Default)]
pub(super) struct Pieces {
    pub(super) all: Vec<Piece>,
    /// The bytes of the document that are in `all`.
    pub(super) written: usize,
    /// The block that is being read, with its start.
    pub(super) block: Option<(usize, Builder)>,
    /// If true, blocks without letters are kept.
    pub(super) has_all_blocks: bool,
}

impl Pieces {
    /// The block that is being read; a new one begins at `start`.
    pub(super) fn builder(&mut self, start: usize) -> &mut Builder {
        &mut self.block.get_or_insert_with(|| (start, Builder::new(Space::Collapse))).1
    }

    /// Ends the block that is being read at `end`.
    pub(super) fn finish_block(&mut self, end: usize, finish: impl FnOnce(Builder) -> Block) {
        let Some((start, builder)) = self.block.take() else { return };
        self.add(Block { source: start..end, ..finish(builder) });
    }

    /// Adds a `block` that is behind all others. One without letters stays unchanged.
    pub(super) fn add(&mut self, block: Block) {
        let Span { start, end } = block.source;
        if self.has_all_blocks || has_letters(&block.text) {
            self.all.push(Piece::Verbatim(self.written..start));
            self.all.push(Piece::Block(Box::new(block)));
            self.written = end;
        }
    }

    /// Adds `pieces`, into which `range` of the document was divided; `newline` is between lines.
    pub(super) fn insert(&mut self, range: Span, pieces: Vec<Piece>, newline: &str) {
        self.all.push(Piece::Verbatim(self.written..range.start));
        self.all.extend(pieces.into_iter().map(|piece| match piece {
            Piece::Verbatim(part) => Piece::Verbatim(moved(&part, 0, range.start)),
            Piece::Block(mut block) => {
                block.source = moved(&block.source, 0, range.start);
                block.lines.newline = newline.into();
                Piece::Block(block)
            }
        }));
        self.written = range.end;
    }

    /// All pieces of a document of `size` bytes.
    pub(super) fn finish(mut self, size: usize) -> Vec<Piece> {
        self.all.push(Piece::Verbatim(self.written..size));
        self.all
    }
}
