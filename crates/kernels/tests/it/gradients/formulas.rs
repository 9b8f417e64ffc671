//! The formulas of the operations in float64, on plain numbers, written from the papers. Tensors
//! are row-major.

/// x·Wᵀ + b. `weight`: `[output, input]`, the width of `x` is `input`.
pub fn linear(x: &[f64], weight: &[f64], bias: &[f64], input: usize) -> Vec<f64> {
    let mut out = Vec::new();
    for row in x.chunks_exact(input) {
        for (index, weights) in weight.chunks_exact(input).enumerate() {
            out.push(dot(row, weights) + bias.get(index).unwrap_or(&0.0));
        }
    }
    out
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// x·σ(x) of each element.
pub fn silu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| x / (1.0 + (-x).exp())).collect()
}

/// The larger of 0 and each element.
pub fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| x.max(0.0)).collect()
}

/// Softmax over the scores that are not hidden; zeros if all are.
pub fn softmax(scores: &[f64], hidden: &[bool]) -> Vec<f64> {
    let visible = scores.iter().zip(hidden);
    let power = |(score, hidden): (&f64, &bool)| if *hidden { 0.0 } else { score.exp() };
    let powers: Vec<f64> = visible.map(power).collect();
    let sum: f64 = powers.iter().sum();
    powers
        .iter()
        .map(|p| if sum > 0.0 { p / sum } else { 0.0 })
        .collect()
}

/// The sizes of attention.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    pub batch: usize,
    pub heads: usize,
    pub query_len: usize,
    pub key_len: usize,
    pub d_k: usize,
    pub d_v: usize,
}

impl Heads {
    /// The number of attention weights.
    pub fn weights(self) -> usize {
        self.batch * self.heads * self.query_len * self.key_len
    }
}

/// softmax(Q·Kᵀ/√d_k)·V of every head, with the weights multiplied by `factors`. The heads are side
/// by side in the features. `hidden` and `factors` have an element for each weight.
pub fn attention(
    sizes: Heads,
    [query, key, value]: [&[f64]; 3],
    hidden: &[bool],
    factors: &[f64],
) -> Vec<f64> {
    let Heads {
        batch,
        heads,
        query_len,
        key_len,
        d_k,
        d_v,
    } = sizes;
    let mut context = vec![0.0; batch * query_len * heads * d_v];
    for sentence in 0..batch {
        for head in 0..heads {
            for position in 0..query_len {
                let features = |x: &[f64], len: usize, at: usize, width: usize| {
                    let start = ((sentence * len + at) * heads + head) * width;
                    x[start..start + width].to_vec()
                };
                let q = features(query, query_len, position, d_k);
                let score = |at| dot(&q, &features(key, key_len, at, d_k)) / (d_k as f64).sqrt();
                let scores: Vec<f64> = (0..key_len).map(score).collect();
                let row = ((sentence * heads + head) * query_len + position) * key_len;
                let weights = softmax(&scores, &hidden[row..row + key_len]);
                let start = ((sentence * query_len + position) * heads + head) * d_v;
                for (at, weight) in weights.iter().enumerate() {
                    let value = features(value, key_len, at, d_v);
                    for (out, v) in context[start..start + d_v].iter_mut().zip(value) {
                        *out += weight * factors[row + at] * v;
                    }
                }
            }
        }
    }
    context
}

/// (x − mean) / √(variance + ε) of each row, times `weight`, plus `bias`.
pub fn layer_norm(x: &[f64], weight: &[f64], bias: &[f64], epsilon: f64) -> Vec<f64> {
    let width = weight.len();
    let mut out = Vec::new();
    for row in x.chunks_exact(width) {
        let mean = row.iter().sum::<f64>() / width as f64;
        let squares = row.iter().map(|x| (x - mean) * (x - mean));
        let deviation = (squares.sum::<f64>() / width as f64 + epsilon).sqrt();
        let affine = row.iter().zip(weight).zip(bias);
        out.extend(affine.map(|((x, w), b)| (x - mean) / deviation * w + b));
    }
    out
}

/// ln p of every token of the vocabulary, for each row of logits.
pub fn log_probabilities(logits: &[f64], vocab: usize) -> Vec<f64> {
    let mut out = Vec::new();
    for row in logits.chunks_exact(vocab) {
        let log_sum = row.iter().map(|x| x.exp()).sum::<f64>().ln();
        out.extend(row.iter().map(|x| x - log_sum));
    }
    out
}

/// Σ (1−ε)·NLL + ε·(mean of −ln p) over the rows whose target is not `0`, the padding.
pub fn smoothed_loss(logits: &[f64], targets: &[usize], vocab: usize, smoothing: f64) -> f64 {
    let all = log_probabilities(logits, vocab);
    let rows = all.chunks_exact(vocab).zip(targets);
    let real = rows.filter(|(_, target)| **target != 0);
    let loss = |(row, target): (&[f64], &usize)| {
        let mean = row.iter().sum::<f64>() / vocab as f64;
        -(1.0 - smoothing) * row[*target] - smoothing * mean
    };
    real.map(loss).sum()
}

/// The element-wise sum.
pub fn add(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + y).collect()
}

/// The element-wise product.
pub fn times(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x * y).collect()
}
