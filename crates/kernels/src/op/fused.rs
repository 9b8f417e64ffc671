use std::fmt::Debug;

use burn::backend::flex::FlexTensor;

/// The use of a forward pass: alone, or followed by a backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// No gradient is wanted. What the forward pass saves is dropped at once.
    Nothing,
    /// Gradients are wanted. The backward pass receives what the forward pass saves.
    ForBackward,
}

/// An operation on `N` float tensors of the CPU with a custom backward pass.
///
/// The value is the operation with its settings, for example the number of heads, ids or masks:
/// whatever has no gradient.
pub trait FusedOp<const N: usize>: Debug + Sized + 'static {
    /// The values of the forward pass that the backward pass needs. Tensors in it are shared with
    /// the graph and not copied.
    type Saved: Clone + Debug + Send + 'static;

    /// The forward pass. Returns the output, and what [`backward`](Self::backward) needs of this
    /// pass.
    ///
    /// An input may be overwritten if no other tensor shares its memory.
    fn forward(self, inputs: [FlexTensor; N], keep: Keep) -> (FlexTensor, Self::Saved);

    /// The backward pass: the gradients of the inputs, given the gradient of the output.
    ///
    /// `wanted` says for which inputs the gradient is wanted. A gradient that is not wanted is
    /// dropped.
    ///
    /// # Panics
    /// [`apply`](super::apply) panics if a gradient that is wanted is `None`.
    fn backward(saved: Self::Saved, grad: FlexTensor, wanted: [bool; N])
    -> [Option<FlexTensor>; N];

    /// Further results, through which no gradient flows.
    /// [`apply_with_aside`](super::apply_with_aside) returns them.
    fn aside(_saved: &Self::Saved) -> Vec<FlexTensor> {
        Vec::new()
    }
}
