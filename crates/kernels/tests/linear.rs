//! Affine maps and embeddings against their references.

mod common;

use burn::tensor::{Int, Tensor, TensorData};
use burnformer_kernels::{self as kernels, reference};
use common::{Leaves, assert_close, assert_independent_of_threads, device, leaf, with_gradients};
use proptest::prelude::*;

type Linear = fn(Tensor<3>, Tensor<2>, Option<Tensor<1>>) -> Tensor<3>;
type Embedding = fn(Tensor<2>, Tensor<2, Int>, f64) -> Tensor<3>;

fn mapped(linear: Linear, shape: [usize; 3], output: usize, biased: bool) -> Vec<Vec<f32>> {
    let x = leaf(1, shape);
    let weight = leaf(2, [output, shape[2]]);
    let bias = biased.then(|| leaf(3, [output]));
    let result = linear(x.clone(), weight.clone(), bias.clone());
    let one = bias.into_iter().collect();
    with_gradients(result, Leaves { one, two: vec![weight], three: vec![x] })
}

fn embedded(embedding: Embedding, [batch, len, width]: [usize; 3], vocab: usize) -> Vec<Vec<f32>> {
    let weight = leaf(1, [vocab, width]);
    let ids: Vec<i64> = (0..batch * len).map(|i| (i * i * 31 % vocab) as i64).collect();
    let ids = Tensor::from_data(TensorData::new(ids, [batch, len]), &device());
    let output = embedding(weight.clone(), ids, 1.7);
    with_gradients(output, Leaves { two: vec![weight], ..Leaves::default() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_fused_map_is_the_reference(
        shape in [1usize..9, 1usize..30, 1usize..70],
        output in 1usize..70,
        biased: bool,
    ) {
        assert_close(
            &mapped(kernels::linear, shape, output, biased),
            &mapped(reference::linear, shape, output, biased),
        );
        assert_close(
            &mapped(kernels::linear_relu, shape, output, biased),
            &mapped(reference::linear_relu, shape, output, biased),
        );
    }

    #[test]
    fn the_fused_embedding_is_the_reference(
        shape in [1usize..9, 1usize..30, 1usize..70],
        vocab in 1usize..200,
    ) {
        assert_close(
            &embedded(kernels::embedding, shape, vocab),
            &embedded(reference::embedding, shape, vocab),
        );
    }
}

#[test]
fn the_thread_count_does_not_show_in_products_large_enough_to_be_divided() {
    assert_independent_of_threads(|| mapped(kernels::linear_relu, [5, 67, 259], 301, true));
    assert_independent_of_threads(|| mapped(kernels::linear, [3, 41, 513], 130, true));
    assert_independent_of_threads(|| embedded(kernels::embedding, [5, 67, 37], 100));
}

#[test]
fn an_empty_batch_gives_an_empty_batch_and_zero_gradients() {
    let weight = leaf(2, [4, 8]);
    let x = Tensor::<3>::zeros([0, 5, 8], &device());
    let output = kernels::linear(x, weight.clone(), Some(leaf(3, [4])));
    assert_eq!(output.dims(), [0, 5, 4]);
}

#[test]
#[should_panic(expected = "the last axis of x does not fit a weight [4, 8]")]
fn inputs_of_another_width_panic() {
    kernels::linear(leaf(1, [1, 1, 7]), leaf(2, [4, 8]), None);
}

#[test]
#[should_panic(expected = "id 9 is not below vocab 9")]
fn an_id_outside_the_vocabulary_panics() {
    let ids = Tensor::<2, Int>::from_ints([[1, 9]], &device());
    kernels::embedding(leaf(1, [9, 4]), ids, 1.0);
}
