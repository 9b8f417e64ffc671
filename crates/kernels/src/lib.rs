//! Fused, multi-threaded training operations for Burn, each with a reference in plain tensors.
//!
//! Element-wise passes, one after the other on one thread, slow training on Burn's CPU backend
//! `flex`. The operations here do the work of several such passes in one, forward and backward.
//!
//! The trade-off: fused code exists for float32 on the CPU (Burn's `flex`; cargo feature `cpu`).
//! Everywhere else, for other element types, and without the feature, each function runs its
//! [`reference`](mod@reference): ordinary tensor arithmetic, which Burn fuses and tunes on GPUs.
//! The tests compare the fused code with it. Callers need not know which one runs. Dropout has the
//! same bits everywhere.
//! No result depends on the number of threads: the work is divided according to the size of the
//! problem alone, and partial sums are added in a fixed order.
//!
//! An operation is a folder. It contains the public function, which decides where the operation
//! runs (`mod.rs`), the reference (`reference.rs`), and the operation on the CPU (`op.rs`) with its
//! arithmetic on slices (`cpu.rs`). Small operations are single files. Code that the operations
//! share is in `cpu` and [`simd`].
//! Other crates add operations in the same way; [`op`] explains how.
//!
//! | paper | operation |
//! |---|---|
//! | §3.1 wiring, §5.4 dropout | [`residual_dropout_norm`], [`residual_dropout`], [`layer_norm`], [`dropout`] |
//! | §3.2 attention | [`attention`]; decoding: [`step_attention`], [`KvCache`] |
//! | §3.3 feed-forward | [`linear`], [`linear_with`], [`silu`]; decoding: [`PackedWeight`] |
//! | §3.4 embeddings | [`embedding`] |
//! | §5.3 optimiser | [`adam_step`], [`sum_of_squares`], [`global_norm`] |
//! | §5.4 label smoothing | [`label_smoothed_cross_entropy`], [`linear_cross_entropy`] |
//! | §6.1 search | [`log_sum_exp`], [`top_k`], on numbers of the host |
//!
//! Dropout is a function of a [`RandomKey`] and of each element's index ([`DropoutMask`]). The
//! backward pass draws it again, so that it costs no memory.
//!
//! # Example
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use burnformer_kernels::{DropoutMask, RandomKey, residual_dropout_norm};
//!
//! let device = Device::default().autodiff();
//! let x = Tensor::<3>::ones([2, 5, 16], &device).require_grad();
//! let weight = Tensor::ones([16], &device);
//! let bias = Tensor::zeros([16], &device);
//! let mask = DropoutMask::new(RandomKey::new(1), 0.1);
//! let y = residual_dropout_norm(x.clone(), x.clone(), weight, bias, 1e-5, Some(mask));
//! let grads = y.sum().backward();
//! assert_eq!(x.grad(&grads).expect("x is a leaf").dims(), [2, 5, 16]);
//! ```

// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

// Building blocks of operations.
#[cfg(feature = "cpu")]
pub mod cpu;
pub mod op;
mod random;
pub mod simd;
mod to_f32;

// The operations.
mod adam;
mod attention;
mod dropout;
mod embedding;
mod global_norm;
mod linear;
mod loss;
mod norm;
mod precision;
mod silu;
mod step_attention;
mod sum;
mod top_k;

mod kv_cache;

pub use adam::{AdamStep, Moving, adam_step};
pub use attention::{AttentionInputs, attention, masked_softmax, merge_heads, split_heads};
pub use dropout::{DropoutMask, dropout, residual_dropout};
pub use embedding::embedding;
pub use global_norm::{global_norm, sum_of_squares};
pub use kv_cache::KvCache;
pub use linear::packed::PackedWeight;
pub use linear::quantize::{QuantizedRows, quantize_rows};
pub use linear::{ComputeType, Epilogue, is_bfloat16_fast_on, linear, linear_with};
pub use loss::log_sum_exp::{log_sum_exp, softmax};
pub use loss::reference::log_probability;
pub use loss::{MAX_LOGITS, Projection, label_smoothed_cross_entropy, linear_cross_entropy};
pub use norm::{layer_norm, residual_dropout_norm};
pub use precision::Precision;
pub use random::{PhiloxRng, RandomKey};
pub use silu::silu;
pub use step_attention::step_attention;
pub use sum::sum;
pub use to_f32::to_f32;
pub use top_k::{Top, top_k, top_k_above};

/// Every operation in plain tensor arithmetic. The tests compare the fused versions with it, and it
/// runs on every backend and element type without a fused version.
pub mod reference {
    pub use crate::adam::reference::adam_step;
    pub use crate::attention::reference::attention;
    pub use crate::dropout::reference::{dropout, residual_dropout};
    pub use crate::global_norm::reference::sum_of_squares;
    pub use crate::linear::reference::{linear, linear_with};
    pub use crate::loss::reference::label_smoothed_cross_entropy;
    pub use crate::norm::reference::{layer_norm, residual_dropout_norm};
}

/// Returns whether tensors on `device` use the fused operations of the CPU. If so, they are in the
/// host's memory, and its cores divide the work.
pub fn is_fused_on(device: &burn::tensor::Device) -> bool {
    op::Target::of_device(device) == op::Target::Cpu
}
