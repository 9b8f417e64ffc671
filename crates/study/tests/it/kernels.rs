//! The fused recurrent units against their references.

use crate::of_kernels::{
    Leaves, assert_close, assert_independent_of_threads, device, leaf, values, with_gradients,
};
use burn::tensor::{Bool, Device, Tensor, TensorData};
use burnformer_kernels::RandomKey;
use burnformer_study::baseline::kernels::{self, AttentiveGru, Direction, reference};
use proptest::prelude::*;

type Gru = fn(Tensor<3>, Tensor<2>, Tensor<1>, Tensor<2>, Tensor<2, Bool>, Direction) -> Tensor<3>;
type Attentive = fn(AttentiveGru) -> Tensor<3>;

/// Rows that end at random places, the first visible always.
fn padding([rows, len]: [usize; 2], device: &Device) -> Tensor<2, Bool> {
    let ends = RandomKey::new(7).uniform(rows);
    let row = |end: f32| (0..len).map(move |place| place > (end * len as f32) as usize);
    let bits: Vec<bool> = ends.into_iter().flat_map(row).collect();
    Tensor::from_data(TensorData::new(bits, [rows, len]), device)
}

/// Weights under which a sequence does not blow up rounding errors as standard normal ones do.
fn tame(weight: &Tensor<2>) -> Tensor<2> {
    weight.clone() * 0.25
}

fn sequence(gru: Gru, [rows, len, width]: [usize; 3], direction: Direction) -> Vec<Vec<f32>> {
    let (inputs, weight) = (leaf(1, [rows, len, 3 * width]), leaf(2, [3 * width, width]));
    let (bias, initial) = (leaf(3, [3 * width]), leaf(4, [rows, width]));
    let padding = padding([rows, len], &device());
    let states =
        gru(inputs.clone(), tame(&weight), bias.clone(), initial.clone(), padding, direction);
    let leaves = Leaves { one: vec![bias], two: vec![weight, initial], three: vec![inputs] };
    with_gradients(states, leaves)
}

/// Rows, target positions, places of the source, width, width of attention, features.
type Sizes = [usize; 6];

fn given([rows, len, places, width, attention, features]: Sizes) -> AttentiveGru {
    AttentiveGru {
        inputs: leaf(1, [rows, len, 3 * width]),
        context_weight: leaf(2, [3 * width, features]),
        weight: leaf(3, [3 * width, width]),
        bias: leaf(4, [3 * width]),
        query_weight: leaf(5, [attention, width]),
        energy: leaf(6, [attention]),
        keys: leaf(7, [rows, places, attention]),
        memory: leaf(8, [rows, places, features]),
        initial: leaf(9, [rows, width]),
        padding: padding([rows, places], &device()),
    }
}

fn attentive(unit: Attentive, sizes: Sizes) -> Vec<Vec<f32>> {
    let given = given(sizes);
    let leaves = Leaves {
        one: vec![given.bias.clone(), given.energy.clone()],
        two: vec![
            given.context_weight.clone(),
            given.weight.clone(),
            given.query_weight.clone(),
            given.initial.clone(),
        ],
        three: vec![given.inputs.clone(), given.keys.clone(), given.memory.clone()],
    };
    let given = AttentiveGru {
        context_weight: tame(&given.context_weight),
        weight: tame(&given.weight),
        query_weight: tame(&given.query_weight),
        ..given
    };
    with_gradients(unit(given), leaves)
}

