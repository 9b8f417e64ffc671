//! The symbols of a word while they are joined.

/// A pair of neighbouring symbols.
pub(super) type Pair = (u32, u32);

/// The symbols of a word, each in the place of its first character.
pub(super) struct Symbols {
    pub(super) ids: Vec<u32>,
    /// The place of the symbol after the one at each place, and of the one before.
    next: Vec<usize>,
    previous: Vec<usize>,
}

/// The place of no symbol.
const NONE: usize = usize::MAX;

impl Symbols {
    pub(super) fn new(ids: Vec<u32>) -> Self {
        let count = ids.len();
        let next = (1..=count).map(|at| if at < count { at } else { NONE }).collect();
        let previous = (0..count).map(|at: usize| at.checked_sub(1).unwrap_or(NONE)).collect();
        Self { ids, next, previous }
    }

    /// The symbol at `at` and the one after it; `None` if one of them is not there.
    pub(super) fn pair(&self, at: usize) -> Option<Pair> {
        let right = *self.ids.get(self.next[at])?;
        Some((self.ids[at], right))
    }

    pub(super) fn before(&self, at: usize) -> Option<usize> {
        Some(self.previous[at]).filter(|&before| before != NONE)
    }

    /// Joins the symbol at `at` and the one after it into `token`.
    pub(super) fn join(&mut self, at: usize, token: u32) {
        let (right, after) = (self.next[at], self.next[self.next[at]]);
        self.ids[at] = token;
        self.next[at] = after;
        self.next[right] = NONE;
        if after != NONE {
            self.previous[after] = at;
        }
    }

    /// The symbols that are left, from the first to the last.
    pub(super) fn left(&self) -> impl Iterator<Item = u32> {
        let start = (!self.ids.is_empty()).then_some(0);
        let next = |&at: &usize| Some(self.next[at]).filter(|&next| next != NONE);
        std::iter::successors(start, next).map(|at| self.ids[at])
    }
}
