use std::time::{Duration, Instant};

use burn::tensor::{Device, Distribution, Tensor};
use peak_alloc::PeakAlloc;
use serde::Serialize;

use super::layers::{Kind, Layer, LayerSizes};

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
    /// Peak memory of the pass in bytes, above the use before it, with the output.
    pub bytes: usize,
    /// The number of sequential steps.
    pub steps: usize,
    /// Longest path between two positions, in steps.
    pub path: usize,
}

/// Smallest number of measured passes.
const MIN_RUNS: usize = 3;
/// Largest number of measured passes.
const MAX_RUNS: usize = 100;

/// Measures one layer on one sequence of `n` positions, for about `patience`. `allocator` is the
/// allocator of the program.
pub fn measure(
    kind: Kind,
    sizes: LayerSizes,
    n: usize,
    patience: Duration,
    device: &Device,
    allocator: &PeakAlloc,
) -> Measurement {
    let layer = Layer::new(kind, sizes, device);
    let x = Tensor::random([1, n, sizes.d], Distribution::Normal(0.0, 1.0), device);
    run(&layer, &x);
    allocator.reset_peak_usage();
    let before = allocator.current_usage();
    run(&layer, &x);
    let bytes = allocator.peak_usage().saturating_sub(before);
    let mut times = Vec::new();
    let start = Instant::now();
    while times.len() < MIN_RUNS || (times.len() < MAX_RUNS && start.elapsed() < patience) {
        let begun = Instant::now();
        run(&layer, &x);
        times.push(begun.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let seconds = times[times.len() / 2];
    let steps = if kind == Kind::Gru { n } else { 1 };
    let path = layer.path(n, device);
    Measurement {
        kind,
        n,
        d: sizes.d,
        seconds,
        bytes,
        steps,
        path,
    }
}

/// Runs `layer` on `x` to the end. Reading a number waits for an asynchronous device.
fn run(layer: &Layer, x: &Tensor<3>) {
    layer
        .forward(x.clone())
        .slice([0..1, 0..1, 0..1])
        .into_scalar::<f32>();
}

/// The exponent p of the power law y = c·xᵖ that fits the points best (least squares of the
/// logarithms). Returns `None` if there are not two points with different x, or if a value is not
/// positive.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<_> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
    if logs.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let count = logs.len() as f64;
    let x = logs.iter().map(|p| p.0).sum::<f64>() / count;
    let y = logs.iter().map(|p| p.1).sum::<f64>() / count;
    let spread: f64 = logs.iter().map(|p| (p.0 - x).powi(2)).sum();
    let shared: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    (spread > 1e-12).then(|| shared / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: PeakAlloc = PeakAlloc;

    #[test]
    fn a_measurement_has_the_given_sizes() {
        let sizes = LayerSizes {
            d: 64,
            radius: 4,
            kernel: 3,
        };
        let device = Device::default();
        let actual = measure(Kind::Gru, sizes, 20, Duration::ZERO, &device, &ALLOCATOR);
        let expected = Measurement {
            kind: Kind::Gru,
            n: 20,
            d: 64,
            seconds: actual.seconds,
            bytes: actual.bytes,
            steps: 20,
            path: 20,
        };
        assert_eq!(actual, expected);
        // The output alone has 20 × 64 floats.
        assert!(
            actual.seconds > 0.0 && actual.bytes >= 20 * 64 * 4,
            "{actual:?}"
        );
    }

    #[test]
    fn a_power_law_gives_its_exponent() {
        for power in [0.0, 1.0, 1.15, 2.0] {
            let law = [16.0, 64.0, 2048.0f64].map(|x| (x, 3.0 * x.powf(power)));
            assert!((exponent(&law).unwrap() - power).abs() < 1e-9);
        }
    }

    #[test]
    fn no_line_goes_through_one_point_or_through_zero() {
        assert_eq!(exponent(&[(2.0, 1.0)]), None);
        assert_eq!(exponent(&[(2.0, 1.0), (2.0, 3.0)]), None);
        assert_eq!(exponent(&[(2.0, 0.0), (4.0, 3.0)]), None);
    }
}
