use burn::tensor::{Int, Tensor};

/// The reference of [`embedding`](crate::embedding) in plain tensor arithmetic.
pub fn embedding(weight: Tensor<2>, ids: Tensor<2, Int>, scale: f64) -> Tensor<3> {
    burn::tensor::module::embedding(weight, ids) * scale
}
