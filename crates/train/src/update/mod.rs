//! An update: gradients over its batches on every device, and one step of the optimiser.

pub(crate) mod loss_scale;
pub(crate) mod memory;
pub(crate) mod recipe;
pub(crate) mod replicas;
pub(crate) mod statistics;

use burn::tensor::{Device, Tensor};
use burnformer_core::Model;
use burnformer_data::Batch;
use burnformer_kernels::is_fused_on;

use crate::optimizer::Optimizer;
use crate::optimizer::gradients::{clip_factor, clip_factor_on_device};
use crate::run::log_interval::Extent;
use crate::update::loss_scale::LossScale;
use crate::update::recipe::{GradientSums, Objective, Recipe};
use crate::update::replicas::{Replicas, among_workers};
use crate::update::statistics::{PendingStatistics, UpdateStatistics};

/// Makes updates: forward pass, backward pass, and one optimiser step over one or more batches.
pub struct Updater {
    /// The optimiser with its moments.
    pub optimizer: Optimizer,
    /// The settings that the loss and the step depend on.
    pub recipe: Recipe,
    /// The factor of the loss of a float16 model. The host has to decide about updates then,
    /// because it sets the next factor.
    pub loss_scale: Option<LossScale>,
    /// If true, the host checks loss and gradient of an update before its optimiser step. This
    /// costs nothing on the CPU. A GPU would make the host wait at each update, so there the device
    /// decides, and the host reads the result from time to time.
    pub synchronous: bool,
}

impl Updater {
    /// An updater of models on `device`.
    pub fn new(
        optimizer: Optimizer,
        recipe: Recipe,
        loss_scale: Option<LossScale>,
        device: &Device,
    ) -> Self {
        // Read together, several overflows would halve the factor once each.
        let synchronous = is_fused_on(device) || loss_scale.is_some();
        Self { optimizer, recipe, loss_scale, synchronous }
    }

    /// Makes update number `step` (from 1) over `batches`: the gradient of the loss, averaged over
    /// the real target tokens of all of them, as if they were one batch. If loss or gradient is not
    /// finite, model and optimiser stay unchanged. Also returns the amount of text in the update.
    /// Where [several processes](crate::Ranks) train together, `batches` are those of this one, and
    /// all make the same update over the batches of all.
    ///
    /// # Panics
    /// If there is no batch, or if there is a loss scale and the host does not decide.
    pub fn update(
        &mut self,
        model: Model,
        batches: &[Batch],
        step: u64,
        rate: f64,
        replicas: &Replicas,
    ) -> (Model, PendingStatistics, Extent) {
        let extent = replicas.total(Extent::of(batches));
        let tokens = extent.target as usize;
        let (recipe, loss_scale) = (self.recipe, self.loss_factor());
        let objective = Objective { recipe, step, tokens, loss_scale };
        let sums = replicas.sums(&model, batches, objective);
        let (model, pending) = match self.synchronous {
            true => among_workers(replicas.first(), || self.step(model, sums, tokens, rate)),
            false => self.step_on_device(model, sums, tokens, rate),
        };
        (model, pending, extent)
    }

    /// The statistics of the updates `pending`, in their order: all since the last call.
    pub fn read(&mut self, pending: &[PendingStatistics]) -> Vec<UpdateStatistics> {
        let statistics = PendingStatistics::read(pending);
        let made = pending.iter().zip(&statistics);
        let steps = made.filter(|(pending, read)| pending.is_on_device() && read.is_finite());
        self.optimizer.settle(steps.count() as u64);
        statistics
    }

    fn step(
        &mut self,
        model: Model,
        sums: GradientSums,
        tokens: usize,
        rate: f64,
    ) -> (Model, PendingStatistics) {
        let read = |value: Tensor<1>| f64::from(value.into_scalar::<f32>());
        let loss_scale = self.loss_factor();
        let (loss, nll) = (read(sums.loss), read(sums.nll));
        let norm = sums.gradients.global_norm() / loss_scale;
        let mut statistics = UpdateStatistics { loss, nll, norm, tokens, overflowed: false };
        statistics.overflowed = self.overflowed(&statistics);
        let pending = PendingStatistics::Known(statistics);
        if !statistics.is_finite() {
            return (model, pending);
        }
        let scale = clip_factor(norm, self.recipe.clip_norm) / loss_scale;
        (self.optimizer.step(model, sums.gradients, scale, rate), pending)
    }

    /// Makes an update without reading its statistics.
    fn step_on_device(
        &mut self,
        model: Model,
        sums: GradientSums,
        tokens: usize,
        rate: f64,
    ) -> (Model, PendingStatistics) {
        assert_eq!(self.loss_scale, None, "the host has to decide about updates of a scaled loss");
        let GradientSums { gradients, loss, nll } = sums;
        let norm = gradients.norm_on_device();
        let finite = loss.clone().is_finite().bool_and(norm.clone().is_finite());
        let scale = clip_factor_on_device(norm.clone(), self.recipe.clip_norm);
        let numbers = Tensor::cat(vec![loss, nll, norm], 0);
        let model = self.optimizer.step_where(finite, model, gradients, scale, rate);
        (model, PendingStatistics::OnDevice { numbers, tokens })
    }

