use burn::tensor::Tensor;

/// The reference of [`sum_of_squares`](crate::sum_of_squares) in plain tensor arithmetic.
///
/// # Shapes
/// `x`: any → a number
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    x.square().sum().into_scalar()
}
