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

/// Makes updates: forward and backward passes over one or more batches, and one optimiser step.
pub struct Updater {
    /// The optimiser with its moments.
    pub optimizer: Optimizer,
    /// The settings of the loss and the step.
    pub recipe: Recipe,
    /// The loss scale of a float16 model. It needs `synchronous`, because the host sets the next
    /// factor.
    pub loss_scale: Option<LossScale>,
    /// If true, the host checks loss and gradient of an update before its optimiser step. This is
    /// free on the CPU. On a GPU the host would wait at each update: the device checks instead, and
    /// the host reads the results from time to time.
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
        // If several overflows were read together, each would halve the factor.
        let synchronous = is_fused_on(device) || loss_scale.is_some();
        Self {
            optimizer,
            recipe,
            loss_scale,
            synchronous,
        }
    }

    /// Makes update number `step` (from 1) over `batches`. The loss is averaged over the real target
    /// tokens of all batches, as if they were one batch. If loss or gradient is not finite, model
    /// and optimiser stay unchanged. Also returns the amount of text in the update. If [several
    /// processes](crate::Ranks) train together, `batches` are the batches of this process, and each
    /// process makes the same update over the batches of all processes.
    ///
    /// # Panics
    /// Panics if there is no batch, or if there is a loss scale and `synchronous` is false.
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
        let recipe = self.recipe;
        let loss_scale = self.loss_factor();
        let objective = Objective {
            recipe,
            step,
            tokens,
            loss_scale,
        };
        let sums = replicas.sums(&model, batches, objective);
        let (model, pending) = if self.synchronous {
            in_thread_pool(replicas.first(), || self.step(model, sums, tokens, rate))
        } else {
            self.step_on_device(model, sums, tokens, rate)
        };
        (model, pending, size)
    }

    /// The statistics of the updates `pending`, in order. These must be all updates since the last
    /// call.
    ///
    /// # Panics
    /// Panics if the device is lost.
    pub fn read(&mut self, pending: &[PendingStatistics]) -> Vec<UpdateStatistics> {
        pollster::block_on(self.read_async(pending)).expect("a device that answers")
    }

    /// Reads the statistics like [`read`](Self::read), for a thread that must not block, such as on a
    /// web page.
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
        let loss_scale = self.loss_factor();
        let loss = f64::from(sums.loss.into_scalar::<f32>());
        let nll = f64::from(sums.nll.into_scalar::<f32>());
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

    /// Lowers the loss scale if the gradient overflowed float16, and returns whether it did. A NaN
    /// or infinite loss does not lower the scale.
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
