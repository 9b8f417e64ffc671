//! The optimiser of the paper (§5.3).

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;
mod step;

use burn::tensor::Tensor;

use crate::op::Target;

pub use step::{AdamStep, Moving};

/// One update of Adam (Kingma and Ba, 2015; paper §5.3) of a parameter p with gradient g: m ← β₁m +
/// (1−β₁)g, v ← β₂v + (1−β₂)g², p ← p − rate·m̂/(√v̂ + ε), where m̂ and v̂ are the moments
/// corrected for their start at zero.
///
/// On the CPU, tensors without gradients are updated in one parallel pass, and in place if no other
/// tensor shares their memory.
///
/// # Shapes
/// The parameter, its gradient and both moments have one shape.
pub fn adam_step<const D: usize>(
    moving: Moving<D>,
    gradient: Tensor<D>,
    step: AdamStep,
) -> Moving<D> {
    let shape = moving.parameter.dims();
    let shapes = [moving.first.dims(), moving.second.dims(), gradient.dims()];
    assert_eq!(
        shapes, [shape; 3],
        "the moments or the gradient have another shape than the parameter, {shape:?}"
    );
    let Moving {
        parameter,
        first,
        second,
    } = &moving;
    match Target::without_gradients(&[parameter, first, second, &gradient]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => op::adam_step(moving, gradient, step),
        _ => reference::adam_step(moving, gradient, step),
    }
}
