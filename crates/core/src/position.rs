use std::ops::Range;

use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_kernels::RandomKey;
use serde::{Deserialize, Serialize};

use crate::conventions::Sinusoids;
use crate::cost::Cost;
use crate::init;

/// The positional encoding (paper §3.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Positions {
    /// Fixed sines and cosines, interleaved, as in the paper; for any length.
    #[default]
    Sinusoidal,
    /// A trained vector for each of `max_positions` positions (Table 3, row E).
    Learned,
}

/// The sizes of a [`PositionalEncoding`].
#[derive(Config, Debug)]
pub struct PositionalEncodingConfig {
    /// The number of features of a position; even for sinusoids.
    pub d_model: usize,
    /// The number of positions that have a trained vector; `None` for sinusoids, which serve any
    /// length.
    pub learned: Option<usize>,
    /// The layout of sines and cosines.
    #[config(default = "Sinusoids::Interleaved")]
    pub sinusoids: Sinusoids,
    /// The position of the first token.
    #[config(default = 0)]
    pub offset: usize,
}

impl PositionalEncodingConfig {
    /// Creates an encoding with learned vectors, if it has any, drawn from Burn's random numbers of
    /// `device`.
    pub fn init(&self, device: &Device) -> PositionalEncoding {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates an encoding with learned vectors, if it has any, that are a function of `key`:
    /// normally distributed with standard deviation d_model^−½.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> PositionalEncoding {
        let &Self {
            d_model,
            learned,
            sinusoids,
            offset,
        } = self;
        let std = (d_model as f64).powf(-0.5);
        let weight = learned.map(|count| init::normal([count, d_model], std, key, device));
        PositionalEncoding {
            weight,
            sinusoids,
            offset,
        }
    }

    /// Returns the cost of the encoding: its trained vectors.
    pub fn cost(&self) -> Cost {
        Cost::parameters(self.learned.unwrap_or(0) * self.d_model)
    }
}

/// Positional encoding: adds a vector for each position to the embeddings (paper §3.5).
#[derive(Module, Debug)]
pub struct PositionalEncoding {
    /// The learned vectors, `[max_positions, d_model]`; `None` for sinusoids.
    pub weight: Option<Param<Tensor<2>>>,
    #[module(skip)]
    sinusoids: Sinusoids,
    /// The position of the first token.
    offset: usize,
}

impl PositionalEncoding {
    /// Fixed sines and cosines ([`sinusoid`]), for any length and any even d_model.
    pub fn sinusoidal() -> Self {
        Self {
            weight: None,
            sinusoids: Sinusoids::Interleaved,
            offset: 0,
        }
    }

    /// Adds the vectors of the positions `start..start + len` to `x`.
    ///
    /// # Shapes
    /// `x`: `[.., len, d_model]` → the same shape
    ///
    /// # Panics
    /// Panics if there are fewer than `start + len` learned positions (see [`limit`](Self::limit)),
    /// if they have another width than `x`, or if the width is odd and they are sinusoids.
    pub fn forward<const D: usize>(&self, x: Tensor<D>, start: usize) -> Tensor<D> {
        let len = x.dims()[D - 2];
        let d_model = x.dims()[D - 1];
        let start = start + self.offset;
        let vectors = match &self.weight {
            None => {
                let even = d_model.is_multiple_of(2);
                assert!(
                    even,
                    "sinusoids need an even number of features; x has {d_model}"
                );
                let values = self.sinusoids.values(start..start + len, d_model);
                let values = TensorData::new(values, [len, d_model]);
                Tensor::from_data(values, (&x.device(), x.dtype()))
            }
            Some(weight) => {
                let [known, width] = weight.dims();
                let end = start + len;
                assert_eq!(
                    d_model, width,
                    "x has {d_model} features, the learned positions have {width}"
                );
                assert!(
                    end <= known,
                    "position {end} is past the {known} learned positions"
                );
                weight.val().slice([start..end, 0..d_model])
            }
        };
        x + vectors.unsqueeze()
    }

    /// Returns the number of learned positions; `None` for sinusoids, which have no limit.
    pub fn limit(&self) -> Option<usize> {
        self.weight
            .as_ref()
            .map(|weight| weight.dims()[0].saturating_sub(self.offset))
    }
}

/// One element of the sinusoidal encoding (paper §3.5), with sines and cosines interleaved:
/// PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i + 1) = cos(pos / 10000^(2i/d)).
pub fn sinusoid(position: usize, feature: usize, d_model: usize) -> f64 {
    let angle = position as f64 * frequency(feature / 2, d_model);
    if feature.is_multiple_of(2) {
        angle.sin()
    } else {
        angle.cos()
    }
}

fn frequency(pair: usize, d_model: usize) -> f64 {
    (-(2.0 * pair as f64) / d_model as f64 * 10_000f64.ln()).exp()
}

