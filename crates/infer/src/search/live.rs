/// A hypothesis that may still grow.
#[derive(Clone, Debug, Default)]
pub(super) struct Live {
    pub tokens: Vec<u32>,
    pub log_probs: Vec<f32>,
    /// The sum of `log_probs`, in float64.
    pub total: f64,
    /// The number of the sample; 0 in beam search.
    pub sample: usize,
}

/// A live hypothesis extended by one token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension {
    pub parent: usize,
    pub token: u32,
    pub log_prob: f64,
    pub total: f64,
}
