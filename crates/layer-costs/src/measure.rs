use std::time::{Duration, Instant};

use burn::tensor::{Device, Distribution, Tensor};
use serde::Serialize;

use crate::layers::{Kind, Layer, LayerSizes};

/// Tells how much memory the process uses.
pub trait MemoryMeter {
    /// Resets the maximum that [`peak`](Self::peak) returns.
    fn reset(&self);
    /// Number of bytes in use.
    fn current(&self) -> usize;
    /// Largest number of bytes in use since the last [`reset`](Self::reset).
    fn peak(&self) -> usize;
}

/// The measured cost of one layer at one length, forward pass only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The kind of layer.
    pub kind: Kind,
    /// Number of positions, n.
    pub n: usize,
    /// Width of a position, d.
    pub d: usize,
    /// Time of a forward pass in seconds, the median of several passes.
    pub seconds: f64,
    /// Largest memory use during the pass in bytes, above what was in use before; the output is included.
    pub bytes: usize,
    /// The number of sequential steps.
    pub steps: usize,
    /// Longest path between two positions, in steps.
    pub path: usize,
}

/// Smallest number of measured passes.
const FEWEST: usize = 3;
/// Largest number of measured passes.
const MOST: usize = 100;

/// Measures one layer on one sequence of `n` positions, for about `patience`.
pub fn measure(
    kind: Kind,
    sizes: LayerSizes,
    n: usize,
    patience: Duration,
    memory: &dyn MemoryMeter,
    device: &Device,
) -> Measurement {
    let layer = Layer::new(kind, sizes, device);
    let x = Tensor::random([1, n, sizes.d], Distribution::Normal(0.0, 1.0), device);
    let pass = || {
        let output = layer.forward(x.clone());
        // Reading a number waits for devices that compute asynchronously.
        let _: f32 = output.states.slice([0..1, 0..1, 0..1]).into_scalar();
        output.steps
    };
    pass();
    memory.reset();
    let before = memory.current();
    let steps = pass();
    let bytes = memory.peak().saturating_sub(before);
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < FEWEST || (times.len() < MOST && start.elapsed() < patience) {
        let begun = Instant::now();
        pass();
        times.push(begun.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let seconds = times[times.len() / 2];
    let path = layer.path(n, device);
    Measurement { kind, n, d: sizes.d, seconds, bytes, steps, path }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says that a pass takes 7 bytes.
    struct Seven;

    impl MemoryMeter for Seven {
        fn reset(&self) {}

        fn current(&self) -> usize {
            100
        }

        fn peak(&self) -> usize {
            107
        }
    }

    #[test]
    fn a_measurement_is_of_the_sizes_given() {
        let sizes = LayerSizes { d: 64, radius: 4, kernel: 3 };
        let device = Device::default();
        let own = measure(Kind::Gru, sizes, 20, Duration::ZERO, &Seven, &device);
        let expected = Measurement {
            kind: Kind::Gru,
            n: 20,
            d: 64,
            seconds: own.seconds,
            bytes: 7,
            steps: 20,
            path: 20,
        };
        assert_eq!(own, expected);
        assert!(own.seconds > 0.0);
    }
}
