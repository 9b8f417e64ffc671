//! The gated recurrent unit.

#[cfg(feature = "fused-cpu")]
pub(super) mod cpu;
pub(super) mod direction;
#[cfg(feature = "fused-cpu")]
mod op;
pub(super) mod reference;

use burn::tensor::{Bool, Tensor};
use burnformer_kernels::op::Place;

pub use direction::Direction;

/// A gated recurrent unit (Cho et al., 2014) over whole sequences, in PyTorch's layout and order of
/// gates (reset, update, new):
///
/// r = σ(x_r + U_r·h + b_r), z = σ(x_z + U_z·h + b_z), n = tanh(x_n + r ∘ (U_n·h + b_n)),
/// h' = (1 − z) ∘ n + z ∘ h.
///
/// `inputs` hold the part of the gates that comes from the inputs, W·x + b, for all positions. Where `padding` is
/// `true`, the state does not change.
///
/// The fused version runs each row through its whole sequence in one task, forward and backward. The gradient of the
/// weight is one product over all positions.
///
/// # Shapes
/// - `inputs`: `[rows, len, 3·width]`, `padding`: `[rows, len]`
/// - `weight`: `[3·width, width]`, `bias`: `[3·width]`, `initial`: `[rows, width]`
/// - → the state after each position, `[rows, len, width]`
///
/// # Panics
/// If the shapes do not fit together.
pub fn gru(
    inputs: Tensor<3>,
    weight: Tensor<2>,
    bias: Tensor<1>,
    initial: Tensor<2>,
    padding: Tensor<2, Bool>,
    direction: Direction,
) -> Tensor<3> {
    let ([rows, len, gates], [_, width]) = (inputs.dims(), initial.dims());
    assert_eq!(weight.dims(), [3 * width, width], "recurrent weight of states of width {width}");
    assert_eq!((gates, bias.dims()), (3 * width, [3 * width]), "gates of states of width {width}");
    assert_eq!((initial.dims()[0], padding.dims()), (rows, [rows, len]), "rows of the sequences");
    match Place::of(&[&inputs, &weight, &bias, &initial]) {
        #[cfg(feature = "fused-cpu")]
        Place::Cpu => op::gru([weight, initial], inputs, bias, padding, direction),
        _ => reference::gru(inputs, weight, bias, initial, padding, direction),
    }
}
