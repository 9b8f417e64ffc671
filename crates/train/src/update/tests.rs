mod scaled_loss;

use burn::tensor::TensorData;
use burnformer_core::{ModelConfig, TransformerConfig, named_parameters};

use super::*;
use crate::optimizer::OptimizerSettings;

fn updater(model: &Model, clip_norm: f64) -> Updater {
    let optimizer = Optimizer::new(OptimizerSettings::default(), model);
    let recipe = Recipe {
        seed: 1,
        clip_norm,
        ..Recipe::default()
    };
    Updater {
        optimizer,
        recipe,
        loss_scale: None,
        synchronous: true,
    }
}

fn replicas() -> Replicas {
    Replicas::new(&[Device::default()])
}

fn model() -> Model {
    let config = TransformerConfig {
        dropout: 0.0,
        ..TransformerConfig::tiny(12)
    };
    build(config.into())
}

fn build(config: ModelConfig) -> Model {
    config.build(1, &Device::default().autodiff()).unwrap()
}

fn pairs() -> Vec<(Vec<u32>, Vec<u32>)> {
    vec![
        (vec![4, 5, 6], vec![7, 8]),
        (vec![5], vec![9, 10, 11, 4]),
        (vec![6, 7], vec![5]),
        (vec![8, 9, 10, 11], vec![4, 4, 5, 6]),
    ]
}

impl Updater {
    /// An update whose statistics are read at once.
    fn one(
        &mut self,
        model: Model,
        batches: &[Batch],
        step: u64,
        rate: f64,
    ) -> (Model, UpdateStatistics) {
        let (model, pending, _) = self.update(model, batches, step, rate, &replicas());
        (model, self.read(&[pending])[0])
    }
}

/// The loss is averaged over the tokens of the whole update, so cutting it into batches of
/// unequal sizes changes nothing.
#[test]
fn accumulated_batches_equal_one_large_batch() {
    let model = model();
    let pairs = pairs();
    let whole = vec![Batch::new(vec![0, 1, 2, 3], &pairs)];
    let parts = vec![
        Batch::new(vec![0], &pairs[..1]),
        Batch::new(vec![1, 2, 3], &pairs[1..]),
    ];
    let (one, a) = updater(&model, 0.0).one(model.clone(), &whole, 1, 1e-3);
    let (two, b) = updater(&model, 0.0).one(model.clone(), &parts, 1, 1e-3);
    assert!((a.loss - b.loss).abs() < 1e-3);
    assert!((a.norm - b.norm).abs() < 1e-4);
    assert_eq!(a.tokens, b.tokens);
    // Adam's first step is ±rate wherever a gradient is not noise; compare where it is clear.
    let one = named_parameters(&one);
    let two = named_parameters(&two);
    let mut unequal = 0;
    for (name, value) in &one {
        let pairs = value.iter::<f32>().zip(two[name].iter::<f32>());
        unequal += pairs.filter(|(x, y)| (x - y).abs() > 1e-5).count();
    }
    let all: usize = one.values().map(TensorData::num_elements).sum();
    assert!(unequal * 100 < all, "{unequal} of {all}");
}

#[test]
fn updates_lower_the_loss() {
    let mut model = model();
    let batch = vec![Batch::new(vec![0, 1, 2, 3], &pairs())];
    let mut updater = updater(&model, 1.0);
    let mut losses = Vec::new();
    for step in 1..=30 {
        let (next, statistics) = updater.one(model, &batch, step, 1e-3);
        model = next;
        losses.push(statistics.loss);
    }
    assert!(losses[29] < 0.5 * losses[0], "{losses:?}");
}

#[test]
fn an_update_with_a_nan_loss_does_not_change_model_and_moments() {
    for synchronous in [true, false] {
        let model = model();
        let batch = vec![Batch::new(vec![0, 1, 2, 3], &pairs())];
        let mut updater = Updater {
            synchronous,
            ..updater(&model, 1.0)
        };
        // One step as wide as this leaves parameters whose forward pass overflows.
        let (model, first) = updater.one(model, &batch, 1, 1e30);
        assert!(first.is_finite());
        let before = named_parameters(&model);
        let moments = updater.optimizer.named_moments();
        let (model, second) = updater.one(model, &batch, 2, 1e-3);
        assert!(!second.is_finite(), "{second:?}");
        assert_eq!(updater.optimizer.steps(), 1);
        for (name, value) in named_parameters(&model) {
            value.assert_eq(&before[&name], true);
        }
        for (name, value) in updater.optimizer.named_moments() {
            value.assert_eq(&moments[&name], true);
        }
    }
}

