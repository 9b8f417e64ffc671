use burn::tensor::module::conv1d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Distribution, Tensor};
use burnformer_core::rnn::Gru;
use burnformer_core::{
    AttentionInputs, Dropout, Mode, RandomKey, Window, WindowBlocks, window_attention,
};
use burnformer_kernels::{attention, linear};
use serde::Serialize;

/// A layer of the paper's Table 1, or a related one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Self-attention: every position attends to every other.
    SelfAttention,
    /// Restricted self-attention: every position attends to positions at most r away.
    RestrictedSelfAttention,
    /// Gated recurrent units (Cho et al., 2014), as in the recurrent baseline.
    Gru,
    /// A convolution with kernel size k.
    Convolution,
    /// A separable convolution: kernel size k in each feature, then a linear map at each position
    /// (Chollet, 2016).
    SeparableConvolution,
}

impl Kind {
    /// All kinds, in the order of the table.
    pub const ALL: [Self; 5] = [
        Self::SelfAttention,
        Self::RestrictedSelfAttention,
        Self::Gru,
        Self::Convolution,
        Self::SeparableConvolution,
    ];

    /// The name of the layer for readers.
    pub fn name(self) -> &'static str {
        match self {
            Self::SelfAttention => "self-attention",
            Self::RestrictedSelfAttention => "restricted self-attention",
            Self::Gru => "recurrent (GRU)",
            Self::Convolution => "convolution",
            Self::SeparableConvolution => "separable convolution",
        }
    }

    /// The paper's figures: the complexity per layer, the number of sequential operations and the
    /// maximum path length (Table 1; for separable convolutions §4), and the exponents of n and of
    /// d in the complexity. Table 1 has log_k(n) for dilated convolutions; §4 has n/k for
    /// contiguous kernels, as measured here.
    pub fn in_the_paper(self) -> ([&'static str; 3], [f64; 2]) {
        let path = "n/k; dilated log_k(n)";
        match self {
            Self::SelfAttention => (["n²·d", "1", "1"], [2.0, 1.0]),
            Self::RestrictedSelfAttention => (["r·n·d", "1", "n/r"], [1.0, 1.0]),
            Self::Gru => (["n·d²", "n", "n"], [1.0, 2.0]),
            Self::Convolution => (["k·n·d²", "1", path], [1.0, 2.0]),
            Self::SeparableConvolution => (["k·n·d + n·d²", "1", path], [1.0, 2.0]),
        }
    }
}

/// The sizes of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerSizes {
    /// Width of every position, d.
    pub d: usize,
    /// The largest distance of restricted self-attention. The paper's r is the size of the
    /// neighbourhood, 2·radius + 1 positions.
    pub radius: usize,
    /// Kernel size of convolutions, k; odd, so that output and input have the same length.
    pub kernel: usize,
}

/// A layer with random weights.
#[derive(Debug)]
pub struct Layer {
    kind: Kind,
    sizes: LayerSizes,
    weights: Weights,
}

#[derive(Debug)]
enum Weights {
    None,
    Gru(Gru),
    /// The kernel, `[d, d, k]`.
    Convolution(Tensor<3>),
    /// The kernel per feature, `[d, 1, k]`, and the linear map, `[d, d]`.
    Separable(Tensor<3>, Tensor<2>),
}

/// Width of an attention head, as in the paper.
const D_HEAD: usize = 64;

impl Layer {
    /// A layer of `kind` with random weights on `device`.
    pub fn new(kind: Kind, sizes: LayerSizes, device: &Device) -> Self {
        let LayerSizes { d, kernel, .. } = sizes;
        let weights = match kind {
            Kind::SelfAttention | Kind::RestrictedSelfAttention => Weights::None,
            Kind::Gru => Weights::Gru(Gru::new(d, d, RandomKey::new(1), device)),
            Kind::Convolution => Weights::Convolution(random([d, d, kernel], d * kernel, device)),
            Kind::SeparableConvolution => Weights::Separable(
                random([d, 1, kernel], kernel, device),
                random([d, d], d, device),
            ),
        };
        Self {
            kind,
            sizes,
            weights,
        }
    }

