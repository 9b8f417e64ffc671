//! A convolutional encoder and decoder with attention, after Gehring et al., 2017, *Convolutional
//! Sequence to Sequence Learning*, with layer normalisation in place of gates.

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::module::conv1d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::cost::Cost;
use burnformer_core::{
    ConfigError, LayerNorm, Linear, MhaInput, Mode, Model, MultiHeadAttention,
    MultiHeadAttentionConfig, PositionalEncoding, Precision, RandomKey, Seq2Seq, Seq2SeqCache,
    Seq2SeqConfig, SharedEmbeddings, SharedEmbeddingsConfig, Tokens, check_sizes, padding_mask,
};
use serde::{Deserialize, Serialize};

/// The kernel size of a convolution, in positions.
const KERNEL: usize = 3;

/// The configuration of a convolutional model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConvolutionalConfig {
    /// The shared vocabulary and the special tokens.
    pub tokens: Tokens,
    /// The width of the model.
    pub d_model: usize,
    /// The number of convolutions of the encoder, and of the decoder.
    pub layers: usize,
}

impl ConvolutionalConfig {
    fn embeddings(&self) -> SharedEmbeddingsConfig {
        SharedEmbeddingsConfig::new([self.tokens.target_vocab; 2], self.d_model)
    }

    fn attention(&self) -> MultiHeadAttentionConfig {
        MultiHeadAttentionConfig::new(self.d_model, 1)
    }
}

impl Seq2SeqConfig for ConvolutionalConfig {
    fn architecture(&self) -> &'static str {
        "convolutional"
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect("a configuration is plain data")
    }

    fn tokens(&self) -> Tokens {
        self.tokens
    }

    fn d_model(&self) -> usize {
        self.d_model
    }

    fn parameter_count(&self) -> usize {
        let [encoder, decoder] = self.cost(1, 1, Precision::Float32);
        (encoder + decoder + self.embeddings().cost()).parameters
    }

    fn validate(&self) -> Result<(), ConfigError> {
        check_sizes([
            ("d_model", self.d_model, 1 << 16),
            ("layers", self.layers, 1 << 10),
        ])
    }

    fn build(&self, seed: u64, device: &Device) -> Result<Model, ConfigError> {
        self.validate()?;
        let key = RandomKey::new(seed);
        let layers = |key: RandomKey, before| {
            (0..self.layers as u64)
                .map(|n| ConvolutionLayer::new(self.d_model, before, key.fold(n), device))
                .collect()
        };
        let model = Convolutional {
            embeddings: self.embeddings().init_with_key(key, device),
            positions: PositionalEncoding::sinusoidal(),
            encoder: layers(key.fold(4), KERNEL / 2),
            // A target position sees only itself and earlier positions.
            decoder: layers(key.fold(5), KERNEL - 1),
            attention: self.attention().init_with_key(key.fold(6), device),
            pad: self.tokens.pad,
        };
        Ok(model.into())
    }

    fn cost(&self, source: usize, _target: usize, precision: Precision) -> [Cost; 2] {
        let weights = KERNEL * self.d_model * self.d_model;
        let layer = Cost {
            parameters: weights + 3 * self.d_model,
            multiplications: weights,
            activations: 4 * self.d_model,
        };
        let attention = self.attention().cost(source, None, precision);
        [layer * self.layers, layer * self.layers + attention]
    }
}

/// A convolution over positions with a residual connection.
#[derive(Module, Debug)]
struct ConvolutionLayer {
    /// `[d_model, d_model, KERNEL]`
    weight: Param<Tensor<3>>,
    bias: Param<Tensor<1>>,
    norm: LayerNorm,
    /// The number of earlier positions that a position sees.
    before: usize,
}

