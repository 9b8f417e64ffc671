use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use burnformer_kernels::RandomKey;

use crate::config::EmbeddingSharing;
use crate::embedding::TokenEmbedding;
use crate::linear::Linear;
use crate::precision::Precision;

/// The embeddings of source and target and the projection to the target's vocabulary, of which two or all three may
/// be one matrix (paper §3.4).
///
/// In the names of parameters its fields count as those of the model that holds it: `embedding.weight`, not
/// `embeddings.embedding.weight`.
#[derive(Module, Debug)]
pub struct SharedEmbeddings {
    /// The one matrix of source, target and output, when all share.
    pub embedding: Option<TokenEmbedding>,
    /// The source's own embedding.
    pub source_embedding: Option<TokenEmbedding>,
    /// The target's own embedding.
    pub target_embedding: Option<TokenEmbedding>,
    /// The output's own projection, without bias.
    pub generator: Option<Linear>,
}

impl SharedEmbeddings {
    /// Embeddings of `vocabularies`, source and target, in `d_model` features, shared as `sharing` says.
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
        }
    }

    /// Pieces in the vocabularies of source and target.
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

    /// Projects states to the target's vocabulary: `[.., d_model]` → `[.., target_vocab]`.
    pub fn logits<const D: usize>(&self, states: Tensor<D>) -> Tensor<D> {
        match &self.generator {
            Some(generator) => generator.forward(states),
            None => self.of_target().logits(states),
        }
    }

    /// Arranges the output projection for fast inference, see [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self) {
        match &mut self.generator {
            Some(generator) => generator.pack(),
            None => self.of_target_mut().pack(),
        }
    }

    /// Multiplies [`logits`](Self::logits) in `precision` from now on. Rows are looked up in float32.
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
    /// Rows of all matrices together, over vocabularies of these sizes: times d_model, their parameters.
    pub fn rows(self, [source_vocab, target_vocab]: [usize; 2]) -> usize {
        match self {
            Self::All => target_vocab,
            Self::Target => source_vocab + target_vocab,
            Self::None => source_vocab + 2 * target_vocab,
        }
    }
}