    /// Maps `x` (`[batch, len, d]`) to another sequence of that shape.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        match &self.weights {
            Weights::None => self.attend(x),
            Weights::Gru(gru) => {
                let [batch, len, _] = x.dims();
                let padding = Tensor::full([batch, len], false, &x.device());
                gru.forward(x, padding)
            }
            Weights::Convolution(kernel) => convolve(x, kernel, 1),
            Weights::Separable(kernel, map) => {
                linear(convolve(x, kernel, self.sizes.d), map.clone(), None)
            }
        }
    }

    fn attend(&self, x: Tensor<3>) -> Tensor<3> {
        let heads = (self.sizes.d / D_HEAD).max(1);
        let inputs = AttentionInputs::new([x.clone(), x.clone(), x.clone()], heads);
        if self.kind == Kind::SelfAttention {
            return attention(inputs, None);
        }
        let window = Window {
            radius: self.sizes.radius,
            causal: false,
        };
        let blocks = WindowBlocks::new(window, x.dims()[1], None, &x.device());
        window_attention(inputs, &blocks, &Dropout::new(0.0), Mode::Inference)
    }

    /// The reach of one layer: the largest distance, in positions, between an input and an output
    /// that it changes. Measured on `len` positions.
    pub fn reach(&self, len: usize, device: &Device) -> usize {
        let x = Tensor::random(
            [1, len, self.sizes.d],
            Distribution::Normal(0.0, 1.0),
            device,
        );
        let first = x.clone().slice([0..1, 0..1, 0..self.sizes.d]) * -1.0;
        let changed = x.clone().slice_assign([0..1, 0..1, 0..self.sizes.d], first);
        let felt = (self.forward(x) - self.forward(changed)).abs().max_dim(2);
        let felt: Vec<f32> = felt.into_data().iter::<f32>().collect();
        felt.iter().rposition(|&change| change > 0.0).unwrap_or(0)
    }

    /// The longest path between two of `len` positions in a stack of such layers, in steps: the
    /// number of layers needed times the steps of each.
    pub fn path(&self, len: usize, device: &Device) -> usize {
        if self.kind == Kind::Gru {
            return len;
        }
        let tried = len.min(4 * (self.sizes.radius + self.sizes.kernel) + 8);
        let reach = self.reach(tried, device);
        // An effect at the end of the sequence means unlimited reach.
        if reach + 1 == tried {
            1
        } else {
            (len - 1).div_ceil(reach.max(1))
        }
    }
}

/// Normally distributed random weights with variance 1/`inputs`.
fn random<const D: usize>(shape: [usize; D], inputs: usize, device: &Device) -> Tensor<D> {
    let deviation = (inputs as f64).powf(-0.5);
    Tensor::random(shape, Distribution::Normal(0.0, deviation), device)
}

/// A convolution over positions in `groups`, with zeros beyond the ends.
fn convolve(x: Tensor<3>, kernel: &Tensor<3>, groups: usize) -> Tensor<3> {
    let padding = kernel.dims()[2] / 2;
    let options = ConvOptions::new([1], [padding], [1], groups);
    conv1d(x.swap_dims(1, 2), kernel.clone(), None, options).swap_dims(1, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: LayerSizes = LayerSizes {
        d: 64,
        radius: 5,
        kernel: 3,
    };

    fn layer(kind: Kind) -> Layer {
        Layer::new(kind, SIZES, &Device::default())
    }

    #[test]
    fn every_layer_keeps_length_and_width() {
        let device = Device::default();
        let x = Tensor::random([2, 9, 64], Distribution::Normal(0.0, 1.0), &device);
        for kind in Kind::ALL {
            assert_eq!(
                layer(kind).forward(x.clone()).dims(),
                [2, 9, 64],
                "{kind:?}"
            );
        }
    }

    #[test]
    fn the_reach_of_a_layer_is_the_papers() {
        let device = Device::default();
        for (kind, reach) in [
            (Kind::SelfAttention, 39),
            (Kind::RestrictedSelfAttention, 5),
            (Kind::Convolution, 1),
            (Kind::SeparableConvolution, 1),
        ] {
            assert_eq!(layer(kind).reach(40, &device), reach);
        }
        assert!(layer(Kind::Gru).reach(40, &device) > 5);
    }

    #[test]
    fn paths_match_table_1() {
        for (kind, path) in [
            (Kind::SelfAttention, 1),
            (Kind::RestrictedSelfAttention, 200),
            (Kind::Gru, 1001),
            (Kind::Convolution, 1000),
        ] {
            assert_eq!(layer(kind).path(1001, &Device::default()), path);
        }
    }
}