/// Asserts that lists are close, with room for errors that grow through a sequence.
fn assert_near(actual: &[Vec<f32>], expected: &[Vec<f32>]) {
    for (which, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        assert_eq!(actual.len(), expected.len(), "length of result {which}");
        let scale = expected.iter().fold(1e-3f32, |m, x| m.max(x.abs()));
        for (place, (a, e)) in actual.iter().zip(expected).enumerate() {
            assert!((a - e).abs() <= 1e-4 * scale, "result {which}, place {place}: {a}, not {e}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_fused_unit_is_the_reference_in_both_directions(
        shape in [1usize..40, 1usize..9, 1usize..20],
    ) {
        for direction in [Direction::Forward, Direction::Backward] {
            assert_near(
                &sequence(kernels::gru, shape, direction),
                &sequence(reference::gru, shape, direction),
            );
        }
    }

    #[test]
    fn the_fused_attentive_unit_is_the_reference(
        rows in 1usize..40,
        lens in [1usize..7, 1usize..9],
        widths in [1usize..20, 1usize..36, 1usize..20],
    ) {
        let sizes = [rows, lens[0], lens[1], widths[0], widths[1], widths[2]];
        assert_near(
            &attentive(kernels::attentive_gru, sizes),
            &attentive(reference::attentive_gru, sizes),
        );
    }
}

#[test]
fn the_thread_count_does_not_show() {
    let run = |direction| sequence(kernels::gru, [67, 5, 48], direction);
    assert_independent_of_threads(|| run(Direction::Forward));
    assert_independent_of_threads(|| run(Direction::Backward));
    assert_independent_of_threads(|| attentive(kernels::attentive_gru, [67, 4, 5, 48, 33, 40]));
}

/// Without gradients several hypotheses may look at one sentence.
#[test]
fn hypotheses_share_the_memory_of_their_sentence() {
    let device = Device::flex();
    let random = |seed, shape: [usize; 3]| {
        let values = RandomKey::new(seed).normal(shape.iter().product());
        Tensor::<3>::from_data(TensorData::new(values, shape), &device)
    };
    let flat = |seed, shape: [usize; 2]| {
        random(seed, [1, shape[0], shape[1]]).reshape([shape[0] as i32, shape[1] as i32])
    };
    let grouped = AttentiveGru {
        inputs: random(1, [6, 2, 12]),
        context_weight: flat(2, [12, 5]),
        weight: flat(3, [12, 4]),
        bias: random(4, [1, 1, 12]).reshape([12]),
        query_weight: flat(5, [7, 4]),
        energy: random(6, [1, 1, 7]).reshape([7]),
        keys: random(7, [2, 3, 7]),
        memory: random(8, [2, 3, 5]),
        initial: flat(9, [6, 4]),
        padding: padding([2, 3], &device),
    };
    let expected = reference::attentive_gru(grouped.clone());
    let fused = kernels::attentive_gru(grouped);
    assert_close(&[values(fused)], &[values(expected)]);
}

#[test]
fn an_empty_batch_gives_an_empty_batch() {
    let inputs = Tensor::<3>::zeros([0, 3, 12], &device());
    let initial = Tensor::<2>::zeros([0, 4], &device());
    let padding =
        Tensor::<2, Bool>::from_data(TensorData::new(Vec::<bool>::new(), [0, 3]), &device());
    let (weight, bias) = (leaf(2, [12, 4]), leaf(3, [12]));
    let states = kernels::gru(inputs, weight, bias, initial, padding, Direction::Forward);
    assert_eq!(states.dims(), [0, 3, 4]);
}

#[test]
#[should_panic(expected = "recurrent weight of states of width 4")]
fn weights_of_another_width_panic() {
    let padding = padding([1, 2], &device());
    let (inputs, weight) = (leaf(1, [1, 2, 12]), leaf(2, [12, 5]));
    kernels::gru(inputs, weight, leaf(3, [12]), leaf(4, [1, 4]), padding, Direction::Forward);
}

#[test]
#[should_panic(expected = "5 rows over 2 sentences")]
fn rows_that_do_not_divide_among_the_sentences_panic() {
    let given = given([5, 2, 3, 4, 6, 4]);
    let memory = leaf(8, [2, 3, 4]);
    let (keys, padding) = (leaf(7, [2, 3, 6]), padding([2, 3], &device()));
    kernels::attentive_gru(AttentiveGru { memory, keys, padding, ..given });
}
