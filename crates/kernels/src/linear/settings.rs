//! The settings of a product.

use serde::{Deserialize, Serialize};

/// The number type of a model's products with its weights in translation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ComputeType {
    /// 32-bit floating-point numbers: nothing is rounded.
    #[default]
    Float32,
    /// Both factors rounded to 16 bits, sums in 32: about twice as fast on processors with
    /// AVX-512 BF16, and slower than float32 on others.
    BFloat16,
    /// 8-bit integers: each row of a weight, and each row that is multiplied by it, is rounded to
    /// multiples of its scale, see [`quantize_rows`](crate::quantize_rows). Products are several
    /// times as fast, and translations change a little.
    Int8,
}

impl ComputeType {
    /// All types of numbers.
    pub const ALL: [Self; 3] = [Self::Float32, Self::BFloat16, Self::Int8];

    /// Returns the name of the type in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::BFloat16 => "bfloat16",
            Self::Int8 => "int8",
        }
    }
}

/// The function that follows a matrix product, in the same pass as the bias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Epilogue {
    /// No function.
    None,
    /// ReLU: the larger of 0 and each number. NaN stays NaN, and −0 stays −0.
    Relu,
    /// [SiLU](crate::silu).
    Silu,
}
