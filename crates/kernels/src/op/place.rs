use burn::backend::DispatchDevice;
use burn::tensor::{DType, Device, Tensor};

/// Where the tensors of an operation are, which decides what code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Burn's CPU backend `flex`, in float32 (cargo feature `cpu`).
    Cpu,
    /// A GPU, in float32 (cargo feature `gpu`).
    Gpu,
    /// Anywhere else, or in another element type: plain tensor arithmetic runs there.
    Elsewhere,
}

impl Place {
    /// The place of an operation on `operands`, with or without gradients. It is
    /// [`Elsewhere`](Self::Elsewhere) if they are not all in one place.
    pub fn of(operands: &[&dyn HasPlace]) -> Self {
        let mut places = operands.iter().map(|operand| operand.place());
        let first = places.next().unwrap_or(Self::Elsewhere);
        if places.all(|place| place == first) { first } else { Self::Elsewhere }
    }

    /// The place of an operation that has no backward pass. It is that of [`of`](Self::of), but
    /// [`Elsewhere`](Self::Elsewhere) if one of `operands` has gradients.
    pub fn without_gradients(operands: &[&dyn HasPlace]) -> Self {
        let any = operands.iter().any(|operand| operand.has_gradients());
        if any { Self::Elsewhere } else { Self::of(operands) }
    }

    /// The place of float32 tensors on `device`.
    pub fn of_device(device: &Device) -> Self {
        of_dispatch(device.as_dispatch())
    }
}

fn of_dispatch(device: &DispatchDevice) -> Place {
    match device {
        #[cfg(feature = "cpu")]
        DispatchDevice::Flex(_) => Place::Cpu,
        #[cfg(feature = "gpu")]
        DispatchDevice::Cube(_) => Place::Gpu,
        DispatchDevice::Autodiff(inner) => of_dispatch(inner),
        #[allow(unreachable_patterns)] // there may be no other backend in this build
        _ => Place::Elsewhere,
    }
}

/// Something with a [`Place`]: a float tensor of any rank.
pub trait HasPlace {
    /// The place of the tensor.
    fn place(&self) -> Place;

    /// Whether the tensor is on a device with autodiff.
    fn has_gradients(&self) -> bool;
}

impl<const D: usize> HasPlace for Tensor<D> {
    fn place(&self) -> Place {
        if self.dtype() == DType::F32 { Place::of_device(&self.device()) } else { Place::Elsewhere }
    }

    fn has_gradients(&self) -> bool {
        self.device().is_autodiff()
    }
}
