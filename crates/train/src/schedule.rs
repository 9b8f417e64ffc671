use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The paper's learning rate (§5.3): linear warm-up, then the inverse square root of the step.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleSettings {
    /// The factor by which the whole curve d_model^−½ · min(t^−½, t · warmup^−3/2) is multiplied; above 0. The
    /// paper has 1. Lower it when training diverges, raise it for small models in short runs.
    pub factor: f64,
    /// The number of updates over which the learning rate rises linearly to its peak, before it falls with the
    /// square root of the update's number; at least 1. The paper has 4,000; short runs need fewer, about a tenth
    /// of their updates.
    pub warmup: u64,
}

impl Default for ScheduleSettings {
    fn default() -> Self {
        Self { factor: 1.0, warmup: 4000 }
    }
}

impl ScheduleSettings {
    /// The rate of update `step`, counted from 1, for a model of width `d_model`.
    pub fn rate(&self, step: u64, d_model: usize) -> f64 {
        self.factor * noam(step, d_model, self.warmup)
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
}
