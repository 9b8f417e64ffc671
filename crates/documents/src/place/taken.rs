//! The markup that has its place already.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Parts of the window that are taken.
#[derive(Default)]
pub(super) struct Taken {
    /// By their starts, with their ends and the node.
    pub(super) parts: BTreeMap<usize, (usize, usize)>,
    pub(super) nodes: BTreeSet<usize>,
}

impl Taken {
    pub(super) fn insert(&mut self, range: Range<usize>, node: usize) {
        self.parts.insert(range.start, (range.end, node));
        self.nodes.insert(node);
    }

    pub(super) fn is_free(&self, range: &Range<usize>) -> bool {
        let before = self.parts.range(..range.end).next_back();
        before.is_none_or(|(_, &(end, _))| end <= range.start)
    }
}
