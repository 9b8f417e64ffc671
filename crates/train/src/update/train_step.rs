//! The forward and backward pass over the batches of an update: the sums of their gradients and losses.

use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{LossSums, Mode, Model, label_smoothed_cross_entropy, token_ids};
use burnformer_data::Batch;
use burnformer_kernels::{RDropLoss, r_drop_loss};

use crate::optimizer::gradients::FlatGradients;

/// What the gradient of an update depends on, beside its model and its batches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Objective {
    /// The random key of the run.
    pub seed: u64,
    /// The number of the update, from 1.
    pub step: u64,
    /// ε of label smoothing.
    pub label_smoothing: f64,
    /// α of R-Drop; 0 for none.
    pub r_drop: f64,
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
    /// The sum of the label-smoothed loss over real target tokens, `[1]`, without the loss scale: under R-Drop the mean of
    /// both passes, without their divergence.
    pub loss: Tensor<1>,
    /// The sum of the negative log-likelihood, `[1]`, likewise.
    pub nll: Tensor<1>,
}

impl GradientSums {
    /// The sums over `batches`, added in their order. Each batch comes with its number in the update, on which its
    /// dropout depends. `None` if there is no batch.
    pub fn over<'a>(
        model: &Model,
        batches: impl Iterator<Item = (usize, &'a Batch)>,
        objective: Objective,
        device: &Device,
    ) -> Option<Self> {
        let of = |(place, batch)| Self::of(model, place, batch, objective, device);
        batches.map(of).reduce(Self::plus)
    }

    fn of(
        model: &Model,
        place: usize,
        batch: &Batch,
        objective: Objective,
        device: &Device,
    ) -> Self {
        let Objective { seed, step, label_smoothing, r_drop, tokens, loss_scale } = objective;
        let mode = Mode::training(seed, step).fold(place as u64);
        let (sums, minimised) = match r_drop == 0.0 {
            true => {
                let sums = batch_loss(model, batch, mode, label_smoothing, device);
                (sums.clone(), sums.smoothed)
            }
            false => batch_loss_of_two(model, batch, mode, label_smoothing, r_drop, device),
        };
        let (loss, nll) = (sums.smoothed.inner(), sums.nll.inner());
        let mut gradients = (minimised / (tokens as f64 / loss_scale)).backward();
        Self { gradients: FlatGradients::take(model, &mut gradients), loss, nll }
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

/// The loss sums of one batch.
pub(crate) fn batch_loss(
    model: &Model,
    batch: &Batch,
    mode: Mode,
    label_smoothing: f64,
    device: &Device,
) -> LossSums {
    let (logits, output) = logits(model, batch, 1, mode, device);
    label_smoothed_cross_entropy(logits, output, batch.special.pad, label_smoothing)
}

/// The loss sums of one batch under R-Drop, the mean of two passes, and what training minimises: that loss and `r_drop`/2
/// times the divergence between the passes.
fn batch_loss_of_two(
    model: &Model,
    batch: &Batch,
    mode: Mode,
    label_smoothing: f64,
    r_drop: f64,
    device: &Device,
) -> (LossSums, Tensor<1>) {
    let (logits, output) = logits(model, batch, 2, mode, device);
    let [rows, len, vocab] = logits.dims();
    let (logits, output) = (logits.reshape([rows * len, vocab]), output.reshape([rows * len]));
    let RDropLoss { minimised, smoothed, nll } =
        r_drop_loss(logits, output, batch.special.pad, label_smoothing, r_drop);
    (LossSums { smoothed, nll }, minimised)
}

/// The logits of `passes` passes over a batch, `[passes·batch, target_len, target_vocab]`, and the tokens that they are to
/// predict, `[passes·batch, target_len]`. Dropout depends on the row, so that each pass has its own.
fn logits(
    model: &Model,
    batch: &Batch,
    passes: usize,
    mode: Mode,
    device: &Device,
) -> (Tensor<3>, Tensor<2, Int>) {
    let rows = passes * batch.batch;
    let [source_vocab, target_vocab] = model.vocabularies();
    let tokens = |ids: &[u32], len: usize, vocab: usize| {
        token_ids(&ids.repeat(passes), [rows, len], vocab, device)
    };
    let source = tokens(&batch.source, batch.source_len, source_vocab);
    let input = tokens(&batch.target_input, batch.target_len, target_vocab);
    let output = tokens(&batch.target_output, batch.target_len, target_vocab);
    (model.forward(source, input, mode), output)
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use burnformer_core::TransformerConfig;

    use super::*;

    fn sums(dropout: f64, r_drop: f64) -> (Vec<TensorData>, [f32; 2]) {
        let device = Device::default().autodiff();
        let config = TransformerConfig { dropout, ..TransformerConfig::tiny(12) };
        let model: Model = config.init(1, &device).unwrap().into();
        let pairs = [(vec![4, 5, 6], vec![7, 8]), (vec![5], vec![9, 10, 11, 4])];
        let batch = Batch::new(vec![0, 1], &pairs);
        let (seed, step, label_smoothing, tokens) = (3, 1, 0.1, batch.target_tokens);
        let objective = Objective { seed, step, label_smoothing, r_drop, tokens, loss_scale: 1.0 };
        let sums = GradientSums::of(&model, 0, &batch, objective, &device);
        let gradients = sums.gradients.into_inner().into_iter().map(|it| it.into_data()).collect();
        (gradients, [sums.loss, sums.nll].map(|it| it.into_scalar()))
    }

    fn largest_difference(a: &[TensorData], b: &[TensorData]) -> f32 {
        let both = a.iter().zip(b).flat_map(|(a, b)| a.iter::<f32>().zip(b.iter::<f32>()));
        both.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn without_dropout_r_drop_changes_neither_loss_nor_gradient() {
        let ((plain, losses), (twice, of_two)) = (sums(0.0, 0.0), sums(0.0, 5.0));
        assert!(
            losses.iter().zip(of_two).all(|(a, b)| (a - b).abs() < 1e-4),
            "{losses:?} {of_two:?}"
        );
        let difference = largest_difference(&plain, &twice);
        assert!(difference < 1e-6, "{difference}");
    }

    #[test]
    fn with_dropout_the_passes_differ_and_alpha_weighs_the_gradient_of_their_divergence() {
        let [(none, losses), (one, same), (three, _)] =
            [1e-9, 1.0, 3.0].map(|alpha| sums(0.3, alpha));
        assert_eq!(losses, same, "the divergence is not part of the loss that is reported");
        assert_ne!(losses, sums(0.3, 0.0).1, "two passes have other dropout than one");
        let step = largest_difference(&none, &one);
        assert!(step > 1e-3, "{step}");
        // The divergence's share grows in proportion to α.
        let times = largest_difference(&none, &three) / step;
        assert!((times - 3.0).abs() < 1e-2, "{times}");
    }
}
