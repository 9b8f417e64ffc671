//! The trait that search needs of a model, and the models that implement it.

mod decoding;
mod ensemble;
mod listed;
mod neural;
mod step;

pub use decoding::Decoding;
pub use ensemble::Ensemble;
pub use neural::NeuralModel;
pub use step::{SpecialIds, StepModel};

#[cfg(test)]
pub(crate) mod tests;