    fn loss_factor(&self) -> f64 {
        self.loss_scale.map_or(1.0, LossScale::factor)
    }

    /// Returns whether a lower loss scale, which is then set, is the answer to a gradient that is
    /// not finite. It does not help if the loss itself is not finite.
    fn overflowed(&mut self, statistics: &UpdateStatistics) -> bool {
        let Some(loss_scale) = self.loss_scale.as_mut().filter(|_| statistics.loss.is_finite())
        else {
            return false;
        };
        let finite = statistics.is_finite();
        loss_scale.answers(finite) && !finite
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use burnformer_core::{ModelConfig, TransformerConfig, named_parameters};

    use super::*;
    use crate::optimizer::OptimizerSettings;

    fn updater(model: &Model, clip_norm: f64) -> Updater {
        let optimizer = Optimizer::new(OptimizerSettings::default(), model);
        let recipe = Recipe { seed: 1, clip_norm, ..Recipe::default() };
        Updater { optimizer, recipe, loss_scale: None, synchronous: true }
    }

    fn replicas() -> Replicas {
        Replicas::new(&[Device::default()])
    }

    fn model() -> Model {
        let config = TransformerConfig { dropout: 0.0, ..TransformerConfig::tiny(12) };
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
        let parts = vec![Batch::new(vec![0], &pairs[..1]), Batch::new(vec![1, 2, 3], &pairs[1..])];
        let (one, a) = updater(&model, 0.0).one(model.clone(), &whole, 1, 1e-3);
        let (two, b) = updater(&model, 0.0).one(model.clone(), &parts, 1, 1e-3);
        assert!((a.loss - b.loss).abs() < 1e-3);
        assert!((a.norm - b.norm).abs() < 1e-4);
        assert_eq!(a.tokens, b.tokens);
        // Adam's first step is ±rate wherever a gradient is not noise; compare where it is clear.
        let (one, two) = (named_parameters(&one), named_parameters(&two));
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
    fn an_update_without_a_finite_loss_leaves_model_and_moments_as_they_are() {
        for synchronous in [true, false] {
            let model = model();
            let batch = vec![Batch::new(vec![0, 1, 2, 3], &pairs())];
            let mut updater = Updater { synchronous, ..updater(&model, 1.0) };
            // One step as wide as this leaves parameters whose forward pass overflows.
            let (model, first) = updater.one(model, &batch, 1, 1e30);
            assert!(first.is_finite());
            let (before, moments) = (named_parameters(&model), updater.optimizer.named_moments());
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
    fn an_update_along_a_gradient_that_float32_cannot_square_is_skipped_on_every_path() {
        let batches =
            [Batch::new(vec![0], &pairs()[..1]), Batch::new(vec![1, 2, 3], &pairs()[1..])];
        for (synchronous, devices) in [(true, 1), (true, 2), (false, 1), (false, 2)] {
            let (model, replicas) = (model(), Replicas::new(&vec![Device::default(); devices]));
            let mut updater = Updater { synchronous, ..updater(&model, 1.0) };
            let tokens = batches.iter().map(|batch| batch.target_tokens).sum();
            // Gradients of a loss that is multiplied by this are as many times as long.
            let objective = Objective { recipe: updater.recipe, step: 1, tokens, loss_scale: 1e21 };
            let sums = replicas.sums(&model, &batches, objective);
            let largest = sums.gradients.clone().into_inner().into_iter();
            let largest = largest.map(|g| g.abs().max().into_scalar::<f32>()).fold(0.0, f32::max);
            assert!((2e19..1e30).contains(&largest), "{largest}");
            let (before, moments) = (named_parameters(&model), updater.optimizer.named_moments());
            let (model, pending) = match synchronous {
                true => updater.step(model, sums, tokens, 1e-3),
                false => updater.step_on_device(model, sums, tokens, 1e-3),
            };
            let statistics = updater.read(&[pending])[0];
            assert!(statistics.loss.is_finite() && !statistics.is_finite(), "{statistics:?}");
            assert_eq!(updater.optimizer.steps(), 0);
            assert_eq!(named_parameters(&model), before);
            assert_eq!(updater.optimizer.named_moments(), moments);
        }
    }

    /// Statistics of twenty clipped updates with dropout, read after each, or `together`.
    fn twenty(synchronous: bool, together: usize) -> Vec<UpdateStatistics> {
        let mut model = build(TransformerConfig::tiny(12).into());
        let mut updater = Updater { synchronous, ..updater(&model, 0.5) };
        let batches =
            [Batch::new(vec![0], &pairs()[..1]), Batch::new(vec![1, 2, 3], &pairs()[1..])];
        let (mut unread, mut read) = (Vec::new(), Vec::new());
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
    fn updates_decided_on_the_device_are_those_decided_by_the_host() {
        let host = twenty(true, 1);
        assert!(host.iter().any(|update| update.norm > 0.6), "nothing was clipped: {host:?}");
        for device in [twenty(false, 1), twenty(false, 10)] {
            for (a, b) in host.iter().zip(&device) {
                let (a, b) = (a.loss / a.tokens as f64, b.loss / b.tokens as f64);
                assert!((a - b).abs() < 1e-5, "{a} {b}");
            }
        }
    }
}
