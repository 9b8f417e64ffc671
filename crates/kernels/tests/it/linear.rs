//! Affine maps against their references, and embeddings.

use crate::common::{
    Leaves, assert_close_beside, assert_independent_of_threads, device, leaf, values,
    with_gradients,
};
use burn::tensor::{Int, Tensor, TensorData};
use burnformer_kernels::{self as kernels, Epilogue, Precision, RandomKey, reference};
use proptest::prelude::*;

/// The size of the terms of each sum, which may cancel: a gradient of one number can be far
/// smaller.
const TERM: f32 = 1.0;

type Linear = fn(Tensor<3>, Tensor<2>, Option<Tensor<1>>) -> Tensor<3>;

fn mapped(linear: Linear, shape: [usize; 3], output: usize, biased: bool) -> Vec<Vec<f32>> {
    let x = leaf(1, shape);
    let weight = leaf(2, [output, shape[2]]);
    let bias = biased.then(|| leaf(3, [output]));
    let result = linear(x.clone(), weight.clone(), bias.clone());
    let one = bias.into_iter().collect();
    with_gradients(
        result,
        Leaves {
            one,
            two: vec![weight],
            three: vec![x],
        },
    )
}

/// `x` rounded to the nearest bfloat16, ties to even.
fn as_bfloat16(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff_0000)
}

/// Output and gradients of a map of numbers that are rounded to bfloat16 first, as they are or not
/// at all.
fn mapped_from(
    linear: Linear,
    shape: [usize; 3],
    output: usize,
    biased: bool,
    round: fn(f32) -> f32,
) -> Vec<Vec<f32>> {
    let numbers = |seed, shape: &[usize]| -> TensorData {
        let numbers = RandomKey::new(seed).normal(shape.iter().product());
        TensorData::new(
            numbers.into_iter().map(round).collect::<Vec<_>>(),
            shape.to_vec(),
        )
    };
    let x = Tensor::<3>::from_data(numbers(1, &shape), &device()).require_grad();
    let weight = Tensor::<2>::from_data(numbers(2, &[output, shape[2]]), &device()).require_grad();
    let bias = biased.then(|| leaf(3, [output]));
    let result = linear(x.clone(), weight.clone(), bias.clone());
    let probe = Tensor::<3>::from_data(numbers(4, &result.dims()), &device());
    let mut all = vec![values(result.clone())];
    let grads = (result * probe).sum().backward();
    all.push(values(x.grad(&grads).expect("a gradient")));
    all.push(values(weight.grad(&grads).expect("a gradient")));
    all.extend(bias.map(|bias| values(bias.grad(&grads).expect("a gradient"))));
    all
}

