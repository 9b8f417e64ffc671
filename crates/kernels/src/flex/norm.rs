use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::storage::{contiguous, floats, overwrite, tensor};
use crate::DropoutMask;
use crate::slices::norm::{self as slices, Affine, Input, Moments};

#[backend_extension(Flex, Autodiff)]
pub(crate) trait Norm: Backend {
    fn fused_layer_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f64,
    ) -> FloatTensor<Self>;
}

/// The extension behind high-level tensors.
pub(crate) fn fused<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    let (x, weight, bias) = (x.into_dispatch(), weight.into_dispatch(), bias.into_dispatch());
    Tensor::from_dispatch(<Dispatch as Norm>::fused_layer_norm(x, weight, bias, epsilon))
}

impl Norm for Flex {
    fn fused_layer_norm(
        x: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        epsilon: f64,
    ) -> FlexTensor {
        State::forward(x, None, weight, bias, epsilon, None).0
    }
}

impl<C: CheckpointStrategy> Norm for Autodiff<Flex, C> {
    fn fused_layer_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f64,
    ) -> FloatTensor<Self> {
        let parents = [x.node(), weight.node(), bias.node()];
        let prepared = NormBackward.prepare::<C>(parents).compute_bound();
        let [x, weight, bias] = [x, weight, bias].map(|x| x.into_primitive());
        let (output, state) = State::forward(x, None, weight, bias, epsilon, None);
        match prepared.stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(state, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

#[derive(Debug)]
struct NormBackward;

impl Backward<Flex, 3> for NormBackward {
    type State = State;

    fn backward(self, ops: Ops<State, 3>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let grad = grads.consume::<Flex>(&ops.node);
        let [dx, _, dweight, dbias] = ops.state.backward(grad);
        for (parent, grad) in ops.parents.into_iter().zip([dx, dweight, dbias]) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, grad);
            }
        }
    }
}

/// What a norm's backward pass needs: its inputs, which are shared and not copied, and two numbers
/// a row.
#[derive(Clone, Debug)]
pub(super) struct State {
    x: FlexTensor,
    y: Option<FlexTensor>,
    mask: Option<DropoutMask>,
    weight: FlexTensor,
    moments: Vec<Moments>,
}

impl State {
    /// `layer_norm(x + mask·y)` and what its backward pass needs.
    pub(super) fn forward(
        x: FlexTensor,
        y: Option<FlexTensor>,
        weight: FlexTensor,
        bias: FlexTensor,
        epsilon: f64,
        mask: Option<DropoutMask>,
    ) -> (FlexTensor, Self) {
        let [x, weight, bias] = [x, weight, bias].map(contiguous);
        let y = y.map(contiguous);
        let mut state = Self { x, y, mask, weight, moments: Vec::new() };
        let (weight, bias, epsilon) = (floats(&state.weight), floats(&bias), epsilon as f32);
        let mut out = vec![0.0; state.x.layout().num_elements()];
        let affine = Affine { weight, bias, epsilon };
        state.moments = slices::forward(state.input(), affine, &mut out);
        (tensor(out, state.x.layout().shape().clone()), state)
    }

    /// The gradients of x, y, weight and bias.
    pub(super) fn backward(self, grad: FlexTensor) -> [FlexTensor; 4] {
        let weight = floats(&self.weight);
        let mut dy =
            vec![0.0; if self.mask.is_some() { weight.len() * self.moments.len() } else { 0 }];
        let mut parameters = None;
        let dx = overwrite(grad, |dx, source| {
            let moments = &self.moments;
            parameters = Some(slices::backward(self.input(), weight, moments, dx, source, &mut dy));
        });
        let parameters = parameters.expect("overwrite calls its writer");
        let dy = match self.mask {
            None => dx.clone(),
            Some(_) => tensor(dy, self.x.layout().shape().clone()),
        };
        let width = [weight.len()];
        [dx, dy, tensor(parameters.weight, width), tensor(parameters.bias, width)]
    }

    fn input(&self) -> Input<'_> {
        Input { x: floats(&self.x), y: self.y.as_ref().map(floats), mask: self.mask }
    }
}
