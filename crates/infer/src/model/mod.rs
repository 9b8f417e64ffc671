//! The trait that search needs of a model, and the models that implement it.

mod ensemble;
mod listed;
mod neural;
mod step;
#[cfg(test)]
pub(crate) mod table;

pub use ensemble::Ensemble;
pub use neural::NeuralModel;
pub use step::{Decoding, SpecialIds, StepModel};

#[cfg(test)]
mod tests;
