//! Several processes that train one model, on one machine or on many.
//!
//! Process 0, the leader, trains as a process does that is alone: it alone has the run's folder,
//! validates and logs. The others follow. They hold the same weights and the same optimiser, and
//! make the same updates. A batch keeps its number in the update on whatever process it is
//! computed, as on [several devices](crate::Replicas). The sums of an update are added in the order
//! of the processes, so that the same number of processes gives the same bits.

use std::rc::Rc;

use burn::tensor::{Device, Tensor};
use burnformer_data::Rank;

use super::recipe::GradientSums;
use crate::config::ExchangePrecision;
use crate::optimizer::gradients::FlatGradients;
use crate::run::log_interval::Extent;

/// The processes that train one model, and how they exchange numbers. All of them call the same
/// methods in the same order. A process that cannot be reached any more ends all of them.
pub trait Ranks {
    /// The number of this process, and the number of all.
    fn rank(&self) -> Rank;

    /// Replaces `bytes` by those of process 0.
    fn broadcast(&self, bytes: &mut Vec<u8>);

    /// Replaces `values` by their sums over all processes, element by element, added in the order
    /// of the processes.
    fn sum(&self, values: &mut [f32], precision: ExchangePrecision);

    /// Says that the run has ended everywhere: nothing is exchanged any more.
    fn end(&self);
}

/// The devices of this process, and the other processes of the run.
#[derive(Clone)]
pub struct Workers<'a> {
    /// The devices, of which the first holds the weights.
    pub devices: &'a [Device],
    /// The processes; `None` for one that is alone.
    pub ranks: Option<Rc<dyn Ranks>>,
}

impl<'a, D: AsRef<[Device]> + ?Sized> From<&'a D> for Workers<'a> {
    fn from(devices: &'a D) -> Self {
        Self { devices: devices.as_ref(), ranks: None }
    }
}

impl Workers<'_> {
    /// The number of devices of all processes, of which each has as many.
    pub(crate) fn count(&self) -> usize {
        self.devices.len() * self.ranks.as_ref().map_or(1, |ranks| ranks.rank().count)
    }
}

/// The sums of an update over all processes, given those of this one.
pub(super) fn sum_over(
    ranks: &dyn Ranks,
    sums: GradientSums,
    precision: ExchangePrecision,
) -> GradientSums {
    let device = sums.loss.device();
    let GradientSums { gradients, loss, nll } = sums;
    let gradients = gradients.into_inner();
    let lengths: Vec<usize> = gradients.iter().map(|gradient| gradient.dims()[0]).collect();
    let mut values = Vec::with_capacity(lengths.iter().sum());
    for gradient in gradients {
        let data = gradient.into_data();
        values.extend_from_slice(data.as_slice::<f32>().expect("gradients are float32"));
    }
    ranks.sum(&mut values, precision);
    let mut losses = [loss, nll].map(|sum| sum.into_scalar::<f32>());
    ranks.sum(&mut losses, ExchangePrecision::Float32);
    let mut rest = &values[..];
    let take = |length: usize| {
        let (first, others) = rest.split_at(length);
        rest = others;
        Tensor::<1>::from_floats(first, &device)
    };
    let gradients = FlatGradients::from(lengths.into_iter().map(take).collect::<Vec<_>>());
    let [loss, nll] = losses.map(|sum| Tensor::from_floats([sum], &device));
    GradientSums { gradients, loss, nll }
}

/// The extent of an update over all processes, given that of this one. Each number travels as two
/// halves of 16 bits, whose sums float32 holds exactly for up to 256 processes.
pub(super) fn total(ranks: &dyn Ranks, extent: Extent) -> Extent {
    let Extent { pairs, positions, real, target } = extent;
    let numbers = [pairs, positions, real, target];
    let mut halves: Vec<f32> =
        numbers.iter().flat_map(|&n| [n >> 16, n & 0xffff]).map(|half| half as f32).collect();
    ranks.sum(&mut halves, ExchangePrecision::Float32);
    let whole = |i: usize| ((halves[2 * i] as u64) << 16) + halves[2 * i + 1] as u64;
    let [pairs, positions, real, target] = [0, 1, 2, 3].map(whole);
    Extent { pairs, positions, real, target }
}
