//! An update: gradients over its batches on every device, and one step of the optimiser.

mod loss_scale;
mod memory_limit;
mod recipe;
mod replicas;
mod size;
mod workers_error;

use burn::tensor::{Bool, Device, ExecutionError, Tensor};
use burnformer_core::Model;
use burnformer_data::Batch;
use burnformer_kernels::is_fused_on;

use crate::optimizer::Optimizer;
use crate::optimizer::gradients::{FlatGradients, clip_factor, clip_factor_on_device};
use replicas::in_thread_pool;

pub use loss_scale::LossScale;
pub use memory_limit::{MemoryError, update_bytes};
pub(crate) use memory_limit::{MemoryLimit, worst_batch, worst_shape};
pub use recipe::Recipe;
pub(crate) use recipe::{GradientSums, Objective};
pub use replicas::{Ranks, Replicas, Workers};
pub use size::UpdateSize;
pub use workers_error::WorkersError;

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

    /// Makes update number `step` (from 1) over `batches`. The loss is averaged over the real
    /// target tokens of all batches, as if they were one batch. If loss or gradient is not finite,
    /// model and optimiser stay unchanged. Also returns the amount of text in the update. If
    /// [several processes](crate::Ranks) train together, `batches` are the batches of this process,
    /// and each process makes the same update over the batches of all processes.
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
        let device = replicas.first();
        let gradients = self.forward_backward(&model, batches, step, replicas);
        let size = gradients.size;
        let clipped = self.clip(gradients, device);
        let (model, statistics) = self.step(model, clipped, rate, device);
        (model, statistics, size)
    }

    /// The forward and backward passes of update number `step` over `batches`: the gradients of all
    /// devices and processes.
    pub(crate) fn forward_backward(
        &self,
        model: &Model,
        batches: &[Batch],
        step: u64,
        replicas: &Replicas,
    ) -> UpdateGradients {
        let size = replicas.total(UpdateSize::of(batches));
        let objective = Objective {
            recipe: self.recipe,
            step,
            tokens: size.target as usize,
            loss_scale: self.loss_factor(),
        };
        let sums = replicas.sums(model, batches, objective);
        UpdateGradients { sums, size }
    }

    /// Scales the gradients on `device` to the largest norm, if they and the loss are finite.
    pub(crate) fn clip(&mut self, gradients: UpdateGradients, device: &Device) -> ClippedGradients {
        let tokens = gradients.size.target as usize;
        if self.synchronous {
            in_thread_pool(device, || self.clip_on_host(gradients.sums, tokens))
        } else {
            self.clip_on_device(gradients.sums, tokens)
        }
    }

    /// One step of the optimiser with the learning rate `rate`. If loss or gradient is not finite,
    /// model and optimiser stay unchanged.
    pub(crate) fn step(
        &mut self,
        model: Model,
        clipped: ClippedGradients,
        rate: f64,
        device: &Device,
    ) -> (Model, PendingStatistics) {
        let ClippedGradients {
            gradients,
            scale,
            statistics,
        } = clipped;
        let optimizer = &mut self.optimizer;
        let model = match scale {
            Scale::NotFinite => model,
            Scale::Known(scale) => {
                in_thread_pool(device, || optimizer.step(model, gradients, scale, rate))
            }
            Scale::OnDevice { finite, scale } => {
                optimizer.step_where(finite, model, gradients, scale, rate)
            }
        };
        (model, statistics)
    }

    /// The statistics of the updates `pending`, in order. These must be all updates since the last
    /// call.
    ///
    /// # Panics
    /// Panics if the device is lost.
    pub fn read(&mut self, pending: &[PendingStatistics]) -> Vec<UpdateStatistics> {
        pollster::block_on(self.read_async(pending)).expect("a device that answers")
    }

    /// Reads the statistics like [`read`](Self::read), for a thread that must not block, such as on
    /// a web page.
    ///
    /// # Errors
    /// Returns an error if the device is lost.
    pub async fn read_async(
        &mut self,
        pending: &[PendingStatistics],
    ) -> Result<Vec<UpdateStatistics>, ExecutionError> {
        let statistics = PendingStatistics::read(pending).await?;
        let updates = pending.iter().zip(&statistics);
        let steps = updates.filter(|(pending, read)| pending.is_on_device() && read.is_finite());
        self.optimizer.settle(steps.count() as u64);
        Ok(statistics)
    }

    fn clip_on_host(&mut self, sums: GradientSums, tokens: usize) -> ClippedGradients {
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
        let scale = if statistics.is_finite() {
            Scale::Known(clip_factor(norm, self.recipe.clip_norm) / loss_scale)
        } else {
            Scale::NotFinite
        };
        ClippedGradients {
            gradients: sums.gradients,
            scale,
            statistics: PendingStatistics::Known(statistics),
        }
    }

    /// Clips without reading the statistics.
    fn clip_on_device(&self, sums: GradientSums, tokens: usize) -> ClippedGradients {
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
        ClippedGradients {
            gradients,
            scale: Scale::OnDevice { finite, scale },
            statistics: PendingStatistics::OnDevice { numbers, tokens },
        }
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

/// The sums of gradients and losses of an update over all devices and processes, and its text.
pub(crate) struct UpdateGradients {
    sums: GradientSums,
    /// The amount of text.
    pub size: UpdateSize,
}

/// The gradients of an update, with the factor that clips them.
pub(crate) struct ClippedGradients {
    gradients: FlatGradients,
    scale: Scale,
    statistics: PendingStatistics,
}

/// The factor on the gradients in a step of the optimiser.
#[expect(clippy::large_enum_variant, reason = "there is one per update")]
enum Scale {
    /// Loss or gradient is not finite: there is no step.
    NotFinite,
    Known(f64),
    /// The device decides whether there is a step.
    OnDevice {
        finite: Tensor<1, Bool>,
        scale: Tensor<1>,
    },
}

/// The statistics of one update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateStatistics {
    /// The sum of the label-smoothed loss over real target tokens.
    pub loss: f64,
    /// The sum of the negative log-likelihood.
    pub nll: f64,
    /// The norm of the gradient before clipping.
    pub norm: f64,
    /// The number of real target tokens.
    pub tokens: usize,
    /// If true, the scaled gradient overflowed float16: the update was skipped and the scale
    /// lowered. Never true if the device checks updates.
    pub overflowed: bool,
}

