use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use super::primitive;
use super::storage::{contiguous, floats};
use crate::slices::adam as slices;
use crate::{AdamStep, Moving};

/// The update on tensors for which [`plain`](super::plain) holds.
pub(crate) fn fused<const D: usize>(
    moving: Moving<D>,
    gradient: Tensor<D>,
    step: AdamStep,
) -> Moving<D> {
    let [mut parameter, mut first, mut second] =
        [moving.parameter, moving.first, moving.second].map(|x| own(primitive(x)));
    let gradient = contiguous(primitive(gradient));
    let moments = [first.storage_mut(), second.storage_mut()];
    slices::update(parameter.storage_mut(), floats(&gradient), moments, step);
    let [parameter, first, second] = [parameter, first, second].map(Tensor::from_primitive::<Flex>);
    Moving { parameter, first, second }
}

/// Σ x² of a tensor for which [`plain`](super::plain) holds.
pub(crate) fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    slices::sum_of_squares(floats(&contiguous(primitive(x))))
}

/// `x` as the whole of its storage.
fn own(x: FlexTensor) -> FlexTensor {
    let x = contiguous(x);
    let whole = x.bytes().len() == x.layout().num_elements() * size_of::<f32>();
    if whole { x } else { super::storage::tensor(floats(&x).to_vec(), x.layout().shape().clone()) }
}
