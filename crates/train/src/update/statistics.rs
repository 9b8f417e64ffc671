//! The statistics of an update, which the host reads only from time to time on a GPU.

use burn::tensor::{ExecutionError, Tensor};
use burnformer_data::Batch;

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
    pub(super) async fn read(pending: &[Self]) -> Result<Vec<UpdateStatistics>, ExecutionError> {
        let there = pending.iter().filter_map(|pending| match pending {
            Self::Known(_) => None,
            Self::OnDevice { numbers, .. } => Some(numbers.clone()),
        });
        let there: Vec<_> = there.collect();
        let numbers = if there.is_empty() {
            Vec::new()
        } else {
            Tensor::cat(there, 0)
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

/// The amount of text in an update.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpdateSize {
    /// The number of sentence pairs.
    pub pairs: u64,
    /// The number of tokens of both sides, padding included.
    pub positions: u64,
    /// The number of real tokens of both sides.
    pub real: u64,
    /// The number of real target tokens, the divisor of the loss.
    pub target: u64,
}

impl UpdateSize {
    /// The amount of text in `batches`.
    pub(crate) fn of(batches: &[Batch]) -> Self {
        let sum = |count: fn(&Batch) -> usize| batches.iter().map(count).sum::<usize>() as u64;
        Self {
            pairs: sum(|batch| batch.batch),
            positions: sum(Batch::positions),
            real: sum(|batch| batch.source_tokens + batch.target_tokens),
            target: sum(|batch| batch.target_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use pollster::block_on;

    use super::*;

    #[test]
    fn statistics_on_the_device_are_read_in_the_order_of_the_updates() {
        let read =
            |pending: &[PendingStatistics]| block_on(PendingStatistics::read(pending)).unwrap();
        let at = |loss: f32| PendingStatistics::OnDevice {
            numbers: Tensor::from_floats([loss, loss + 0.5, f32::NAN], &Device::default()),
            tokens: loss as usize,
        };
        let known = UpdateStatistics {
            loss: 9.0,
            nll: 8.0,
            norm: 7.0,
            tokens: 6,
            overflowed: false,
        };
        assert!(read(&[]).is_empty());
        let read = read(&[at(1.0), PendingStatistics::Known(known), at(2.0)]);
        assert_eq!(
            [read[0].loss, read[0].nll, read[2].loss, read[2].nll],
            [1.0, 1.5, 2.0, 2.5]
        );
        assert_eq!((read[0].tokens, read[1], read[2].tokens), (1, known, 2));
        assert!(!read[0].is_finite() && read[0].norm.is_nan());
    }
}
