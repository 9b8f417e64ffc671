//! The arithmetic of attention on slices.

use rayon::prelude::*;

use crate::cpu::{Matrix, MatrixMut, multiply, multiply_by};
use crate::dropout::DropoutMask;
use crate::simd::{fold_pairs, softmax_row, vectorised};

/// The sizes of the operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub batch: usize,
    pub heads: usize,
    pub query_len: usize,
    pub key_len: usize,
    pub d_k: usize,
    pub d_v: usize,
}

/// A projected tensor, `[batch, len, heads·d]`. The features of one position are adjacent in
/// memory.
#[derive(Clone, Copy)]
pub(super) struct ProjectedTensor<'a> {
    pub data: &'a [f32],
    pub batch_stride: usize,
    pub row_stride: usize,
}

/// The mask of hidden keys, `[batch or 1, heads or 1, query_len or 1, key_len]`. A byte other than
/// 0 hides its key.
#[derive(Clone, Debug)]
pub(super) struct KeyMask {
    pub bytes: Vec<u8>,
    pub shape: [usize; 4],
}

/// Operands of the forward and the backward pass.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub sizes: Sizes,
    pub query: ProjectedTensor<'a>,
    pub key: ProjectedTensor<'a>,
    pub value: ProjectedTensor<'a>,
    pub mask: Option<DropoutMask>,
}

impl Sizes {
    /// Returns the number of weights of one head.
    fn block(self) -> usize {
        self.query_len * self.key_len
    }

    fn scale(self) -> f32 {
        1.0 / (self.d_k as f32).sqrt()
    }
}

impl<'a> ProjectedTensor<'a> {
    fn head(self, batch: usize, head: usize, rows: usize, width: usize) -> Matrix<'a> {
        let start = batch * self.batch_stride + head * width;
        Matrix::new(&self.data[start..], rows, width, self.row_stride)
    }
}

impl KeyMask {
    /// Creates a mask that hides none of `keys`.
    pub(super) fn nothing(keys: usize) -> Self {
        Self {
            bytes: vec![0; keys],
            shape: [1, 1, 1, keys],
        }
    }

    fn row(&self, batch: usize, head: usize, query: usize) -> &[u8] {
        let [batches, heads, queries, keys] = self.shape;
        let batch = if batches == 1 { 0 } else { batch };
        let head = if heads == 1 { 0 } else { head };
        let query = if queries == 1 { 0 } else { query };
        let row = (batch * heads + head) * queries + query;
        &self.bytes[row * keys..(row + 1) * keys]
    }
}

impl<'a> Inputs<'a> {
    fn heads(self, batch: usize, head: usize) -> [Matrix<'a>; 3] {
        let Sizes {
            query_len,
            key_len,
            d_k,
            d_v,
            ..
        } = self.sizes;
        [
            self.query.head(batch, head, query_len, d_k),
            self.key.head(batch, head, key_len, d_k),
            self.value.head(batch, head, key_len, d_v),
        ]
    }

    /// Returns the dropout factors of one head's weights, if there is dropout.
    fn factors(self, batch: usize, head: usize, factors: &mut [f32]) -> bool {
        let Some(mask) = self.mask else { return false };
        let block = self.sizes.block();
        mask.fill_at(
            (batch * self.sizes.heads + head) * block,
            &mut factors[..block],
        );
        true
    }
}

/// Writes the context `[batch, query_len, heads·d_v]`, and the weights before dropout
/// `[batch, heads, query_len, key_len]` if `weights` is not empty.
pub(super) fn forward(inputs: Inputs, hidden: &KeyMask, context: &mut [f32], weights: &mut [f32]) {
    let sizes = inputs.sizes;
    let block = sizes.block();
    let per_batch = sizes.query_len * sizes.heads * sizes.d_v;
    let tasks = context.par_chunks_mut(per_batch);
    if weights.is_empty() {
        tasks.enumerate().for_each_init(
            || scratch(block),
            |(weights, factors), (batch, context)| {
                for head in 0..sizes.heads {
                    forward_head(inputs, hidden, batch, head, context, weights, factors);
                }
            },
        );
    } else {
        let tasks = tasks.zip(weights.par_chunks_mut(block * sizes.heads));
        tasks.enumerate().for_each_init(
            || scratch(block),
            |(_, factors), (batch, (context, weights))| {
                for (head, weights) in weights.chunks_mut(block).enumerate() {
                    forward_head(inputs, hidden, batch, head, context, weights, factors);
                }
            },
        );
    }
}

/// Scratch buffers for the weights of one head: the weights or their gradient, and the dropout
/// factors.
fn scratch(block: usize) -> (Vec<f32>, Vec<f32>) {
    (vec![0.0; block], vec![0.0; block])
}

