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
#[serde(default, deny_unknown_fields, expecting = "a table")]
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

/// The course of the learning rate once it has risen to its peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleShape {
    /// The learning rate falls with the inverse square root of the update's number, as in the paper
    /// (§5.3).
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
    /// The highest learning rate of the run, such as 1e-4 to fine-tune a model; 0 takes the
    /// paper's, which is `factor` · d_model^−½ · warmup^−½. Where it is set, `factor` has no
    /// effect.
    pub peak: f64,
    /// The factor by which the whole curve d_model^−½ · min(t^−½, t · warmup^−3/2) is multiplied;
    /// above 0. The paper has 1. Lower it when training diverges, raise it for small models in
    /// short runs.
    pub factor: f64,
    /// The number of updates over which the learning rate rises linearly to its peak; at least 1,
    /// which means no warm-up. The paper has 4,000; short runs need fewer, about a tenth of their
    /// updates.
    pub warmup: u64,
    /// The course of the learning rate after the warm-up.
    pub shape: ScheduleShape,
    /// The last part of the run, as a share from 0 to 1 of its updates, minutes or epochs
    /// (whichever of `training.max_updates`, `max_minutes` and `max_epochs` ends it first; without
    /// one, no effect), over which the learning rate is lowered linearly to 0. The paper has 0. A
    /// short run gains from 1 (Bergsma et al., 2025): the noise of large steps is gone from the
    /// last model, which then needs no averaging of checkpoints. Since the rate depends on the end,
    /// continuing such a run beyond it raises the rate again.
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
    /// The rate of update `step`, counted from 1, for a model of width `d_model`. `progress` is the
    /// share of the run that was made before it, from 0 to 1; it counts only where there is a
    /// cooldown.
    pub fn rate(&self, step: u64, d_model: usize, progress: f64) -> f64 {
        let step = match self.shape {
            ScheduleShape::InverseSqrt => step,
            ScheduleShape::Constant => step.min(self.warmup),
        };
        let curve = match self.peak > 0.0 {
            true => {
                self.peak * noam(step, d_model, self.warmup)
                    / noam(self.warmup, d_model, self.warmup)
            }
            false => self.factor * noam(step, d_model, self.warmup),
        };
        curve * cooldown(progress, self.cooldown)
    }
}

/// The factor of the rate after the share `progress` of a run whose last share `length` is its
/// cooldown: 1 before, then linearly to 0 at the end.
fn cooldown(progress: f64, length: f64) -> f64 {
    if length == 0.0 {
        1.0
    } else {
        ((1.0 - progress) / length).clamp(0.0, 1.0)
    }
}

/// d_model^−½ · min(step^−½, step · warmup^−3/2), equation 3 of the paper; `step` from 1.
pub fn noam(step: u64, d_model: usize, warmup: u64) -> f64 {
    let (step, warmup) = (step.max(1) as f64, warmup.max(1) as f64);
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
    fn a_peak_is_the_highest_rate_whatever_the_width_and_the_warm_up() {
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
