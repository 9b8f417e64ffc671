use std::borrow::Cow;

use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor};
use burnformer_kernels::{
    ComputeType, Epilogue, MAX_LOGITS, Precision, Projection, RandomKey, embedding,
};
use serde::{Deserialize, Serialize};

use crate::conventions::{EmbeddingScale, OutputBias};
use crate::cost::Cost;
use crate::init;
use crate::linear::{Linear, Product};
use crate::loss::{LossSums, label_smoothed_cross_entropy, linear_cross_entropy};
use crate::parameters::{NamedAs, QuantizedParameters};

/// The sharing of one matrix among the two embeddings and the output projection (paper §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "model-dir", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EmbeddingSharing {
    /// Source, target and output share one matrix over a joint vocabulary, as in the paper.
    #[default]
    All,
    /// Target and output share one matrix; the source has its own.
    Target,
    /// Three separate matrices.
    None,
}

/// The sizes of [`SharedEmbeddings`].
#[derive(Config, Debug)]
pub struct SharedEmbeddingsConfig {
    /// The number of tokens in the vocabularies of source and target.
    pub vocabularies: [usize; 2],
    /// The number of features of a token.
    pub d_model: usize,
    /// The sharing of the matrices.
    #[config(default = "EmbeddingSharing::All")]
    pub sharing: EmbeddingSharing,
    /// If true, embeddings are divided by their norm ([`TokenEmbeddingConfig::fix_norm`]).
    #[config(default = false)]
    pub fix_norm: bool,
    /// The factor of embeddings.
    #[config(default = "EmbeddingScale::SqrtWidth")]
    pub scale: EmbeddingScale,
    /// The bias of logits, if there is one. It starts at zero.
    #[config(default = "OutputBias::None")]
    pub output_bias: OutputBias,
}

impl SharedEmbeddingsConfig {
    /// Embeddings with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> SharedEmbeddings {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Embeddings with initial weights that are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> SharedEmbeddings {
        let &Self {
            vocabularies: [source_vocab, target_vocab],
            d_model,
            ..
        } = self;
        let is_joint = self.sharing == EmbeddingSharing::All;
        let has_generator = self.sharing == EmbeddingSharing::None;
        let source = self.table(source_vocab);
        let target = self.table(target_vocab);
        SharedEmbeddings {
            named_as_: NamedAs {},
            embedding: is_joint.then(|| target.init_with_key(key.fold(0), device)),
            source_embedding: (!is_joint).then(|| source.init_with_key(key.fold(1), device)),
            target_embedding: (!is_joint).then(|| target.init_with_key(key.fold(2), device)),
            generator: has_generator
                .then(|| Linear::without_bias(d_model, target_vocab, key.fold(3), device)),
            output_bias: match self.output_bias {
                OutputBias::None => None,
                OutputBias::PerPiece => Some(init::constant(0.0, target_vocab, device)),
            },
        }
    }

    /// Returns the embedding of one vocabulary.
    fn table(&self, vocab: usize) -> TokenEmbeddingConfig {
        TokenEmbeddingConfig::new(vocab, self.d_model)
            .with_scale(self.scale)
            .with_fix_norm(self.fix_norm)
    }

    /// Returns the cost of the matrices and the bias. Models count the multiplications and values
    /// of logits by themselves.
    pub fn cost(&self) -> Cost {
        let &Self {
            vocabularies: [source_vocab, target_vocab],
            d_model,
            ..
        } = self;
        let rows = match self.sharing {
            EmbeddingSharing::All => target_vocab,
            EmbeddingSharing::Target => source_vocab + target_vocab,
            EmbeddingSharing::None => source_vocab + 2 * target_vocab,
        };
        let bias = match self.output_bias {
            OutputBias::None => 0,
            OutputBias::PerPiece => target_vocab,
        };
        Cost::parameters(rows * d_model + bias)
    }
}

/// The embeddings of source and target and the output projection. Two or all three of them may be
/// one matrix (paper §3.4).
///
/// In the names of parameters, these fields count as fields of the model that holds them:
/// `embedding.weight`, not `embeddings.embedding.weight`.
#[derive(Module, Debug)]
pub struct SharedEmbeddings {
    named_as_: NamedAs,
    /// The matrix of source, target and output, if all three share it.
    pub embedding: Option<TokenEmbedding>,
    /// The source embedding, if it is not shared.
    pub source_embedding: Option<TokenEmbedding>,
    /// The target embedding, if it is not shared with the source.
    pub target_embedding: Option<TokenEmbedding>,
    /// The output projection, without bias, if it shares no embedding matrix.
    pub generator: Option<Linear>,
    /// The bias of the logits, `[target_vocab]`; `None` if they have none.
    pub output_bias: Option<Param<Tensor<1>>>,
}

