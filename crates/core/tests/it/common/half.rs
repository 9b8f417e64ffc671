//! The changes that products in 16 bits may make.
#![allow(dead_code, reason = "each test file uses its share")]

use burn::tensor::{DType, TensorData};
use burnformer_core::Precision;

use super::Tensors;

/// The precisions of 16 bits.
pub const HALVES: [Precision; 2] = [Precision::BFloat16, Precision::Float16];

/// Loss and gradients.
pub type Loss = (f64, Tensors);

/// 1 − the cosine of all gradients taken as one vector.
fn turned(actual: &Tensors, expected: &Tensors) -> f64 {
    let flat = |all: &Tensors| {
        all.values()
            .flat_map(TensorData::iter::<f64>)
            .collect::<Vec<_>>()
    };
    let (a, b) = (flat(actual), flat(expected));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    1.0 - dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

/// Asserts that loss and gradient in `precision` are near the exact ones and differ from them.
///
/// `jumps`: how much farther the gradient may turn because rounding turned some ReLU off, or on.
pub fn assert_near(
    name: &str,
    precision: Precision,
    (loss, gradients): Loss,
    exact: &Loss,
    jumps: f64,
) {
    let (distance, turn) = ((loss - exact.0).abs(), turned(&gradients, &exact.1));
    let [most_distance, most_turn] = match precision {
        // Three bits of significand more: errors shrink eightfold, 1 − cosine by their square.
        Precision::Float16 => [2e-2 / 8.0, 1e-3 / 64.0],
        _ => [2e-2, 1e-3],
    };
    assert!(
        distance < most_distance,
        "{name} {precision} loss: {loss}, not {}",
        exact.0
    );
    assert!(
        turn < jumps * most_turn,
        "{name} {precision} gradient: 1 - cosine = {turn}"
    );
    assert!(
        loss != exact.0 && turn > 0.0,
        "{name} {precision} was computed in float32"
    );
    assert!(
        gradients.values().all(|g| g.dtype() == DType::F32),
        "{name} {precision}"
    );
}
