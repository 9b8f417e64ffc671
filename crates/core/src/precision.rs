use burn::tensor::activation::relu;
use burn::tensor::{Device, FloatDType, Tensor};
use burnformer_kernels::{self as kernels, to_f32};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The type in which matrices are multiplied; everything else is float32 (Micikevicius et al., 2018).
///
/// Operands are rounded to it and products widened again, in the backward pass too: gradients of
/// weights are float32 sums of what half-precision products gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits, 24 of them of significand: nothing is rounded.
    #[default]
    Float32,
    /// 16 bits, 8 of them of significand, with the exponents of float32.
    BFloat16,
    /// 16 bits, 11 of them of significand, for magnitudes from 6e-8 to 65,504; the loss is scaled so that small
    /// gradients survive.
    Float16,
}

impl Precision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Float32, Self::BFloat16, Self::Float16];

    /// The name in configurations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::BFloat16 => "bfloat16",
            Self::Float16 => "float16",
        }
    }

    /// Whether `device` computes in this type.
    pub fn is_supported_on(self, device: &Device) -> bool {
        self.half().is_none_or(|dtype| device.supports_dtype(dtype))
    }

    /// The type as Burn names it.
    pub fn dtype(self) -> FloatDType {
        match self {
            Self::Float32 => FloatDType::F32,
            Self::BFloat16 => FloatDType::BF16,
            Self::Float16 => FloatDType::F16,
        }
    }

    /// The type of 16 bits, if it is one.
    fn half(self) -> Option<FloatDType> {
        (self != Self::Float32).then(|| self.dtype())
    }

    /// An operand of a product in this precision.
    pub(crate) fn narrowed<const D: usize>(self, x: Tensor<D>) -> Tensor<D> {
        match self.half() {
            None => x,
            Some(dtype) => x.cast(dtype),
        }
    }

    /// `x·Wᵀ + b`, the product in this precision: `x` `[.., in]`, `weight` `[out, in]`, `bias` `[out]` →
    /// float32 `[.., out]`.
    pub fn linear<const D: usize>(
        self,
        x: Tensor<D>,
        weight: Tensor<2>,
        bias: Option<Tensor<1>>,
    ) -> Tensor<D> {
        if self == Self::Float32 {
            return kernels::linear(x, weight, bias);
        }
        let product = to_f32(kernels::linear(self.narrowed(x), self.narrowed(weight), None));
        match bias {
            None => product,
            Some(bias) => product + bias.unsqueeze(),
        }
    }

    /// max(0, [`linear`](Self::linear)).
    pub(crate) fn linear_relu<const D: usize>(
        self,
        x: Tensor<D>,
        weight: Tensor<2>,
        bias: Option<Tensor<1>>,
    ) -> Tensor<D> {
        match self {
            Self::Float32 => kernels::linear_relu(x, weight, bias),
            _ => relu(self.linear(x, weight, bias)),
        }
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
