use burn::config::Config;
use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor};
use burnformer_kernels::{ComputeType, Epilogue, RandomKey, embedding};

use crate::conventions::EmbeddingScale;
use crate::init;
use crate::linear::{Linear, Product};
use crate::precision::Precision;

/// The sizes of a [`TokenEmbedding`].
#[derive(Config, Debug)]
pub struct TokenEmbeddingConfig {
    /// The number of tokens in the vocabulary.
    pub vocab: usize,
    /// The number of features of a token.
    pub d_model: usize,
    /// The factor of rows.
    #[config(default = "EmbeddingScale::SqrtWidth")]
    pub scale: EmbeddingScale,
}

impl TokenEmbeddingConfig {
    /// An embedding whose initial weights are drawn from Burn's random numbers of `device`:
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> TokenEmbedding {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// An embedding whose initial weights are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> TokenEmbedding {
        let &Self { vocab, d_model, scale } = self;
        let weight = init::normal([vocab, d_model], (d_model as f64).powf(-0.5), key, device);
        TokenEmbedding { weight, product: Product::default(), scale }
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
    #[module(skip)]
    scale: EmbeddingScale,
}

impl TokenEmbedding {
    /// The number of tokens in the vocabulary.
    pub fn vocab(&self) -> usize {
        self.weight.lazy_shape()[0]
    }

    /// Looks up the row of each id (`[batch, len]` → `[batch, len, d_model]`) and multiplies it by
    /// √d_model, or by what its configuration says.
    pub fn forward(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let weight = self.weight.val();
        let scale = match self.scale {
            EmbeddingScale::SqrtWidth => (weight.dims()[1] as f64).sqrt(),
            EmbeddingScale::One => 1.0,
        };
        embedding(weight, ids, scale)
    }

    /// The tied output projection, x·Eᵀ + `bias`.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → `[.., vocab]`, `bias`: `[vocab]`
    pub fn logits<const D: usize>(&self, x: Tensor<D>, bias: Option<Tensor<1>>) -> Tensor<D> {
        self.product.with(&self.weight, x, bias, Epilogue::None)
    }

    /// The tied output projection to the tokens `ids` alone, in this order, with `bias`
    /// (`[vocab]`), for inference.
    ///
    /// # Panics
    /// If one of `ids` is not below the number of tokens.
    pub fn select(&self, ids: &[u32], bias: Option<Tensor<1>>) -> Linear {
        self.product.select(&self.weight, bias, ids)
    }

    /// Packs the matrix for fast [`logits`](Self::logits), see
    /// [`Seq2Seq::pack`](crate::Seq2Seq::pack).
    pub fn pack(&mut self, compute: ComputeType) {
        self.product.pack(&self.weight, compute);
    }

    /// Sets the type of the matrix product in [`logits`](Self::logits), see
    /// [`Seq2Seq::set_precision`](crate::Seq2Seq::set_precision). Looking up rows stays in float32.
    pub fn set_precision(&mut self, precision: Precision) {
        self.product.precision = precision;
    }
}
