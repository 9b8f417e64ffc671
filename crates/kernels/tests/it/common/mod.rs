//! Leaves, gradients and comparisons shared by the tests.
#![allow(dead_code)] // each test file uses its part

use burn::tensor::{Device, Tensor, TensorData};
use burnformer_kernels::RandomKey;

/// The device of the fused operations, with gradients: the CPU, or a GPU that `BURN_DEVICE` names.
pub fn device() -> Device {
    Device::default().autodiff()
}

/// Returns whether that is the CPU.
pub fn is_cpu() -> bool {
    burnformer_kernels::is_fused_on(&device())
}

/// A leaf of standard normal numbers.
pub fn leaf<const D: usize>(seed: u64, shape: [usize; D]) -> Tensor<D> {
    normal(seed, shape).require_grad()
}

/// Standard normal numbers.
pub fn normal<const D: usize>(seed: u64, shape: [usize; D]) -> Tensor<D> {
    let values = RandomKey::new(seed).normal(shape.iter().product());
    Tensor::from_data(TensorData::new(values, shape), &device())
}

/// The elements of `x`, row-major.
pub fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().try_to_vec().expect("32 bits")
}

/// `output` followed by the gradients of Σ output·probe with respect to `leaves`.
pub fn with_gradients<const D: usize>(output: Tensor<D>, leaves: Leaves) -> Vec<Vec<f32>> {
    let probe = normal(99, output.dims());
    let mut all = vec![values(output.clone())];
    let grads = (output * probe).sum().backward();
    all.extend(
        leaves
            .one
            .iter()
            .map(|x| values(x.grad(&grads).expect("a gradient"))),
    );
    all.extend(
        leaves
            .two
            .iter()
            .map(|x| values(x.grad(&grads).expect("a gradient"))),
    );
    all.extend(
        leaves
            .three
            .iter()
            .map(|x| values(x.grad(&grads).expect("a gradient"))),
    );
    all
}

/// Leaves of each rank.
#[derive(Default)]
pub struct Leaves {
    pub one: Vec<Tensor<1>>,
    pub two: Vec<Tensor<2>>,
    pub three: Vec<Tensor<3>>,
}

/// Asserts that each list of `actual` equals its counterpart in `expected` to 1e-5 of its largest
/// number.
pub fn assert_close(actual: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_close_beside(1e-3, actual, expected);
}

/// Asserts that each list of `actual` equals its counterpart in `expected` to 1e-5 of its largest
/// number, or of `size` if that is larger.
pub fn assert_close_beside(size: f32, actual: &[Vec<f32>], expected: &[Vec<f32>]) {
    assert_eq!(actual.len(), expected.len());
    for (which, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        assert_eq!(actual.len(), expected.len(), "length of result {which}");
        let scale = expected.iter().fold(size, |m, x| m.max(x.abs()));
        for (index, (a, e)) in actual.iter().zip(expected).enumerate() {
            assert!(
                (a - e).abs() <= 1e-5 * scale,
                "result {which}, index {index}: {a}, not {e}"
            );
        }
    }
}

/// Runs `f` under one, two and three threads and asserts equal bits.
pub fn assert_independent_of_threads(f: impl Fn() -> Vec<Vec<f32>> + Sync) {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        let bits = |xs: Vec<f32>| xs.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        pool.install(&f).into_iter().map(bits).collect::<Vec<_>>()
    };
    let one = run(1);
    assert!(
        run(2) == one && run(3) == one,
        "the thread count shows in the result"
    );
}
