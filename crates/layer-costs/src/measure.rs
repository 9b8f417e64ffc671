use std::time::{Duration, Instant};

use burn::tensor::{Device, Distribution, Tensor};
use serde::Serialize;

use crate::layers::{Kind, Layer, Sizes};

/// Who knows how much memory the process has in use.
pub trait Memory {
    /// Forgets the highest use so far.
    fn reset(&self);
    /// Bytes in use.
    fn current(&self) -> usize;
    /// Most bytes in use since the last [`reset`](Self::reset).
    fn peak(&self) -> usize;
}

/// One layer at one length, forward.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The layer.
    pub kind: Kind,
    /// Positions.
    pub n: usize,
    /// Width.
    pub d: usize,
    /// Seconds, the median of several passes.
    pub seconds: f64,
    /// Bytes at the highest above what was in use before, the output among them.
    pub bytes: usize,
    /// Steps that had to wait for one another.
    pub steps: usize,
    /// Longest way between two positions, in steps.
    pub path: usize,
}

/// Fewest passes measured.
const FEWEST: usize = 3;
/// Most passes measured.
const MOST: usize = 100;

/// Measures one layer on one sequence of `n` positions, for about `patience`.
pub fn measure(
    kind: Kind,
    sizes: Sizes,
    n: usize,
    patience: Duration,
    memory: &dyn Memory,
    device: &Device,
) -> Measurement {
    let layer = Layer::new(kind, sizes, device);
    let x = Tensor::random([1, n, sizes.d], Distribution::Normal(0.0, 1.0), device);
    let pass = || {
        let output = layer.forward(x.clone());
        // Reading a number waits for devices that compute behind the program's back.
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

    impl Memory for Seven {
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
        let sizes = Sizes { d: 64, radius: 4, kernel: 3 };
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
