use burn::backend::DispatchDevice;
use burn::tensor::{DType, Device, Tensor};

/// Where an operation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Burn's CPU backend `flex`, in float32 (cargo feature `cpu`).
    Cpu,
    /// A GPU, in float32 (cargo feature `gpu`).
    Gpu,
    /// Anywhere else, or in another type: plain tensor arithmetic serves them all.
    Elsewhere,
}

impl Place {
    /// Where an operation of all `operands` runs, with or without gradients.
    pub fn of(operands: &[&dyn HasPlace]) -> Self {
        let mut places = operands.iter().map(|operand| operand.place());
        let first = places.next().unwrap_or(Self::Elsewhere);
        if places.all(|place| place == first) { first } else { Self::Elsewhere }
    }

    /// [`of`](Self::of) for operations that have no backward pass: elsewhere if one of `operands` has gradients.
    pub fn without_gradients(operands: &[&dyn HasPlace]) -> Self {
        let any = operands.iter().any(|operand| operand.has_gradients());
        if any { Self::Elsewhere } else { Self::of(operands) }
    }

    /// Where float32 tensors on `device` live.
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

/// What lives somewhere: a float tensor of any rank.
pub trait HasPlace {
    /// Where it lives.
    fn place(&self) -> Place;

    /// Whether it is on a device with gradients.
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
