use burn::backend::DispatchDevice;
use burn::tensor::{DType, Device, Tensor};

/// The code that an operation runs, by the device and the type of its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Burn's CPU backend `flex`, in float32 (cargo feature `cpu`).
    Cpu,
    /// Another device or element type: the operation is plain tensor arithmetic.
    Other,
}

impl Target {
    /// Returns the target of an operation on `operands`, with or without gradients:
    /// [`Other`](Self::Other) if the target of any operand is `Other`.
    pub fn of(operands: &[&dyn HasTarget]) -> Self {
        let is_other = operands
            .iter()
            .any(|operand| operand.target() == Self::Other);
        if is_other { Self::Other } else { Self::Cpu }
    }

    /// Returns the target of an operation without a backward pass: [`Other`](Self::Other) if any of
    /// the `operands` has gradients, otherwise the same as [`of`](Self::of).
    pub fn without_gradients(operands: &[&dyn HasTarget]) -> Self {
        let any = operands.iter().any(|operand| operand.has_gradients());
        if any { Self::Other } else { Self::of(operands) }
    }

    /// Returns the target of operations on float32 tensors on `device`.
    pub fn of_device(device: &Device) -> Self {
        of_dispatch(device.as_dispatch())
    }
}

fn of_dispatch(device: &DispatchDevice) -> Target {
    match device {
        #[cfg(feature = "cpu")]
        DispatchDevice::Flex(_) => Target::Cpu,
        DispatchDevice::Autodiff(inner) => of_dispatch(inner),
        #[allow(unreachable_patterns)] // there may be no other backend in this build
        _ => Target::Other,
    }
}

/// A float tensor of any rank, for lists of operands of several ranks.
pub trait HasTarget {
    /// Returns the target of the tensor.
    fn target(&self) -> Target;

    /// Returns whether the tensor is on a device with autodiff.
    fn has_gradients(&self) -> bool;
}

impl<const D: usize> HasTarget for Tensor<D> {
    fn target(&self) -> Target {
        if self.dtype() == DType::F32 {
            Target::of_device(&self.device())
        } else {
            Target::Other
        }
    }

    fn has_gradients(&self) -> bool {
        self.device().is_autodiff()
    }
}
