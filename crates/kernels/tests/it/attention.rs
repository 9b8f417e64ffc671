//! Attention against its reference, on the CPU or on the GPU that `BURN_DEVICE` names.

use crate::common::{
    Leaves, assert_close, assert_close_beside, assert_independent_of_threads, device, is_cpu, leaf,
    values, with_gradients,
};
use burn::tensor::{Bool, Tensor, TensorData};
use burnformer_kernels::{self as kernels, AttentionInputs, DropoutMask, RandomKey, reference};
use proptest::prelude::*;

type Attention = fn(AttentionInputs, Option<DropoutMask>) -> Tensor<3>;

#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    heads: usize,
    query_len: usize,
    key_len: usize,
    d_k: usize,
    d_v: usize,
    rate: f64,
}

fn cases() -> impl Strategy<Value = Case> {
    let rate = prop_oneof![Just(0.0), 0.05..0.6f64];
    (
        1usize..6,
        1usize..5,
        1usize..20,
        1usize..40,
        1usize..20,
        1usize..20,
        rate,
    )
        .prop_map(|(batch, heads, query_len, key_len, d_k, d_v, rate)| Case {
            batch,
            heads,
            query_len,
            key_len,
            d_k,
            d_v,
            rate,
        })
}

/// A mask of `shape` that hides every third key or so, and everything from the first query of the
/// first batch entry where it distinguishes queries.
fn hidden(shape: [usize; 4]) -> Tensor<4, Bool> {
    let count = shape.iter().product();
    let mut bits: Vec<bool> = RandomKey::new(6)
        .uniform(count)
        .iter()
        .map(|&u| u < 0.3)
        .collect();
    bits[..shape[3]].fill(true);
    Tensor::from_data(TensorData::new(bits, shape), &device())
}

fn run(attention: Attention, case: Case, mask_shape: Option<[usize; 4]>) -> Vec<Vec<f32>> {
    let Case {
        batch,
        heads,
        query_len,
        key_len,
        d_k,
        d_v,
        rate,
    } = case;
    let query = leaf(1, [batch, query_len, heads * d_k]);
    let key = leaf(2, [batch, key_len, heads * d_k]);
    let value = leaf(3, [batch, key_len, heads * d_v]);
    let mask = (rate > 0.0).then(|| DropoutMask::new(RandomKey::new(5), rate));
    let hidden = mask_shape.map(hidden);
    let inputs = AttentionInputs::new([&query, &key, &value].map(Clone::clone), heads);
    let output = attention(AttentionInputs { hidden, ..inputs }, mask);
    with_gradients(
        output,
        Leaves {
            three: vec![query, key, value],
            ..Leaves::default()
        },
    )
}

