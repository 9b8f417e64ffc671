//! The blocks of a document, in reading order.

use std::sync::Arc;

use crate::block::Block;
use crate::builder::{Builder, Space};
use crate::words::{has_letters, moved};

/// The blocks read so far. All bytes between them stay unchanged.
#[derive(Default)]
pub(super) struct Blocks {
    pub(super) all: Vec<Block>,
    /// The block being read and its start.
    pub(super) open: Option<(usize, Builder)>,
    /// If true, blocks without letters are kept in the list.
    pub(super) has_all: bool,
}

impl Blocks {
    /// Returns the block being read, or begins one at `start`.
    pub(super) fn builder(&mut self, start: usize) -> &mut Builder {
        &mut self
            .open
            .get_or_insert_with(|| (start, Builder::new(Space::Collapse)))
            .1
    }

    /// Ends the block being read at `end`.
    pub(super) fn finish(&mut self, end: usize, finish: impl FnOnce(Builder) -> Block) {
        let Some((start, builder)) = self.open.take() else {
            return;
        };
        self.add(Block {
            source: start..end,
            ..finish(builder)
        });
    }

    /// Adds `block` after all others. A block without letters stays unchanged.
    pub(super) fn add(&mut self, block: Block) {
        self.all
            .extend((self.has_all || has_letters(&block.text)).then_some(block));
    }

    /// Adds the `blocks` of a part of the document that begins at `start`. `newline` separates its
    /// lines.
    pub(super) fn insert(&mut self, start: usize, blocks: Vec<Block>, newline: &Arc<str>) {
        self.all.extend(blocks.into_iter().map(|mut block| {
            block.source = moved(&block.source, 0, start);
            block.lines.newline = Arc::clone(newline);
            block
        }));
    }
}
