//! The arithmetic of the loss on slices.

use rayon::prelude::*;

use super::log_sum_exp::{highest, sum_of_exp};
use crate::simd::{exp, sum, vectorised};

/// Length of the longest row of logits that is summed in 32 bits as a whole.
const MAX_WHOLE_ROW: usize = 1 << 16;
/// The number of logits of a longer row that are summed in 32 bits before their sum is added to a
/// sum in 64 bits.
const CHUNK_LOGITS: usize = 1 << 12;

/// The statistics of one row of logits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    /// The largest logit.
    pub highest: f32,
    /// Σ exp(x − highest).
    pub total: f64,
    /// (1−ε)·NLL + ε·(mean of −log p); 0 if the target is padding.
    pub smoothed: f64,
    /// −log p of the target; 0 if it is padding.
    pub nll: f64,
}

impl Row {
    /// Returns the statistics of a row of logits with this target.
    ///
    /// # Panics
    /// Panics if the target is neither padding nor below the number of logits.
    pub fn of(logits: &[f32], target: i64, loss: &CrossEntropy) -> Self {
        if target == loss.pad {
            return Self::default();
        }
        let vocab = logits.len();
        assert!(
            (0..vocab as i64).contains(&target),
            "target {target} is not below vocab {vocab}"
        );
        let (highest, total, sum) = row_statistics(logits);
        let log_total = total.ln();
        let highest_64 = f64::from(highest);
        let nll = log_total + (highest_64 - f64::from(logits[target as usize]));
        let uniform = log_total + (highest_64 - sum / vocab as f64);
        let smoothed = share(1.0 - loss.epsilon, nll) + share(loss.epsilon, uniform);
        Self {
            highest,
            total,
            smoothed,
            nll,
        }
    }
}

/// The loss of one prediction for each target.
#[derive(Clone, Debug)]
pub(super) struct CrossEntropy {
    pub targets: Vec<i64>,
    /// The target of padding: rows with this target are not counted.
    pub pad: i64,
    /// ε of label smoothing.
    pub epsilon: f64,
}

impl CrossEntropy {
    /// Returns the statistics of the rows of `logits`, `[rows, vocab]`.
    pub fn rows(&self, logits: &[f32], vocab: usize) -> Vec<Row> {
        let tasks = logits.par_chunks_exact(vocab).zip(&self.targets);
        tasks
            .with_min_len(4)
            .map(|(row, &target)| Row::of(row, target, self))
            .collect()
    }

    /// Returns the sums of the smoothed loss, and of the NLL, in the order of the rows.
    pub fn sums(rows: &[Row]) -> [f32; 2] {
        let mut smoothed = 0.0;
        let mut nll = 0.0;
        for row in rows {
            smoothed += row.smoothed;
            nll += row.nll;
        }
        [smoothed as f32, nll as f32]
    }

    /// Turns the logits in `out`, or in `source` if there is one, into their gradient in `out`:
    /// `scale`·(softmax − (1−ε)·onehot − ε/V).
    pub fn gradient(
        &self,
        out: &mut [f32],
        source: Option<&[f32]>,
        rows: &[Row],
        vocab: usize,
        scale: f32,
    ) {
        let Self {
            targets,
            pad,
            epsilon,
        } = self;
        let tasks = out
            .par_chunks_exact_mut(vocab)
            .zip(targets)
            .zip(rows)
            .enumerate();
        tasks
            .with_min_len(4)
            .for_each(|(index, ((out, &target), row))| {
                if target == *pad {
                    return out.fill(0.0);
                }
                if let Some(logits) = source {
                    out.copy_from_slice(&logits[index * vocab..(index + 1) * vocab]);
                }
                let uniform = scale * (epsilon / vocab as f64) as f32;
                gradient_row(out, row.highest, scale / row.total as f32, uniform);
                out[target as usize] -= scale * (1.0 - epsilon) as f32;
            });
    }
}

/// `weight·x`, or 0 if `x` is infinite and `weight` is 0: a logit of −∞ makes the mean of −log p
/// infinite.
fn share(weight: f64, x: f64) -> f64 {
    if weight == 0.0 { 0.0 } else { weight * x }
}

/// Returns the largest x, Σ exp(x − largest) and Σ x.
fn row_statistics(xs: &[f32]) -> (f32, f64, f64) {
    let highest = highest(xs);
    let chunk = if xs.len() <= MAX_WHOLE_ROW {
        MAX_WHOLE_ROW
    } else {
        CHUNK_LOGITS
    };
    let exponentials = xs.chunks(chunk).map(|xs| sum_of_exp(xs, highest));
    let total = exponentials.map(f64::from).sum();
    let sum = xs.chunks(chunk).map(|xs| f64::from(sum_of(xs))).sum();
    (highest, total, sum)
}

vectorised! {
    fn sum_of(xs: &[f32]) -> f32 {
        sum(xs)
    }

    fn gradient_row(xs: &mut [f32], highest: f32, factor: f32, uniform: f32) {
        for x in xs {
            *x = exp(*x - highest) * factor - uniform;
        }
    }
}
