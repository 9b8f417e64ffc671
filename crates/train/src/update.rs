use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{Mode, Model, label_smoothed_cross_entropy};
use burnformer_data::{Batch, special};

use crate::adam::Adam;
use crate::gradients::{FlatGradients, clip_factor};
use crate::loss_scale::LossScale;

/// Makes updates: forward, backward, and one optimiser step over one or more batches.
pub struct Updater {
    /// The optimiser with its moments.
    pub adam: Adam,
    /// Where the run's randomness starts.
    pub seed: u64,
    /// ε of label smoothing.
    pub label_smoothing: f64,
    /// Longest gradient; 0 leaves it alone.
    pub clip_norm: f64,
    /// What the loss of a float16 model is multiplied by.
    pub loss_scale: Option<LossScale>,
}

/// What an update was like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateStatistics {
    /// Σ label-smoothed loss over real target tokens.
    pub loss: f64,
    /// Σ negative log-likelihood.
    pub nll: f64,
    /// Norm of the gradient before clipping.
    pub norm: f64,
    /// Real target tokens.
    pub tokens: usize,
    /// Whether the update was skipped because the scaled gradient left float16's range; the scale is lower
    /// now.
    pub overflowed: bool,
}

impl UpdateStatistics {
    /// Whether loss and gradient are numbers; if not, the update was skipped.
    pub fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.norm.is_finite()
    }
}

impl Updater {
    /// Update number `step` (from 1) over `batches`: the gradient of the loss averaged over the real
    /// target tokens of all of them, as if they were one batch. Where loss or gradient is not finite,
    /// model and optimiser stay as they are.
    pub fn update(
        &mut self,
        model: Model,
        batches: &[Batch],
        step: u64,
        rate: f64,
        device: &Device,
    ) -> (Model, UpdateStatistics) {
        let loss_scale = self.loss_scale.map_or(1.0, LossScale::factor);
        let (gradients, mut statistics) =
            gradients(&model, batches, self.seed, step, self.label_smoothing, loss_scale, device);
        statistics.overflowed = self.overflowed(&statistics);
        if !statistics.is_finite() {
            return (model, statistics);
        }
        let scale = clip_factor(statistics.norm, self.clip_norm) / loss_scale;
        (self.adam.step(model, gradients, scale, rate), statistics)
    }

    /// Whether a lower loss scale, which is then set, answers a gradient that is not finite. None helps a
    /// loss that is no number itself.
    fn overflowed(&mut self, statistics: &UpdateStatistics) -> bool {
        let Some(loss_scale) = self.loss_scale.as_mut().filter(|_| statistics.loss.is_finite())
        else {
            return false;
        };
        let finite = statistics.is_finite();
        loss_scale.answers(finite) && !finite
    }
}

/// The gradient of update `step` over `batches`, whose randomness is drawn from `seed`, times
/// `loss_scale`, a power of two. The statistics are of the loss as it is.
pub(crate) fn gradients(
    model: &Model,
    batches: &[Batch],
    seed: u64,
    step: u64,
    label_smoothing: f64,
    loss_scale: f64,
    device: &Device,
) -> (FlatGradients, UpdateStatistics) {
    let tokens: usize = batches.iter().map(|batch| batch.target_tokens).sum();
    let mut gradients: Option<FlatGradients> = None;
    let (mut loss, mut nll) = (zero(device), zero(device));
    for (place, batch) in batches.iter().enumerate() {
        let mode = Mode::training(seed, step).fold(place as u64);
        let sums = batch_loss(model, batch, mode, label_smoothing, device);
        loss = loss + sums.smoothed.clone().inner();
        nll = nll + sums.nll.inner();
        let mut own = (sums.smoothed / (tokens as f64 / loss_scale)).backward();
        let own = FlatGradients::take(model, &mut own);
        gradients = Some(match gradients {
            None => own,
            Some(sum) => sum.plus(own),
        });
    }
    let gradients = gradients.expect("an update has at least one batch");
    let read = |value: Tensor<1>| f64::from(value.into_scalar::<f32>());
    let (loss, nll, norm) = (read(loss), read(nll), gradients.global_norm() / loss_scale);
    (gradients, UpdateStatistics { loss, nll, norm, tokens, overflowed: false })
}

fn zero(device: &Device) -> Tensor<1> {
    Tensor::<1>::zeros([1], device).inner()
}

