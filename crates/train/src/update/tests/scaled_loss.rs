//! Updates of a loss that is multiplied by a factor.

use burn::tensor::TensorData;
use burnformer_core::{Precision, TransformerConfig, named_parameters};

use super::super::*;
use crate::optimizer::OptimizerSettings;

struct Run {
    model: Model,
    updater: Updater,
    replicas: Replicas,
    step: u64,
}

impl Run {
    fn new(precision: Precision, loss_scale: Option<LossScale>) -> Self {
        let device = Device::default().autodiff();
        let config = TransformerConfig {
            d_model: 16,
            d_ff: 16,
            ..TransformerConfig::tiny(12)
        };
        let mut model = Model::from(config.init(1, &device).unwrap());
        model.set_precision(precision);
        let optimizer = Optimizer::new(OptimizerSettings::default(), &model);
        let updater = Updater {
            optimizer,
            recipe: Recipe {
                seed: 1,
                clip_norm: 1.0,
                ..Recipe::default()
            },
            loss_scale,
            synchronous: true,
        };
        Self {
            model,
            updater,
            replicas: Replicas::new(&[device]),
            step: 0,
        }
    }

    fn update(&mut self, rate: f64) -> UpdateStatistics {
        let pairs = vec![(vec![4, 5, 6], vec![7, 8]), (vec![5], vec![9, 10, 11, 4])];
        let batches = [Batch::new(vec![0, 1], &pairs)];
        self.step += 1;
        let model = self.model.clone();
        let (model, pending, _) =
            self.updater
                .update(model, &batches, self.step, rate, &self.replicas);
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
    let wide = LossScale {
        factor: 2f64.powi(30),
        good: 0,
    };
    let mut run = Run::new(Precision::Float16, Some(wide));
    let before = run.values();
    let mut skipped = 0;
    while run.update(1e-3).overflowed {
        skipped += 1;
        assert_eq!(
            run.updater.loss_scale.unwrap().factor(),
            2f64.powi(30 - skipped)
        );
        assert_eq!(
            (run.values(), run.updater.optimizer.steps()),
            (before.clone(), 0)
        );
    }
    assert!((1..30).contains(&skipped), "{skipped}");
    assert_eq!(run.updater.optimizer.steps(), 1);
    assert_ne!(run.values(), before);
}

#[test]
fn a_nan_loss_is_no_overflow() {
    let mut run = Run::new(Precision::Float16, Some(LossScale::default()));
    // One step as wide as this leaves parameters that no float16 holds.
    assert!(run.update(1e30).is_finite());
    let statistics = run.update(1e-3);
    assert!(
        !statistics.is_finite() && !statistics.overflowed,
        "{statistics:?}"
    );
    assert_eq!(
        run.updater.loss_scale,
        Some(LossScale {
            factor: loss_scale::START,
            good: 1
        })
    );
}
