//! A step of additive attention, forward and backward.

use burnformer_kernels::simd::{LANES, fold_pairs, softmax_row, sum, tanh, vectorised};

/// What a row attends to.
#[derive(Clone, Copy)]
pub(super) struct Sentence<'a> {
    pub keys: &'a [f32],
    pub memory: &'a [f32],
    /// Not 0 where a position is hidden.
    pub hidden: &'a [u8],
}

/// The gradients to which a step of attention adds.
pub(super) struct AttentionGradients<'a> {
    pub query: &'a mut [f32],
    pub energy: &'a mut [f32],
    pub keys: &'a mut [f32],
    pub memory: &'a mut [f32],
}

vectorised! {
    /// Computes the attention weights α over the visible positions, and adds the weighted memory to `context`, which
    /// is zero at first.
    pub(super) fn attend(query: &[f32], energy: &[f32], source: Sentence, weights: &mut [f32], context: &mut [f32]) {
        let (attention, features) = (query.len(), context.len());
        let keys = source.keys.chunks_exact(attention);
        for ((weight, key), &hidden) in weights.iter_mut().zip(keys).zip(source.hidden) {
            *weight = if hidden != 0 { f32::NEG_INFINITY } else { score(query, key, energy) };
        }
        softmax_row(weights);
        for (weight, memory) in weights.iter().zip(source.memory.chunks_exact(features)) {
            for (c, m) in context.iter_mut().zip(memory) {
                *c += *weight * m;
            }
        }
    }

    /// The backward pass of [`attend`] for the gradient `context`. `products` is scratch memory, a number for each position.
    pub(super) fn attend_backward(
        context: &[f32],
        query: &[f32],
        energy: &[f32],
        source: Sentence,
        weights: &[f32],
        grads: AttentionGradients,
        products: &mut [f32],
    ) {
        let (attention, features) = (query.len(), context.len());
        let memory = source.memory.chunks_exact(features);
        let sides = memory.zip(grads.memory.chunks_exact_mut(features));
        for ((product, &weight), (memory, grad)) in products.iter_mut().zip(weights).zip(sides) {
            *product = fold_pairs(context, memory, |sum, c, m| sum + c * m);
            for (g, c) in grad.iter_mut().zip(context) {
                *g += weight * c;
            }
        }
        let mean = fold_pairs(weights, products, |sum, w, p| sum + w * p);
        let keys = source.keys.chunks_exact(attention);
        let sides = keys.zip(grads.keys.chunks_exact_mut(attention));
        for ((product, &weight), (key, grad_key)) in products.iter().zip(weights).zip(sides) {
            if weight != 0.0 {
                let grad = weight * (*product - mean);
                score_backward(grad, [query, key, energy], grads.query, grads.energy, grad_key);
            }
        }
    }
}

/// The backward pass of [`score`].
#[inline(always)]
fn score_backward(
    grad: f32,
    [query, key, energy]: [&[f32]; 3],
    grad_query: &mut [f32],
    grad_energy: &mut [f32],
    grad_key: &mut [f32],
) {
    let size = query.len();
    let (key, energy) = (&key[..size], &energy[..size]);
    let (grad_query, grad_energy) = (&mut grad_query[..size], &mut grad_energy[..size]);
    let grad_key = &mut grad_key[..size];
    for i in 0..size {
        let mixed = tanh(query[i] + key[i]);
        grad_energy[i] += grad * mixed;
        let inner = grad * energy[i] * (1.0 - mixed * mixed);
        grad_key[i] += inner;
        grad_query[i] += inner;
    }
}

/// The score v·tanh(query + key).
#[inline(always)]
fn score(query: &[f32], key: &[f32], energy: &[f32]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let whole = query.len() / LANES * LANES;
    for at in (0..whole).step_by(LANES) {
        let (query, key, energy) =
            (&query[at..at + LANES], &key[at..at + LANES], &energy[at..at + LANES]);
        for i in 0..LANES {
            lanes[i] += energy[i] * tanh(query[i] + key[i]);
        }
    }
    for (i, at) in (whole..query.len()).enumerate() {
        lanes[i] += energy[at] * tanh(query[at] + key[at]);
    }
    sum(&lanes)
}
