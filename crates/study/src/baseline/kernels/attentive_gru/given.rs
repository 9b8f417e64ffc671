use burn::tensor::{Bool, Tensor};

/// The inputs of the decoder of Bahdanau et al. (2015): a gated recurrent unit that attends to the source with additive
/// attention at each position, and takes the result as a further input.
///
/// With the state h before a position: e_j = v·tanh(Q·h + key_j), α = softmax(e), c = Σ α_j·memory_j. Then follows one
/// step of [`gru`](crate::baseline::kernels::gru()) with the input x + C·c. The rows of a sentence are next to each other;
/// `rows / sentences` rows attend to the same sentence.
#[derive(Clone, Debug)]
pub struct AttentiveGru {
    /// x, the part of the gates that comes from the inputs, `[rows, len, 3·width]`.
    pub inputs: Tensor<3>,
    /// C, the weights of the context, `[3·width, features]`.
    pub context_weight: Tensor<2>,
    /// U, the weights of the state, `[3·width, width]`.
    pub weight: Tensor<2>,
    /// The bias of the state, `[3·width]`.
    pub bias: Tensor<1>,
    /// Q, the projection of the queries, `[attention, width]`.
    pub query_weight: Tensor<2>,
    /// v, which turns tanh(query + key) into a score, `[attention]`.
    pub energy: Tensor<1>,
    /// The keys of the source positions, `[sentences, places, attention]`.
    pub keys: Tensor<3>,
    /// The annotations of the source positions, `[sentences, places, features]`.
    pub memory: Tensor<3>,
    /// The state before the first position, `[rows, width]`.
    pub initial: Tensor<2>,
    /// The padding of the source, `[sentences, places]`, `true` hides. Each sentence must have at least one visible
    /// position.
    pub padding: Tensor<2, Bool>,
}
