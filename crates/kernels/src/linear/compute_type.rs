use serde::{Deserialize, Serialize};

/// The type of numbers in which a model multiplies its weights when it translates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ComputeType {
    /// 32-bit floating-point numbers: nothing is rounded.
    #[default]
    Float32,
    /// 8-bit integers: each row of a weight, and each row that is multiplied by it, is rounded to
    /// multiples of 1/127 of its largest magnitude. Products are several times as fast, and
    /// translations change a little.
    Int8,
}

impl ComputeType {
    /// All types of numbers.
    pub const ALL: [Self; 2] = [Self::Float32, Self::Int8];

    /// The name of the type in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Int8 => "int8",
        }
    }
}
