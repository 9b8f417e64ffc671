use burn::tensor::Tensor;

/// The reference of [`global_norm`](crate::global_norm) in plain tensor arithmetic.
pub fn global_norm(vectors: &[Tensor<1>]) -> Tensor<1> {
    let squares = vectors.iter().map(|vector| vector.clone().square().sum()).collect();
    Tensor::cat(squares, 0).sum().sqrt()
}

/// The reference of [`sum_of_squares`](crate::sum_of_squares) in plain tensor arithmetic.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    x.square().sum().into_scalar()
}
