//! The forward and backward pass over the batches of an update: the sums of their gradients and
//! losses.

use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{LossSums, Mode, Model, label_smoothed_cross_entropy, token_ids};
use burnformer_data::Batch;

use crate::config::{TrainConfig, TrainingSettings};
use crate::optimizer::gradients::FlatGradients;

/// The settings of a run on which its loss and its updates depend.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The seed of all random choices of the run.
    pub seed: u64,
    /// ε of label smoothing (paper §5.4).
    pub label_smoothing: f64,
    /// The largest norm of the gradient; 0 does not limit it.
    pub clip_norm: f64,
}

impl Recipe {
    /// The recipe that `config` describes.
    pub fn new(config: &TrainConfig) -> Self {
        let TrainingSettings {
            seed,
            label_smoothing,
            ..
        } = config.training;
        Self {
            seed,
            label_smoothing,
            clip_norm: config.optimizer.clip_norm,
        }
    }

    /// The loss sums of one batch.
    pub(crate) fn loss(
        &self,
        model: &Model,
        batch: &Batch,
        mode: Mode,
        device: &Device,
    ) -> LossSums {
        let (rows, [source_vocab, target_vocab]) = (batch.batch, model.vocabularies());
        let tokens = |ids: &[u32], len: usize, vocab: usize| -> Tensor<2, Int> {
            token_ids(ids, [rows, len], vocab, device)
        };
        let source = tokens(&batch.source, batch.source_len, source_vocab);
        let input = tokens(&batch.target_input, batch.target_len, target_vocab);
        let output = tokens(&batch.target_output, batch.target_len, target_vocab);
        let logits = model.forward(source, input, mode);
        label_smoothed_cross_entropy(logits, output, batch.special.pad, self.label_smoothing)
    }
}

impl Default for Recipe {
    /// The recipe of the default configuration.
    fn default() -> Self {
        Self::new(&TrainConfig::default())
    }
}

/// The inputs of an update's gradient besides its model and its batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Objective {
    pub recipe: Recipe,
    /// The number of the update, from 1.
    pub step: u64,
    /// The number of real target tokens of the whole update, over which its loss is averaged.
    pub tokens: usize,
    /// The factor of the loss before its gradient is computed, a power of two; 1 has no effect.
    pub loss_scale: f64,
}

/// The sums of gradients and losses over batches of one update, on one device.
#[derive(Clone, Debug)]
pub(crate) struct GradientSums {
    /// The gradient of the batches' share in the mean loss of the update, times the loss scale.
    pub gradients: FlatGradients,
    /// The sum of the label-smoothed loss over real target tokens, `[1]`, without the loss scale.
    pub loss: Tensor<1>,
    /// The sum of the negative log-likelihood over real target tokens, `[1]`.
    pub nll: Tensor<1>,
}

impl GradientSums {
    /// The sums over `batches`, added in their order. Each batch comes with its number in the
    /// update, on which its dropout depends. `None` if there is no batch.
    pub fn over<'a>(
        model: &Model,
        batches: impl Iterator<Item = (usize, &'a Batch)>,
        objective: Objective,
        device: &Device,
    ) -> Option<Self> {
        let of = |(index, batch)| Self::of(model, index, batch, objective, device);
        batches.map(of).reduce(Self::plus)
    }

    fn of(
        model: &Model,
        index: usize,
        batch: &Batch,
        objective: Objective,
        device: &Device,
    ) -> Self {
        let Objective {
            recipe,
            step,
            tokens,
            loss_scale,
        } = objective;
        let mode = Mode::training(recipe.seed, step).fold(index as u64);
        let LossSums { smoothed, nll } = recipe.loss(model, batch, mode, device);
        let (loss, nll) = (smoothed.clone().inner(), nll.inner());
        let mut gradients = (smoothed / (tokens as f64 / loss_scale)).backward();
        Self {
            gradients: FlatGradients::take(model, &mut gradients),
            loss,
            nll,
        }
    }

    /// The sums over the batches of both operands.
    pub fn plus(self, other: Self) -> Self {
        Self {
            gradients: self.gradients.plus(other.gradients),
            loss: self.loss + other.loss,
            nll: self.nll + other.nll,
        }
    }

    /// The sums, moved to `device`.
    pub fn moved_to(self, device: &Device) -> Self {
        Self {
            gradients: self.gradients.moved_to(device),
            loss: self.loss.to_device(device),
            nll: self.nll.to_device(device),
        }
    }
}
