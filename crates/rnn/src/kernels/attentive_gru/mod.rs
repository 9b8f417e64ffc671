#[cfg(feature = "fused-cpu")]
mod autodiff;
#[cfg(feature = "fused-cpu")]
mod cpu;
pub(super) mod reference;

use burn::tensor::{Bool, Tensor};
#[cfg(feature = "fused-cpu")]
use burnformer_kernels::internal::{cover, covers};

/// The decoder of Bahdanau et al. (2015): a gated recurrent unit that at each position looks at a memory
/// with additive attention and takes what it found as a further input.
///
/// With h the state before: e_j = v·tanh(Q·h + key_j), α = softmax(e), c = Σ α_j·memory_j; then
/// [`gru`](super::gru())'s step on x + C·c. Rows are sentence-major: `rows / sentences` of them look at the
/// memory of one sentence.
#[derive(Clone, Debug)]
pub struct AttentiveGru {
    /// x, the gates' share of the inputs, `[rows, len, 3·width]`.
    pub inputs: Tensor<3>,
    /// C, `[3·width, features]`.
    pub context_weight: Tensor<2>,
    /// U, `[3·width, width]`.
    pub weight: Tensor<2>,
    /// Its bias, `[3·width]`.
    pub bias: Tensor<1>,
    /// Q, `[attention, width]`.
    pub query_weight: Tensor<2>,
    /// v, `[attention]`.
    pub energy: Tensor<1>,
    /// `[sentences, places, attention]`.
    pub keys: Tensor<3>,
    /// `[sentences, places, features]`.
    pub memory: Tensor<3>,
    /// The state before the first position, `[rows, width]`.
    pub initial: Tensor<2>,
    /// `[sentences, places]`, `true` hides; one place at least of each sentence is visible.
    pub padding: Tensor<2, Bool>,
}

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
    #[cfg(feature = "fused-cpu")]
    if fuses(&given) {
        return autodiff::fused(given);
    }
    reference::attentive_gru(given)
}

/// Training has one row a sentence, so that no two tasks add to one gradient.
#[cfg(feature = "fused-cpu")]
fn fuses(given: &AttentiveGru) -> bool {
    let AttentiveGru { inputs, context_weight, weight, bias, query_weight, energy, .. } = given;
    let single = given.keys.dims()[0] == inputs.dims()[0];
    (single || !inputs.device().is_autodiff())
        && cover([inputs, &given.keys, &given.memory])
        && cover([context_weight, weight, query_weight, &given.initial])
        && covers(bias)
        && covers(energy)
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