fn forward_head(
    inputs: Inputs,
    hidden: &KeyMask,
    batch: usize,
    head: usize,
    context: &mut [f32],
    weights: &mut [f32],
    factors: &mut [f32],
) {
    let Sizes {
        heads,
        query_len,
        key_len,
        d_v,
        ..
    } = inputs.sizes;
    let [query, key, value] = inputs.heads(batch, head);
    let scores = MatrixMut::new(weights, query_len, key_len, key_len);
    multiply(scores, query, key.transposed(), inputs.sizes.scale());
    for (query, row) in weights.chunks_exact_mut(key_len).enumerate() {
        masked_softmax(row, hidden.row(batch, head, query));
    }
    let mut used: &[f32] = weights;
    if inputs.factors(batch, head, factors) {
        multiply_by(factors, weights);
        used = factors;
    }
    let context = MatrixMut::new(&mut context[head * d_v..], query_len, d_v, heads * d_v);
    let weights = Matrix::new(used, query_len, key_len, key_len);
    multiply(context, weights, value, 1.0);
}

/// Writes the gradients of query, key and value, each `[batch, len, heads·d]`, given the gradient
/// of the context (in the layout of the context) and the weights of the forward pass.
pub(super) fn backward(
    inputs: Inputs,
    weights: &[f32],
    grad: &[f32],
    [query, key, value]: [&mut [f32]; 3],
) {
    let Sizes {
        heads,
        query_len,
        key_len,
        d_k,
        d_v,
        ..
    } = inputs.sizes;
    let block = inputs.sizes.block();
    let outputs = query
        .par_chunks_mut(query_len * heads * d_k)
        .zip(key.par_chunks_mut(key_len * heads * d_k))
        .zip(value.par_chunks_mut(key_len * heads * d_v));
    let read = weights
        .par_chunks(block * heads)
        .zip(grad.par_chunks(query_len * heads * d_v));
    outputs.zip(read).enumerate().for_each_init(
        || scratch(block),
        |scratch, (batch, (((query, key), value), (weights, grad)))| {
            for (head, weights) in weights.chunks_exact(block).enumerate() {
                let grad = Matrix::new(&grad[head * d_v..], query_len, d_v, heads * d_v);
                let outputs = [&mut *query, &mut *key, &mut *value];
                backward_head(inputs, batch, head, weights, grad, outputs, scratch);
            }
        },
    );
}

fn backward_head(
    inputs: Inputs,
    batch: usize,
    head: usize,
    weights: &[f32],
    grad: Matrix,
    [dquery, dkey, dvalue]: [&mut [f32]; 3],
    (dscores, factors): &mut (Vec<f32>, Vec<f32>),
) {
    let Sizes {
        heads,
        query_len,
        key_len,
        d_k,
        d_v,
        ..
    } = inputs.sizes;
    let [query, key, value] = inputs.heads(batch, head);
    multiply(
        MatrixMut::new(dscores, query_len, key_len, key_len),
        grad,
        value.transposed(),
        1.0,
    );
    let mut used = weights;
    if inputs.factors(batch, head, factors) {
        multiply_by(dscores, factors);
        multiply_by(factors, weights);
        used = factors;
    }
    let used = Matrix::new(used, query_len, key_len, key_len);
    let dvalue = MatrixMut::new(&mut dvalue[head * d_v..], key_len, d_v, heads * d_v);
    multiply(dvalue, used.transposed(), grad, 1.0);
    softmax_gradient(dscores, weights, key_len);
    let scale = inputs.sizes.scale();
    let dscores = Matrix::new(dscores, query_len, key_len, key_len);
    let dquery = MatrixMut::new(&mut dquery[head * d_k..], query_len, d_k, heads * d_k);
    multiply(dquery, dscores, key, scale);
    let dkey = MatrixMut::new(&mut dkey[head * d_k..], key_len, d_k, heads * d_k);
    multiply(dkey, dscores.transposed(), query, scale);
}

vectorised! {
    /// Softmax over the scores that are not hidden. A hidden score gets weight 0, also if all
    /// scores are hidden.
    fn masked_softmax(row: &mut [f32], hidden: &[u8]) {
        for (x, &hidden) in row.iter_mut().zip(hidden) {
            *x = if hidden != 0 { f32::NEG_INFINITY } else { *x };
        }
        if hidden.iter().all(|&hidden| hidden != 0) {
            return row.fill(0.0);
        }
        softmax_row(row);
    }

    /// Turns the gradient g of the weights w into the gradient of the scores, row by row: w·(g − Σ
    /// w·g).
    fn softmax_gradient(grad: &mut [f32], weights: &[f32], width: usize) {
        for (grad, weights) in grad.chunks_exact_mut(width).zip(weights.chunks_exact(width)) {
            let mixed = fold_pairs(grad, weights, |a, g, w| a + g * w);
            for (g, w) in grad.iter_mut().zip(weights) {
                *g = w * (*g - mixed);
            }
        }
    }
}
