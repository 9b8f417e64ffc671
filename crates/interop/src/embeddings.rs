//! Conversions of the vocabularies and positions of a model.
//!
//! [`Embeddings`] are the three matrices over the vocabularies, which each system ties differently.
//! [`recognised`] finds the layout of stored sines and cosines. [`append_padding`] adds padding to
//! models without a padding token.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use burnformer_core::{EmbeddingSharing, OutputBias, Sinusoids};

use crate::pretrained::Pretrained;
use crate::tensors::{Tensor, Tensors};

/// The matrices of source, target and output in a file, `[vocab, d_model]`. Tied matrices are
/// equal, or one in memory.
pub(crate) struct Embeddings {
    pub source: Rc<Tensor>,
    pub target: Rc<Tensor>,
    pub output: Rc<Tensor>,
}

impl Embeddings {
    /// Returns the sharing of embeddings, by comparison of the matrices.
    pub fn sharing(&self) -> EmbeddingSharing {
        let is_tied = |a: &Rc<Tensor>, b| Rc::ptr_eq(a, b) || a == b;
        let is_output_tied = is_tied(&self.target, &self.output);
        match (is_output_tied, is_tied(&self.source, &self.target)) {
            (true, true) => EmbeddingSharing::All,
            (true, false) => EmbeddingSharing::Target,
            (false, _) => EmbeddingSharing::None,
        }
    }

    /// Converts the embeddings into the weights of a model directory.
    pub fn into_weights(self) -> Tensors {
        let names = names(self.sharing());
        let mut matrices = BTreeMap::new();
        for (name, matrix) in names
            .into_iter()
            .zip([self.source, self.target, self.output])
        {
            matrices.entry(name.to_string()).or_insert(matrix);
        }
        matrices
            .into_iter()
            .map(|(name, matrix)| (name, Rc::unwrap_or_clone(matrix)))
            .collect()
    }
}

/// The names of the matrices of source, target and output in a model directory.
pub(crate) fn names(sharing: EmbeddingSharing) -> [&'static str; 3] {
    let source = "source_embedding.weight";
    let target = "target_embedding.weight";
    match sharing {
        EmbeddingSharing::All => ["embedding.weight"; 3],
        EmbeddingSharing::Target => [source, target, target],
        EmbeddingSharing::None => [source, target, "generator.weight"],
    }
}

/// The layout of sines and cosines in `table`, `[positions, d_model]`, and its first position, one
/// of `starts`; `None` for other values. Values may differ by `tolerance`, since some files round
/// them to float16.
pub(crate) fn recognised(
    table: &Tensor,
    starts: Range<usize>,
    tolerance: f32,
) -> Option<(Sinusoids, usize)> {
    let &[count, width] = &table.shape[..] else {
        return None;
    };
    if width < 4 || !width.is_multiple_of(2) {
        return None;
    }
    let layouts = [
        Sinusoids::Halves,
        Sinusoids::Interleaved,
        Sinusoids::HalvesToEnd,
    ];
    let mut choices = layouts
        .into_iter()
        .flat_map(|layout| starts.clone().map(move |s| (layout, s)));
    choices.find(|&(layout, start)| {
        // Row by row, so that another table fails at its first row.
        (0..count)
            .zip(table.values.chunks(width))
            .all(|(position, row)| {
                let computed = layout.values(position + start..position + start + 1, width);
                row.iter()
                    .zip(&computed)
                    .all(|(a, b)| (a - b).abs() < tolerance)
            })
    })
}

/// The bias of a token that must never be predicted. Its probability is zero in float32, and the
/// loss with label smoothing stays finite.
pub(crate) const IMPOSSIBLE_BIAS: f32 = -1e4;

/// The id of added padding for vocabularies of these sizes: the first id beyond both.
pub(crate) fn padding_id([source_vocab, target_vocab]: [usize; 2]) -> u32 {
    source_vocab.max(target_vocab) as u32
}

/// Adds the configuration's `pad`, a [`padding_id`], to both vocabularies: rows of zeros with a
/// bias of
/// [`IMPOSSIBLE_BIAS`]. The shorter vocabulary is filled up to that id.
pub(crate) fn append_padding(model: &mut Pretrained) {
    let config = &mut model.config;
    let rows = config.pad as usize + 1;
    let before = config.target_vocab;
    (config.source_vocab, config.target_vocab) = (rows, rows);
    let names = [
        "embedding.weight",
        "source_embedding.weight",
        "target_embedding.weight",
        "generator.weight",
    ];
    for name in names {
        if let Some(tensor) = model.weights.get_mut(name) {
            tensor.values.resize(rows * config.d_model, 0.0);
            tensor.shape[0] = rows;
        }
    }
    config.conventions.output_bias = OutputBias::PerPiece;
    let bias = model.weights.entry("output_bias".into());
    let bias = bias.or_insert_with(|| Tensor::new([before], vec![0.0; before]));
    bias.values.resize(rows, IMPOSSIBLE_BIAS);
    bias.shape[0] = rows;
}

/// The name of an unused token.
pub(crate) fn unused(id: usize) -> String {
    format!("<unused{id}>")
}

/// `tokens` with the added tokens of [`append_padding`], `<pad>` last.
pub(crate) fn filled(tokens: &[String], pad: u32) -> Vec<String> {
    let fill = (tokens.len()..pad as usize).map(unused);
    tokens
        .iter()
        .cloned()
        .chain(fill)
        .chain(["<pad>".to_string()])
        .collect()
}
