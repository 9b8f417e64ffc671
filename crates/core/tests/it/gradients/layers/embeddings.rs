//! Positions, embeddings, and the loss of their logits.

use burn::module::Param;
use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{
    EmbeddingScale, EmbeddingSharing, OutputBias, PositionalEncoding, PositionalEncodingConfig,
    SharedEmbeddings, SharedEmbeddingsConfig, TokenEmbeddingConfig, label_smoothed_cross_entropy,
};

use super::super::{Parts, error, parts, weighted};
use super::{BATCH, VECTORS, WIDTH, key, vector};

pub(super) fn positions(learned: Option<usize>) -> f64 {
    let config = PositionalEncodingConfig::new(WIDTH).with_learned(learned);
    error(
        |device| parts(config.init_with_key(key(), device), &[VECTORS], device),
        |parts: &Parts<PositionalEncoding>| {
            // Learned positions that nobody reads have a gradient of zero.
            weighted(parts.0.forward(vector(parts, 0), 2))
        },
    )
}

pub(super) const VOCAB: usize = 8;

/// Ids, one of them twice.
pub(super) fn ids(device: &Device) -> Tensor<2, Int> {
    Tensor::from_ints([[5, 6, 7, 2], [6, 2, 0, 0]], device)
}

/// Rows, and logits of the same matrix.
pub(super) fn embedding(fix_norm: bool, scale: EmbeddingScale) -> f64 {
    let config = TokenEmbeddingConfig::new(VOCAB, WIDTH)
        .with_fix_norm(fix_norm)
        .with_scale(scale);
    error(
        |device| parts(config.init_with_key(key(), device), &[], device),
        |parts| {
            let rows = parts.0.forward(ids(&parts.0.weight.device()));
            weighted(parts.0.logits(rows.clone(), None)) + weighted(rows)
        },
    )
}

/// Both sides, and the loss.
pub(super) fn embeddings(sharing: EmbeddingSharing) -> f64 {
    let config = SharedEmbeddingsConfig::new([VOCAB, VOCAB], WIDTH)
        .with_sharing(sharing)
        .with_output_bias(OutputBias::PerPiece);
    error(
        |device| {
            parts(
                config.init_with_key(key(), device),
                &[[BATCH, 4, WIDTH]],
                device,
            )
        },
        |parts: &Parts<SharedEmbeddings>| {
            let (embeddings, states) = (&parts.0, vector(parts, 0));
            let ids = ids(&states.device());
            let loss = embeddings
                .loss(states.clone(), ids.clone(), 0, 0.1)
                .smoothed;
            let [source, target] = [embeddings.source(ids.clone()), embeddings.target(ids)];
            loss + weighted(source)
                + weighted(target * states.clone())
                + weighted(embeddings.logits(states))
        },
    )
}

pub(super) fn loss(smoothing: f64) -> f64 {
    let logits = |device: &Device| vec![Param::from_tensor(Tensor::zeros([BATCH, 4, 9], device))];
    error(logits, |logits| {
        let logits = logits[0].val();
        let targets = ids(&logits.device());
        label_smoothed_cross_entropy(logits, targets, 0, smoothing).smoothed
    })
}
