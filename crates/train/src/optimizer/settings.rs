//! The section `[optimizer]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The update rule of the parameters.
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

/// The constants of the optimiser. Adam has the paper's values (§5.3).
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct OptimizerSettings {
    /// The update rule: `adam` for all parameters, as in the paper, or `muon` for the matrices of
    /// the encoder and the decoder and Adam for the rest. Muon steps along the orthogonal matrix
    /// nearest to the running sum of the gradients, so that all directions of a matrix learn at the
    /// same speed. In short runs of small models it reaches Adam's loss in about two thirds of the
    /// updates, which take little longer.
    pub algorithm: Algorithm,
    /// The decay rate of Adam's first moment, the running mean of the gradients; from 0 to below 1.
    pub beta1: f64,
    /// The decay rate of Adam's second moment, the running mean of the squared gradients; from 0 to
    /// below 1. The paper has 0.98, most libraries 0.999. The shorter memory suits the paper's
    /// rising learning rate.
    pub beta2: f64,
    /// The number added to the root of the second moment against division by zero; above 0. The
    /// paper has 1e-9, most libraries 1e-8.
    pub epsilon: f64,
    /// The factor on the learning rate of Muon's matrices; above 0. With 1 their entries move about
    /// as far as with Adam.
    pub muon_factor: f64,
    /// The largest global norm of the gradient; a larger gradient is scaled down to it. 0 clips
    /// nothing, as in the paper. Set it to about 1 if the loss jumps; recurrent models need it.
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

/// The learning rate after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleShape {
    /// The learning rate falls with the inverse square root of the step, as in the paper (§5.3).
    #[default]
    InverseSqrt,
    /// The learning rate stays at its peak until `cooldown` lowers it.
    Constant,
}

/// The learning rate over a run: the paper's (§5.3) is a linear warm-up, then the inverse square
/// root of the step.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct ScheduleSettings {
    /// The highest learning rate of the run, such as 1e-4 for fine-tuning; 0 is the paper's,
    /// `factor` · d_model^−½ · warmup^−½. If it is set, `factor` has no effect.
    pub peak: f64,
    /// The factor on the curve d_model^−½ · min(t^−½, t · warmup^−3/2); above 0. The paper has 1.
    /// Lower it if training diverges; raise it for small models in short runs.
    pub factor: f64,
    /// The number of warm-up updates with a linearly rising learning rate; at least 1 (no warm-up).
    /// The paper has 4,000; short runs need about a tenth of their updates.
    pub warmup: u64,
    /// The learning rate after the warm-up.
    pub shape: ScheduleShape,
    /// The share of the run, from 0 to 1, over which the learning rate falls linearly to 0 at the
    /// end. The run is measured in updates, minutes or epochs, by the limit that ends it first
    /// (`training.max_updates`, `max_minutes`, `max_epochs`; no effect without one). The paper has
    /// 0. Short runs gain from 1 (Bergsma et al., 2025): the last model loses the noise of large
    /// steps and needs no averaging of checkpoints. If such a run is continued beyond its end, the
    /// rate rises again.
    pub cooldown: f64,
}

impl Default for ScheduleSettings {
    fn default() -> Self {
        Self {
            peak: 0.0,
            factor: 1.0,
            warmup: 4000,
            shape: ScheduleShape::default(),
            cooldown: 0.0,
        }
    }
}

impl ScheduleSettings {
    /// The rate of update `step`, from 1, for a model of width `d_model`. `progress` is the share of
    /// the run before it, from 0 to 1; only the cooldown depends on it.
    pub fn rate(&self, step: u64, d_model: usize, progress: f64) -> f64 {
        let step = match self.shape {
            ScheduleShape::InverseSqrt => step,
            ScheduleShape::Constant => step.min(self.warmup),
        };
        let curve = if self.peak > 0.0 {
            self.peak * noam(step, d_model, self.warmup) / noam(self.warmup, d_model, self.warmup)
        } else {
            self.factor * noam(step, d_model, self.warmup)
        };
        curve * cooldown(progress, self.cooldown)
    }
}

/// The factor on the rate after the share `progress` of a run with a cooldown of the share `length`:
/// 1 before the cooldown, then linearly to 0.
fn cooldown(progress: f64, length: f64) -> f64 {
    if length == 0.0 {
        1.0
    } else {
        ((1.0 - progress) / length).clamp(0.0, 1.0)
    }
}

/// d_model^−½ · min(step^−½, step · warmup^−3/2), equation 3 of the paper; `step` from 1.
pub fn noam(step: u64, d_model: usize, warmup: u64) -> f64 {
    let step = step.max(1) as f64;
    let warmup = warmup.max(1) as f64;
    (d_model as f64).powf(-0.5) * step.powf(-0.5).min(step * warmup.powf(-1.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_rises_linearly_to_the_warm_up_and_falls_with_the_root() {
        let rate = |step| noam(step, 512, 4000);
        assert!((rate(2000) / rate(1000) - 2.0).abs() < 1e-12);
        assert!((rate(16_000) / rate(4000) - 0.5).abs() < 1e-12);
        assert!((1..10_000).all(|step| rate(step) <= rate(4000)));
    }

    #[test]
    fn the_papers_base_model_peaks_at_7e_4() {
        // 512^−½ · 4000^−½ = 6.987e-4.
        assert!((noam(4000, 512, 4000) - 6.987_712e-4).abs() < 1e-9);
    }

    #[test]
    fn a_peak_is_the_highest_rate_for_any_width_and_warm_up() {
        for (d_model, warmup) in [(64, 1), (512, 1), (512, 40)] {
            let settings = ScheduleSettings {
                peak: 1e-4,
                warmup,
                ..ScheduleSettings::default()
            };
            let rate = |step| settings.rate(step, d_model, 0.0);
            assert!((rate(warmup) - 1e-4).abs() < 1e-12);
            assert!((rate(4 * warmup) - 5e-5).abs() < 1e-12);
            assert!((1..200).all(|step| rate(step) <= rate(warmup)));
            let constant = ScheduleSettings {
                shape: ScheduleShape::Constant,
                ..settings
            };
            assert!((constant.rate(1000, d_model, 0.0) - 1e-4).abs() < 1e-12);
        }
    }

    #[test]
    fn a_cooldown_lowers_the_rate_linearly_to_zero_at_the_end_of_the_run() {
        let settings = ScheduleSettings {
            warmup: 10,
            shape: ScheduleShape::Constant,
            cooldown: 0.4,
            ..ScheduleSettings::default()
        };
        let peak = noam(10, 64, 10);
        for (step, progress, expected) in [
            (10, 0.1, 1.0),
            (50, 0.5, 1.0),
            (60, 0.6, 1.0),
            (80, 0.8, 0.5),
            (100, 1.0, 0.0),
            (110, 1.1, 0.0),
        ] {
            assert!(
                (settings.rate(step, 64, progress) - expected * peak).abs() < 1e-12,
                "{step}"
            );
        }
        let paper = ScheduleSettings {
            warmup: 10,
            ..ScheduleSettings::default()
        };
        assert_eq!(paper.rate(90, 64, 0.9), noam(90, 64, 10));
    }
}