/// The loss sums of one batch.
pub(crate) fn batch_loss(
    model: &Model,
    batch: &Batch,
    mode: Mode,
    label_smoothing: f64,
    device: &Device,
) -> burnformer_core::LossSums {
    let rows = batch.batch;
    let source = ids(&batch.source, [rows, batch.source_len], device);
    let input = ids(&batch.target_input, [rows, batch.target_len], device);
    let output = ids(&batch.target_output, [rows, batch.target_len], device);
    let logits = model.forward(source, input, mode);
    label_smoothed_cross_entropy(logits, output, special::PAD, label_smoothing)
}

/// Ids `[rows, columns]` as a tensor on `device`.
fn ids(values: &[u32], shape: [usize; 2], device: &Device) -> Tensor<2, Int> {
    let values: Vec<i32> = values.iter().map(|&id| id as i32).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

#[cfg(test)]
mod tests {
    use burnformer_core::{ModelConfig, RnnConfig, TransformerConfig, named_parameters};

    use super::*;
    use crate::adam::AdamSettings;

    fn updater(model: &Model, clip_norm: f64) -> Updater {
        let adam = Adam::new(AdamSettings::default(), model);
        Updater { adam, seed: 1, label_smoothing: 0.1, clip_norm, loss_scale: None }
    }

    fn model() -> (Model, Device) {
        let config = TransformerConfig { dropout: 0.0, ..TransformerConfig::tiny(12) };
        build(config.into())
    }

    fn build(config: ModelConfig) -> (Model, Device) {
        let device = Device::default().autodiff();
        (config.init(1, &device).unwrap(), device)
    }

    fn pairs() -> Vec<(Vec<u32>, Vec<u32>)> {
        vec![
            (vec![4, 5, 6], vec![7, 8]),
            (vec![5], vec![9, 10, 11, 4]),
            (vec![6, 7], vec![5]),
            (vec![8, 9, 10, 11], vec![4, 4, 5, 6]),
        ]
    }

    /// The loss is averaged over the tokens of the whole update, so cutting it into batches of
    /// unequal sizes changes nothing.
    #[test]
    fn accumulated_batches_equal_one_large_batch() {
        let (model, device) = model();
        let pairs = pairs();
        let whole = vec![Batch::new(vec![0, 1, 2, 3], &pairs)];
        let parts = vec![Batch::new(vec![0], &pairs[..1]), Batch::new(vec![1, 2, 3], &pairs[1..])];
        let (one, a) = updater(&model, 0.0).update(model.clone(), &whole, 1, 1e-3, &device);
        let (two, b) = updater(&model, 0.0).update(model.clone(), &parts, 1, 1e-3, &device);
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
    fn updates_lower_the_loss_of_either_architecture() {
        let rnn = RnnConfig { dropout: 0.0, ..RnnConfig::tiny(12) };
        for (mut model, device) in [model(), build(rnn.into())] {
            let batch = vec![Batch::new(vec![0, 1, 2, 3], &pairs())];
            let mut updater = updater(&model, 1.0);
            let mut losses = Vec::new();
            for step in 1..=30 {
                let (next, statistics) = updater.update(model, &batch, step, 1e-3, &device);
                model = next;
                losses.push(statistics.loss);
            }
            assert!(losses[29] < 0.5 * losses[0], "{losses:?}");
        }
    }

    #[test]
    fn an_update_without_a_finite_loss_leaves_model_and_moments_as_they_are() {
        let (model, device) = model();
        let batch = vec![Batch::new(vec![0, 1, 2, 3], &pairs())];
        let mut updater = updater(&model, 1.0);
        // One step as wide as this leaves parameters whose forward pass overflows.
        let (model, first) = updater.update(model, &batch, 1, 1e30, &device);
        assert!(first.is_finite());
        let (before, moments) = (named_parameters(&model), updater.adam.named_moments());
        let (model, second) = updater.update(model, &batch, 2, 1e-3, &device);
        assert!(!second.is_finite(), "{second:?}");
        assert_eq!(updater.adam.steps(), 1);
        for (name, value) in named_parameters(&model) {
            value.assert_eq(&before[&name], true);
        }
        for (name, value) in updater.adam.named_moments() {
            value.assert_eq(&moments[&name], true);
        }
    }
}
