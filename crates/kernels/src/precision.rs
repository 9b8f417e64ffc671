use burn::tensor::{Device, FloatDType, Tensor};
use derive_more::Display;
use serde::{Deserialize, Serialize};

/// The number type of matrix products. Everything else is float32 (Micikevicius et al., 2018,
/// *Mixed Precision Training*).
///
/// Operands are rounded to this type, and results are converted back to float32, also in the
/// backward pass. Gradients of weights are therefore float32.
#[derive(Clone, Copy, Debug, Default, Display, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[display("{}", self.name())]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits with a significand of 24 bits: nothing is rounded.
    #[default]
    Float32,
    /// 16 bits with a significand of 8 bits, and the range of float32.
    BFloat16,
    /// 16 bits with a significand of 11 bits, for magnitudes from 6e-8 to 65,504. Training scales
    /// the loss, so that small gradients do not become zero.
    Float16,
}

impl Precision {
    /// All three types.
    pub const ALL: [Self; 3] = [Self::Float32, Self::BFloat16, Self::Float16];

    /// Returns the name of the type in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::BFloat16 => "bfloat16",
            Self::Float16 => "float16",
        }
    }

    /// Returns whether `device` can compute in this type.
    pub fn is_supported_on(self, device: &Device) -> bool {
        self.half().is_none_or(|dtype| device.supports_dtype(dtype))
    }

    /// Returns the type as Burn's `FloatDType`.
    pub fn dtype(self) -> FloatDType {
        match self {
            Self::Float32 => FloatDType::F32,
            Self::BFloat16 => FloatDType::BF16,
            Self::Float16 => FloatDType::F16,
        }
    }

    /// Returns the type, if it has 16 bits.
    pub(crate) fn half(self) -> Option<FloatDType> {
        (self != Self::Float32).then(|| self.dtype())
    }

    /// Converts an operand of attention's products to this type. In bfloat16 on a CPU these
    /// products stay in float32, because they are faster in the fused attention.
    pub fn cast_operand<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self.half() {
            Some(FloatDType::BF16) if crate::is_fused_on(&x.device()) => x,
            Some(dtype) => x.cast(dtype),
            None => x,
        }
    }
}
