use std::fmt::Debug;

use burn::backend::Backend;
use burn::backend::tensor::FloatTensor;

/// Whether the forward pass is followed by a backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// No gradient is wanted: what the forward pass saves is dropped at once.
    Nothing,
    /// The backward pass gets what the forward pass saves.
    ForBackward,
}

/// An operation of `N` float tensors that has a backward pass of its own.
///
/// The value is the operation with its settings: the number of heads, ids, masks, whatever carries no gradient.
pub trait FusedOp<const N: usize>: Debug + Sized + 'static {
    /// Where it computes.
    type Backend: Backend;

    /// What the backward pass needs. Tensors in it are shared with the graph and not copied.
    type Saved: Clone + Debug + Send + 'static;

    /// The output, and what [`backward`](Self::backward) needs of this pass.
    ///
    /// An input that nothing else holds may be overwritten.
    fn forward(
        self,
        inputs: [FloatTensor<Self::Backend>; N],
        keep: Keep,
    ) -> (FloatTensor<Self::Backend>, Self::Saved);

    /// The gradients of the inputs, given that of the output.
    ///
    /// `wanted` tells of which inputs the gradient is wanted; what is given for another one is dropped.
    ///
    /// # Panics
    /// [`apply`](super::apply) panics if a gradient that is wanted is `None`.
    fn backward(
        saved: Self::Saved,
        grad: FloatTensor<Self::Backend>,
        wanted: [bool; N],
    ) -> [Option<FloatTensor<Self::Backend>>; N];

    /// Further results, through which no gradient flows; see [`apply_with_aside`](super::apply_with_aside).
    fn aside(_saved: &Self::Saved) -> Vec<FloatTensor<Self::Backend>> {
        Vec::new()
    }
}
