use burn::tensor::Tensor;
use burn::tensor::activation::{relu, silu};

use super::settings::Epilogue;
use crate::precision::Precision;
use crate::to_f32::to_f32;

/// The reference of [`linear`](crate::linear) in plain tensor arithmetic.
///
/// # Shapes
/// `x`: `[.., in]`, `weight`: `[out, in]`, `bias`: `[out]` → `[.., out]`
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

/// The reference of [`linear_with`](crate::linear_with) in plain tensor arithmetic.
///
/// # Shapes
/// `x`: `[.., in]`, `weight`: `[out, in]`, `bias`: `[out]` → `[.., out]`
pub fn linear_with<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    epilogue: Epilogue,
    precision: Precision,
) -> Tensor<D> {
    let sum = match precision.half() {
        None => linear(x, weight, bias),
        Some(dtype) => {
            let product = linear(x.cast(dtype), weight.cast(dtype), None);
            match (to_f32(product), bias) {
                (product, None) => product,
                (product, Some(bias)) => product + bias.unsqueeze(),
            }
        }
    };
    match epilogue {
        Epilogue::None => sum,
        Epilogue::Relu => relu(sum),
        Epilogue::Silu => silu(sum),
    }
}
