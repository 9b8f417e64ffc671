//! The speed of a device at matrix products, the reference for all other speeds.

use std::time::{Duration, Instant};

use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use burnformer_core::Precision;
use burnformer_kernels::{Epilogue, is_fused_on, linear_with};

/// How long to repeat a product.
const MEASURING_TIME: Duration = Duration::from_millis(300);
/// Products of the next size are tried while one product takes less than this.
const MAX_SHORT_SECONDS: f64 = 0.01;
/// The number of rows and columns of the smallest and the largest product.
const SIZES: [usize; 2] = [1024, 8192];

/// The speed of products of square matrices in billions of operations per second (GFLOP/s): the
/// best of the sizes 1,024, 2,048, 4,096 and 8,192 that the device multiplies within milliseconds.
pub fn best_rate(device: &Device, precision: Precision) -> f64 {
    let mut size = SIZES[0];
    let mut best = 0.0_f64;
    loop {
        let rate = rate(device, precision, size);
        best = best.max(rate);
        let seconds = operations(size) / (rate * 1e9);
        if seconds > MAX_SHORT_SECONDS || size >= SIZES[1] {
            return best;
        }
        size *= 2;
    }
}

/// The speed of products of `size` × `size` matrices in billions of operations per second
/// (GFLOP/s). A first, untimed product compiles and tunes.
pub fn rate(device: &Device, precision: Precision, size: usize) -> f64 {
    let products = Products::new(&device.clone().inner(), precision, size);
    products.four();
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < MEASURING_TIME {
        products.four();
        count += 4;
    }
    operations(size) * f64::from(count) / start.elapsed().as_secs_f64() / 1e9
}

/// The two factors of timed products.
struct Products {
    a: Tensor<2>,
    b: Tensor<2>,
    precision: Precision,
    /// If true, products in bfloat16 are fused: they take float32 operands and round them.
    rounds_itself: bool,
}

impl Products {
    fn new(device: &Device, precision: Precision, size: usize) -> Self {
        let rounds_itself = precision == Precision::BFloat16 && is_fused_on(device);
        let a = matrix(1, 1.0, size, device);
        // The second factor is divided by the size, so that a product of products does not
        // overflow.
        let b = matrix(2, 1.0 / size as f32, size, device);
        let [a, b] = [a, b].map(|factor| {
            if rounds_itself {
                factor
            } else {
                factor.cast(precision.dtype())
            }
        });
        Self {
            a,
            b,
            precision,
            rounds_itself,
        }
    }

    /// Computes four products. As in a model, the input of each is the result of the previous one.
    /// The host reads one number of the last result, because devices compute asynchronously.
    fn four(&self) {
        let last = (0..4).fold(self.a.clone(), |x, _| self.product(x));
        last.slice([0..1, 0..1])
            .cast(FloatDType::F32)
            .into_scalar::<f32>();
    }

    fn product(&self, x: Tensor<2>) -> Tensor<2> {
        let b = self.b.clone();
        if self.rounds_itself {
            linear_with(x, b, None, Epilogue::None, self.precision)
        } else {
            x.matmul(b)
        }
    }
}

/// A float32 matrix of `size` × `size` numbers up to 2 · `scale`, which depend on `seed`.
fn matrix(seed: usize, scale: f32, size: usize, device: &Device) -> Tensor<2> {
    let values: Vec<f32> = (0..size * size)
        .map(|i| ((i * 7 + seed) % 13) as f32 / 6.0 * scale)
        .collect();
    Tensor::from_data(TensorData::new(values, [size, size]), device)
}

/// The number of operations of a product: one multiplication and one addition for each element of
/// each row and column.
fn operations(size: usize) -> f64 {
    2.0 * (size as f64).powi(3)
}