/// The norm of the gradient is finite, but its square is not in float32, in which Adam computes
/// squares: one such update would make the second moment infinite, so that the parameter would
/// never change again.
#[test]
fn an_update_with_an_overflowing_square_is_skipped_on_every_path() {
    let batches = [
        Batch::new(vec![0], &pairs()[..1]),
        Batch::new(vec![1, 2, 3], &pairs()[1..]),
    ];
    for (synchronous, devices) in [(true, 1), (true, 2), (false, 1), (false, 2)] {
        let (model, replicas) = (model(), Replicas::new(&vec![Device::default(); devices]));
        let mut updater = Updater {
            synchronous,
            ..updater(&model, 1.0)
        };
        let tokens = batches.iter().map(|batch| batch.target_tokens).sum();
        // Gradients of a loss that is multiplied by this are as many times as long.
        let objective = Objective {
            recipe: updater.recipe,
            step: 1,
            tokens,
            loss_scale: 1e21,
        };
        let sums = replicas.sums(&model, &batches, objective);
        let largest = sums.gradients.clone().0.into_iter();
        let largest = largest
            .map(|g| g.abs().max().into_scalar::<f32>())
            .fold(0.0, f32::max);
        assert!((2e19..1e30).contains(&largest), "{largest}");
        let before = named_parameters(&model);
        let moments = updater.optimizer.named_moments();
        let size = UpdateSize::of(&batches);
        let clipped = updater.clip(UpdateGradients { sums, size }, replicas.first());
        let (model, pending) = updater.step(model, clipped, 1e-3, replicas.first());
        let statistics = updater.read(&[pending])[0];
        assert!(
            statistics.loss.is_finite() && !statistics.is_finite(),
            "{statistics:?}"
        );
        assert_eq!(updater.optimizer.steps(), 0);
        assert_eq!(named_parameters(&model), before);
        assert_eq!(updater.optimizer.named_moments(), moments);
    }
}

/// Statistics of twenty clipped updates with dropout, read after each, or `together`.
fn twenty(synchronous: bool, together: usize) -> Vec<UpdateStatistics> {
    let mut model = build(TransformerConfig::tiny(12).into());
    let mut updater = Updater {
        synchronous,
        ..updater(&model, 0.5)
    };
    let batches = [
        Batch::new(vec![0], &pairs()[..1]),
        Batch::new(vec![1, 2, 3], &pairs()[1..]),
    ];
    let mut unread = Vec::new();
    let mut read = Vec::new();
    for step in 1..=20 {
        let (next, pending, _) = updater.update(model, &batches, step, 1e-3, &replicas());
        model = next;
        unread.push(pending);
        if unread.len() == together {
            read.extend(updater.read(&std::mem::take(&mut unread)));
        }
    }
    assert_eq!((read.len(), updater.optimizer.steps()), (20, 20));
    read
}

#[test]
fn device_checked_updates_equal_host_checked_updates() {
    let host = twenty(true, 1);
    assert!(
        host.iter().any(|update| update.norm > 0.6),
        "nothing was clipped: {host:?}"
    );
    for device in [twenty(false, 1), twenty(false, 10)] {
        for (a, b) in host.iter().zip(&device) {
            let a = a.loss / a.tokens as f64;
            let b = b.loss / b.tokens as f64;
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
    }
}

#[test]
fn statistics_on_the_device_are_read_in_the_order_of_the_updates() {
    let read = |pending: &[PendingStatistics]| {
        pollster::block_on(PendingStatistics::read(pending)).unwrap()
    };
    let at = |loss: f32| PendingStatistics::OnDevice {
        numbers: Tensor::from_floats([loss, loss + 0.5, f32::NAN], &Device::default()),
        tokens: loss as usize,
    };
    let known = UpdateStatistics {
        loss: 9.0,
        nll: 8.0,
        norm: 7.0,
        tokens: 6,
        overflowed: false,
    };
    assert!(read(&[]).is_empty());
    let read = read(&[at(1.0), PendingStatistics::Known(known), at(2.0)]);
    assert_eq!(
        [read[0].loss, read[0].nll, read[2].loss, read[2].nll],
        [1.0, 1.5, 2.0, 2.5]
    );
    assert_eq!((read[0].tokens, read[1], read[2].tokens), (1, known, 2));
    assert!(!read[0].is_finite() && read[0].norm.is_nan());
}
