use burn::tensor::{Bool, Tensor};

/// The decoder of Bahdanau et al. (2015): a gated recurrent unit that at each position looks at a memory
/// with additive attention and takes what it found as a further input.
///
/// With h the state before: e_j = v·tanh(Q·h + key_j), α = softmax(e), c = Σ α_j·memory_j; then
/// [`gru`](crate::kernels::gru())'s step on x + C·c. Rows are sentence-major: `rows / sentences` of them look at the
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
