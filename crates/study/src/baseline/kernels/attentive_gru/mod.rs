//! The gated recurrent unit with additive attention.

#[cfg(feature = "fused-cpu")]
mod attend;
mod cpu;
mod given;
#[cfg(feature = "fused-cpu")]
mod op;
pub(super) mod reference;

use burn::tensor::Tensor;
use burnformer_kernels::op::{HasPlace, Place};

pub use given::AttentiveGru;

/// Runs a gated recurrent unit with additive attention over whole sequences. Returns the state after each position and
/// the context of its attention, side by side: `[rows, len, width + features]`.
///
/// The fused version runs each row through its whole sequence in one task. It keeps the attention weights for the
/// backward pass and computes the tanh again. The gradient of every weight is one product over all positions.
///
/// # Panics
/// If the shapes do not fit together.
pub fn attentive_gru(given: AttentiveGru) -> Tensor<3> {
    check(&given);
    match place(&given) {
        #[cfg(feature = "fused-cpu")]
        Place::Cpu => op::attentive_gru(given),
        _ => reference::attentive_gru(given),
    }
}

/// Where the operation runs. The fused version trains only with one row per sentence, so that no two tasks add to the
/// same gradient.
fn place(given: &AttentiveGru) -> Place {
    let AttentiveGru { inputs, context_weight, weight, bias, query_weight, energy, .. } = given;
    let AttentiveGru { keys, memory, initial, .. } = given;
    if inputs.device().is_autodiff() && keys.dims()[0] != inputs.dims()[0] {
        return Place::Elsewhere;
    }
    let operands: [&dyn HasPlace; 9] =
        [inputs, context_weight, weight, bias, query_weight, energy, keys, memory, initial];
    Place::of(&operands)
}

fn check(given: &AttentiveGru) {
    let [rows, _, gates] = given.inputs.dims();
    let [sentences, places, features] = given.memory.dims();
    let [_, width] = given.initial.dims();
    let [attention] = given.energy.dims();
    assert_eq!(gates, 3 * width, "gates of states of width {width}");
    assert_eq!(given.context_weight.dims(), [gates, features], "weight of contexts");
    assert_eq!(given.weight.dims(), [gates, width], "recurrent weight");
    assert_eq!(given.bias.dims(), [gates], "bias of the gates");
    assert_eq!(given.query_weight.dims(), [attention, width], "weight of queries");
    assert_eq!(given.keys.dims(), [sentences, places, attention], "keys of the memory");
    assert_eq!(given.padding.dims(), [sentences, places], "padding of the memory");
    assert_eq!(given.initial.dims(), [rows, width], "states before the first position");
    assert!(
        sentences > 0 && rows.is_multiple_of(sentences) || rows == 0,
        "{rows} rows over {sentences} sentences"
    );
}