fn mask_shapes(case: Case) -> Vec<Option<[usize; 4]>> {
    let Case {
        batch,
        heads,
        query_len,
        key_len,
        ..
    } = case;
    vec![
        None,
        Some([batch, 1, 1, key_len]),
        Some([1, 1, query_len, key_len]),
        Some([batch, heads, query_len, key_len]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn fused_attention_is_the_reference_under_every_mask(case in cases()) {
        // The gradient of a score is w·(dw − Σ w·dw). The numbers subtracted are of order one and
        // rounded to 6e-8 each, however little is left of them (nothing where one key is seen
        // alone): so the tolerance is 1e-6 at least, and wider on GPUs.
        let size = if is_cpu() { 0.1 } else { 1.0 };
        for mask in mask_shapes(case) {
            let (ours, references) = (run(kernels::attention, case, mask), run(reference::attention, case, mask));
            assert_close_beside(size, &ours, &references);
        }
    }
}

const CASE: Case = Case {
    batch: 7,
    heads: 3,
    query_len: 11,
    key_len: 19,
    d_k: 8,
    d_v: 5,
    rate: 0.1,
};

#[test]
fn the_thread_count_does_not_change_the_bits() {
    if !is_cpu() {
        return;
    }
    assert_independent_of_threads(|| run(kernels::attention, CASE, Some([7, 1, 11, 19])));
}

/// Widths of heads and numbers of keys around the sizes of blocks.
#[test]
fn wide_heads_and_long_sentences_equal_the_reference() {
    for (d_k, d_v, key_len) in [(64, 64, 128), (65, 64, 9), (64, 70, 9), (5, 64, 130)] {
        let case = Case {
            batch: 2,
            query_len: 33,
            key_len,
            d_k,
            d_v,
            ..CASE
        };
        let mask = Some([2, 1, 33, key_len]);
        assert_close(
            &run(kernels::attention, case, mask),
            &run(reference::attention, case, mask),
        );
    }
}

#[test]
fn a_query_that_sees_no_key_gets_zero_and_finite_gradients() {
    let case = Case { rate: 0.0, ..CASE };
    let results = run(kernels::attention, case, Some([7, 1, 11, 19]));
    assert_eq!(
        results[0][..3 * 5],
        [0.0; 15],
        "context of the hidden query"
    );
    assert_eq!(results[1][..3 * 8], [0.0; 24], "its gradient");
    assert!(results.iter().flatten().all(|x| x.is_finite()));
}

/// Hidden keys have larger scores here than any visible one, down to the lowest that float32 holds.
#[test]
fn visible_scores_far_below_zero_beat_hidden_ones() {
    for lowest in [-1e10, -1e30, -3.2e38] {
        for attention in [kernels::attention as Attention, reference::attention] {
            let leaf = |values: [f32; 4]| {
                let values = TensorData::new(values.to_vec(), [1, 4, 1]);
                Tensor::<3>::from_data(values, &device()).require_grad()
            };
            let (key, value) = (
                leaf([lowest, 0.0, lowest, 1e5]),
                leaf([1.0, 100.0, 3.0, 100.0]),
            );
            let query = leaf([1.0; 4]).slice([0..1, 0..1, 0..1]);
            let hidden = TensorData::new(vec![false, true, false, true], [1, 1, 1, 4]);
            let hidden = Tensor::from_data(hidden, &device());
            let inputs = AttentionInputs::new([query, key.clone(), value.clone()], 1);
            let output = attention(
                AttentionInputs {
                    hidden: Some(hidden),
                    ..inputs
                },
                None,
            );
            let gradients = output.clone().sum().backward();
            assert_eq!(values(output), [2.0], "{lowest}");
            let gradient = |x: Tensor<3>| values(x.grad(&gradients).expect("a gradient"));
            assert_eq!(gradient(value), [0.5, 0.0, 0.5, 0.0], "{lowest}");
            assert_eq!(gradient(key), [-0.5, 0.0, 0.5, 0.0], "{lowest}");
        }
    }
}

#[test]
fn a_nan_score_makes_the_context_nan() {
    let query = Tensor::<3>::full([1, 1, 4], f32::NAN, &device());
    let key = leaf(1, [1, 3, 4]);
    let context = kernels::attention(AttentionInputs::new([query, key.clone(), key], 1), None);
    assert!(values(context).iter().all(|x| x.is_nan()));
}

#[test]
fn slices_of_one_projection_are_read_in_place() {
    let run = |attention: Attention| {
        let all = leaf(1, [3, 6, 24]);
        let [q, k, v] = [0, 8, 16].map(|at| all.clone().slice([0..3, 0..6, at..at + 8]));
        let output = attention(AttentionInputs::new([q, k, v], 2), None);
        with_gradients(
            output,
            Leaves {
                three: vec![all],
                ..Leaves::default()
            },
        )
    };
    assert_close(&run(kernels::attention), &run(reference::attention));
}

#[test]
fn attention_works_without_gradients_and_on_an_empty_batch() {
    let plain = device().inner();
    let x = Tensor::<3>::ones([2, 3, 4], &plain);
    let context = kernels::attention(
        AttentionInputs::new([x.clone(), x.clone(), x.clone()], 2),
        None,
    );
    assert!(values(context).iter().all(|y| (y - 1.0).abs() < 1e-6));
    let none = x.slice([0..0, 0..3, 0..4]);
    assert_eq!(
        kernels::attention(
            AttentionInputs::new([none.clone(), none.clone(), none], 2),
            None
        )
        .dims(),
        [0, 3, 4]
    );
}

#[test]
#[should_panic(expected = "3 heads do not divide 8 and 8 features")]
fn heads_that_do_not_divide_the_features_panic() {
    let x = leaf(1, [1, 2, 8]);
    kernels::attention(AttentionInputs::new([x.clone(), x.clone(), x], 3), None);
}
