use burn::tensor::Device;
use burnformer_core::Precision;
use burnformer_kernels::{is_bfloat16_fast_on, is_fused_on};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number type in which processes exchange gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExchangePrecision {
    /// Nothing is rounded.
    #[default]
    Float32,
    /// Half of the bytes. Each gradient is rounded to 8 bits of precision before it is sent; sums
    /// are float32, and are rounded once more before they are sent.
    BFloat16,
}

/// `training.precision`: a number type, or the choice of one when the device is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionSetting {
    /// [`Precision::BFloat16`] on a CPU that multiplies faster in it, otherwise
    /// [`Precision::Float32`]. A new run writes what was chosen into its `config.toml`.
    Auto,
    /// [`Precision::Float32`].
    #[default]
    Float32,
    /// [`Precision::BFloat16`].
    BFloat16,
    /// [`Precision::Float16`].
    Float16,
}

impl PrecisionSetting {
    /// The number type for a run on `device`.
    pub fn on(self, device: &Device) -> Precision {
        match self {
            Self::Auto if is_fused_on(device) && is_bfloat16_fast_on(device) => Precision::BFloat16,
            _ => self.number_type(),
        }
    }

    /// The number type where no device is known yet: float32 for `auto`.
    pub fn number_type(self) -> Precision {
        match self {
            Self::Auto | Self::Float32 => Precision::Float32,
            Self::BFloat16 => Precision::BFloat16,
            Self::Float16 => Precision::Float16,
        }
    }
}

impl From<Precision> for PrecisionSetting {
    fn from(precision: Precision) -> Self {
        match precision {
            Precision::Float32 => Self::Float32,
            Precision::BFloat16 => Self::BFloat16,
            Precision::Float16 => Self::Float16,
        }
    }
}
