//! The costs of modules. Each module states its cost once, beside its shapes; the cost of a model
//! is a sum over its modules.

use std::ops::{Add, Mul};

/// The cost of a module. A model checks its memory with these numbers before it is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of trained values.
    pub parameters: usize,
    /// The number of multiplications in the forward pass, per position. Matrix products and
    /// attention are counted.
    pub multiplications: usize,
    /// The number of float32 values that training keeps for the backward pass, per position.
    pub kept_values: usize,
}

impl Cost {
    /// The cost of a module that only holds `count` trained values.
    pub fn parameters(count: usize) -> Self {
        Self { parameters: count, ..Self::default() }
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            parameters: self.parameters + other.parameters,
            multiplications: self.multiplications + other.multiplications,
            kept_values: self.kept_values + other.kept_values,
        }
    }
}

/// The cost of several equal modules, one after the other.
impl Mul<Cost> for usize {
    type Output = Cost;

    fn mul(self, one: Cost) -> Cost {
        Cost {
            parameters: self * one.parameters,
            multiplications: self * one.multiplications,
            kept_values: self * one.kept_values,
        }
    }
}
