use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Bool, Tensor};

use super::storage::{bools, contiguous, floats, tensor};
use crate::DropoutMask;
use crate::slices::attention::{self as slices, Hidden, Inputs, Projected, Sizes};

#[backend_extension(Flex, Autodiff)]
pub(crate) trait Attention: Backend {
    fn fused_attention(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        hidden: BoolTensor<Self>,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    heads: usize,
    hidden: Option<Tensor<4, Bool>>,
    mask: Option<DropoutMask>,
) -> Tensor<3> {
    let none = || Tensor::zeros([1, 1, 1, key.dims()[1]], &key.device());
    let hidden = hidden.unwrap_or_else(none).into_dispatch();
    let [query, key, value] = [query, key, value].map(Tensor::into_dispatch);
    let output = <Dispatch as Attention>::fused_attention(query, key, value, hidden, heads, mask);
    Tensor::from_dispatch(output)
}

impl Attention for Flex {
    fn fused_attention(
        query: FlexTensor,
        key: FlexTensor,
        value: FlexTensor,
        hidden: FlexTensor,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> FlexTensor {
        State::new([query, key, value], heads, mask).forward(hidden, false)
    }
}

impl<C: CheckpointStrategy> Attention for Autodiff<Flex, C> {
    fn fused_attention(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        hidden: FlexTensor,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> FloatTensor<Self> {
        let parents = [query.node(), key.node(), value.node()];
        let prepared = AttentionBackward.prepare::<C>(parents).compute_bound().stateful();
        let inputs = [query, key, value].map(|x| x.into_primitive());
        let mut state = State::new(inputs, heads, mask);
        match prepared {
            OpsKind::Tracked(prepared) => {
                let output = state.forward(hidden, true);
                prepared.finish(state, output)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(state.forward(hidden, false)),
        }
    }
}

#[derive(Debug)]
struct AttentionBackward;

impl Backward<Flex, 3> for AttentionBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let grad = grads.consume::<Flex>(&ops.node);
        for (parent, grad) in ops.parents.into_iter().zip(ops.state.backward(grad)) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, grad);
            }
        }
    }
}

/// The inputs, which are shared and not copied, and the weights before dropout.
#[derive(Clone, Debug)]
struct State {
    sizes: Sizes,
    inputs: [FlexTensor; 3],
    mask: Option<DropoutMask>,
    weights: Vec<f32>,
}

impl State {
    fn new(inputs: [FlexTensor; 3], heads: usize, mask: Option<DropoutMask>) -> Self {
        let inputs = inputs.map(with_adjacent_features);
        let [batch, query_len, width] = dims(&inputs[0]);
        let [_, key_len, value_width] = dims(&inputs[2]);
        let (d_k, d_v) = (width / heads, value_width / heads);
        let sizes = Sizes { batch, heads, query_len, key_len, d_k, d_v };
        Self { sizes, inputs, mask, weights: Vec::new() }
    }

    fn read(&self) -> Inputs<'_> {
        let [query, key, value] = self.inputs.each_ref().map(projected);
        Inputs { sizes: self.sizes, query, key, value, mask: self.mask }
    }

    fn forward(&mut self, hidden: FlexTensor, keep_weights: bool) -> FlexTensor {
        let Sizes { batch, heads, query_len, key_len, d_v, .. } = self.sizes;
        let mut context = vec![0.0; batch * query_len * heads * d_v];
        let kept = if keep_weights { batch * heads * query_len * key_len } else { 0 };
        let mut weights = vec![0.0; kept];
        if key_len > 0 && !context.is_empty() {
            let hidden = Hidden { bytes: bools(&hidden), shape: hidden.layout().shape().dims() };
            slices::forward(self.read(), &hidden, &mut context, &mut weights);
        }
        self.weights = weights;
        tensor(context, [batch, query_len, heads * d_v])
    }

    /// The gradients of query, key and value.
    fn backward(self, grad: FlexTensor) -> [FlexTensor; 3] {
        let grad = contiguous(grad);
        let shapes = self.inputs.each_ref().map(dims);
        let mut grads = shapes.map(|shape| vec![0.0; shape.iter().product()]);
        if !self.weights.is_empty() && !floats(&grad).is_empty() {
            let outputs = grads.each_mut().map(Vec::as_mut_slice);
            slices::backward(self.read(), &self.weights, floats(&grad), outputs);
        }
        let mut shapes = shapes.into_iter();
        grads.map(|grad| tensor(grad, shapes.next().expect("three shapes")))
    }
}

fn dims(x: &FlexTensor) -> [usize; 3] {
    x.layout().shape().dims()
}

/// `x` itself if the features of each position lie side by side, else a copy where they do.
fn with_adjacent_features(x: FlexTensor) -> FlexTensor {
    let strides = x.layout().strides();
    let adjacent = strides[2] == 1 && strides.iter().all(|&stride| stride > 0);
    if adjacent { x } else { x.to_contiguous() }
}

fn projected(x: &FlexTensor) -> Projected<'_> {
    let strides = x.layout().strides();
    Projected {
        data: &x.storage()[x.layout().start_offset()..],
        batch_stride: strides[0] as usize,
        row_stride: strides[1] as usize,
    }
}
