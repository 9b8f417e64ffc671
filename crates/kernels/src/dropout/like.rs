use burn::tensor::{Tensor, TensorData};

use super::mask::DropoutMask;
#[cfg(feature = "gpu")]
use crate::op::Target;

impl DropoutMask {
    /// The factors of dropout for every element of `x`, as a tensor with the shape and the device
    /// of `x`. They are drawn on that device, with the same bits on every device.
    pub fn tensor_like<const D: usize>(self, x: &Tensor<D>) -> Tensor<D> {
        #[cfg(feature = "gpu")]
        if Target::of(&[x]) == Target::Gpu {
            return super::gpu::mask_like(x, self);
        }
        let factors = TensorData::new(self.factors(x.shape().num_elements()), x.shape());
        Tensor::<D>::from_data(factors, &x.device()).cast(x.dtype())
    }
}
