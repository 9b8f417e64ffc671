use serde::{Deserialize, Serialize};

use crate::float_text;

/// The factor of the first update of a run.
const START: f64 = 65_536.0;
/// The number of consecutive updates with a finite gradient after which the factor is doubled.
const GROWTH_INTERVAL: u64 = 2_000;

/// The factor by which the loss is multiplied so that its gradients are in the range of float16.
/// The gradients are divided by it again in float32 (Micikevicius et al., 2018, §3.2).
///
/// The factor adapts by itself, with the constants of `torch.amp.GradScaler`: it is halved when a
/// gradient leaves the range, and doubled after 2,000 updates in which none does. It is a power of
/// two and changes no bit of a gradient that is in the range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossScale {
    #[serde(with = "float_text")]
    factor: f64,
    /// The number of updates with a finite gradient since the factor changed.
    good: u64,
}

impl Default for LossScale {
    fn default() -> Self {
        Self { factor: START, good: 0 }
    }
}

impl LossScale {
    /// The present factor, a power of two.
    pub fn factor(self) -> f64 {
        self.factor
    }

    /// Notes whether the gradient of an update was finite. Returns false if it was not although the
    /// factor cannot be lowered: then the gradient itself is not finite.
    pub(crate) fn answers(&mut self, finite: bool) -> bool {
        self.good = if finite { self.good + 1 } else { 0 };
        if !finite && self.factor <= 1.0 {
            return false;
        }
        if !finite {
            self.factor /= 2.0;
        } else if self.good == GROWTH_INTERVAL {
            *self = Self { factor: 2.0 * self.factor, good: 0 };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use burnformer_core::{Model, Precision, TransformerConfig, named_parameters};
    use burnformer_data::Batch;

    use super::*;
    use crate::optimizer::{Optimizer, OptimizerSettings};
    use crate::update::Updater;
    use crate::update::recipe::Recipe;
    use crate::update::replicas::Replicas;
    use crate::update::statistics::UpdateStatistics;

    #[test]
    fn the_factor_is_halved_by_an_overflow_down_to_1_and_no_further() {
        let mut scale = LossScale::default();
        for halvings in 1..=16 {
            assert!(scale.answers(false));
            assert_eq!(scale.factor(), 65_536.0 / f64::from(1 << halvings));
        }
        assert_eq!(scale.factor(), 1.0);
        assert!(!scale.answers(false), "nothing left to lower");
        assert_eq!(scale.factor(), 1.0);
    }

    #[test]
    fn the_factor_doubles_after_2000_good_updates_in_a_row() {
        let mut scale = LossScale::default();
        (0..1_999).for_each(|_| assert!(scale.answers(true)));
        assert_eq!(scale.factor(), 65_536.0);
        assert!(scale.answers(false));
        (0..1_999).for_each(|_| assert!(scale.answers(true)));
        assert_eq!(scale.factor(), 32_768.0, "the overflow began the count anew");
        scale.answers(true);
        assert_eq!(scale.factor(), 65_536.0);
        (0..1_999).for_each(|_| assert!(scale.answers(true)));
        assert_eq!(scale.factor(), 65_536.0, "so did the doubling");
    }

    #[test]
    fn a_saved_scale_counts_on() {
        let mut scale = LossScale::default();
        (0..1_999).for_each(|_| assert!(scale.answers(true)));
        let saved = serde_json::to_vec(&scale).unwrap();
        let mut resumed: LossScale = serde_json::from_slice(&saved).unwrap();
        assert_eq!(resumed, scale);
        resumed.answers(true);
        assert_eq!(resumed.factor(), 131_072.0);
    }

    struct Run {
        model: Model,
        updater: Updater,
        replicas: Replicas,
        step: u64,
    }

    impl Run {
        fn new(precision: Precision, loss_scale: Option<LossScale>) -> Self {
            let device = Device::default().autodiff();
            let config = TransformerConfig { d_model: 16, d_ff: 16, ..TransformerConfig::tiny(12) };
            let mut model = Model::from(config.init(1, &device).unwrap());
            model.set_precision(precision);
            let optimizer = Optimizer::new(OptimizerSettings::default(), &model);
            let updater = Updater {
                optimizer,
                recipe: Recipe { seed: 1, clip_norm: 1.0, ..Recipe::default() },
                loss_scale,
                synchronous: true,
            };
            Self { model, updater, replicas: Replicas::new(&[device]), step: 0 }
        }

        fn update(&mut self, rate: f64) -> UpdateStatistics {
            let pairs = vec![(vec![4, 5, 6], vec![7, 8]), (vec![5], vec![9, 10, 11, 4])];
            let batches = [Batch::new(vec![0, 1], &pairs)];
            self.step += 1;
            let model = self.model.clone();
            let (model, pending, _) =
                self.updater.update(model, &batches, self.step, rate, &self.replicas);
            self.model = model;
            self.updater.read(&[pending])[0]
        }

        fn values(&self) -> Vec<TensorData> {
            named_parameters(&self.model).into_values().collect()
        }
    }

    #[test]
    fn a_scaled_loss_gives_the_same_update_bit_for_bit() {
        let scale = |factor| Some(LossScale { factor, good: 0 });
        let [mut plain, mut one, mut large] = [None, scale(1.0), scale(65_536.0)]
            .map(|loss_scale| Run::new(Precision::Float32, loss_scale));
        for _ in 0..3 {
            let expected = plain.update(1e-3);
            assert_eq!(one.update(1e-3), expected);
            assert_eq!(large.update(1e-3), expected);
        }
        assert_eq!(one.values(), plain.values());
        assert_eq!(large.values(), plain.values());
    }

    #[test]
    fn an_overflow_skips_the_update_and_halves_the_factor_until_updates_are_made() {
        let wide = LossScale { factor: 2f64.powi(30), good: 0 };
        let mut run = Run::new(Precision::Float16, Some(wide));
        let before = run.values();
        let mut skipped = 0;
        while run.update(1e-3).overflowed {
            skipped += 1;
            assert_eq!(run.updater.loss_scale.unwrap().factor(), 2f64.powi(30 - skipped));
            assert_eq!((run.values(), run.updater.optimizer.steps()), (before.clone(), 0));
        }
        assert!((1..30).contains(&skipped), "{skipped}");
        assert_eq!(run.updater.optimizer.steps(), 1);
        assert_ne!(run.values(), before);
    }

    #[test]
    fn a_loss_that_is_no_number_is_no_overflow() {
        let mut run = Run::new(Precision::Float16, Some(LossScale::default()));
        // One step as wide as this leaves parameters that no float16 holds.
        assert!(run.update(1e30).is_finite());
        let statistics = run.update(1e-3);
        assert!(!statistics.is_finite() && !statistics.overflowed, "{statistics:?}");
        assert_eq!(run.updater.loss_scale, Some(LossScale { factor: START, good: 1 }));
    }
}
