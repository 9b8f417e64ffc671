use burn::tensor::{FloatDType, Tensor, activation::relu};

use super::settings::Epilogue;
use crate::to_f32::to_f32;

/// [`linear`](crate::linear) in tensor arithmetic.
pub fn linear<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    let mut shape = x.dims();
    let rows = x.reshape([-1, shape[D - 1] as i32]);
    shape[D - 1] = weight.dims()[0];
    burn::tensor::module::linear(rows, weight.transpose(), bias).reshape(shape)
}

/// [`linear_relu`](crate::linear_relu) in tensor arithmetic.
pub fn linear_relu<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
) -> Tensor<D> {
    relu(linear(x, weight, bias))
}

/// [`linear_bfloat16`](crate::linear_bfloat16) in tensor arithmetic.
pub fn linear_bfloat16<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    epilogue: Epilogue,
) -> Tensor<D> {
    let product = linear(x.cast(FloatDType::BF16), weight.cast(FloatDType::BF16), None);
    let product = to_f32(product);
    let sum = match bias {
        None => product,
        Some(bias) => product + bias.unsqueeze(),
    };
    match epilogue {
        Epilogue::None => sum,
        Epilogue::Relu => relu(sum),
    }
}
