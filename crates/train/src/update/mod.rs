//! An update: gradients over its batches on every device, and one step of the optimiser.

mod loss_scale;
mod memory;
mod recipe;
mod replicas;
mod statistics;

use burn::tensor::{Device, ExecutionError, Tensor};
use burnformer_core::Model;
use burnformer_data::Batch;
use burnformer_kernels::is_fused_on;

use crate::optimizer::Optimizer;
use crate::optimizer::gradients::{clip_factor, clip_factor_on_device};
use replicas::in_thread_pool;

pub use loss_scale::LossScale;
pub use memory::{MemoryError, update_bytes};
pub(crate) use memory::{MemoryLimit, worst_batch, worst_shape};
pub use recipe::Recipe;
pub(crate) use recipe::{GradientSums, Objective};
pub use replicas::{Ranks, Replicas, Workers, WorkersError};
pub use statistics::{PendingStatistics, UpdateSize, UpdateStatistics};

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
        Self {
            optimizer,
            recipe,
            loss_scale,
            synchronous,
        }
    }

    /// Makes update number `step` (from 1) over `batches`: the gradient of the loss, averaged over
    /// the real target tokens of all of them, as if they were one batch. If loss or gradient is not
    /// finite, model and optimiser stay unchanged. Also returns the amount of text in the update.
    /// If [several processes](crate::Ranks) train together, `batches` are the batches of this
    /// process, and each process makes the same update over the batches of all processes.
    ///
    /// # Panics
    /// Panics if there is no batch, or if there is a loss scale and the host does not decide.
    pub fn update(
        &mut self,
        model: Model,
        batches: &[Batch],
        step: u64,
        rate: f64,
        replicas: &Replicas,
    ) -> (Model, PendingStatistics, UpdateSize) {
        let size = replicas.total(UpdateSize::of(batches));
        let tokens = size.target as usize;
        let (recipe, loss_scale) = (self.recipe, self.loss_factor());
        let objective = Objective {
            recipe,
            step,
            tokens,
            loss_scale,
        };
        let sums = replicas.sums(&model, batches, objective);
        let (model, pending) = match self.synchronous {
            true => in_thread_pool(replicas.first(), || self.step(model, sums, tokens, rate)),
            false => self.step_on_device(model, sums, tokens, rate),
        };
        (model, pending, size)
    }

    /// The statistics of the updates `pending`, in their order. These must be all updates since the
    /// last call.
    ///
    /// # Panics
    /// Panics if the device is lost.
    pub fn read(&mut self, pending: &[PendingStatistics]) -> Vec<UpdateStatistics> {
        pollster::block_on(self.read_async(pending)).expect("a device that answers")
    }

    /// Reads the statistics like [`read`](Self::read), for a thread that must not block, such as
    /// that of a web page.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub async fn read_async(
        &mut self,
        pending: &[PendingStatistics],
    ) -> Result<Vec<UpdateStatistics>, ExecutionError> {
        let statistics = PendingStatistics::read(pending).await?;
        let made = pending.iter().zip(&statistics);
        let steps = made.filter(|(pending, read)| pending.is_on_device() && read.is_finite());
        self.optimizer.settle(steps.count() as u64);
        Ok(statistics)
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
        let mut statistics = UpdateStatistics {
            loss,
            nll,
            norm,
            tokens,
            overflowed: false,
        };
        statistics.overflowed = self.overflowed(&statistics);
        let pending = PendingStatistics::Known(statistics);
        if !statistics.is_finite() {
            return (model, pending);
        }
        let scale = clip_factor(norm, self.recipe.clip_norm) / loss_scale;
        (
            self.optimizer.step(model, sums.gradients, scale, rate),
            pending,
        )
    }

    /// Makes an update without reading its statistics.
    fn step_on_device(
        &mut self,
        model: Model,
        sums: GradientSums,
        tokens: usize,
        rate: f64,
    ) -> (Model, PendingStatistics) {
        assert_eq!(
            self.loss_scale, None,
            "the host has to decide about updates of a scaled loss"
        );
        let GradientSums {
            gradients,
            loss,
            nll,
        } = sums;
        let norm = gradients.norm_on_device();
        let finite = loss.clone().is_finite().bool_and(norm.clone().is_finite());
        let scale = clip_factor_on_device(norm.clone(), self.recipe.clip_norm);
        let numbers = Tensor::cat(vec![loss, nll, norm], 0);
        let model = self
            .optimizer
            .step_where(finite, model, gradients, scale, rate);
        (model, PendingStatistics::OnDevice { numbers, tokens })
    }

    fn loss_factor(&self) -> f64 {
        self.loss_scale.map_or(1.0, LossScale::factor)
    }

    /// Returns whether the gradient left the range of float16 and the loss scale was lowered for
    /// that. A loss that is itself not finite is no reason to lower the scale.
    fn overflowed(&mut self, statistics: &UpdateStatistics) -> bool {
        let Some(loss_scale) = self
            .loss_scale
            .as_mut()
            .filter(|_| statistics.loss.is_finite())
        else {
            return false;
        };
        let finite = statistics.is_finite();
        loss_scale.answers(finite) && !finite
    }
}

#[cfg(test)]
mod tests;
