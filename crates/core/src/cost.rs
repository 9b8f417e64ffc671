//! The costs of modules. Each module states its cost once, beside its shapes; the cost of a model
//! is a sum over its modules.

use derive_more::{Add, Mul};

/// The cost of a module. A model checks its memory with these numbers before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Mul)]
pub struct Cost {
    /// The number of trained values.
    pub parameters: usize,
    /// The number of multiplications in the forward pass, per position. Matrix products and
    /// attention are counted.
    pub multiplications: usize,
    /// The number of float32 values that training keeps for the backward pass, per position.
    pub activations: usize,
}

impl Cost {
    /// Returns the cost of a module that only holds `count` trained values.
    pub fn parameters(count: usize) -> Self {
        Self {
            parameters: count,
            ..Self::default()
        }
    }
}
