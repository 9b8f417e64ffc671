//! The factors of dropout as a tensor.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};

use super::mask::DropoutMask;
use crate::random::philox::{MULTIPLIERS, WEYL};

/// One of the four words of every block, `[rows, width]`: 32 bits in signed integers, because
/// Burn's fusion fails for unsigned ones.
type Words = Tensor<2, Int>;

/// The lower half of a word.
const LOW: i32 = 0xffff;

impl DropoutMask {
    /// Returns the factors of dropout for every element of `x`, as a tensor with the shape and the
    /// device of `x`. They have the same bits on every device. Devices without fused operations
    /// draw them in tensor arithmetic, and nothing is uploaded.
    pub fn tensor_like<const D: usize>(self, x: &Tensor<D>) -> Tensor<D> {
        let device = x.device();
        let count = x.shape().num_elements();
        let factors = if crate::is_fused_on(&device) || count == 0 {
            Tensor::from_data(TensorData::new(self.factors(count), [count]), &device)
        } else {
            self.factors_on(&device, count)
        };
        factors.reshape(x.shape()).cast(x.dtype())
    }

    /// Returns the factors of the first `count` elements in tensor arithmetic, `[count]`.
    fn factors_on(self, device: &Device, count: usize) -> Tensor<1> {
        let words = blocks_of(self.key().words(), device, count.div_ceil(8)).to_vec();
        let words: Tensor<3, Int> = Tensor::stack(words, 2);
        let low = words.clone().bitwise_and_scalar(LOW);
        let high = words.bitwise_right_shift_scalar(16).bitwise_and_scalar(LOW);
        let halves: Tensor<4, Int> = Tensor::stack(vec![low, high], 3);
        let is_kept = halves.greater_equal_elem(self.drop_threshold());
        let all = is_kept.float() * self.keep_value();
        let len = all.shape().num_elements();
        all.reshape([len]).narrow(0, 0, count)
    }
}

/// Returns the words of at least the first `count` blocks of Philox-4x32-10 under `key`. Their
/// numbers are the sums of two short ranges: Burn uploads a range.
fn blocks_of(mut key: [u32; 2], device: &Device, count: usize) -> [Words; 4] {
    let width = count.isqrt().max(1);
    let options = (device, DType::I32);
    let rows = Tensor::<1, Int>::arange_step(0..count as i64, width, options);
    let columns = Tensor::<1, Int>::arange_step(0..width as i64, 1, options);
    let c0 = rows.unsqueeze_dim::<2>(1) + columns.unsqueeze_dim(0);
    let zeros = c0.zeros_like();
    let mut words = [c0, zeros.clone(), zeros.clone(), zeros];
    for _ in 0..10 {
        let [c0, c1, c2, c3] = words;
        let [high_0, low_0] = product(c0, MULTIPLIERS[0]);
        let [high_1, low_1] = product(c2, MULTIPLIERS[1]);
        words = [
            high_1.bitwise_xor(c1).bitwise_xor_scalar(key[0] as i32),
            low_1,
            high_0.bitwise_xor(c3).bitwise_xor_scalar(key[1] as i32),
            low_0,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    words
}

/// The upper and the lower 32 bits of x·m, by halves of 16 bits: no product or sum of them exceeds
/// 32 bits.
fn product(x: Words, m: u32) -> [Words; 2] {
    let x_low = low_half(&x);
    let x_high = high_half(&x);
    let m_low = (m & 0xffff) as i32;
    let m_high = (m >> 16) as i32;
    let lowest = x_low.clone() * m_low;
    let carry = x_high.clone() * m_low + high_half(&lowest);
    let middle = x_low * m_high + low_half(&carry);
    let high = x_high * m_high + high_half(&carry) + high_half(&middle);
    let low = middle
        .bitwise_left_shift_scalar(16)
        .bitwise_or(low_half(&lowest));
    [high, low]
}

/// Returns the lower 16 bits of each word.
fn low_half(x: &Words) -> Words {
    x.clone().bitwise_and_scalar(LOW)
}

/// Returns the upper 16 bits of each word.
fn high_half(x: &Words) -> Words {
    x.clone()
        .bitwise_right_shift_scalar(16)
        .bitwise_and_scalar(LOW)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use crate::{DropoutMask, RandomKey};

    /// The factors on the host are compared with the published definition in `random`.
    #[test]
    fn tensor_arithmetic_draws_the_factors_of_the_host() {
        for (seed, rate, count) in [
            (1, 0.1, 1),
            (2, 0.5, 4099),
            (3, 0.0, 64),
            (4, 0.999, 70_001),
        ] {
            let mask = DropoutMask::new(RandomKey::new(seed), rate);
            for device in [Device::flex(), Device::flex().autodiff()] {
                let factors = mask.factors_on(&device, count).into_data();
                assert_eq!(
                    factors.try_to_vec::<f32>().expect("float32"),
                    mask.factors(count)
                );
            }
        }
    }
}
