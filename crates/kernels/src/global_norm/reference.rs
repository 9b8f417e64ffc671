use burn::tensor::Tensor;

/// [`global_norm`](crate::global_norm) in tensor arithmetic.
pub fn global_norm(vectors: &[Tensor<1>]) -> Tensor<1> {
    let squares = vectors.iter().map(|vector| vector.clone().square().sum()).collect();
    Tensor::cat(squares, 0).sum().sqrt()
}

/// [`sum_of_squares`](crate::sum_of_squares) in tensor arithmetic.
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    x.square().sum().into_scalar()
}
