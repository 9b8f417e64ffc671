//! SiLU against its reference and against float64.

use crate::common::{
    Leaves, assert_close, assert_independent_of_threads, leaf, values, with_gradients,
};
use burn::tensor::{Device, Tensor, activation};
use burnformer_kernels::silu;
use proptest::prelude::*;

fn with_its_gradient(f: fn(Tensor<3>) -> Tensor<3>, shape: [usize; 3]) -> Vec<Vec<f32>> {
    let x = leaf(1, shape);
    let leaves = Leaves {
        three: vec![x.clone()],
        ..Leaves::default()
    };
    with_gradients(f(x), leaves)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn silu_equals_its_reference(shape in [1usize..5, 1usize..40, 1usize..70]) {
        let expected = with_its_gradient(activation::silu, shape);
        assert_close(&with_its_gradient(silu, shape), &expected);
    }
}

#[test]
fn silu_does_not_depend_on_the_number_of_threads() {
    assert_independent_of_threads(|| with_its_gradient(silu, [7, 50, 130]));
}

#[test]
fn silu_is_within_1e_6_of_float64() {
    let xs: Vec<f32> = (-80_000..=80_000).map(|i| i as f32 * 1e-3).collect();
    let ys = values(silu(Tensor::<1>::from_floats(&*xs, &Device::flex())));
    for (x, y) in xs.into_iter().zip(ys) {
        let exact = f64::from(x) / (1.0 + (-f64::from(x)).exp());
        assert!(
            (f64::from(y) - exact).abs() <= 1e-6 * exact.abs(),
            "silu({x}) = {y}, not {exact}"
        );
    }
    let extremes = [-1e30, f32::MIN, 0.0, 1e30, f32::NAN];
    let ys = values(silu(Tensor::<1>::from_floats(extremes, &Device::flex())));
    assert!(ys[0].abs() < 1e-6 && ys[1].abs() < 4.0, "{ys:?}");
    assert!(ys[2] == 0.0 && ys[3] == 1e30 && ys[4].is_nan(), "{ys:?}");
}
