use burn::tensor::{DType, Tensor};

/// `x` in 32 bits if it has 16, else itself: what follows a matrix product in half precision.
pub fn widened<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => x,
    }
}
