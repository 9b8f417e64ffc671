//! Sufficient statistics: a few numbers per segment. Their sums give the score of any set of
//! segments.

/// Sufficient statistics with one row of numbers per segment. Each metric defines what its rows
/// hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    width: usize,
    values: Vec<f64>,
}

impl Statistics {
    /// Creates an empty table for rows of `width` numbers.
    pub(crate) fn new(width: usize, segments: usize) -> Self {
        Self {
            width,
            values: Vec::with_capacity(width * segments),
        }
    }

    /// Adds a segment.
    pub(crate) fn push(&mut self, row: &[f64]) {
        assert_eq!(
            row.len(),
            self.width,
            "a row of statistics has another width than its table"
        );
        self.values.extend_from_slice(row);
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Returns whether the table has no segments.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the numbers of one segment, counted from 0.
    pub fn row(&self, segment: usize) -> &[f64] {
        &self.values[segment * self.width..][..self.width]
    }

    /// Returns the sums over all segments, added in their order.
    pub fn sum(&self) -> Vec<f64> {
        self.sum_of(0..self.len())
    }

    /// Returns the sums over the given segments. A segment that is given several times counts
    /// several times.
    pub fn sum_of(&self, segments: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.width];
        for segment in segments {
            self.add_row(segment, &mut sums);
        }
        sums
    }

    /// Adds the numbers of one segment to `sums`.
    pub(crate) fn add_row(&self, segment: usize, sums: &mut [f64]) {
        for (sum, value) in sums.iter_mut().zip(self.row(segment)) {
            *sum += value;
        }
    }
}
