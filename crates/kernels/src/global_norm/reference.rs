use burn::tensor::Tensor;

use crate::sum::sum;

/// The reference of [`sum_of_squares`](crate::sum_of_squares) in plain tensor arithmetic.
///
/// # Shapes
/// `x`: any → a number
pub fn sum_of_squares<const D: usize>(x: Tensor<D>) -> f64 {
    sum(x.square()).into_scalar()
}
