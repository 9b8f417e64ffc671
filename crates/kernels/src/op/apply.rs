//! The function that puts a [`FusedOp`] into Burn's autodiff graph.

use std::fmt;
use std::fmt::Debug;
use std::marker::PhantomData;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::{
    BalancedCheckpointing, CheckpointStrategy, NoCheckpointing,
};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, DispatchKindConversion, DispatchTensor, Flex};
use burn::tensor::{GradientCheckpointingStrategy, Tensor};

use super::operand::Operand;

/// Returns the output of `op` for `inputs`. Each input may be tracked by autodiff or not.
///
/// # Panics
/// Panics if an input is on a backend that the operation does not support; check with
/// [`Target`](super::Target) first.
pub fn apply<O: FusedOp<N>, const N: usize, const D: usize>(
    op: O,
    inputs: [Operand; N],
) -> Tensor<D> {
    match inputs.iter().find_map(Operand::strategy) {
        None => {
            let (output, _) = op.forward(inputs.map(Operand::plain), Keep::Nothing);
            Tensor::from_primitive::<Flex>(output)
        }
        Some(GradientCheckpointingStrategy::Balanced) => {
            track::<O, BalancedCheckpointing, N, D>(op, inputs)
        }
        Some(_) => track::<O, NoCheckpointing, N, D>(op, inputs),
    }
}

fn track<O, C, const N: usize, const D: usize>(op: O, inputs: [Operand; N]) -> Tensor<D>
where
    O: FusedOp<N>,
    C: CheckpointStrategy,
    DispatchTensor: DispatchKindConversion<Autodiff<Flex, C>>,
{
    let inputs = inputs.map(Operand::tracked::<C>);
    let nodes = inputs.each_ref().map(|input| input.node());
    let wanted = inputs.each_ref().map(|input| input.is_tracked());
    let prepared = BackwardOf::<O>(PhantomData)
        .prepare::<C>(nodes)
        .compute_bound()
        .stateful();
    let inputs = inputs.map(|input| input.into_primitive());
    let output = match prepared {
        OpsKind::Tracked(prepared) => {
            let (output, saved) = op.forward(inputs, Keep::ForBackward(wanted));
            prepared.finish(saved, output)
        }
        OpsKind::UnTracked(prepared) => prepared.finish(op.forward(inputs, Keep::Nothing).0),
    };
    Tensor::from_primitive::<Autodiff<Flex, C>>(output)
}

/// The backward pass of an operation, as Burn's autodiff calls it.
struct BackwardOf<O>(PhantomData<fn() -> O>);

impl<O> fmt::Debug for BackwardOf<O> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "backward pass of {}", std::any::type_name::<O>())
    }
}

impl<O: FusedOp<N>, const N: usize> Backward<Flex, N> for BackwardOf<O> {
    type State = O::Saved;

    fn backward(
        self,
        ops: Ops<O::Saved, N>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let grad = grads.consume::<Flex>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let each = ops
            .parents
            .into_iter()
            .zip(O::backward(ops.state, grad, wanted));
        for (index, (parent, grad)) in each.enumerate() {
            if let Some(parent) = parent {
                let grad = grad.unwrap_or_else(|| {
                    panic!("{self:?} gave no gradient for input {index}, which wants one")
                });
                grads.register::<Flex>(parent.id, grad);
            }
        }
    }
}

/// The use of a forward pass: alone, or followed by a backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep<const N: usize> {
    /// No gradient is wanted. The saved values are dropped at once.
    Nothing,
    /// Gradients of the inputs with true are wanted. The backward pass receives the saved values.
    ForBackward([bool; N]),
}

/// An operation on `N` float tensors of the CPU with a custom backward pass.
///
/// The value is the operation with its settings, for example the number of heads, ids or masks:
/// everything that has no gradient.
pub trait FusedOp<const N: usize>: Debug + Sized + 'static {
    /// The values of the forward pass that the backward pass needs. Tensors in it are shared with
    /// the graph and not copied.
    type Saved: Clone + Debug + Send + 'static;

    /// The forward pass. Returns the output, and the saved values for
    /// [`backward`](Self::backward).
    ///
    /// An input may be overwritten if no other tensor shares its memory.
    fn forward(self, inputs: [FlexTensor; N], keep: Keep<N>) -> (FlexTensor, Self::Saved);

    /// The backward pass: the gradients of the inputs, given the gradient of the output.
    ///
    /// `wanted` is true for each input that needs a gradient. Other gradients are dropped.
    ///
    /// # Panics
    /// [`apply`](super::apply) panics if a gradient that is wanted is `None`.
    fn backward(saved: Self::Saved, grad: FlexTensor, wanted: [bool; N])
    -> [Option<FlexTensor>; N];
}
