//! The trait that search needs of a model, and the models that implement it.

mod ensemble;
mod neural;
mod step;

pub use ensemble::Ensemble;
pub use neural::NeuralModel;
pub use step::{Decoding, SpecialIds, StepModel};

#[cfg(test)]
pub(crate) mod tests;
