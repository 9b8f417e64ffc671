use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_kernels::RandomKey;

use crate::config::{Positions, TransformerConfig};
use crate::init;

/// Positional encoding: adds a vector for each position to the embeddings (paper §3.5).
#[derive(Module, Debug)]
pub struct PositionalEncoding {
    /// The learned vectors, `[max_positions, d_model]`; `None` for sinusoids.
    pub weight: Option<Param<Tensor<2>>>,
}

impl PositionalEncoding {
    /// Fixed sines and cosines ([`sinusoid`]), for any length and any even d_model.
    pub fn sinusoidal() -> Self {
        Self { weight: None }
    }

    /// Learned positions: a trained vector for each of `max_positions` positions. The initial values are normally
    /// distributed with standard deviation d_model^−½, a function of `key`.
    pub fn learned(max_positions: usize, d_model: usize, key: RandomKey, device: &Device) -> Self {
        let std = (d_model as f64).powf(-0.5);
        Self { weight: Some(init::normal([max_positions, d_model], std, key, device)) }
    }

    /// The encoding with the `positions`, `max_positions` and `d_model` of `config`.
    pub fn from_config(config: &TransformerConfig, key: RandomKey, device: &Device) -> Self {
        match config.positions {
            Positions::Sinusoidal => Self::sinusoidal(),
            Positions::Learned => Self::learned(config.max_positions, config.d_model, key, device),
        }
    }

    /// Adds the vectors of the positions `start..start + len` to `x`.
    ///
    /// # Shapes
    /// `x`: `[.., len, d_model]` → the same shape
    ///
    /// # Panics
    /// If there are fewer than `start + len` learned positions; see [`limit`](Self::limit).
    pub fn forward<const D: usize>(&self, x: Tensor<D>, start: usize) -> Tensor<D> {
        let [len, d_model] = [x.dims()[D - 2], x.dims()[D - 1]];
        let vectors = match &self.weight {
            None => sinusoids(start, len, d_model, &x.device()),
            Some(weight) => {
                let known = weight.dims()[0];
                let end = start + len;
                assert!(end <= known, "position {end} is past the {known} learned positions");
                weight.val().slice([start..end, 0..d_model])
            }
        };
        x + vectors.unsqueeze()
    }

    /// The number of learned positions; `None` for sinusoids, which have no limit.
    pub fn limit(&self) -> Option<usize> {
        self.weight.as_ref().map(|weight| weight.dims()[0])
    }
}

/// One element of the sinusoidal encoding (paper §3.5), with sines and cosines interleaved:
/// PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i + 1) = cos(pos / 10000^(2i/d)).
pub fn sinusoid(position: usize, feature: usize, d_model: usize) -> f64 {
    let angle = position as f64 * frequency(feature / 2, d_model);
    if feature.is_multiple_of(2) { angle.sin() } else { angle.cos() }
}

fn frequency(pair: usize, d_model: usize) -> f64 {
    (-(2.0 * pair as f64) / d_model as f64 * 10_000f64.ln()).exp()
}

/// The vectors of `len` positions from `start`, `[len, d_model]`.
fn sinusoids(start: usize, len: usize, d_model: usize, device: &Device) -> Tensor<2> {
    let frequencies: Vec<f64> = (0..d_model / 2).map(|pair| frequency(pair, d_model)).collect();
    let mut values = Vec::with_capacity(len * d_model);
    for position in start..start + len {
        for frequency in &frequencies {
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            values.extend([sin as f32, cos as f32]);
        }
    }
    Tensor::from_data(TensorData::new(values, [len, d_model]), device)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    #[test]
    fn wavelengths_run_from_2_pi_to_10000_times_2_pi() {
        let d = 512;
        let wavelength = |pair| TAU / frequency(pair, d);
        assert!((wavelength(0) - TAU).abs() < 1e-12);
        let last = wavelength(d / 2 - 1);
        assert!(last < 10_000.0 * TAU && last > 9_600.0 * TAU, "{last}");
        let growth = wavelength(7) / wavelength(6);
        assert!((wavelength(100) / wavelength(99) - growth).abs() < 1e-9, "not geometric");
    }

    /// For a fixed offset k, PE(pos + k) is the same linear map of PE(pos) at every pos: a rotation
    /// of each (sin, cos) pair.
    #[test]
    fn a_shift_is_one_linear_map_of_the_encoding() {
        let (d, k) = (64, 7);
        for pos in [0, 1, 50, 3000] {
            for pair in 0..d / 2 {
                let (sin_k, cos_k) = (k as f64 * frequency(pair, d)).sin_cos();
                let (s, c) = (sinusoid(pos, 2 * pair, d), sinusoid(pos, 2 * pair + 1, d));
                let moved = (s * cos_k + c * sin_k, c * cos_k - s * sin_k);
                assert!((moved.0 - sinusoid(pos + k, 2 * pair, d)).abs() < 1e-9);
                assert!((moved.1 - sinusoid(pos + k, 2 * pair + 1, d)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_start_offset_continues_the_sequence() {
        let device = Device::default();
        let all = sinusoids(0, 9, 16, &device);
        let tail = sinusoids(5, 4, 16, &device);
        tail.into_data().assert_eq(&all.slice([5..9, 0..16]).into_data(), true);
    }
}
