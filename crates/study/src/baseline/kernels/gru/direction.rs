/// The direction in which a recurrence runs through its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first position to the last.
    Forward,
    /// From the last position to the first.
    Backward,
}

impl Direction {
    /// The positions of a sequence of `len` positions, in the order in which they are visited.
    pub(crate) fn places(self, len: usize) -> impl DoubleEndedIterator<Item = usize> {
        (0..len).map(move |step| match self {
            Self::Forward => step,
            Self::Backward => len - 1 - step,
        })
    }
}
