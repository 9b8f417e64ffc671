//! The sum of all elements of a tensor in a fixed order.

use burn::tensor::Tensor;

use crate::op::Target;

/// The number of elements that are summed together.
const ROW_ELEMENTS: usize = 1024;

/// Returns the sum of all elements of `x`, `[1]`.
///
/// On a GPU the elements are summed in rows, and then the sums of the rows. Burn's own sum adds by
/// atomic operations there, so that repeated runs differ, and a long loop of a shader may end early
/// (Mesa's lavapipe leaves it after 65,535 rounds). The rows also lose less by rounding.
pub fn sum<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    match Target::of(&[&x]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => x.sum(),
        _ => by_rows(x.reshape([-1])),
    }
}

/// Returns the sum of all elements, as a sum of the sums of rows.
pub(crate) fn by_rows(mut x: Tensor<1>) -> Tensor<1> {
    while x.dims()[0] != 1 {
        let count = x.dims()[0];
        let missing = count.next_multiple_of(ROW_ELEMENTS).max(ROW_ELEMENTS) - count;
        if missing > 0 {
            let filling = Tensor::zeros([missing], (&x.device(), x.dtype()));
            x = Tensor::cat(vec![x, filling], 0);
        }
        x = x
            .reshape([-1, ROW_ELEMENTS as i32])
            .sum_dim(1)
            .squeeze_dim(1);
    }
    x
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn sums_by_rows_are_sums() {
        let device = Device::default();
        for count in [0, 1, 2, 1023, 1024, 1025, 1_050_000] {
            let x = Tensor::<1>::ones([count], &device);
            let sum: f32 = by_rows(x).into_scalar();
            assert_eq!(sum, count as f32);
        }
        let x = Tensor::<1>::from_data([1.0, f32::NAN, 2.0], &device);
        assert!(by_rows(x).into_scalar::<f32>().is_nan());
    }
}
