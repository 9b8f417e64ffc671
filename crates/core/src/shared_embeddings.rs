use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor};
use burnformer_kernels::{ComputeType, RandomKey};

use crate::config::EmbeddingSharing;
use crate::conventions::{EmbeddingScale, OutputBias};
use crate::embedding::TokenEmbedding;
use crate::init;
use crate::linear::Linear;
use crate::precision::Precision;

/// The embeddings of source and target and the output projection. Two or all three of them may be one matrix
/// (paper §3.4).
///
/// In the names of parameters, these fields count as fields of the model that holds them: `embedding.weight`, not
/// `embeddings.embedding.weight`.
#[derive(Module, Debug)]
pub struct SharedEmbeddings {
    /// The matrix of source, target and output, if all three share it.
    pub embedding: Option<TokenEmbedding>,
    /// The embedding of the source, if it has its own.
    pub source_embedding: Option<TokenEmbedding>,
    /// The embedding of the target, if it has its own.
    pub target_embedding: Option<TokenEmbedding>,
    /// The output projection, without bias, if it has its own matrix.
    pub generator: Option<Linear>,
    /// `[target_vocab]`, added to logits, where they have a bias.
    pub output_bias: Option<Param<Tensor<1>>>,
}

impl SharedEmbeddings {
    /// Embeddings for the source and target `vocabularies` with `d_model` features, shared according to `sharing`. The
    /// initial weights are a function of `key`.
    pub fn new(
        [source_vocab, target_vocab]: [usize; 2],
        d_model: usize,
        sharing: EmbeddingSharing,
        key: RandomKey,
        device: &Device,
    ) -> Self {
        let embed = |vocab, place| TokenEmbedding::new(vocab, d_model, key.fold(place), device);
        let shared = sharing == EmbeddingSharing::All;
        let untied = sharing == EmbeddingSharing::None;
        Self {
            embedding: shared.then(|| embed(target_vocab, 0)),
            source_embedding: (!shared).then(|| embed(source_vocab, 1)),
            target_embedding: (!shared).then(|| embed(target_vocab, 2)),
            generator: untied
                .then(|| Linear::without_bias(d_model, target_vocab, key.fold(3), device)),
            output_bias: None,
        }
    }

    /// Multiplies embeddings by `scale` instead of √d_model.
    pub fn with_scale(self, scale: EmbeddingScale) -> Self {
        let scaled = |own: Option<TokenEmbedding>| own.map(|own| own.with_scale(scale));
        Self {
            embedding: scaled(self.embedding),
            source_embedding: scaled(self.source_embedding),
            target_embedding: scaled(self.target_embedding),
            ..self
        }
    }

    /// Adds a bias of zeros to logits if `bias` says so.
    pub fn with_output_bias(self, bias: OutputBias, device: &Device) -> Self {
        let [_, target_vocab] = self.vocabularies();
        let zeros = match bias {
            OutputBias::None => None,
            OutputBias::PerPiece => Some(init::constant(0.0, target_vocab, device)),
        };
        Self { output_bias: zeros, ..self }
    }

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

    /// The output projection to the tokens `ids` alone, in this order, for inference: `[.., d_model]` → `[.., ids]`. It is
    /// packed if the whole one is.
    ///
    /// # Panics
    /// If one of `ids` is not below the number of tokens of the target.
    pub fn select(&self, ids: &[u32]) -> Linear {
        let bias = self.output_bias.as_ref().map(Param::val);
        match &self.generator {
            None => self.of_target().select(ids, bias),
            Some(generator) => generator.select(ids, bias),
        }
    }

    /// Packs the output projection for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self, compute: ComputeType) {
        match &mut self.generator {
            Some(generator) => generator.pack_beside(compute),
            None => self.of_target_mut().pack(compute),
        }
    }

    /// Sets the number type of the matrix product in [`logits`](Self::logits). Looking up rows stays in float32.
    pub fn set_precision(&mut self, precision: Precision) {
        match &mut self.generator {
            Some(generator) => generator.set_precision(precision),
            None => self.of_target_mut().set_precision(precision),
        }
    }

    fn of_source(&self) -> &TokenEmbedding {
        let own = self.source_embedding.as_ref().or(self.embedding.as_ref());
        own.expect("the source has an embedding")
    }

    fn of_target(&self) -> &TokenEmbedding {
        let own = self.target_embedding.as_ref().or(self.embedding.as_ref());
        own.expect("the target has an embedding")
    }

    fn of_target_mut(&mut self) -> &mut TokenEmbedding {
        let own = self.target_embedding.as_mut().or(self.embedding.as_mut());
        own.expect("the target has an embedding")
    }
}

impl EmbeddingSharing {
    /// Number of rows of all matrices together, for vocabularies of these sizes. Times d_model it is the number of
    /// parameters.
    pub fn rows(self, [source_vocab, target_vocab]: [usize; 2]) -> usize {
        match self {
            Self::All => target_vocab,
            Self::Target => source_vocab + target_vocab,
            Self::None => source_vocab + 2 * target_vocab,
        }
    }
}