fn rectified(x: Tensor<3>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<3> {
    kernels::linear_with(x, weight, bias, Epilogue::Relu, Precision::Float32)
}

fn rectified_reference(x: Tensor<3>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<3> {
    reference::linear_with(x, weight, bias, Epilogue::Relu, Precision::Float32)
}

fn bfloat16(x: Tensor<3>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<3> {
    kernels::linear_with(x, weight, bias, Epilogue::None, Precision::BFloat16)
}

fn bfloat16_relu(x: Tensor<3>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<3> {
    kernels::linear_with(x, weight, bias, Epilogue::Relu, Precision::BFloat16)
}

fn embedded([batch, len, width]: [usize; 3], vocab: usize) -> Vec<Vec<f32>> {
    let weight = leaf(1, [vocab, width]);
    let ids: Vec<i64> = (0..batch * len)
        .map(|i| (i * i * 31 % vocab) as i64)
        .collect();
    let ids = Tensor::from_data(TensorData::new(ids, [batch, len]), &device());
    let output = kernels::embedding(weight.clone(), ids, 1.7);
    with_gradients(
        output,
        Leaves {
            two: vec![weight],
            ..Leaves::default()
        },
    )
}

fn embedded_by_products([batch, len, width]: [usize; 3], vocab: usize) -> Vec<Vec<f32>> {
    let weight = leaf(1, [vocab, width]);
    let mut one_hot = vec![0.0f32; batch * len * vocab];
    for (i, row) in one_hot.chunks_exact_mut(vocab).enumerate() {
        row[i * i * 31 % vocab] = 1.7;
    }
    let one_hot =
        Tensor::<3>::from_data(TensorData::new(one_hot, [1, batch * len, vocab]), &device());
    let output = one_hot
        .matmul(weight.clone().unsqueeze())
        .reshape([batch, len, width]);
    with_gradients(
        output,
        Leaves {
            two: vec![weight],
            ..Leaves::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_fused_map_is_the_reference(
        shape in [1usize..9, 1usize..30, 1usize..70],
        output in 1usize..70,
        biased: bool,
    ) {
        assert_close_beside(
            TERM,
            &mapped(kernels::linear, shape, output, biased),
            &mapped(reference::linear, shape, output, biased),
        );
        assert_close_beside(
            TERM,
            &mapped(rectified, shape, output, biased),
            &mapped(rectified_reference, shape, output, biased),
        );
    }

    #[test]
    fn of_numbers_that_bfloat16_holds_the_map_in_bfloat16_is_that_in_float32(
        shape in [1usize..9, 1usize..30, 1usize..70],
        output in 1usize..70,
        biased: bool,
    ) {
        for (actual, expected) in [
            (bfloat16 as Linear, reference::linear as Linear),
            (bfloat16_relu, rectified_reference),
        ] {
            assert_close_beside(
                TERM,
                &mapped_from(actual, shape, output, biased, as_bfloat16),
                &mapped_from(expected, shape, output, biased, as_bfloat16),
            );
        }
    }

    #[test]
    fn an_embedding_is_the_product_of_its_table_with_rows_of_one_hot_vectors(
        shape in [1usize..9, 1usize..30, 1usize..70],
        vocab in 1usize..200,
    ) {
        assert_close_beside(TERM, &embedded(shape, vocab), &embedded_by_products(shape, vocab));
    }
}

/// Both factors of each of the three products; the gradient of the bias is in float32.
#[test]
fn products_in_bfloat16_are_those_of_rounded_factors() {
    for linear in [bfloat16 as Linear, bfloat16_relu] {
        let run = |round| mapped_from(linear, [5, 67, 259], 301, true, round);
        let (all, rounded) = (run(|x| x), run(as_bfloat16));
        assert_eq!(all[..3], rounded[..3]);
        assert_ne!(all[3], rounded[3]);
        let exact = mapped_from(reference::linear, [5, 67, 259], 301, true, |x| x);
        assert_ne!(all[0], exact[0]);
    }
}

#[test]
fn the_map_in_bfloat16_is_near_its_reference() {
    let rounded = |x, weight, bias| {
        reference::linear_with(x, weight, bias, Epilogue::Relu, Precision::BFloat16)
    };
    let actual = mapped_from(bfloat16_relu, [2, 9, 33], 21, true, as_bfloat16);
    let expected = mapped_from(rounded, [2, 9, 33], 21, true, as_bfloat16);
    for (actual, expected) in actual.iter().zip(&expected) {
        let largest = expected.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        for (actual, expected) in actual.iter().zip(expected) {
            // The reference rounds results too, and gradients as they pass through the casts: to 8
            // bits of significand.
            assert!(
                (actual - expected).abs() <= largest / 128.0,
                "{actual}, not {expected}"
            );
        }
    }
}

#[test]
fn the_thread_count_does_not_change_divided_products() {
    assert_independent_of_threads(|| mapped(rectified, [5, 67, 259], 301, true));
    assert_independent_of_threads(|| mapped(kernels::linear, [3, 41, 513], 130, true));
    assert_independent_of_threads(|| mapped(bfloat16_relu, [5, 67, 259], 301, true));
    assert_independent_of_threads(|| mapped(bfloat16, [3, 41, 513], 130, true));
    assert_independent_of_threads(|| embedded([5, 67, 37], 100));
}

#[test]
fn an_empty_batch_gives_an_empty_batch_and_zero_gradients() {
    let weight = leaf(2, [4, 8]);
    let x = Tensor::<3>::zeros([0, 5, 8], &device());
    let output = kernels::linear(x, weight.clone(), Some(leaf(3, [4])));
    assert_eq!(output.dims(), [0, 5, 4]);
    let x = Tensor::<3>::zeros([0, 5, 8], &device());
    let output = bfloat16(x, weight.clone(), Some(leaf(3, [4])));
    assert_eq!(output.dims(), [0, 5, 4]);
    let gradients = output.sum().backward();
    assert_eq!(
        values(weight.grad(&gradients).expect("a gradient")),
        [0.0; 32]
    );
}

#[test]
#[should_panic(expected = "the last axis of x does not fit a weight [4, 8]")]
fn inputs_of_another_width_panic() {
    kernels::linear(leaf(1, [1, 1, 7]), leaf(2, [4, 8]), None);
}

#[test]
#[should_panic(expected = "index 9 out of bounds for dimension of size 9")]
fn an_id_outside_the_vocabulary_panics() {
    let ids = Tensor::<2, Int>::from_ints([[1, 9]], &device());
    kernels::embedding(leaf(1, [9, 4]), ids, 1.0);
}
