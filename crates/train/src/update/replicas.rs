//! Data parallelism: the batches of an update divided among devices and processes.
//!
//! Whole batches are divided among the devices. The number of a batch in the update determines its
//! dropout, so that the result does not depend on the number of devices (except for the order of
//! sums).
//! `docs/decisions/devices.md` explains why Burn's own data parallelism is not used.
//!
//! Several processes can train one model, on one machine or on many. Process 0, the leader, owns
//! the run's folder, validates and logs. The others, the followers, hold the same weights and
//! optimiser, and make the same updates. Sums are added in the order of the processes, so that the
//! same number of processes gives the same bits.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Builder};

use burn::tensor::{Device, Tensor};
use burnformer_core::Model;
use burnformer_data::{Batch, Rank};
use burnformer_kernels::is_fused_on;

use super::recipe::{GradientSums, Objective};
use super::size::UpdateSize;
use crate::config::ExchangePrecision;
use crate::optimizer::gradients::FlatGradients;

/// The devices of a run. The first device of each process holds the weights and the moments of the
/// optimiser. The others receive a copy of the weights at each update and compute their share of
/// the gradient.
pub struct Replicas {
    first: Device,
    others: Vec<Replica>,
    /// The processes that train together, and the number type of exchanged gradients.
    ranks: Option<(Rc<dyn Ranks>, ExchangePrecision)>,
}

impl Replicas {
    /// Creates the replicas on `devices`. Every device but the first gets a thread.
    ///
    /// # Panics
    /// Panics if `devices` is empty, or if the system cannot start a thread.
    pub fn new(devices: &[Device]) -> Self {
        let (first, others) = devices
            .split_first()
            .expect("a run has at least one device");
        let others = others.iter().enumerate();
        Self {
            first: first.clone().autodiff(),
            others: others
                .map(|(i, other)| Replica::start(i + 1, other, first))
                .collect(),
            ranks: None,
        }
    }

    /// Makes these the devices of one of the processes `ranks`. `exchange` is the number type of
    /// exchanged gradients.
    #[must_use]
    pub fn among(mut self, ranks: Option<Rc<dyn Ranks>>, exchange: ExchangePrecision) -> Self {
        self.ranks = ranks.map(|ranks| (ranks, exchange));
        self
    }

    /// The processes that train together, if there are several.
    pub(crate) fn ranks(&self) -> Option<&dyn Ranks> {
        self.ranks.as_ref().map(|(ranks, _)| &**ranks)
    }

    /// The rank of this process among them.
    pub(crate) fn rank(&self) -> Rank {
        self.ranks().map_or(Rank::ALONE, Ranks::rank)
    }

    /// The size of an update over all processes, given its size in this process. Each number is
    /// sent as two halves of 16 bits; float32 holds their sums exactly for up to 256 processes.
    pub(crate) fn total(&self, size: UpdateSize) -> UpdateSize {
        let Some(ranks) = self.ranks() else {
            return size;
        };
        let UpdateSize {
            pairs,
            positions,
            real,
            target,
        } = size;
        let halves =
            [pairs, positions, real, target].map(|n| [(n >> 16) as f32, (n & 0xffff) as f32]);
        let mut halves = halves.concat();
        ranks.sum(&mut halves, ExchangePrecision::Float32);
        let [pairs, positions, real, target] =
            [0, 1, 2, 3].map(|i| ((halves[2 * i] as u64) << 16) + halves[2 * i + 1] as u64);
        UpdateSize {
            pairs,
            positions,
            real,
            target,
        }
    }

    /// The device that holds the weights, with autodiff.
    pub fn first(&self) -> &Device {
        &self.first
    }

    /// The number of devices of this process.
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The sums over the `batches` of all processes, on the first device.
    ///
    /// # Panics
    /// Panics like [`own_sums`](Self::own_sums).
    pub(crate) fn sums(
        &self,
        model: &Model,
        batches: &[Batch],
        objective: Objective,
    ) -> GradientSums {
        let sums = self.own_sums(model, batches, objective);
        match &self.ranks {
            Some((ranks, exchange)) => sum_over(&**ranks, sums, *exchange),
            None => sums,
        }
    }

    /// The sums over `batches`, on the first device. Device i of N computes the batches i, i + N, …
    /// in parallel with the others, and the results are added in the order of the devices. Devices
    /// without a batch do nothing.
    ///
    /// # Panics
    /// Panics if there is no batch. A panic in the thread of a device is passed on.
    pub(crate) fn own_sums(
        &self,
        model: &Model,
        batches: &[Batch],
        objective: Objective,
    ) -> GradientSums {
        let count = self.count();
        let Rank {
            number,
            count: ranks,
        } = self.rank();
        let numbered: Vec<(usize, &Batch)> = batches
            .iter()
            .enumerate()
            .map(|(i, batch)| (number + i * ranks, batch))
            .collect();
        let busy = &self.others[..self.others.len().min(batches.len().saturating_sub(1))];
        for (replica, device) in busy.iter().zip(1..) {
            let batches = numbered
                .iter()
                .skip(device)
                .step_by(count)
                .map(|&(index, batch)| (index, batch.clone()))
                .collect();
            replica.ask(Job {
                model: model.clone(),
                batches,
                objective,
            });
        }
        let device = &self.first;
        let first = in_thread_pool(device, || {
            let share = numbered.iter().copied().step_by(count);
            GradientSums::over(model, share, objective, device)
        });
        let first = first.expect("an update has at least one batch");
        busy.iter()
            .map(Replica::answer)
            .fold(first, GradientSums::plus)
    }
}

