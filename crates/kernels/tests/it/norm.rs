//! Norms, dropout and residual connections against their references, on the CPU or on the GPU that
//! `BURN_DEVICE` names.

use crate::common::{
    Leaves, assert_close, assert_independent_of_threads, device, is_cpu, leaf, values,
    with_gradients,
};
use burn::tensor::{DType, Tensor};
use burnformer_kernels::{self as kernels, DropoutMask, RandomKey, reference};
use proptest::prelude::*;

type Wiring = fn(Tensor<3>, Tensor<3>, Tensor<1>, Tensor<1>, f64, Option<DropoutMask>) -> Tensor<3>;
type Shape = [usize; 3];

fn mask(rate: f64) -> Option<DropoutMask> {
    (rate > 0.0).then(|| DropoutMask::new(RandomKey::new(8).fold(2), rate))
}

/// Output and the four gradients of the wiring, or three where it ignores y.
fn wired(wiring: Wiring, shape: Shape, rate: f64) -> Vec<Vec<f32>> {
    let (x, y) = (leaf(1, shape), leaf(2, shape));
    let (weight, bias) = (leaf(3, [shape[2]]), leaf(4, [shape[2]]));
    let output = wiring(
        x.clone(),
        y.clone(),
        weight.clone(),
        bias.clone(),
        1e-5,
        mask(rate),
    );
    with_gradients(
        output,
        Leaves {
            one: vec![weight, bias],
            three: vec![x, y],
            ..Leaves::default()
        },
    )
}

fn plain_norm(
    norm: fn(Tensor<3>, Tensor<1>, Tensor<1>, f64) -> Tensor<3>,
    shape: Shape,
) -> Vec<Vec<f32>> {
    let (x, weight, bias) = (leaf(1, shape), leaf(3, [shape[2]]), leaf(4, [shape[2]]));
    let output = norm(x.clone(), weight.clone(), bias.clone(), 1e-6);
    with_gradients(
        output,
        Leaves {
            one: vec![weight, bias],
            three: vec![x],
            ..Leaves::default()
        },
    )
}

fn dropped(
    dropout: fn(Tensor<3>, Option<DropoutMask>) -> Tensor<3>,
    shape: Shape,
    rate: f64,
) -> Vec<Vec<f32>> {
    let x = leaf(1, shape);
    let output = dropout(x.clone() * 2.0, mask(rate));
    with_gradients(
        output,
        Leaves {
            three: vec![x],
            ..Leaves::default()
        },
    )
}

fn added(
    add: fn(Tensor<3>, Tensor<3>, Option<DropoutMask>) -> Tensor<3>,
    shape: Shape,
    rate: f64,
) -> Vec<Vec<f32>> {
    let (x, y) = (leaf(1, shape), leaf(2, shape));
    let output = add(x.clone(), y.clone() * 0.5, mask(rate));
    with_gradients(
        output,
        Leaves {
            three: vec![x, y],
            ..Leaves::default()
        },
    )
}

fn shapes() -> impl Strategy<Value = Shape> {
    // Two features and up: the gradient through a norm of one feature is 0 but for rounding.
    [1usize..12, 1usize..40, 4usize..90]
}

fn rates() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.05..0.8f64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_fused_wiring_is_the_reference(shape in shapes(), rate in rates()) {
        assert_close(
            &wired(kernels::residual_dropout_norm, shape, rate),
            &wired(reference::residual_dropout_norm, shape, rate),
        );
    }

    #[test]
    fn the_fused_norm_is_the_reference(shape in shapes()) {
        assert_close(&plain_norm(kernels::layer_norm, shape), &plain_norm(reference::layer_norm, shape));
    }

    #[test]
    fn the_fused_dropout_is_the_reference(shape in shapes(), rate in rates()) {
        assert_close(
            &dropped(kernels::dropout, shape, rate),
            &dropped(reference::dropout, shape, rate),
        );
    }

    #[test]
    fn the_fused_residual_is_the_reference(shape in shapes(), rate in rates()) {
        assert_close(
            &added(kernels::residual_dropout, shape, rate),
            &added(reference::residual_dropout, shape, rate),
        );
    }
}

#[test]
fn the_thread_count_does_not_change_the_bits() {
    if !is_cpu() {
        return;
    }
    let shape = [9, 53, 37];
    assert_independent_of_threads(|| wired(kernels::residual_dropout_norm, shape, 0.2));
    assert_independent_of_threads(|| wired(kernels::residual_dropout_norm, shape, 0.0));
    assert_independent_of_threads(|| dropped(kernels::dropout, shape, 0.2));
    assert_independent_of_threads(|| added(kernels::residual_dropout, shape, 0.2));
}

/// Rows in several groups. Their shares in the gradients of weight and bias are added up.
#[test]
fn many_and_wide_rows_equal_the_reference() {
    for shape in [[3, 20_000, 8], [1, 40, 512], [2, 3, 1024], [2, 3, 1500]] {
        for rate in [0.0, 0.3] {
            assert_close(
                &wired(kernels::residual_dropout_norm, shape, rate),
                &wired(reference::residual_dropout_norm, shape, rate),
            );
        }
    }
}

#[test]
fn shared_inputs_are_not_overwritten() {
    let (x, y) = (leaf(1, [3, 4, 5]), leaf(2, [3, 4, 5]));
    kernels::dropout(x.clone(), mask(0.5));
    kernels::residual_dropout(x.clone(), y.clone(), mask(0.5));
    assert_eq!(values(x), values(leaf(1, [3, 4, 5])));
    assert_eq!(values(y), values(leaf(2, [3, 4, 5])));
}

#[test]
fn views_with_other_strides_are_read_in_their_order() {
    let run = |norm: fn(Tensor<3>, Tensor<1>, Tensor<1>, f64) -> Tensor<3>| {
        let x = leaf(1, [6, 5, 7]);
        let (weight, bias) = (leaf(3, [5]), leaf(4, [5]));
        let output = norm(x.clone().swap_dims(1, 2), weight, bias, 1e-5);
        with_gradients(
            output,
            Leaves {
                three: vec![x],
                ..Leaves::default()
            },
        )
    };
    assert_close(&run(kernels::layer_norm), &run(reference::layer_norm));
}

#[test]
fn an_empty_batch_gives_an_empty_batch() {
    let x = Tensor::<3>::zeros([0, 4, 8], &device());
    let ones = Tensor::<1>::ones([8], &device());
    let output = kernels::residual_dropout_norm(x.clone(), x, ones.clone(), ones, 1e-5, mask(0.1));
    assert_eq!(output.dims(), [0, 4, 8]);
}

#[test]
#[should_panic(expected = "the weight or the bias does not fit a norm over 8 features")]
fn a_weight_of_another_width_panics() {
    let ones = Tensor::<1>::ones([7], &device());
    kernels::layer_norm(
        Tensor::<3>::zeros([1, 1, 8], &device()),
        ones.clone(),
        ones,
        1e-5,
    );
}

#[test]
fn other_element_types_run_the_reference() {
    if !device().supports_dtype(DType::F64) {
        return;
    }
    let double = |x: Tensor<1>| x.cast(DType::F64);
    let x = leaf(1, [2, 3, 16]).cast(DType::F64);
    let output = kernels::layer_norm(x, double(leaf(3, [16])), double(leaf(4, [16])), 1e-5);
    assert_eq!(output.dtype(), DType::F64);
    let single = kernels::layer_norm(leaf(1, [2, 3, 16]), leaf(3, [16]), leaf(4, [16]), 1e-5);
    assert_close(&[values(output.cast(DType::F32))], &[values(single)]);
}
