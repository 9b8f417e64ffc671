use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Shape, Tensor};

use super::storage::{contiguous, floats, overwrite, tensor};
pub(crate) use crate::slices::linear::Activation;
use crate::slices::linear::{self as slices, Sizes};

#[backend_extension(Flex, Autodiff)]
pub(crate) trait Linear: Backend {
    /// An empty `bias` stands for none.
    fn fused_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<2>,
    bias: Option<Tensor<1>>,
    activation: Activation,
) -> Tensor<D> {
    let bias = bias.unwrap_or_else(|| Tensor::zeros([0], &x.device())).into_dispatch();
    let (x, weight) = (x.into_dispatch(), weight.into_dispatch());
    Tensor::from_dispatch(<Dispatch as Linear>::fused_linear(x, weight, bias, activation))
}

impl Linear for Flex {
    fn fused_linear(
        x: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        activation: Activation,
    ) -> FlexTensor {
        State::forward([x, weight, bias], activation).0
    }
}

impl<C: CheckpointStrategy> Linear for Autodiff<Flex, C> {
    fn fused_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        activation: Activation,
    ) -> FloatTensor<Self> {
        let parents = [x.node(), weight.node(), bias.node()];
        let prepared = LinearBackward.prepare::<C>(parents).compute_bound();
        let inputs = [x, weight, bias].map(|x| x.into_primitive());
        let (output, state) = State::forward(inputs, activation);
        match prepared.stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

/// The inputs and, for a ReLU, the output; all shared with the graph, none copied.
#[derive(Clone, Debug)]
struct State {
    x: FlexTensor,
    weight: FlexTensor,
    output: Option<FlexTensor>,
}

impl State {
    fn forward([x, weight, bias]: [FlexTensor; 3], activation: Activation) -> (FlexTensor, Self) {
        let [x, weight, bias] = [x, weight, bias].map(contiguous);
        let mut state = Self { x, weight, output: None };
        let sizes = state.sizes();
        let mut out = vec![0.0; sizes.rows * sizes.output];
        let (x, weight) = (floats(&state.x), floats(&state.weight));
        if !out.is_empty() {
            slices::forward(sizes, x, weight, floats(&bias), activation, &mut out);
        }
        let output = tensor(out, state.output_shape());
        state.output = (activation == Activation::Relu).then(|| output.clone());
        (output, state)
    }

    fn sizes(&self) -> Sizes {
        let [output, input] = self.weight.layout().shape().dims();
        Sizes { rows: self.x.layout().num_elements() / input.max(1), input, output }
    }

    fn output_shape(&self) -> Shape {
        let mut shape = self.x.layout().shape().clone();
        let last = shape.num_dims() - 1;
        shape[last] = self.sizes().output;
        shape
    }
}

#[derive(Debug)]
struct LinearBackward;

impl Backward<Flex, 3> for LinearBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let grad = grads.consume::<Flex>(&ops.node);
        let (state, sizes) = (&ops.state, ops.state.sizes());
        let mut sums = Vec::new();
        let grad = overwrite(grad, |grad, source| {
            let out = state.output.as_ref().map(floats);
            sums = slices::grad_of_sum(sizes, grad, source, out);
        });
        let [x, weight, bias] = ops.parents;
        if let Some(x) = x {
            let dx = slices::grad_of_x(sizes, floats(&grad), floats(&state.weight));
            grads.register::<Flex>(x.id, tensor(dx, state.x.layout().shape().clone()));
        }
        if let Some(weight) = weight {
            let dweight = slices::grad_of_weight(sizes, floats(&grad), floats(&state.x));
            grads.register::<Flex>(weight.id, tensor(dweight, [sizes.output, sizes.input]));
        }
        if let Some(bias) = bias {
            grads.register::<Flex>(bias.id, tensor(sums, [sizes.output]));
        }
    }
}