impl UpdateStatistics {
    /// Returns whether loss and gradient are finite; otherwise the update was skipped.
    pub fn is_finite(&self) -> bool {
        self.loss.is_finite() && self.norm.is_finite()
    }
}

/// The statistics of an update, on the host or on the device.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one per update")]
pub enum PendingStatistics {
    /// The statistics are on the host.
    Known(UpdateStatistics),
    /// The statistics are on the device. Reading them waits for the update.
    OnDevice {
        /// The sum of the label-smoothed loss, the sum of the negative log-likelihood, and the norm
        /// of the gradient: `[3]`.
        numbers: Tensor<1>,
        /// The number of real target tokens.
        tokens: usize,
    },
}

impl PendingStatistics {
    /// Returns whether reading the statistics waits for a device.
    pub fn is_on_device(&self) -> bool {
        matches!(self, Self::OnDevice { .. })
    }

    /// The statistics of `pending`, read from the device in one transfer.
    async fn read(pending: &[Self]) -> Result<Vec<UpdateStatistics>, ExecutionError> {
        let on_device = pending.iter().filter_map(|pending| match pending {
            Self::Known(_) => None,
            Self::OnDevice { numbers, .. } => Some(numbers.clone()),
        });
        let on_device: Vec<_> = on_device.collect();
        let numbers = if on_device.is_empty() {
            Vec::new()
        } else {
            Tensor::cat(on_device, 0)
                .into_data_async()
                .await?
                .iter::<f64>()
                .collect()
        };
        let mut numbers = numbers.chunks_exact(3);
        let mut all = Vec::new();
        for pending in pending {
            all.push(match *pending {
                Self::Known(statistics) => statistics,
                Self::OnDevice { tokens, .. } => {
                    let numbers = numbers.next().expect("three numbers per update");
                    UpdateStatistics {
                        loss: numbers[0],
                        nll: numbers[1],
                        norm: numbers[2],
                        tokens,
                        overflowed: false,
                    }
                }
            });
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
