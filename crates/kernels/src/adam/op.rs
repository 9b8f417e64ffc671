//! The update of Adam as an operation on the CPU, which has no backward pass.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use super::cpu;
use super::step::{AdamStep, Moving};
use crate::cpu::{contiguous, floats, primitive, tensor};

/// Returns the update of tensors on the CPU without gradients, in place if no other tensor shares
/// their memory.
pub(super) fn adam_step<const D: usize>(
    moving: Moving<D>,
    gradient: Tensor<D>,
    step: AdamStep,
) -> Moving<D> {
    let [mut parameter, mut first, mut second] =
        [moving.parameter, moving.first, moving.second].map(|x| compact(primitive(x)));
    let gradient = contiguous(primitive(gradient));
    let moments = [first.storage_mut(), second.storage_mut()];
    cpu::update(parameter.storage_mut(), floats(&gradient), moments, step);
    let [parameter, first, second] = [parameter, first, second].map(Tensor::from_primitive::<Flex>);
    Moving {
        parameter,
        first,
        second,
    }
}

/// Returns `x` with elements that fill the whole of its storage.
fn compact(x: FlexTensor) -> FlexTensor {
    let x = contiguous(x);
    let whole = x.bytes().len() == x.layout().num_elements() * size_of::<f32>();
    if whole {
        x
    } else {
        tensor(floats(&x).to_vec(), x.layout().shape().clone())
    }
}
