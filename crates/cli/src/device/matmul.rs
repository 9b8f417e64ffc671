//! The speed of a device at matrix products, the reference for all other speeds.

use std::time::{Duration, Instant};

use burn::tensor::{Device, FloatDType, Tensor, TensorData};
use burnformer_core::Precision;
use burnformer_kernels::{Epilogue, is_fused_on, linear_with};

/// How long to repeat a product.
const TIMED: Duration = Duration::from_millis(300);
/// Products of the next size are tried while one product takes less than this.
const SHORT: f64 = 0.01;
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
        if seconds > SHORT || size >= SIZES[1] {
            return best;
        }
        size *= 2;
    }
}

/// The speed of products of `size` × `size` matrices in billions of operations per second
/// (GFLOP/s). A first, untimed product compiles and tunes.
pub fn rate(device: &Device, precision: Precision, size: usize) -> f64 {
    let device = device.clone().inner();
    // Fused products in bfloat16 take float32 operands and round them.
    let rounds_itself = precision == Precision::BFloat16 && is_fused_on(&device);
    // The second factor is divided by the size, so that a product of products does not overflow.
    let values = |seed: usize| (0..size * size).map(move |i| ((i * 7 + seed) % 13) as f32 / 6.0);
    let matrix = |seed, scale: f32| {
        let values: Vec<f32> = values(seed).map(|value| value * scale).collect();
        let matrix = Tensor::<2>::from_data(TensorData::new(values, [size, size]), &device);
        if rounds_itself {
            matrix
        } else {
            matrix.cast(precision.dtype())
        }
    };
    let a = matrix(1, 1.0);
    let b = matrix(2, 1.0 / size as f32);
    // As in a model, the input of each product is the result of the previous one. The host reads
    // one number of the last result, because devices compute asynchronously.
    let product = |x: Tensor<2>| {
        if rounds_itself {
            linear_with(x, b.clone(), None, Epilogue::None, precision)
        } else {
            x.matmul(b.clone())
        }
    };
    let four = || {
        let last = (0..4).fold(a.clone(), |x, _| product(x));
        last.slice([0..1, 0..1])
            .cast(FloatDType::F32)
            .into_scalar::<f32>()
    };
    four();
    let start = Instant::now();
    let mut products = 0;
    while start.elapsed() < TIMED {
        four();
        products += 4;
    }
    operations(size) * f64::from(products) / start.elapsed().as_secs_f64() / 1e9
}

/// The number of operations of a product: one multiplication and one addition for each element of
/// each row and column.
fn operations(size: usize) -> f64 {
    2.0 * (size as f64).powi(3)
}
