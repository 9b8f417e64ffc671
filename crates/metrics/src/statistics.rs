//! Sufficient statistics: a few numbers a segment, whose sums give the score of any set of segments.

/// One row of numbers for each segment. What a row holds is the metric's affair.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    width: usize,
    values: Vec<f64>,
}

impl Statistics {
    /// No segments yet, `width` numbers each.
    pub(crate) fn new(width: usize, segments: usize) -> Self {
        Self { width, values: Vec::with_capacity(width * segments) }
    }

    /// Adds a segment.
    pub(crate) fn push(&mut self, row: &[f64]) {
        assert_eq!(row.len(), self.width, "a row of statistics has another width than its table");
        self.values.extend_from_slice(row);
    }

    /// Number of segments.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Are there no segments?
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The numbers of one segment.
    pub fn row(&self, segment: usize) -> &[f64] {
        &self.values[segment * self.width..][..self.width]
    }

    /// The sums over all segments, in order.
    pub fn sum(&self) -> Vec<f64> {
        self.sum_of(0..self.len())
    }

    /// The sums over some segments, each as often as it is named.
    pub fn sum_of(&self, segments: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let mut sums = vec![0.0; self.width];
        for segment in segments {
            self.add_row(segment, &mut sums);
        }
        sums
    }

    /// Adds one segment's numbers to running sums.
    pub(crate) fn add_row(&self, segment: usize, sums: &mut [f64]) {
        for (sum, value) in sums.iter_mut().zip(self.row(segment)) {
            *sum += value;
        }
    }
}