impl ConvolutionLayer {
    fn new(d_model: usize, before: usize, key: RandomKey, device: &Device) -> Self {
        let deviation = ((KERNEL * d_model) as f32).powf(-0.5);
        let values = key
            .normal(d_model * d_model * KERNEL)
            .into_iter()
            .map(|z| z * deviation);
        let weight = TensorData::new(values.collect::<Vec<f32>>(), [d_model, d_model, KERNEL]);
        Self {
            weight: Param::from_tensor(Tensor::from_data(weight, device)),
            bias: Param::from_tensor(Tensor::zeros([d_model], device)),
            norm: LayerNorm::new(d_model, LayerNorm::EPSILON, device),
            before,
        }
    }

    /// `[batch, len, d_model]` → the same shape
    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let padding = [(self.before, KERNEL - 1 - self.before)];
        let options = ConvOptions::new_with_padding([1], padding, [1], 1);
        let weight = self.weight.val();
        let bias = Some(self.bias.val());
        let y = conv1d(x.clone().swap_dims(1, 2), weight, bias, options);
        self.norm.forward(x + relu(y.swap_dims(1, 2)))
    }
}

/// The model.
#[derive(Module, Debug)]
struct Convolutional {
    embeddings: SharedEmbeddings,
    positions: PositionalEncoding,
    encoder: Vec<ConvolutionLayer>,
    decoder: Vec<ConvolutionLayer>,
    attention: MultiHeadAttention,
    pad: u32,
}

impl Convolutional {
    fn embedded(&self, x: Tensor<3>, layers: &[ConvolutionLayer]) -> Tensor<3> {
        layers
            .iter()
            .fold(self.positions.forward(x, 0), |x, layer| layer.forward(x))
    }
}

impl Seq2Seq for Convolutional {
    fn states(&self, source: Tensor<2, Int>, target: Tensor<2, Int>, mode: Mode) -> Tensor<3> {
        let padding = padding_mask(&source, self.pad);
        let source = self.embedded(self.embeddings.source(source), &self.encoder);
        let x = self.embedded(self.embeddings.target(target), &self.decoder);
        let input = MhaInput::new(x.clone(), source).mask(padding);
        x + self.attention.forward(input, mode)
    }

    fn logits(&self, states: Tensor<3>) -> Tensor<3> {
        self.embeddings.logits(states)
    }

    fn start(&self, source: Tensor<2, Int>) -> Box<dyn Seq2SeqCache> {
        Box::new(Cache {
            source,
            target: None,
        })
    }

    /// Recomputes the whole sentence at each step. This is simple, but slow for long sentences.
    fn step_states(&self, tokens: Tensor<2, Int>, cache: &mut dyn Seq2SeqCache) -> Tensor<3> {
        let Cache { source, target } = cache.downcast_mut();
        let all = Tensor::cat(target.take().into_iter().chain([tokens]).collect(), 1);
        *target = Some(all.clone());
        let [[rows, len], [sentences, _]] = [all.dims(), source.dims()];
        let owners: Vec<usize> = (0..rows).map(|row| row * sentences / rows).collect();
        let states = self.states(selected(source, &owners), all, Mode::Inference);
        states.narrow(1, len - 1, 1)
    }

    fn select_outputs(&self, ids: &[u32]) -> Linear {
        self.embeddings.select(ids)
    }

    fn vocabularies(&self) -> [usize; 2] {
        self.embeddings.vocabularies()
    }
}

/// The source of each sentence, and the target tokens of each hypothesis so far.
#[derive(Debug)]
struct Cache {
    source: Tensor<2, Int>,
    target: Option<Tensor<2, Int>>,
}

impl Seq2SeqCache for Cache {
    fn select_rows(&mut self, rows: &[usize]) {
        self.target = self.target.as_ref().map(|target| selected(target, rows));
    }

    fn select_sentences(&mut self, sentences: &[usize]) {
        self.source = selected(&self.source, sentences);
    }
}

fn selected(ids: &Tensor<2, Int>, rows: &[usize]) -> Tensor<2, Int> {
    let rows: Vec<i32> = rows.iter().map(|&row| row as i32).collect();
    let rows = TensorData::new(rows.clone(), [rows.len()]);
    ids.clone()
        .select(0, Tensor::from_data(rows, &ids.device()))
}
