//! The three matrices over the vocabularies, which each system ties differently.

use burnformer_core::EmbeddingSharing;

use crate::tensors::{Tensor, Tensors};

/// The matrices of source, target and output, `[vocab, d_model]`, as a file gives them: tied ones
/// are equal.
pub(crate) struct Embeddings {
    pub source: Tensor,
    pub target: Tensor,
    pub output: Tensor,
}

impl Embeddings {
    /// The sharing of embeddings, found by comparing the matrices.
    pub fn sharing(&self) -> EmbeddingSharing {
        match (self.target == self.output, self.source == self.target) {
            (true, true) => EmbeddingSharing::All,
            (true, false) => EmbeddingSharing::Target,
            (false, _) => EmbeddingSharing::None,
        }
    }

    /// The weights of a model directory.
    pub fn into_weights(self) -> Tensors {
        let names = names(self.sharing()).map(String::from);
        names.into_iter().zip([self.source, self.target, self.output]).collect()
    }
}

/// The names of the matrices of source, target and output in a model directory.
pub(crate) fn names(sharing: EmbeddingSharing) -> [&'static str; 3] {
    let (source, target) = ("source_embedding.weight", "target_embedding.weight");
    match sharing {
        EmbeddingSharing::All => ["embedding.weight"; 3],
        EmbeddingSharing::Target => [source, target, target],
        EmbeddingSharing::None => [source, target, "generator.weight"],
    }
}
