//! The fused loss of R-Drop against its reference, and both against the formula of the paper.

use crate::common::{assert_close, assert_independent_of_threads, device, is_cpu, leaf, values};
use burn::tensor::activation::softmax;
use burn::tensor::{Int, Tensor, TensorData};
use burnformer_kernels::{RDropLoss, r_drop_loss, reference};
use proptest::prelude::*;

type Loss = fn(Tensor<2>, Tensor<1, Int>, u32, f64, f64) -> RDropLoss;

const PAD: u32 = 0;

/// A target for each row of two passes over `positions`; some of them are padding.
fn targets(positions: usize, vocab: usize) -> Tensor<1, Int> {
    let pass = (0..positions).map(|position| (position * 7 % vocab) as i64);
    let both: Vec<i64> = pass.clone().chain(pass).collect();
    Tensor::from_data(TensorData::new(both, [2 * positions]), &device())
}

/// The three sums, and the gradient of three times the one that is minimised.
fn run(loss: Loss, positions: usize, vocab: usize, smoothing: f64, held: bool) -> Vec<Vec<f32>> {
    let leaf = leaf(1, [2 * positions, vocab]);
    // A product, so that the logits are no leaf and nothing but the loss holds them.
    let logits = leaf.clone() * 4.0;
    let kept = held.then(|| logits.clone());
    let sums = loss(logits, targets(positions, vocab), PAD, smoothing, 5.0);
    let grads = (sums.minimised.clone() * 3.0).backward();
    if let Some(kept) = kept {
        assert_eq!(values(kept), values(leaf.clone() * 4.0), "logits held elsewhere were changed");
    }
    let gradient = leaf.grad(&grads).expect("a gradient");
    vec![values(sums.minimised), values(sums.smoothed), values(sums.nll), values(gradient)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_fused_loss_is_the_reference(
        positions in 1usize..30,
        vocab in prop_oneof![2usize..150, 4_000usize..4_500],
        smoothing in 0.0..0.9f64,
        held: bool,
    ) {
        assert_close(
            &run(r_drop_loss, positions, vocab, smoothing, held),
            &run(reference::r_drop_loss, positions, vocab, smoothing, held),
        );
    }
}

#[test]
fn the_thread_count_does_not_show() {
    if !is_cpu() {
        return;
    }
    assert_independent_of_threads(|| run(r_drop_loss, 151, 97, 0.1, false));
}

/// Equations 2 to 4 of the paper over the positions that are not padding, halved, with Burn's own gradients.
fn by_formula(logits: Tensor<2>, targets: Tensor<1, Int>, alpha: f64) -> Tensor<1> {
    let [rows, _] = logits.dims();
    let pass = |start: usize| softmax(logits.clone().narrow(0, start, rows / 2), 1);
    let (p, q, targets) = (pass(0), pass(rows / 2), targets.narrow(0, 0, rows / 2));
    let real = targets.clone().not_equal_scalar(i64::from(PAD)).float().unsqueeze_dim::<2>(1);
    let likelihood = |p: Tensor<2>| p.gather(1, targets.clone().unsqueeze_dim(1)).log();
    let nll = (likelihood(p.clone()) + likelihood(q.clone())).neg();
    let kl = |p: Tensor<2>, q: Tensor<2>| (p.clone() * (p.log() - q.log())).sum_dim(1);
    let divergence = (kl(p.clone(), q.clone()) + kl(q, p)) / 2.0;
    ((nll + divergence * alpha) * real).sum() / 2.0
}

#[test]
fn value_and_gradient_are_those_of_the_papers_formula() {
    // Elsewhere both are plain tensor arithmetic, whose logarithms are rounded more coarsely on GPUs.
    if !is_cpu() {
        return;
    }
    for loss in [r_drop_loss as Loss, reference::r_drop_loss] {
        let leaf = leaf(1, [10, 11]);
        let logits = || leaf.clone() * 2.0;
        let ours = loss(logits(), targets(5, 11), PAD, 0.0, 5.0).minimised;
        let formula = by_formula(logits(), targets(5, 11), 5.0);
        let all = [ours, formula].map(|loss| {
            let gradient = leaf.grad(&loss.backward()).expect("a gradient");
            vec![values(loss), values(gradient)]
        });
        assert!(all[0][0][0] > 10.0, "{}", all[0][0][0]);
        assert_close(&all[0], &all[1]);
    }
}

#[test]
fn without_alpha_it_is_the_mean_of_both_losses() {
    let sums = r_drop_loss(leaf(1, [6, 9]), targets(3, 9), PAD, 0.1, 0.0);
    let (smoothed, nll) =
        burnformer_kernels::label_smoothed_cross_entropy(leaf(1, [6, 9]), targets(3, 9), PAD, 0.1);
    let expected = [values(smoothed / 2.0), values(nll / 2.0)];
    assert_close(&[values(sums.minimised), values(sums.nll)], &expected);
}

#[test]
fn equal_predictions_do_not_diverge() {
    let pass = leaf(1, [4, 300]);
    let twice = Tensor::cat(vec![pass.clone(), pass], 0);
    let sums = r_drop_loss(twice, targets(4, 300), PAD, 0.1, 5.0);
    assert_eq!(values(sums.minimised), values(sums.smoothed));
}

#[test]
fn padding_counts_for_nothing_even_where_its_logits_are_not_numbers() {
    let loss = |of_padding: f32| {
        let logits = [[of_padding; 3], [1.0, 2.0, 3.0], [of_padding; 3], [2.0, 2.0, 1.0]];
        let leaf = Tensor::<2>::from_floats(logits, &device()).require_grad();
        let targets = Tensor::from_ints([0, 2, 0, 2], &device());
        let minimised = r_drop_loss(leaf.clone(), targets, PAD, 0.1, 5.0).minimised;
        let gradient = leaf.grad(&minimised.clone().backward()).expect("a gradient");
        [values(minimised), values(gradient)]
    };
    if is_cpu() {
        assert_eq!(loss(f32::NAN), loss(0.0));
    }
}

#[test]
#[should_panic(expected = "an even number of rows, not 3")]
fn an_odd_number_of_rows_panics() {
    let targets = Tensor::from_ints([1, 2, 1], &device());
    r_drop_loss(Tensor::zeros([3, 4], &device()), targets, PAD, 0.1, 5.0);
}
