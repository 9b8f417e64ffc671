//! An update: gradients over its batches on every device, and one step of the optimiser.

mod memory;
mod recipe;
mod replicas;
mod statistics;

use burn::tensor::{Device, Tensor};
use burnformer_core::Model;
use burnformer_data::Batch;
use burnformer_kernels::is_fused_on;
use serde::{Deserialize, Serialize};

use crate::float_text;
use crate::optimizer::Optimizer;
use crate::optimizer::gradients::{clip_factor, clip_factor_on_device};
use replicas::among_workers;

pub use memory::update_bytes;
pub(crate) use memory::{MemoryLimit, worst_batch, worst_shape};
pub use recipe::Recipe;
pub(crate) use recipe::{GradientSums, Objective};
pub use replicas::{Ranks, Replicas, Workers};
pub use statistics::{Extent, PendingStatistics, UpdateStatistics};

/// Makes updates: forward pass, backward pass, and one optimiser step over one or more batches.
pub struct Updater {
    /// The optimiser with its moments.
    pub optimizer: Optimizer,
    /// The settings on which the loss and the step depend.
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
    /// If [several processes](crate::Ranks) train together, `batches` are the batches of this
    /// process, and all processes make the same update over the batches of all.
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

    /// The statistics of the updates `pending`, in their order. These must be all updates since the
    /// last call.
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
    use burn::tensor::TensorData;
    use burnformer_core::{ModelConfig, Precision, TransformerConfig, named_parameters};

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
