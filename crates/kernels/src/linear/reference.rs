use burn::tensor::{Tensor, activation::relu};

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