/// The work of one device in an update.
struct Job {
    /// The weights, on the first device.
    model: Model,
    /// The batches, each with its number in the update.
    batches: Vec<(usize, Batch)>,
    objective: Objective,
}

/// A device with its own thread for the whole run: on a GPU, each thread has its own stream with
/// its own memory.
struct Replica {
    jobs: Sender<Job>,
    sums: Receiver<thread::Result<GradientSums>>,
}

impl Replica {
    /// Starts replica number `index` (from 1) of a run on `device`. Its sums go to `first`.
    fn start(index: usize, device: &Device, first: &Device) -> Self {
        let device = device.clone().autodiff();
        let first = first.clone().inner();
        let (jobs, asked) = channel::<Job>();
        let (answers, sums) = channel();
        let thread = Builder::new().name(format!("device {index}"));
        let spawned = thread.spawn(move || {
            // The thread ends when the run drops its end of either channel.
            for job in asked {
                let sums = catch_unwind(AssertUnwindSafe(|| job.sums(&device, &first)));
                if answers.send(sums).is_err() {
                    break;
                }
            }
        });
        if let Err(error) = spawned {
            panic!("no thread for device {index}: {error}");
        }
        Self { jobs, sums }
    }

    fn ask(&self, job: Job) {
        self.jobs
            .send(job)
            .expect("a device's thread lives as long as the run");
    }

    fn answer(&self) -> GradientSums {
        let sums = self
            .sums
            .recv()
            .expect("a device's thread lives as long as the run");
        sums.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Job {
    /// The sums over these batches, computed on `device` and moved to `first`.
    fn sums(self, device: &Device, first: &Device) -> GradientSums {
        // A separate graph even for shared weights: Burn's autodiff would join two graphs with a
        // shared leaf under one lock.
        let model = self.model.fork(device);
        let batches = self.batches.iter().map(|(index, batch)| (*index, batch));
        let sums = GradientSums::over(&model, batches, self.objective, device);
        sums.expect("a device that is asked has a batch")
            .moved_to(first)
    }
}

/// Runs `work`, on a CPU inside rayon's thread pool. An update is a chain of hundreds of operations
/// of a fraction of a millisecond. A thread outside of the pool would sleep and wake up for each
/// operation.
pub(crate) fn in_thread_pool<R: Send>(device: &Device, work: impl FnOnce() -> R + Send) -> R {
    if is_fused_on(device) {
        rayon::scope(|_| work())
    } else {
        work()
    }
}

/// The processes that train one model, and their communication. All processes call the same methods
/// in the same order. If a process can no longer be reached, all processes end.
pub trait Ranks {
    /// Returns the index of this process and the number of processes.
    fn rank(&self) -> Rank;

    /// Replaces `bytes` by the bytes of process 0.
    fn broadcast(&self, bytes: &mut Vec<u8>);

    /// Replaces `values` by their element-wise sums over all processes, added in the order of the
    /// processes.
    fn sum(&self, values: &mut [f32], precision: ExchangePrecision);

    /// Ends the exchange: the run has ended in all processes.
    fn end(&self);
}

/// The devices of this process, and the other processes of the run.
#[derive(Clone)]
pub struct Workers<'a> {
    /// The devices. The first one holds the weights.
    pub devices: &'a [Device],
    /// The processes that train together; `None` if there is only this process.
    pub ranks: Option<Rc<dyn Ranks>>,
}

impl<'a, D: AsRef<[Device]> + ?Sized> From<&'a D> for Workers<'a> {
    fn from(devices: &'a D) -> Self {
        Self {
            devices: devices.as_ref(),
            ranks: None,
        }
    }
}

impl Workers<'_> {
    /// The total number of devices. Every process has the same number.
    pub(crate) fn count(&self) -> usize {
        self.devices.len() * self.ranks.as_ref().map_or(1, |ranks| ranks.rank().count)
    }
}

