use burn::tensor::Tensor;
use burnformer_kernels::masked_softmax;
use burnformer_kernels::reference::linear;

use super::given::AttentiveGru;
use crate::baseline::kernels::gru::reference::{at, cell};

/// The operation [`attentive_gru`](super::attentive_gru()) in plain tensors.
pub fn attentive_gru(given: AttentiveGru) -> Tensor<3> {
    let mut state = given.initial.clone();
    let mut outputs = Vec::new();
    for place in 0..given.inputs.dims()[1] {
        let context = attend(&given, state.clone());
        let input = linear(context.clone(), given.context_weight.clone(), None);
        state = cell(at(&given.inputs, place) + input, state, &given.weight, &given.bias);
        outputs.push(Tensor::cat(vec![state.clone(), context], 1));
    }
    Tensor::stack(outputs, 1)
}

/// The contexts that the states (`[rows, width]`) get from the source, `[rows, features]`.
fn attend(given: &AttentiveGru, state: Tensor<2>) -> Tensor<2> {
    let [rows, _] = state.dims();
    let [sentences, places, features] = given.memory.dims();
    let (attention, group) = (given.energy.dims()[0], rows / sentences);
    let query = linear(state, given.query_weight.clone(), None);
    let query = query.reshape([sentences, group, 1, attention]);
    let mixed = (query + given.keys.clone().unsqueeze_dim::<4>(1)).tanh();
    let energy = given.energy.clone().reshape([1, 1, 1, attention]);
    let scores = (mixed * energy).sum_dim(3).reshape([sentences, group, places]);
    let hidden = given.padding.clone().unsqueeze_dim::<3>(1).expand([sentences, group, places]);
    let weights = masked_softmax(scores, hidden);
    weights.matmul(given.memory.clone()).reshape([rows, features])
}
