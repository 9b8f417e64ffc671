//! The section `[optimizer]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule that moves the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Adam for every parameter (Kingma and Ba, 2015), as in the paper (§5.3).
    #[default]
    Adam,
    /// Muon (Jordan et al., 2024) for the matrices of the encoder and the decoder, Adam for
    /// embeddings, biases and norms.
    Muon,
}

/// The constants of the optimiser. Those of Adam have the paper's values (§5.3).
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerSettings {
    /// The rule that moves the parameters: `adam` for all of them, as in the paper, or `muon` for
    /// the matrices of the encoder and the decoder and Adam for the rest. Muon steps along the
    /// orthogonal matrix nearest to the running sum of the gradients, which makes all directions of
    /// a matrix learn at the same speed. In short runs of small models it reaches the loss of Adam
    /// in about two thirds of the updates; an update takes little longer.
    pub algorithm: Algorithm,
    /// The decay rate of Adam's first moment, the running mean of the gradients; from 0 to below 1.
    pub beta1: f64,
    /// The decay rate of Adam's second moment, the running mean of the squared gradients; from 0 to
    /// below 1. The paper has 0.98, where most libraries have 0.999: shorter memory suits its
    /// rising learning rate.
    pub beta2: f64,
    /// The number added to the root of the second moment, so that it is never divided by zero;
    /// above 0. The paper has 1e-9, where most libraries have 1e-8.
    pub epsilon: f64,
    /// The factor by which the learning rate is multiplied for the matrices that Muon moves; above
    /// 0. With 1 their entries move about as far as Adam would move them.
    pub muon_factor: f64,
    /// The largest norm of the gradient over all parameters together; a gradient with a larger norm
    /// is scaled down to it. 0 clips nothing, as in the paper. Set it to about 1 if the loss jumps;
    /// recurrent models need it.
    pub clip_norm: f64,
}

impl Default for OptimizerSettings {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Adam,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-9,
            muon_factor: 1.0,
            clip_norm: 0.0,
        }
    }
}
