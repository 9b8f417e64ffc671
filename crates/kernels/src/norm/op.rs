//! Norms as operations on the CPU.

use burn::backend::flex::FlexTensor;

use super::cpu::{self, Input, Moments};
use crate::cpu::{contiguous, floats, overwrite, tensor};
use crate::dropout::DropoutMask;
use crate::op::{FusedOp, Keep};

/// The norm, alone or over a residual connection with dropout.
#[derive(Debug)]
pub(super) struct Norm {
    pub epsilon: f64,
    pub mask: Option<DropoutMask>,
}

/// The inputs are x, y if there is one, weight and bias.
impl<const N: usize> FusedOp<N> for Norm {
    type Saved = Saved;

    fn forward(self, inputs: [FlexTensor; N], _keep: Keep<N>) -> (FlexTensor, Saved) {
        let mut inputs = Vec::from(inputs.map(contiguous));
        let y = (N == 4).then(|| inputs.remove(1));
        let [x, weight, bias] = inputs.try_into().expect("three or four inputs");
        let mut saved = Saved {
            x,
            y,
            mask: self.mask,
            weight,
            moments: Vec::new(),
        };
        let affine = [floats(&saved.weight), floats(&bias)];
        let mut out = vec![0.0; saved.x.layout().num_elements()];
        saved.moments = cpu::forward(saved.input(), affine, self.epsilon as f32, &mut out);
        (tensor(out, saved.x.layout().shape().clone()), saved)
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; N]) -> [Option<FlexTensor>; N] {
        let mut grads = Vec::from(saved.backward(grad).map(Some));
        if N == 3 {
            grads.remove(1);
        }
        grads.try_into().expect("as many gradients as inputs")
    }
}

/// Tensors saved for the backward pass: the inputs, which are shared and not copied, and two
/// numbers per row.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    x: FlexTensor,
    y: Option<FlexTensor>,
    mask: Option<DropoutMask>,
    weight: FlexTensor,
    moments: Vec<Moments>,
}

impl Saved {
    /// Returns the gradients of x, y, weight and bias.
    fn backward(self, grad: FlexTensor) -> [FlexTensor; 4] {
        let weight = floats(&self.weight);
        let apart = if self.mask.is_some() {
            weight.len() * self.moments.len()
        } else {
            0
        };
        let mut dy = vec![0.0; apart];
        let mut parameters = None;
        let dx = overwrite(grad, |dx, source| {
            let moments = &self.moments;
            parameters = Some(cpu::backward(
                self.input(),
                weight,
                moments,
                dx,
                source,
                &mut dy,
            ));
        });
        let [dweight, dbias] = parameters.expect("overwrite calls its writer");
        let dy = match self.mask {
            None => dx.clone(),
            Some(_) => tensor(dy, self.x.layout().shape().clone()),
        };
        let width = [weight.len()];
        [dx, dy, tensor(dweight, width), tensor(dbias, width)]
    }

    fn input(&self) -> Input<'_> {
        Input {
            x: floats(&self.x),
            y: self.y.as_ref().map(floats),
            mask: self.mask,
        }
    }
}
