//! Whether a model may be kept: whether it would still be one that translates.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;
use burnformer_core::{Mode, Model};

use super::Learner;
use crate::optimizer::is_finite;
use crate::update::train_step::batch_loss;
use crate::validation::as_saved;

impl Learner {
    /// Whether the model may be kept: its weights and moments are finite, and so is its loss on the
    /// batch that needs the most memory. The loss of an update is computed before its weights
    /// change, so that it does not show whether the new weights are sound.
    pub(super) fn is_sound(&self) -> bool {
        self.has_finite_weights() && self.updater.optimizer.has_finite_moments() && {
            let model = as_saved(self.model());
            let device = self.device().clone().inner();
            let smoothing = self.setup.config.training.label_smoothing;
            let sums = batch_loss(&model, &self.setup.worst.0, Mode::Inference, smoothing, &device);
            sums.smoothed.into_scalar::<f32>().is_finite()
        }
    }

    /// Whether all weights are finite.
    pub(super) fn has_finite_weights(&self) -> bool {
        has_finite_weights(self.model())
    }
}

/// Whether all weights of `model` are finite.
pub(super) fn has_finite_weights(model: &Model) -> bool {
    let mut weights = Weights { finite: true };
    model.valid().visit(&mut weights);
    weights.finite
}

struct Weights {
    finite: bool,
}

impl ModuleVisitor for Weights {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.finite = self.finite && is_finite(param.val());
    }
}
