//! The optimiser's step and the norm of gradients against their references.

use crate::common::{assert_close, assert_independent_of_threads, device, is_cpu, normal, values};
use burn::tensor::{Tensor, TensorData};
use burnformer_kernels::{AdamStep, Moving, adam_step, global_norm, reference, sum_of_squares};
use proptest::prelude::*;

const STEP: AdamStep = AdamStep {
    rate: 0.01,
    beta_1: 0.9,
    beta_2: 0.98,
    epsilon: 1e-9,
    time: 1,
    gradient_scale: 0.5,
};

fn plain<const D: usize>(seed: u64, shape: [usize; D]) -> Tensor<D> {
    normal(seed, shape).inner()
}

/// Parameter and moments after three steps.
fn stepped(
    step: fn(Moving<2>, Tensor<2>, AdamStep) -> Moving<2>,
    shape: [usize; 2],
) -> Vec<Vec<f32>> {
    let zeros = Tensor::zeros(shape, &device().inner());
    let mut moving = Moving {
        parameter: plain(1, shape),
        first: zeros.clone(),
        second: zeros,
    };
    for time in 1..=3 {
        moving = step(moving, plain(10 + time, shape), AdamStep { time, ..STEP });
    }
    [moving.parameter, moving.first, moving.second]
        .map(values)
        .to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_fused_step_is_the_reference(rows in 1usize..60, columns in 1usize..300) {
        let shape = [rows, columns];
        assert_close(&stepped(adam_step, shape), &stepped(reference::adam_step, shape));
    }

    #[test]
    fn the_fused_sum_of_squares_is_that_of_64_bits(rows in 1usize..60, columns in 1usize..700) {
        let x = plain(1, [rows, columns]);
        let exact: f64 = values(x.clone()).iter().map(|&x| f64::from(x) * f64::from(x)).sum();
        let bound = if is_cpu() { 1e-12 } else { 1e-5 };
        prop_assert!((sum_of_squares(x.clone()) - exact).abs() <= bound * exact);
        prop_assert!((reference::sum_of_squares(x) - exact).abs() <= 1e-5 * exact);
    }
}

#[test]
fn the_global_norm_is_that_of_64_bits() {
    let vectors = [1usize, 255, 300_001, 4, 2048].map(|size| plain(size as u64, [size]));
    let squares = vectors
        .iter()
        .map(|vector| reference::sum_of_squares(vector.clone()));
    let exact = squares.sum::<f64>().sqrt();
    let norm = f64::from(values(global_norm(&vectors))[0]);
    assert!((norm - exact).abs() <= 1e-5 * exact, "{norm}, not {exact}");
    assert_eq!(
        values(global_norm(&vectors)),
        values(global_norm(&vectors)),
        "the same bits"
    );
    assert_eq!(
        values(vectors[3].clone()),
        values(plain(4, [4])),
        "vectors stay as they were"
    );
}

/// NaN² is 0 in some shaders that compute powers by logarithms.
#[test]
fn the_global_norm_of_nan_or_infinity_is_not_finite() {
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for index in [0, 1023, 1024, 4999] {
            let mut numbers = vec![1.0; 5000];
            numbers[index] = wrong;
            let data = TensorData::new(numbers, [5000]);
            let vector = Tensor::<1>::from_data(data, &device().inner());
            let norm = values(global_norm(&[vector]))[0];
            assert!(!norm.is_finite(), "{wrong} at {index}: {norm}");
        }
    }
}

#[test]
fn the_first_step_goes_against_the_gradient_by_the_rate() {
    // After one step m̂/√v̂ is the sign of the gradient, whatever its size.
    let device = device().inner();
    let zeros = Tensor::<1>::zeros([2], &device);
    let moving = Moving {
        parameter: zeros.clone(),
        first: zeros.clone(),
        second: zeros,
    };
    let gradient = Tensor::from_floats([3.0, -0.02], &device);
    let moved = values(adam_step(moving, gradient, STEP).parameter);
    assert!(
        (moved[0] + 0.01).abs() < 1e-7 && (moved[1] - 0.01).abs() < 1e-7,
        "{moved:?}"
    );
}

#[test]
fn shared_tensors_are_not_overwritten() {
    let parameter = plain(1, [3, 5]);
    let moving = Moving {
        parameter: parameter.clone(),
        first: parameter.clone(),
        second: plain(2, [3, 5]).square(),
    };
    adam_step(moving, plain(3, [3, 5]), STEP);
    assert_eq!(values(parameter), values(plain(1, [3, 5])));
}

#[test]
fn the_thread_count_does_not_change_the_bits() {
    if !is_cpu() {
        return;
    }
    assert_independent_of_threads(|| stepped(adam_step, [301, 257]));
    let bits = |x: f64| vec![vec![x as f32, (x - f64::from(x as f32)) as f32]];
    assert_independent_of_threads(|| bits(sum_of_squares(plain(1, [301, 257]))));
}
