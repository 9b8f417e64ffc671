//! The files in a model's folder, and the numbers in them.

use burnformer_core::Activation;

pub(super) const WEIGHTS: &str = "model.bin";
pub(super) const CONFIG: &str = "config.json";
/// The numbers of the activation functions in files (`ctranslate2/specs/common_spec.py`).
pub(super) const ACTIVATIONS: [(u8, Activation); 3] =
    [(0, Activation::Relu), (2, Activation::Silu), (3, Activation::Gelu)];
