//! Layer normalisation on GPUs, alone or around a residual connection with dropout. Forward, the
//! inputs are read once; backward, the inputs and the gradient are read, and the gradients written,
//! once. Dropout is drawn where it is used.

mod backward;
mod forward;
mod input;
mod launch;
mod rows;

use burn::backend::Cube;
use burn::backend::tensor::FloatTensor;
use burn::tensor::Tensor;

use crate::dropout::DropoutMask;
use crate::op::{FusedOp, Keep, apply};
use input::Input;
use launch::NormKernels;

/// Features of the widest row for which three numbers per feature fit into the shared memory that
/// every device has.
const WIDEST: usize = 1024;

/// Returns whether the kernels support `x`, which is on a GPU in float32.
pub(super) fn supports<const D: usize>(x: &Tensor<D>) -> bool {
    (1..=WIDEST).contains(&x.dims()[D - 1]) && x.shape().num_elements() > 0
}

/// The norm of a tensor on a GPU.
pub(super) fn layer_norm<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    apply(Norm { epsilon, input: Input::Alone }, [x.into(), weight.into(), bias.into()])
}

/// The norm of a residual connection of tensors on a GPU.
pub(super) fn residual_dropout_norm<const D: usize>(
    x: Tensor<D>,
    y: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    let op = Norm { epsilon, input: mask.map_or(Input::Sum, Input::Dropped) };
    apply(op, [x.into(), y.into(), weight.into(), bias.into()])
}

#[derive(Debug)]
struct Norm {
    epsilon: f64,
    input: Input,
}

/// The inputs are x, y if there is one, weight and bias.
impl<const N: usize> FusedOp<N> for Norm {
    type Backend = Cube;
    type Saved = Saved;

    fn forward(self, inputs: [FloatTensor<Cube>; N], _keep: Keep) -> (FloatTensor<Cube>, Saved) {
        let mut inputs = Vec::from(inputs);
        if N == 3 {
            inputs.insert(1, inputs[0].clone());
        }
        let inputs = inputs.try_into().expect("three or four inputs");
        Saved::forward(inputs, self.epsilon, self.input)
    }

    fn backward(
        saved: Saved,
        grad: FloatTensor<Cube>,
        _wanted: [bool; N],
    ) -> [Option<FloatTensor<Cube>>; N] {
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
struct Saved {
    x: FloatTensor<Cube>,
    y: FloatTensor<Cube>,
    weight: FloatTensor<Cube>,
    moments: FloatTensor<Cube>,
    input: Input,
}

impl Saved {
    /// The norm of x and y with weight and bias, and what its backward pass needs.
    fn forward(
        [x, y, weight, bias]: [FloatTensor<Cube>; 4],
        epsilon: f64,
        input: Input,
    ) -> (FloatTensor<Cube>, Self) {
        let (output, moments) =
            Cube::norm(x.clone(), y.clone(), weight.clone(), bias, epsilon, input);
        (output, Self { x, y, weight, moments, input })
    }

    /// The gradients of x, y, weight and bias.
    fn backward(self, grad: FloatTensor<Cube>) -> [FloatTensor<Cube>; 4] {
        let Self { x, y, weight, moments, input } = self;
        let (dx, dy, dweight, dbias) = Cube::norm_gradients(grad, x, y, weight, moments, input);
        [dx, dy, dweight, dbias]
    }
}
