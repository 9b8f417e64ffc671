//! Kernels on a GPU, in a program of their own: it listens to what the process launches.

#[path = "../it/common/mod.rs"]
mod common;
mod gpu;
