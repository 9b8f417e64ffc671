//! Attention as an operation on the CPU.

use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use super::AttentionInputs;
use super::cpu::{self, Inputs, KeyMask, ProjectedTensor, Sizes};
use crate::cpu::{bools, contiguous, dims, floats, tensor};
use crate::dropout::DropoutMask;
use crate::op::{FusedOp, Keep, apply};

/// Attention of tensors on the CPU.
pub(super) fn attention(inputs: AttentionInputs, mask: Option<DropoutMask>) -> Tensor<3> {
    let AttentionInputs {
        query,
        key,
        value,
        heads,
        hidden,
    } = inputs;
    let hidden = match hidden {
        Some(hidden) => KeyMask {
            shape: hidden.dims(),
            bytes: bools(hidden),
        },
        None => KeyMask::nothing(key.dims()[1]),
    };
    apply(
        Attention {
            heads,
            hidden,
            mask,
        },
        [query.into(), key.into(), value.into()],
    )
}

#[derive(Debug)]
struct Attention {
    heads: usize,
    hidden: KeyMask,
    mask: Option<DropoutMask>,
}

/// The inputs, which are shared and not copied, and the weights before dropout.
#[derive(Clone, Debug)]
struct Saved {
    sizes: Sizes,
    inputs: [FlexTensor; 3],
    mask: Option<DropoutMask>,
    /// `[batch, heads, query_len, key_len]`; empty if no backward pass follows.
    weights: Vec<f32>,
}

impl FusedOp<3> for Attention {
    type Saved = Saved;

    fn forward(self, inputs: [FlexTensor; 3], keep: Keep<3>) -> (FlexTensor, Saved) {
        let inputs = inputs.map(with_adjacent_features);
        let sizes = sizes(&inputs, self.heads);
        let Sizes {
            batch,
            heads,
            query_len,
            key_len,
            d_v,
            ..
        } = sizes;
        let kept = if keep == Keep::Nothing {
            0
        } else {
            batch * heads * query_len * key_len
        };
        let mut saved = Saved {
            sizes,
            inputs,
            mask: self.mask,
            weights: vec![0.0; kept],
        };
        let mut context = vec![0.0; batch * query_len * heads * d_v];
        if key_len > 0 && !context.is_empty() {
            let mut weights = std::mem::take(&mut saved.weights);
            cpu::forward(saved.read(), &self.hidden, &mut context, &mut weights);
            saved.weights = weights;
        }
        (tensor(context, [batch, query_len, heads * d_v]), saved)
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let grad = contiguous(grad);
        let shapes = saved.inputs.each_ref().map(dims::<3>);
        let mut grads = shapes.map(|shape| vec![0.0; shape.iter().product()]);
        if !saved.weights.is_empty() && !floats(&grad).is_empty() {
            let outputs = grads.each_mut().map(Vec::as_mut_slice);
            cpu::backward(saved.read(), &saved.weights, floats(&grad), outputs);
        }
        let mut shapes = shapes.into_iter();
        grads.map(|grad| Some(tensor(grad, shapes.next().expect("three shapes"))))
    }
}

impl Saved {
    fn read(&self) -> Inputs<'_> {
        let [query, key, value] = self.inputs.each_ref().map(projected);
        Inputs {
            sizes: self.sizes,
            query,
            key,
            value,
            mask: self.mask,
        }
    }
}

fn sizes([query, _, value]: &[FlexTensor; 3], heads: usize) -> Sizes {
    let [batch, query_len, width] = dims(query);
    let [_, key_len, value_width] = dims(value);
    Sizes {
        batch,
        heads,
        query_len,
        key_len,
        d_k: width / heads,
        d_v: value_width / heads,
    }
}

/// Returns `x` itself if the features of each position are adjacent, else a copy with adjacent
/// features.
fn with_adjacent_features(x: FlexTensor) -> FlexTensor {
    let strides = x.layout().strides();
    let adjacent = strides[2] == 1 && strides.iter().all(|&stride| stride > 0);
    if adjacent { x } else { x.to_contiguous() }
}

fn projected(x: &FlexTensor) -> ProjectedTensor<'_> {
    let strides = x.layout().strides();
    ProjectedTensor {
        data: &x.storage()[x.layout().start_offset()..],
        batch_stride: strides[0] as usize,
        row_stride: strides[1] as usize,
    }
}
