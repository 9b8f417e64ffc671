//! The forward and backward pass over the batches of an update.

use burn::tensor::{Device, Tensor};
use burnformer_core::{LossSums, Mode, Model, token_ids};
use burnformer_data::Batch;

use crate::config::{TrainConfig, TrainingSettings};
use crate::optimizer::gradients::FlatGradients;

/// The settings of a run that determine its loss and its updates.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// The seed of all random choices of the run.
    pub seed: u64,
    /// ε of label smoothing (paper §5.4).
    pub label_smoothing: f64,
    /// The largest norm of the gradient; 0 is no limit.
    pub clip_norm: f64,
}

impl Recipe {
    /// The recipe of `config`.
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
        let rows = batch.batch;
        let [source_vocab, target_vocab] = model.vocabularies();
        let source_shape = [rows, batch.source_len];
        let target_shape = [rows, batch.target_len];
        let source = token_ids(&batch.source, source_shape, source_vocab, device);
        let input = token_ids(&batch.target_input, target_shape, target_vocab, device);
        let output = token_ids(&batch.target_output, target_shape, target_vocab, device);
        let states = model.states(source, input, mode);
        model.loss(states, output, batch.special.pad, self.label_smoothing)
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
    /// The number of real target tokens of the whole update, the divisor of its loss.
    pub tokens: usize,
    /// The factor on the loss before the backward pass, a power of two; 1 has no effect.
    pub loss_scale: f64,
}

/// The sums of gradients and losses over batches of an update, on one device.
#[derive(Clone, Debug)]
pub(crate) struct GradientSums {
    /// The batches' share of the gradient of the mean loss, times the loss scale.
    pub gradients: FlatGradients,
    /// The sum of the label-smoothed loss over real target tokens, `[1]`, without the loss scale.
    pub loss: Tensor<1>,
    /// The sum of the negative log-likelihood over real target tokens, `[1]`.
    pub nll: Tensor<1>,
}

impl GradientSums {
    /// The sums over `batches`, added in order. Each batch comes with its number in the update,
    /// which determines its dropout. `None` if there is no batch.
    pub fn over<'a>(
        model: &Model,
        batches: impl Iterator<Item = (usize, &'a Batch)>,
        objective: Objective,
        device: &Device,
    ) -> Option<Self> {
        batches
            .map(|(index, batch)| Self::of(model, index, batch, objective, device))
            .reduce(Self::plus)
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
        let loss = smoothed.clone().inner();
        let nll = nll.inner();
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
