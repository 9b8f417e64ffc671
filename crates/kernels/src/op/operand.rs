use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, DispatchKindConversion, DispatchTensor, Flex};
use burn::tensor::{GradientCheckpointingStrategy, Tensor};

/// An input of an operation: a float tensor of any rank, known at run time only.
#[derive(Clone, Debug)]
pub struct Operand(Tensor<1>);

impl<const D: usize> From<Tensor<D>> for Operand {
    fn from(x: Tensor<D>) -> Self {
        Self(Tensor::from_dispatch(x.into_dispatch()))
    }
}

impl Operand {
    /// Returns the checkpointing strategy of Burn's autodiff for this tensor; `None` if the tensor
    /// is not on a device with autodiff.
    pub(super) fn strategy(&self) -> Option<GradientCheckpointingStrategy> {
        self.0.gradient_checkpointing_strategy()
    }

    /// Returns the tensor of `flex`, for a tensor without gradients.
    ///
    /// # Panics
    /// Panics if the tensor is on another backend, or has gradients.
    pub(super) fn plain(self) -> FlexTensor {
        self.0
            .try_into_primitive::<Flex>()
            .unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// Returns the tensor of `flex` in a graph of gradients. A tensor without gradients is a
    /// constant there.
    ///
    /// # Panics
    /// Panics if the tensor is on another backend, or in a graph with another checkpointing
    /// strategy.
    pub(super) fn tracked<C: CheckpointStrategy>(self) -> FloatTensor<Autodiff<Flex, C>>
    where
        DispatchTensor: DispatchKindConversion<Autodiff<Flex, C>>,
    {
        match self.strategy() {
            None => Autodiff::<Flex, C>::from_inner(self.plain()),
            Some(_) => {
                let primitive = self.0.try_into_primitive::<Autodiff<Flex, C>>();
                primitive.unwrap_or_else(|error| panic!("{error:?}"))
            }
        }
    }
}
