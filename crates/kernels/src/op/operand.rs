use burn::backend::autodiff::checkpoint::strategy::{
    BalancedCheckpointing, CheckpointStrategy, NoCheckpointing,
};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend, DispatchKindConversion, DispatchTensor};
use burn::tensor::{GradientCheckpointingStrategy, Tensor};

/// An input of an operation: a float tensor whose rank is known at run time only.
#[derive(Clone, Debug)]
pub struct Operand(Tensor<1>);

impl<const D: usize> From<Tensor<D>> for Operand {
    fn from(x: Tensor<D>) -> Self {
        Self(Tensor::from_dispatch(x.into_dispatch()))
    }
}

/// The methods of [`DispatchTensor`] for every backend `B` of Burn: they return the backend's
/// tensor, with and without gradients.
pub trait PrimitivesOf<B: Backend>:
    DispatchKindConversion<B>
    + DispatchKindConversion<Autodiff<B, NoCheckpointing>>
    + DispatchKindConversion<Autodiff<B, BalancedCheckpointing>>
{
}

impl<B: Backend, T> PrimitivesOf<B> for T where
    T: DispatchKindConversion<B>
        + DispatchKindConversion<Autodiff<B, NoCheckpointing>>
        + DispatchKindConversion<Autodiff<B, BalancedCheckpointing>>
{
}

impl Operand {
    /// The checkpointing strategy of Burn's autodiff for this tensor; `None` if the tensor is not
    /// on a device with autodiff.
    pub(super) fn strategy(&self) -> Option<GradientCheckpointingStrategy> {
        self.0.gradient_checkpointing_strategy()
    }

    /// The backend's tensor, for a tensor without gradients.
    ///
    /// # Panics
    /// If the tensor is on another backend, or has gradients.
    pub(super) fn plain<B: Backend>(self) -> FloatTensor<B>
    where
        DispatchTensor: DispatchKindConversion<B>,
    {
        self.0.try_into_primitive::<B>().unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// The backend's tensor in a graph of gradients, in which a tensor without gradients is a
    /// constant.
    ///
    /// # Panics
    /// If the tensor is on another backend, or in a graph with another checkpointing strategy.
    pub(super) fn tracked<B: Backend, C: CheckpointStrategy>(self) -> FloatTensor<Autodiff<B, C>>
    where
        DispatchTensor: DispatchKindConversion<B> + DispatchKindConversion<Autodiff<B, C>>,
    {
        match self.strategy() {
            None => Autodiff::<B, C>::from_inner(self.plain::<B>()),
            Some(_) => {
                let primitive = self.0.try_into_primitive::<Autodiff<B, C>>();
                primitive.unwrap_or_else(|error| panic!("{error:?}"))
            }
        }
    }
}