/// The sums of an update over all processes, given the sums of this process.
fn sum_over(ranks: &dyn Ranks, sums: GradientSums, precision: ExchangePrecision) -> GradientSums {
    let device = sums.loss.device();
    let GradientSums {
        gradients: FlatGradients(gradients),
        loss,
        nll,
    } = sums;
    let lengths: Vec<usize> = gradients
        .iter()
        .map(|gradient| gradient.dims()[0])
        .collect();
    let mut values = Vec::with_capacity(lengths.iter().sum());
    for gradient in gradients {
        let data = gradient.into_data();
        values.extend_from_slice(data.as_slice::<f32>().expect("gradients are float32"));
    }
    ranks.sum(&mut values, precision);
    let mut losses = [loss, nll].map(|sum| sum.into_scalar::<f32>());
    ranks.sum(&mut losses, ExchangePrecision::Float32);
    let mut rest = &values[..];
    let mut gradients = Vec::new();
    for length in lengths {
        let (first, others) = rest.split_at(length);
        rest = others;
        gradients.push(Tensor::<1>::from_floats(first, &device));
    }
    let gradients = FlatGradients(gradients);
    let [loss, nll] = losses.map(|sum| Tensor::from_floats([sum], &device));
    GradientSums {
        gradients,
        loss,
        nll,
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;
    use burnformer_core::TransformerConfig;

    use super::*;
    use crate::update::Recipe;

    const PAIRS: [(&[u32], &[u32]); 5] = [
        (&[4, 5, 6], &[7, 8]),
        (&[5], &[9, 10, 11, 4]),
        (&[6, 7], &[5]),
        (&[8, 9, 10, 11], &[4, 4, 5, 6]),
        (&[7, 4], &[10, 6, 5, 9, 8, 11]),
    ];

    fn model(dropout: f64) -> Model {
        let config = TransformerConfig {
            dropout,
            ..TransformerConfig::tiny(12)
        };
        config
            .init(1, &Device::default().autodiff())
            .unwrap()
            .into()
    }

    /// Gradients and losses of update 3 over the pairs in batches of these sizes.
    fn sums(model: &Model, devices: usize, sizes: &[usize]) -> (Vec<TensorData>, f32, f32) {
        let mut batches = Vec::new();
        let mut start = 0;
        for size in sizes {
            let end = start + size;
            let pairs = start as u32..end as u32;
            batches.push(Batch::new(pairs.collect(), &PAIRS[start..end]));
            start = end;
        }
        let tokens = batches.iter().map(|batch| batch.target_tokens).sum();
        let recipe = Recipe {
            seed: 5,
            ..Recipe::default()
        };
        let objective = Objective {
            recipe,
            step: 3,
            tokens,
            loss_scale: 1.0,
        };
        let sums =
            Replicas::new(&vec![Device::default(); devices]).sums(model, &batches, objective);
        let gradients = sums.gradients.0;
        let gradients = gradients
            .into_iter()
            .map(|gradient| gradient.into_data())
            .collect();
        (gradients, sums.loss.into_scalar(), sums.nll.into_scalar())
    }

    fn largest_difference(a: &[TensorData], b: &[TensorData]) -> f32 {
        let both = a
            .iter()
            .zip(b)
            .flat_map(|(a, b)| a.iter::<f32>().zip(b.iter::<f32>()));
        both.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn unequal_batches_on_two_devices_weigh_by_their_real_tokens() {
        let model = model(0.0);
        let (whole, loss, nll) = sums(&model, 1, &[5]);
        let (parts, parts_loss, parts_nll) = sums(&model, 2, &[1, 3, 1]);
        assert!((loss - parts_loss).abs() < 1e-4 && (nll - parts_nll).abs() < 1e-4);
        let difference = largest_difference(&whole, &parts);
        assert!(difference < 1e-6, "{difference}");
        // The mean of the batches' means is another gradient.
        assert!(largest_difference(&whole, &sums(&model, 1, &[1]).0) > 1e-2);
    }

    #[test]
    fn the_number_of_devices_changes_no_dropout() {
        let model = model(0.5);
        let (one, loss, _) = sums(&model, 1, &[1, 1, 1, 1, 1]);
        for devices in 2..=6 {
            let (several, other, _) = sums(&model, devices, &[1, 1, 1, 1, 1]);
            assert!(
                (loss - other).abs() < 1e-4,
                "{devices} devices: {loss} {other}"
            );
            let difference = largest_difference(&one, &several);
            assert!(difference < 1e-6, "{devices} devices: {difference}");
        }
        // With one batch per device, the order of sums is the same too.
        assert_eq!(one, sums(&model, 5, &[1, 1, 1, 1, 1]).0);
    }

    #[test]
    #[should_panic(expected = "is not below vocab")]
    fn a_panic_in_the_thread_of_a_device_reaches_the_caller() {
        let model = model(0.0);
        let good = Batch::new(vec![0], &PAIRS[..1]);
        let unknown = Batch::new(vec![0], &[([1_000_000], [4])]);
        let recipe = Recipe::default();
        let objective = Objective {
            recipe,
            step: 1,
            tokens: 3,
            loss_scale: 1.0,
        };
        let replicas = Replicas::new(&[Device::default(), Device::default()]);
        replicas.sums(&model, &[good, unknown], objective);
    }
}
