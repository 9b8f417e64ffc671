//! The arithmetic of the loss of R-Drop on slices.

use rayon::prelude::*;

use crate::loss::{LossOfRows, Row, Smoothing};
use crate::simd::{exp, fold_pairs, vectorised};

/// The number of logits that are summed in 32 bits before their sum is added to a sum in 64 bits.
const CHUNK: usize = 1 << 12;

/// What the forward pass knows of one position: p is the prediction of its first pass, q that of its second one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pair {
    first: Row,
    second: Row,
    /// KL(p‖q); 0 where the target is padding.
    p_from_q: f64,
    /// KL(q‖p); 0 where the target is padding.
    q_from_p: f64,
}

/// The loss of two predictions for each target.
#[derive(Clone, Debug)]
pub(super) struct TwoPasses {
    pub targets: Vec<i64>,
    pub smoothing: Smoothing,
    pub alpha: f64,
}

impl LossOfRows for TwoPasses {
    type Known = Pair;

    /// `logits` is `[2·positions, vocab]`.
    fn forward(&self, logits: &[f32], vocab: usize) -> Vec<Pair> {
        let (first, second) = logits.split_at(logits.len() / 2);
        let passes = first.par_chunks_exact(vocab).zip(second.par_chunks_exact(vocab));
        let tasks = passes.zip(&self.targets).with_min_len(4);
        tasks
            .map(|((first, second), &target)| pair(first, second, target, self.smoothing))
            .collect()
    }

    /// What training minimises, and the means of the smoothed losses and of the negative log-likelihoods of both passes.
    fn sums(&self, pairs: &[Pair]) -> Vec<f32> {
        // The divergence is ½·KL(p‖q) + ½·KL(q‖p).
        let (mut smoothed, mut nll, mut divergence) = (0.0, 0.0, 0.0);
        for Pair { first, second, p_from_q, q_from_p } in pairs {
            smoothed += (first.smoothed + second.smoothed) / 2.0;
            nll += (first.nll + second.nll) / 2.0;
            divergence += (p_from_q + q_from_p) / 2.0;
        }
        let minimised: f64 = smoothed + self.alpha / 2.0 * divergence;
        [minimised, smoothed, nll].map(|sum| sum as f32).to_vec()
    }

    /// With d = ln p − ln q, the gradient of the first pass is `scale`·(½·(p − (1−ε)·onehot − ε/V) + α/4·(p·(d − KL(p‖q)) + p −
    /// q)).
    fn backward(
        &self,
        out: &mut [f32],
        source: Option<&[f32]>,
        pairs: &[Pair],
        vocab: usize,
        scale: f32,
    ) {
        let half = out.len() / 2;
        let (first, second) = out.split_at_mut(half);
        let passes = first.par_chunks_exact_mut(vocab).zip(second.par_chunks_exact_mut(vocab));
        let tasks = passes.zip(&self.targets).zip(pairs).enumerate().with_min_len(4);
        tasks.for_each(|(index, (((first, second), &target), pair))| {
            if target == self.smoothing.pad {
                first.fill(0.0);
                second.fill(0.0);
                return;
            }
            if let Some(logits) = source {
                let start = index * vocab;
                first.copy_from_slice(&logits[start..start + vocab]);
                second.copy_from_slice(&logits[half + start..half + start + vocab]);
            }
            gradient_of_pair(first, second, &self.factors(pair, vocab, scale));
            let onehot = scale / 2.0 * (1.0 - self.smoothing.epsilon) as f32;
            first[target as usize] -= onehot;
            second[target as usize] -= onehot;
        });
    }
}

impl TwoPasses {
    fn factors(&self, pair: &Pair, vocab: usize, scale: f32) -> Factors {
        let weight = scale * (self.alpha / 4.0) as f32;
        Factors {
            highest: [pair.first.highest, pair.second.highest],
            over_total: [pair.first, pair.second].map(|row| (1.0 / row.total) as f32),
            divergence: [pair.p_from_q as f32, pair.q_from_p as f32],
            shift: (pair.first.log_sum() - pair.second.log_sum()) as f32,
            likelihood: scale / 2.0 + weight,
            weight,
            uniform: scale / 2.0 * (self.smoothing.epsilon / vocab as f64) as f32,
        }
    }
}

fn pair(xs: &[f32], ys: &[f32], target: i64, loss: Smoothing) -> Pair {
    if target == loss.pad {
        return Pair::default();
    }
    let (first, second) = [xs, ys].map(|row| Row::of(row, target, loss)).into();
    let shift = (first.log_sum() - second.log_sum()) as f32;
    let chunks = || xs.chunks(CHUNK).zip(ys.chunks(CHUNK));
    let expected = |row: Row, ratio: fn(&[f32], &[f32], f32, f32) -> f32| {
        let sums = chunks().map(|(xs, ys)| f64::from(ratio(xs, ys, row.highest, shift)));
        sums.sum::<f64>() / row.total
    };
    let p_from_q = expected(first, ratio_under_first);
    let q_from_p = -expected(second, ratio_under_second);
    Pair { first, second, p_from_q, q_from_p }
}

/// What the gradient of one position depends on beside its logits; pairs belong to its two passes.
struct Factors {
    highest: [f32; 2],
    /// 1 / Σ exp(x − highest).
    over_total: [f32; 2],
    /// KL(p‖q) and KL(q‖p).
    divergence: [f32; 2],
    /// ln p − ln q is the difference of the logits minus this number.
    shift: f32,
    /// The factor of a prediction's own probability.
    likelihood: f32,
    /// α/4.
    weight: f32,
    uniform: f32,
}

vectorised! {
    /// Σ e^(x − highest)·(x − y − shift).
    fn ratio_under_first(xs: &[f32], ys: &[f32], highest: f32, shift: f32) -> f32 {
        fold_pairs(xs, ys, |sum, x, y| sum + exp(x - highest) * ((x - y) - shift))
    }

    /// Σ e^(y − highest)·(x − y − shift).
    fn ratio_under_second(xs: &[f32], ys: &[f32], highest: f32, shift: f32) -> f32 {
        fold_pairs(xs, ys, |sum, x, y| sum + exp(y - highest) * ((x - y) - shift))
    }

    fn gradient_of_pair(xs: &mut [f32], ys: &mut [f32], factors: &Factors) {
        let Factors { highest, over_total, divergence, shift, likelihood, weight, uniform } = *factors;
        for (x, y) in xs.iter_mut().zip(ys) {
            let (p, q) = (exp(*x - highest[0]) * over_total[0], exp(*y - highest[1]) * over_total[1]);
            let ratio = (*x - *y) - shift;
            *x = p * (likelihood + weight * (ratio - divergence[0])) - weight * q - uniform;
            *y = q * (likelihood - weight * (ratio + divergence[1])) - weight * p - uniform;
        }
    }
}
