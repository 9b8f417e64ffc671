//! The optimiser of the paper (§5.3).

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cpu")]
mod on_cpu;
pub(crate) mod reference;
mod step;

use burn::tensor::Tensor;

use crate::op::Place;

pub use step::{AdamStep, Moving};

/// One Adam update: m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², p ← p − rate·m̂/(√v̂ + ε).
///
/// Fused (for tensors without gradients of their own): one parallel pass, over the tensors
/// themselves where nothing else holds them.
///
/// # Shapes
/// All four tensors have one shape.
pub fn adam_step<const D: usize>(
    moving: Moving<D>,
    gradient: Tensor<D>,
    step: AdamStep,
) -> Moving<D> {
    let shape = moving.parameter.dims();
    let given = [moving.first.dims(), moving.second.dims(), gradient.dims()];
    assert_eq!(given, [shape; 3], "moments and gradient of a parameter {shape:?}");
    let Moving { parameter, first, second } = &moving;
    match Place::without_gradients(&[parameter, first, second, &gradient]) {
        #[cfg(feature = "cpu")]
        Place::Cpu => on_cpu::adam_step(moving, gradient, step),
        _ => reference::adam_step(moving, gradient, step),
    }
}
