//! The fused loss against its reference, on the CPU or on the GPU that `BURN_DEVICE` names.

use crate::common::{
    assert_close, assert_close_beside, assert_independent_of_threads, device, is_cpu, leaf, normal,
    values,
};
use burn::tensor::{Int, Tensor, TensorData};
use burnformer_kernels::{
    Precision, Projection, label_smoothed_cross_entropy, linear_cross_entropy, log_probability,
    reference,
};
use proptest::prelude::*;

type Loss = fn(Tensor<2>, Tensor<1, Int>, u32, f64) -> (Tensor<1>, Tensor<1>);

/// Smoothed sum, nll sum and the gradient of three times the smoothed sum.
fn run(loss: Loss, rows: usize, vocab: usize, smoothing: f64, held: bool) -> Vec<Vec<f32>> {
    let leaf = leaf(1, [rows, vocab]);
    // A product, so that the logits are not a leaf and nothing but the loss holds them.
    let logits = leaf.clone() * 4.0;
    let kept = held.then(|| logits.clone());
    let targets: Vec<i64> = (0..rows).map(|row| (row * 7 % vocab) as i64).collect();
    let targets = Tensor::from_data(TensorData::new(targets, [rows]), &device());
    let (smoothed, nll) = loss(logits, targets, 0, smoothing);
    let grads = (smoothed.clone() * 3.0).backward();
    if let Some(kept) = kept {
        assert_eq!(
            values(kept),
            values(leaf.clone() * 4.0),
            "logits held elsewhere were changed"
        );
    }
    vec![
        values(smoothed),
        values(nll),
        values(leaf.grad(&grads).expect("a gradient")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_fused_loss_is_the_reference(
        rows in 1usize..60,
        vocab in prop_oneof![2usize..150, 250usize..1100],
        smoothing in 0.0..0.9f64,
        held: bool,
    ) {
        assert_close(
            &run(label_smoothed_cross_entropy, rows, vocab, smoothing, held),
            &run(reference::label_smoothed_cross_entropy, rows, vocab, smoothing, held),
        );
    }
}

/// The sums, and the gradients of three times the smoothed sum, of states and their projection.
fn projected(fused: bool, rows: usize, vocab: usize, biased: bool) -> Vec<Vec<f32>> {
    const WIDTH: usize = 20;
    let (states, weight) = (leaf(1, [rows, WIDTH]), leaf(2, [vocab, WIDTH]));
    let bias = biased.then(|| leaf(3, [vocab]));
    let targets: Vec<i64> = (0..rows).map(|row| (row * 7 % vocab) as i64).collect();
    let targets = Tensor::from_data(TensorData::new(targets, [rows]), &device());
    let (smoothed, nll) = if fused {
        let projection = Projection {
            weight: weight.clone(),
            bias: bias.clone(),
            precision: Precision::Float32,
        };
        linear_cross_entropy(states.clone(), projection, targets, 0, 0.1)
    } else {
        let logits = reference::linear(states.clone(), weight.clone(), bias.clone());
        reference::label_smoothed_cross_entropy(logits, targets, 0, 0.1)
    };
    let grads = (smoothed.clone() * 3.0).backward();
    let mut all = vec![values(smoothed), values(nll)];
    all.extend([states, weight].map(|x| values(x.grad(&grads).expect("a gradient"))));
    all.extend(bias.map(|x| values(x.grad(&grads).expect("a gradient"))));
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_loss_of_states_is_that_of_their_logits(
        rows in 1usize..300,
        vocab in 2usize..150,
        biased: bool,
    ) {
        assert_close_beside(
            1.0,
            &projected(true, rows, vocab, biased),
            &projected(false, rows, vocab, biased),
        );
    }
}

#[test]
fn a_frozen_projection_has_no_gradient() {
    let states = leaf(1, [5, 4]);
    let projection = Projection {
        weight: normal(2, [7, 4]),
        bias: None,
        precision: Precision::Float32,
    };
    let targets = Tensor::from_data([1, 2, 3, 4, 5], &device());
    let (smoothed, _) = linear_cross_entropy(states.clone(), projection.clone(), targets, 0, 0.1);
    let grads = smoothed.backward();
    assert!(states.grad(&grads).is_some());
    assert!(projection.weight.grad(&grads).is_none());
}

#[test]
fn the_thread_count_does_not_change_the_bits() {
    if !is_cpu() {
        return;
    }
    assert_independent_of_threads(|| run(label_smoothed_cross_entropy, 301, 97, 0.1, false));
}

fn of_rows(logits: [[f32; 3]; 2], targets: [i32; 2]) -> (f32, f32) {
    let logits = Tensor::from_floats(logits, &device());
    let targets = Tensor::from_ints(targets, &device());
    let (smoothed, nll) = label_smoothed_cross_entropy(logits, targets, 0, 0.1);
    (smoothed.into_scalar(), nll.into_scalar())
}

#[test]
fn padding_is_ignored_even_with_nan_logits() {
    let real = [1.0, 2.0, 3.0];
    let (smoothed, nll) = of_rows([real, [f32::NAN; 3]], [2, 0]);
    assert_eq!((smoothed, nll), of_rows([real, [0.0; 3]], [2, 0]));
}

#[test]
fn a_nan_logit_makes_the_loss_nan() {
    let (smoothed, nll) = of_rows([[1.0, f32::NAN, 3.0], [0.0; 3]], [2, 1]);
    assert!(smoothed.is_nan() && nll.is_nan());
}

#[test]
fn huge_logits_neither_overflow_nor_lose_the_loss() {
    let (_, nll) = of_rows([[1e30, 0.0, 1e30], [0.0; 3]], [2, 0]);
    assert!((nll - 2f32.ln()).abs() < 1e-6, "{nll}");
}

/// A logit of −∞ is a token that cannot be: −log p has no finite mean then, which without smoothing
/// nobody asks for.
#[test]
fn an_impossible_token_costs_nothing_without_smoothing_and_is_infinite_with() {
    for loss in [
        label_smoothed_cross_entropy as Loss,
        reference::label_smoothed_cross_entropy,
    ] {
        let logits = [
            0.0,
            f32::NEG_INFINITY,
            0.0,
            0.0,
            1.0,
            1.0,
            f32::NEG_INFINITY,
            1.0,
        ];
        let leaf = Tensor::<1>::from_floats(logits, &device()).require_grad();
        let run = |smoothing| {
            let targets = Tensor::from_ints([2, 3], &device());
            loss(leaf.clone().reshape([2, 4]), targets, 0, smoothing)
        };
        let (smoothed, nll) = run(0.0);
        let gradients = smoothed.clone().backward();
        for sum in [values(smoothed), values(nll)] {
            assert!((sum[0] - 2.0 * 3f32.ln()).abs() < 1e-5, "{sum:?}");
        }
        let third = 1.0 / 3.0;
        let expected = [
            third,
            0.0,
            third - 1.0,
            third,
            third,
            third,
            0.0,
            third - 1.0,
        ];
        let gradient = values(leaf.grad(&gradients).expect("a gradient"));
        assert_close(&[gradient], &[expected.to_vec()]);
        let (smoothed, nll) = run(0.1);
        assert_eq!(values(smoothed), [f32::INFINITY]);
        assert!(values(nll)[0].is_finite());
    }
}

/// Summed up in 32 bits alone, so many logits lose a part in fourteen thousand.
#[test]
fn the_loss_over_a_million_pieces_is_that_of_float64() {
    let vocab = 1_000_000;
    let logits: Vec<f32> = (0..vocab)
        .map(|i: usize| ((i * 7919) % 1000) as f32 / 50.0 - 10.0)
        .collect();
    let log_z = logits.iter().map(|&x| f64::from(x).exp()).sum::<f64>().ln();
    let mean = logits.iter().map(|&x| f64::from(x)).sum::<f64>() / vocab as f64;
    let (nll, uniform) = (log_z - f64::from(logits[3]), log_z - mean);
    let targets = Tensor::from_ints([3], &device());
    let logits = Tensor::from_data(TensorData::new(logits, [1, vocab]), &device());
    let (smoothed, actual) = label_smoothed_cross_entropy(logits.clone(), targets, 0, 0.1);
    let picked = -log_probability(logits, Tensor::from_ints([3], &device()));
    let sums = [
        (smoothed, 0.9 * nll + 0.1 * uniform),
        (actual, nll),
        (picked, nll),
    ];
    for (actual, expected) in sums {
        let actual = f64::from(values(actual)[0]);
        assert!((actual - expected).abs() < 1e-5, "{actual}, not {expected}");
    }
}

#[test]
#[should_panic(expected = "target 3 is not below vocab 3")]
fn a_target_outside_the_vocabulary_panics() {
    of_rows([[0.0; 3]; 2], [3, 1]);
    assert!(
        is_cpu(),
        "target 3 is not below vocab 3: a GPU does not look"
    );
}

#[test]
fn a_batch_of_padding_costs_nothing_and_moves_nothing() {
    let leaf = leaf(1, [3, 300]);
    let targets = Tensor::from_ints([0, 0, 0], &device());
    let (smoothed, nll) = label_smoothed_cross_entropy(leaf.clone(), targets, 0, 0.1);
    let grads = smoothed.backward();
    assert_eq!((values(smoothed), values(nll)), (vec![0.0], vec![0.0]));
    assert_eq!(
        values(leaf.grad(&grads).expect("a gradient")),
        vec![0.0; 900]
    );
}

#[test]
fn no_rows_cost_nothing() {
    let targets = Tensor::from_data(TensorData::new(Vec::<i64>::new(), [0]), &device());
    let logits = Tensor::zeros([0, 5], &device());
    let (smoothed, nll) = label_smoothed_cross_entropy(logits, targets, 0, 0.1);
    assert_eq!((values(smoothed), values(nll)), (vec![0.0], vec![0.0]));
}

#[test]
fn logits_with_other_strides_are_read_in_their_order() {
    let run = |loss: Loss| {
        let leaf = leaf(1, [300, 7]);
        let targets = Tensor::from_ints([0, 299, 5, 256, 1, 2, 0], &device());
        let (smoothed, nll) = loss(leaf.clone().swap_dims(0, 1), targets, 0, 0.1);
        let grads = smoothed.backward();
        vec![
            values(smoothed),
            values(nll),
            values(leaf.grad(&grads).expect("a gradient")),
        ]
    };
    assert_close(
        &run(label_smoothed_cross_entropy),
        &run(reference::label_smoothed_cross_entropy),
    );
}

/// More rows than one axis of a grid has workgroups on WebGPU.
#[test]
fn seventy_thousand_rows_are_summed() {
    let rows = 70_000;
    let leaf = leaf(1, [rows, 3]);
    let targets = TensorData::new(vec![1i64; rows], [rows]);
    let targets = Tensor::from_data(targets, &device());
    let run = |loss: Loss| {
        let (smoothed, nll) = loss(leaf.clone(), targets.clone(), 0, 0.1);
        let grads = smoothed.backward();
        vec![
            values(smoothed),
            values(nll),
            values(leaf.grad(&grads).expect("a gradient")),
        ]
    };
    assert_close(
        &run(label_smoothed_cross_entropy),
        &run(reference::label_smoothed_cross_entropy),
    );
}

#[test]
fn the_loss_works_without_gradients() {
    let plain = device().inner();
    let logits = Tensor::<2>::zeros([4, 8], &plain);
    let targets = Tensor::<1, Int>::from_ints([1, 2, 3, 0], &plain);
    let (smoothed, nll) = label_smoothed_cross_entropy(logits, targets, 0, 0.2);
    let expected = 3.0 * 8f32.ln();
    let (smoothed, nll): (f32, f32) = (smoothed.into_scalar(), nll.into_scalar());
    assert!((smoothed - expected).abs() < 1e-5 && (nll - expected).abs() < 1e-5);
}
