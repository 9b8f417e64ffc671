//! The recurrent baseline and its fused operation.

#[path = "../../../core/tests/it/common/mod.rs"]
mod of_core;
#[path = "../../../kernels/tests/it/common/mod.rs"]
mod of_kernels;

mod architectures;
mod initial_weights;
mod kernels;
mod precision;
mod rnn;