impl SharedEmbeddings {
    /// Number of tokens in the vocabularies of source and target.
    pub fn vocabularies(&self) -> [usize; 2] {
        [self.of_source(), self.of_target()].map(TokenEmbedding::vocab)
    }

    /// Embeds source ids: `[batch, len]` → `[batch, len, d_model]`.
    pub fn source(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        self.of_source().forward(ids)
    }

    /// Embeds target ids: `[batch, len]` → `[batch, len, d_model]`.
    pub fn target(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        self.of_target().forward(ids)
    }

    /// Projects states to the target vocabulary: `[.., d_model]` → `[.., target_vocab]`.
    pub fn logits<const D: usize>(&self, states: Tensor<D>) -> Tensor<D> {
        let bias = self.output_bias.as_ref().map(Param::val);
        match (&self.generator, bias) {
            (None, bias) => self.of_target().logits(states, bias),
            (Some(generator), None) => generator.forward(states),
            (Some(generator), Some(bias)) => generator.forward(states) + bias.unsqueeze(),
        }
    }

    /// Returns the loss of `states`, `[batch, len, d_model]`, for the right tokens `targets`,
    /// `[batch, len]`; see [`Seq2Seq::loss`](crate::Seq2Seq::loss).
    pub fn loss(
        &self,
        states: Tensor<3>,
        targets: Tensor<2, Int>,
        pad: u32,
        smoothing: f64,
    ) -> LossSums {
        let [batch, len, _] = states.dims();
        let [vocab, _] = match &self.generator {
            None => self.of_target().weight.lazy_shape().dims(),
            Some(generator) => generator.weight.lazy_shape().dims(),
        };
        // Fewer logits are faster all at once.
        if batch * len * vocab <= MAX_LOGITS {
            return label_smoothed_cross_entropy(self.logits(states), targets, pad, smoothing);
        }
        let bias = self.output_bias.as_ref().map(Param::val);
        let projection = match &self.generator {
            None => self.of_target().projection(bias),
            Some(generator) => generator.projection(bias),
        };
        linear_cross_entropy(states, projection, targets, pad, smoothing)
    }

    /// Returns the output projection to the tokens `ids` alone, in this order, for inference: `[..,
    /// d_model]` → `[.., ids]`. It is packed if the whole projection is packed.
    ///
    /// # Panics
    /// Panics if one of `ids` is not below the number of tokens of the target.
    pub fn select(&self, ids: &[u32]) -> Linear {
        let bias = self.output_bias.as_ref().map(Param::val);
        match &self.generator {
            None => self.of_target().select(ids, bias),
            Some(generator) => generator.select(ids, bias),
        }
    }

    /// Packs the output projection for fast inference, see
    /// [`Seq2Seq::pack_stored`](crate::Seq2Seq::pack_stored).
    pub fn pack_stored(&mut self, compute: ComputeType, quantized: &mut QuantizedParameters) {
        match &mut self.generator {
            Some(generator) => generator.pack_stored(compute, quantized),
            None => self.of_target_mut().pack_stored(compute, quantized),
        }
    }

    /// Sets the number type of the matrix product in [`logits`](Self::logits). Looking up rows
    /// stays in float32.
    pub fn set_precision(&mut self, precision: Precision) {
        match &mut self.generator {
            Some(generator) => generator.set_precision(precision),
            None => self.of_target_mut().set_precision(precision),
        }
    }

    fn of_source(&self) -> &TokenEmbedding {
        let embedding = self.source_embedding.as_ref().or(self.embedding.as_ref());
        embedding.expect("the source has an embedding")
    }

    fn of_target(&self) -> &TokenEmbedding {
        let embedding = self.target_embedding.as_ref().or(self.embedding.as_ref());
        embedding.expect("the target has an embedding")
    }

    fn of_target_mut(&mut self) -> &mut TokenEmbedding {
        let embedding = self.target_embedding.as_mut().or(self.embedding.as_mut());
        embedding.expect("the target has an embedding")
    }
}

/// The sizes of a [`TokenEmbedding`].
#[derive(Config, Debug)]
pub struct TokenEmbeddingConfig {
    /// The number of tokens in the vocabulary.
    pub vocab: usize,
    /// The number of features of a token.
    pub d_model: usize,
    /// If true, each row is divided by its Euclidean norm, for lookups and logits (FixNorm; Nguyen
    /// and Chiang, 2018).
    #[config(default = false)]
    pub fix_norm: bool,
    /// The factor of rows.
    #[config(default = "EmbeddingScale::SqrtWidth")]
    pub scale: EmbeddingScale,
}

