//! Initial weights, each a function of a [`RandomKey`]. They are drawn at the first access; weights
//! that are loaded are never drawn.

use burn::module::{Param, ParamId};
use burn::tensor::{Device, Distribution, Tensor, TensorData};
use burnformer_kernels::RandomKey;

/// Xavier-uniform weights `[fan_out, fan_in]`: U(−a, a) with a = √(6 / (fan_in + fan_out))
/// (Glorot and Bengio, 2010), which the paper's own code uses. They are a function of `key`.
pub fn xavier_uniform(
    [fan_out, fan_in]: [usize; 2],
    key: RandomKey,
    device: &Device,
) -> Param<Tensor<2>> {
    let bound = (6.0 / (fan_in + fan_out) as f64).sqrt() as f32;
    parameter([fan_out, fan_in], device, move || {
        let values = key.uniform(fan_out * fan_in);
        values
            .into_iter()
            .map(|u| (2.0 * u - 1.0) * bound)
            .collect()
    })
}

/// Normally distributed weights of `shape` with mean 0 and standard deviation `std`, for
/// embeddings. They are a function of `key`.
pub fn normal(shape: [usize; 2], std: f64, key: RandomKey, device: &Device) -> Param<Tensor<2>> {
    parameter(shape, device, move || {
        let values = key.normal(shape[0] * shape[1]);
        values.into_iter().map(|z| z * std as f32).collect()
    })
}

/// Returns a vector, `[length]`, with all elements equal to `value`.
pub fn constant(value: f32, length: usize, device: &Device) -> Param<Tensor<1>> {
    parameter([length], device, move || vec![value; length])
}

/// Returns a key that is drawn from Burn's random numbers of `device`.
pub(crate) fn drawn_key(device: &Device) -> RandomKey {
    let range = Distribution::Uniform(0.0, f64::from(1 << 24));
    let draws = Tensor::<1>::random([2], range, device).into_data();
    draws
        .iter::<f32>()
        .fold(RandomKey::new(0), |key, draw| key.fold(draw as u64))
}

/// Returns a parameter with values that `draw` computes when they are first read.
fn parameter<const D: usize>(
    shape: [usize; D],
    device: &Device,
    draw: impl FnOnce() -> Vec<f32> + Send + Sync + 'static,
) -> Param<Tensor<D>> {
    Param::uninitialized(
        ParamId::new(),
        move |device: &Device, is_trained: bool| {
            let values = Tensor::from_data(TensorData::new(draw(), shape), device);
            if is_trained {
                values.require_grad()
            } else {
                values
            }
        },
        device.clone(),
        true,
        shape.into(),
    )
}