impl Sinusoids {
    /// Returns the vectors of `positions`, `[positions, d_model]`, row after row. They are computed
    /// in float64 and then rounded.
    ///
    /// ```
    /// use burnformer_core::Sinusoids;
    ///
    /// let position_1 = |sinusoids: Sinusoids| sinusoids.values(1..2, 4);
    /// let [sin, cos] = [1f64.sin() as f32, 1f64.cos() as f32];
    /// let [slow_sin, slow_cos] = [0.01f64.sin() as f32, 0.01f64.cos() as f32];
    /// assert_eq!(position_1(Sinusoids::Interleaved), [sin, cos, slow_sin, slow_cos]);
    /// assert_eq!(position_1(Sinusoids::Halves), [sin, slow_sin, cos, slow_cos]);
    /// // Here the last wavelength is 10000 · 2π.
    /// assert_eq!(position_1(Sinusoids::HalvesToEnd)[1], 0.0001f64.sin() as f32);
    /// ```
    pub fn values(self, positions: Range<usize>, d_model: usize) -> Vec<f32> {
        let frequencies: Vec<f64> = (0..d_model / 2)
            .map(|pair| self.frequency(pair, d_model))
            .collect();
        let mut values = Vec::with_capacity(positions.len() * d_model);
        for position in positions {
            let pairs = frequencies
                .iter()
                .map(|frequency| (position as f64 * frequency).sin_cos());
            match self {
                Self::Interleaved => {
                    values.extend(pairs.flat_map(|(sin, cos)| [sin as f32, cos as f32]));
                }
                Self::Halves | Self::HalvesToEnd => {
                    values.extend(pairs.clone().map(|(sin, _)| sin as f32));
                    values.extend(pairs.map(|(_, cos)| cos as f32));
                }
            }
        }
        values
    }

    /// Returns the angle per position of a pair of features, in radians.
    fn frequency(self, pair: usize, d_model: usize) -> f64 {
        match self {
            Self::Interleaved | Self::Halves => frequency(pair, d_model),
            Self::HalvesToEnd => 10_000f64.powf(-(pair as f64) / (d_model as f64 / 2.0 - 1.0)),
        }
    }
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
        assert!(
            (wavelength(100) / wavelength(99) - growth).abs() < 1e-9,
            "not geometric"
        );
    }

    /// For a fixed offset k, PE(pos + k) is the same linear map of PE(pos) at every pos: a rotation
    /// of each (sin, cos) pair.
    #[test]
    fn a_shift_is_one_linear_map_of_the_encoding() {
        let d = 64;
        let k = 7;
        for pos in [0, 1, 50, 3000] {
            for pair in 0..d / 2 {
                let (sin_k, cos_k) = (k as f64 * frequency(pair, d)).sin_cos();
                let s = sinusoid(pos, 2 * pair, d);
                let c = sinusoid(pos, 2 * pair + 1, d);
                let moved = (s * cos_k + c * sin_k, c * cos_k - s * sin_k);
                assert!((moved.0 - sinusoid(pos + k, 2 * pair, d)).abs() < 1e-9);
                assert!((moved.1 - sinusoid(pos + k, 2 * pair + 1, d)).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_start_offset_continues_the_sequence() {
        for sinusoids in [
            Sinusoids::Interleaved,
            Sinusoids::Halves,
            Sinusoids::HalvesToEnd,
        ] {
            assert_eq!(
                sinusoids.values(5..9, 16),
                sinusoids.values(0..9, 16)[5 * 16..]
            );
        }
    }

    #[test]
    fn an_offset_of_two_starts_two_positions_later() {
        let device = Device::default();
        let x = Tensor::<3>::zeros([1, 4, 16], &device);
        let later = PositionalEncoding::sinusoidal().forward(x.clone(), 2);
        let shifted = PositionalEncodingConfig::new(16)
            .with_offset(2)
            .init(&device)
            .forward(x, 0);
        shifted.into_data().assert_eq(&later.into_data(), true);
    }

    /// Position 3 of width 8 as `MarianSinusoidalPositionalEmbedding` of transformers 5.23 and
    /// Marian's `sinusoidalPositionEmbeddings` compute it.
    #[test]
    fn halves_equal_hugging_face_and_marian() {
        let third = 10_000f64.powf(-1.0 / 3.0);
        for (sinusoids, angles) in [
            (Sinusoids::Halves, [3.0, 0.3, 0.03, 0.003]),
            (
                Sinusoids::HalvesToEnd,
                [3.0, 3.0 * third, 3.0 * third * third, 3.0e-4],
            ),
        ] {
            let expected = [angles.map(f64::sin), angles.map(f64::cos)].concat();
            let actual = sinusoids.values(3..4, 8);
            assert_eq!(actual.len(), 8);
            for (&actual, expected) in actual.iter().zip(expected) {
                assert!(
                    (f64::from(actual) - expected).abs() < 1e-7,
                    "{actual} {expected}"
                );
            }
        }
    }
}
