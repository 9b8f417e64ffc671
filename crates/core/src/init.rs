//! Initial weights, each a function of a [`RandomKey`].

use burn::module::Param;
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_kernels::RandomKey;

/// Xavier-uniform weights `[fan_out, fan_in]`: U(−a, a) with a = √(6 / (fan_in + fan_out))
/// (Glorot and Bengio, 2010), which the paper's own code uses. They are a function of `key`.
pub fn xavier_uniform(
    [fan_out, fan_in]: [usize; 2],
    key: RandomKey,
    device: &Device,
) -> Param<Tensor<2>> {
    let bound = (6.0 / (fan_in + fan_out) as f64).sqrt() as f32;
    let values = key.uniform(fan_out * fan_in);
    let values = values.into_iter().map(|u| (2.0 * u - 1.0) * bound);
    parameter(values.collect(), [fan_out, fan_in], device)
}

/// Normally distributed weights with mean 0 and standard deviation `std`, for embeddings. They are a function of `key`.
pub fn normal(shape: [usize; 2], std: f64, key: RandomKey, device: &Device) -> Param<Tensor<2>> {
    let values = key.normal(shape[0] * shape[1]);
    let values = values.into_iter().map(|z| z * std as f32);
    parameter(values.collect(), shape, device)
}

/// A vector of `length` elements that are all `value`.
pub fn constant(value: f32, length: usize, device: &Device) -> Param<Tensor<1>> {
    parameter(vec![value; length], [length], device)
}

fn parameter<const D: usize>(
    values: Vec<f32>,
    shape: [usize; D],
    device: &Device,
) -> Param<Tensor<D>> {
    Param::from_tensor(Tensor::from_data(TensorData::new(values, shape), device))
}
