use burn::tensor::{DType, Tensor};

/// Returns `x` in float32 if it has 16 bits, otherwise `x` itself: for the arithmetic that follows
/// a matrix product in half precision.
pub fn to_f32<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => x,
    }
}
