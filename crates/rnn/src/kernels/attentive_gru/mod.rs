//! The gated recurrent unit with attention.

#[cfg(feature = "fused-cpu")]
mod cpu;
mod given;
#[cfg(feature = "fused-cpu")]
mod op;
pub(super) mod reference;

use burn::tensor::Tensor;
use burnformer_kernels::op::{HasPlace, Place};

pub use given::AttentiveGru;

/// The state after each position and the context that entered it, side by side:
/// `[rows, len, width + features]`.
///
/// Fused: each row runs through its sequence in one task, the weights of attention are kept and not
/// the tanh, and every weight's gradient is one product over all positions.
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

/// Where it runs. Training has one row for each sentence on the CPU, so that no two tasks add to one gradient.
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
