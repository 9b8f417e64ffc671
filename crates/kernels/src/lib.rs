//! Fused, multi-threaded training operations for Burn, each with a plain-tensor twin.
//!
//! Training on Burn's CPU backend `flex` is slowed by element-wise passes that run one after the
//! other on one thread. The operations here do the work of several such passes in one, forward and
//! backward, as an extension of that backend.
//!
//! The trade-off taken: fused code exists for `flex` and 32-bit floats only, behind the cargo
//! feature `flex`. On every other backend and element type, and without the feature, each function
//! runs its twin from [`twin`], which is ordinary tensor arithmetic and the reference of the tests;
//! callers never ask which. On GPUs (cargo feature `cube`) there are CubeCL kernels for what costs a twin the most
//! launches and passes over memory: the loss, norms, attention and the gradients' norm; dropout is drawn there with the
//! very bits of the CPU, and everything else is the twin, which Burn fuses. On devices of other machines (cargo feature
//! `remote`) the twins run, and dropout is drawn there. No result depends on the number of threads: work is divided by the
//! size of the problem alone, and partial sums are added in a fixed order.
//!
//! | paper | operation |
//! |---|---|
//! | §3.1 wiring, §5.4 dropout | [`residual_dropout_norm`], [`residual_dropout`], [`layer_norm`], [`dropout`] |
//! | §3.2 attention | [`attention`] |
//! | §3.3 feed-forward | [`linear_relu`], [`linear`] |
//! | §3.4 embeddings | [`embedding`] |
//! | §5.3 optimiser | [`adam_step`], [`sum_of_squares`], [`global_norm`] |
//! | §5.4 label smoothing | [`label_smoothed_cross_entropy`] |
//!
//! Dropout is a function of a [`RandomKey`] and of each element's place ([`DropoutMask`]), so that
//! it is drawn again in the backward pass and costs no memory.
//!
//! # Example
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use burnformer_kernels::{DropoutMask, RandomKey, residual_dropout_norm};
//!
//! let device = Device::default().autodiff();
//! let x = Tensor::<3>::ones([2, 5, 16], &device).require_grad();
//! let (weight, bias) = (Tensor::ones([16], &device), Tensor::zeros([16], &device));
//! let mask = DropoutMask::new(RandomKey::new(1), 0.1);
//! let y = residual_dropout_norm(x.clone(), x.clone(), weight, bias, 1e-5, Some(mask));
//! let grads = y.sum().backward();
//! assert_eq!(x.grad(&grads).expect("x is a leaf").dims(), [2, 5, 16]);
//! ```

#[cfg(feature = "flex")]
mod flex;
#[cfg(feature = "flex")]
mod slices;

#[cfg(feature = "cube")]
mod cube;
mod philox;
#[cfg(feature = "remote")]
mod remote;
#[cfg_attr(not(feature = "flex"), allow(dead_code))] // the twins need little of it
mod vector;

mod adam;
mod attention;
mod cross_entropy;
mod dropout;
mod dropout_mask;
mod embedding;
mod global_norm;
mod history;
mod linear;
mod log_sum_exp;
mod memory;
mod norm;
mod packed;
mod random;
mod step;
mod widened;

pub mod twin;

pub use adam::{AdamStep, Moving, adam_step, sum_of_squares};
pub use attention::attention;
pub use cross_entropy::label_smoothed_cross_entropy;
pub use dropout::{dropout, residual_dropout};
pub use dropout_mask::DropoutMask;
pub use embedding::embedding;
pub use global_norm::global_norm;
pub use history::History;
pub use linear::{linear, linear_relu};
pub use log_sum_exp::log_sum_exp;
pub use memory::keep_freed_memory;
pub use norm::{layer_norm, residual_dropout_norm};
pub use packed::PackedWeight;
pub use random::RandomKey;
#[cfg(feature = "remote")]
pub use remote::with_operations;
pub use step::step_attention;
pub use widened::widened;

/// What fused operations of other crates are built from. It is no part of the interface and changes without notice.
#[doc(hidden)]
pub mod internal {
    #[cfg(feature = "flex")]
    pub use crate::flex::{
        cover, covers,
        storage::{bools, contiguous, floats, tensor},
    };
    #[cfg(feature = "flex")]
    pub use crate::slices::{
        dropout::increase,
        linear::{Sizes, grad_of_sum, grad_of_weight},
        matrix::{Matrix, MatrixMut, Parallelism, multiply},
        ordered_sum,
    };
    pub mod vector {
        pub use crate::vector::*;
    }
}

/// Whether the fused operations serve tensors on `device`: the CPU, where memory is the host's and
/// work is divided among its processors.
pub fn is_fused_on(device: &burn::tensor::Device) -> bool {
    #[cfg(feature = "flex")]
    return flex::is_flex(device.as_dispatch());
    #[cfg(not(feature = "flex"))]
    {
        let _ = device;
        false
    }
}

/// The program in the README, compiled and run as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
