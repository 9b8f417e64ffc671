//! What holds for every architecture.

mod architectures;
mod initial_weights;
