//! Norms as operations on the CPU.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use super::cpu::{self, Affine, Input, Moments};
use crate::cpu::{contiguous, floats, overwrite, tensor};
use crate::dropout::DropoutMask;
use crate::op::{FusedOp, Keep, apply};

/// The norm of tensors on the CPU.
pub(super) fn layer_norm<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    apply(LayerNorm { epsilon }, [x.into(), weight.into(), bias.into()])
}

/// The norm of a residual connection of tensors on the CPU.
pub(super) fn residual_dropout_norm<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    let op = ResidualNorm { epsilon, mask };
    apply(op, [x.into(), y.into(), weight.into(), bias.into()])
}

#[derive(Debug)]
struct LayerNorm {
    epsilon: f64,
}

impl FusedOp<3> for LayerNorm {
    type Backend = Flex;
    type Saved = Saved;

    fn forward(self, inputs: [FlexTensor; 3], _keep: Keep) -> (FlexTensor, Saved) {
        let [x, weight, bias] = inputs;
        Saved::forward(x, None, weight, bias, self.epsilon, None)
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let [x, _, weight, bias] = saved.backward(grad);
        [x, weight, bias].map(Some)
    }
}

#[derive(Debug)]
struct ResidualNorm {
    epsilon: f64,
    mask: Option<DropoutMask>,
}

impl FusedOp<4> for ResidualNorm {
    type Backend = Flex;
    type Saved = Saved;

    fn forward(self, inputs: [FlexTensor; 4], _keep: Keep) -> (FlexTensor, Saved) {
        let [x, y, weight, bias] = inputs;
        Saved::forward(x, Some(y), weight, bias, self.epsilon, self.mask)
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 4]) -> [Option<FlexTensor>; 4] {
        saved.backward(grad).map(Some)
    }
}

/// What the backward pass of a norm needs: its inputs, which are shared and not copied, and two numbers per row.
#[derive(Clone, Debug)]
struct Saved {
    x: FlexTensor,
    y: Option<FlexTensor>,
    mask: Option<DropoutMask>,
    weight: FlexTensor,
    moments: Vec<Moments>,
}

impl Saved {
    /// `layer_norm(x + mask·y)` and what its backward pass needs.
    fn forward(
        x: FlexTensor,
        y: Option<FlexTensor>,
        weight: FlexTensor,
        bias: FlexTensor,
        epsilon: f64,
        mask: Option<DropoutMask>,
    ) -> (FlexTensor, Self) {
        let [x, weight, bias] = [x, weight, bias].map(contiguous);
        let y = y.map(contiguous);
        let mut saved = Self { x, y, mask, weight, moments: Vec::new() };
        let (weight, bias, epsilon) = (floats(&saved.weight), floats(&bias), epsilon as f32);
        let mut out = vec![0.0; saved.x.layout().num_elements()];
        let affine = Affine { weight, bias, epsilon };
        saved.moments = cpu::forward(saved.input(), affine, &mut out);
        (tensor(out, saved.x.layout().shape().clone()), saved)
    }

    /// The gradients of x, y, weight and bias.
    fn backward(self, grad: FlexTensor) -> [FlexTensor; 4] {
        let weight = floats(&self.weight);
        let apart = if self.mask.is_some() { weight.len() * self.moments.len() } else { 0 };
        let mut dy = vec![0.0; apart];
        let mut parameters = None;
        let dx = overwrite(grad, |dx, source| {
            let moments = &self.moments;
            parameters = Some(cpu::backward(self.input(), weight, moments, dx, source, &mut dy));
        });
        let parameters = parameters.expect("overwrite calls its writer");
        let dy = match self.mask {
            None => dx.clone(),
            Some(_) => tensor(dy, self.x.layout().shape().clone()),
        };
        let width = [weight.len()];
        [dx, dy, tensor(parameters.weight, width), tensor(parameters.bias, width)]
    }

    fn input(&self) -> Input<'_> {
        Input { x: floats(&self.x), y: self.y.as_ref().map(floats), mask: self.mask }
    }
}