impl TokenEmbeddingConfig {
    /// Creates an embedding with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> TokenEmbedding {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates an embedding with initial weights that are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> TokenEmbedding {
        let &Self {
            vocab,
            d_model,
            fix_norm,
            scale,
        } = self;
        let weight = init::normal([vocab, d_model], (d_model as f64).powf(-0.5), key, device);
        TokenEmbedding {
            weight,
            product: Product::default(),
            fix_norm,
            scale,
        }
    }
}

/// Token embedding, multiplied by √d_model. Its matrix can also serve as the output projection
/// (paper §3.4).
#[derive(Module, Debug)]
pub struct TokenEmbedding {
    /// `[vocab, d_model]`; the initial values are normally distributed with standard deviation
    /// d_model^−½.
    pub weight: Param<Tensor<2>>,
    #[module(skip)]
    product: Product,
    fix_norm: bool,
    #[module(skip)]
    scale: EmbeddingScale,
}

impl TokenEmbedding {
    /// Returns the number of tokens in the vocabulary.
    pub fn vocab(&self) -> usize {
        self.weight.lazy_shape()[0]
    }

    /// Looks up the row of each id (`[batch, len]` → `[batch, len, d_model]`) and multiplies it by
    /// √d_model, or by 1 if its configuration says so.
    pub fn forward(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let scale = match self.scale {
            EmbeddingScale::SqrtWidth => (self.weight.lazy_shape()[1] as f64).sqrt(),
            EmbeddingScale::One => 1.0,
        };
        if self.fix_norm {
            unit(self.rows(ids, 1.0)) * scale
        } else {
            self.rows(ids, scale)
        }
    }

    /// Returns the rows of `ids`, multiplied by `scale`. If the packed matrix took the place of the
    /// weight, they are read from it.
    fn rows(&self, ids: Tensor<2, Int>, scale: f64) -> Tensor<3> {
        match self.product.in_its_place(&self.weight) {
            Some(packed) => packed.embedding(ids, scale),
            None => embedding(self.weight.val(), ids, scale),
        }
    }

    /// Returns the tied output projection, x·Eᵀ + `bias`.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → `[.., vocab]`, `bias`: `[vocab]`
    pub fn logits<const D: usize>(&self, x: Tensor<D>, bias: Option<Tensor<1>>) -> Tensor<D> {
        self.product
            .with(&self.output_weight(), x, bias, Epilogue::None)
    }

    /// Returns the tied output projection with `bias` (`[vocab]`), for the loss.
    pub(crate) fn projection(&self, bias: Option<Tensor<1>>) -> Projection {
        Projection {
            weight: self.output_weight().val(),
            bias,
            precision: self.product.precision,
        }
    }

    /// Returns the tied output projection to the tokens `ids` alone, in this order, with `bias`
    /// (`[vocab]`), for inference.
    ///
    /// # Panics
    /// Panics if one of `ids` is not below the number of tokens.
    pub fn select(&self, ids: &[u32], bias: Option<Tensor<1>>) -> Linear {
        self.product.select(&self.output_weight(), bias, ids)
    }

    /// Packs the matrix for fast [`logits`](Self::logits), see
    /// [`Seq2Seq::pack`](crate::Seq2Seq::pack).
    /// Under FixNorm the rows have unit length from then on.
    pub fn pack(&mut self, compute: ComputeType) {
        self.pack_stored(compute, &mut QuantizedParameters::default());
    }

    /// Packs the matrix as [`pack`](Self::pack) does. In 8-bit integers, the packed matrix replaces
    /// the one in `quantized`, if it is there.
    pub fn pack_stored(&mut self, compute: ComputeType, quantized: &mut QuantizedParameters) {
        if let Cow::Owned(weight) = self.output_weight() {
            self.weight = weight;
            quantized.remove(self.weight.id);
        }
        self.product.pack(&mut self.weight, compute, quantized);
    }

    /// Returns the matrix of logits. Under FixNorm its rows have unit length. A packed matrix was
    /// normalised before it was packed.
    fn output_weight(&self) -> Cow<'_, Param<Tensor<2>>> {
        if self.fix_norm && self.product.fast(&self.weight).is_none() {
            Cow::Owned(self.weight.clone().map(unit))
        } else {
            Cow::Borrowed(&self.weight)
        }
    }

    /// Sets the type of the matrix product in [`logits`](Self::logits), see
    /// [`Seq2Seq::set_precision`](crate::Seq2Seq::set_precision). Looking up rows stays in float32.
    pub fn set_precision(&mut self, precision: Precision) {
        self.product.precision = precision;
    }
}

/// Returns the vectors along the last axis, divided by their lengths.
fn unit<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let length = (x.clone().square().sum_dim(D - 1) + 1e-12).sqrt();
    x / length
}
