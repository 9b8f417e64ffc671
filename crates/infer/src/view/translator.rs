//! Converts the attention of a `Translator` into plain numbers.

use crate::{AlignmentOptions, Attention, HeadWeights, Piece, word_alignment};

use super::{AttentionMatrix, Panel, PanelKind, SentenceAttention};

impl SentenceAttention {
    /// Creates a sentence pair from `source`, its translation `target` and their weights
    /// `attention` by a `Translator`. `alignment` selects the cross-attention for word alignment.
    ///
    /// # Panics
    /// Panics if the layer or the head of `alignment` does not exist.
    pub fn new(
        source: &str,
        target: &str,
        attention: Attention,
        alignment: AlignmentOptions,
    ) -> Self {
        Self {
            source: source.to_string(),
            target: target.to_string(),
            alignment: word_alignment(&attention, alignment),
            panels: panels(attention),
        }
    }
}

fn panels(attention: Attention) -> Vec<Panel> {
    let Attention {
        source,
        target_input,
        target_output,
        weights,
    } = attention;
    let kinds = [
        (PanelKind::Encoder, &source, &source, weights.encoder_self),
        (
            PanelKind::Decoder,
            &target_input,
            &target_input,
            weights.decoder_self,
        ),
        (PanelKind::Cross, &target_output, &source, weights.cross),
    ];
    let present = kinds.into_iter().filter(|(.., layers)| !layers.is_empty());
    present
        .map(|(kind, queries, keys, layers)| Panel {
            kind,
            queries: texts(queries),
            keys: texts(keys),
            layers: layers.into_iter().map(matrices).collect(),
        })
        .collect()
}

fn matrices(heads: Vec<HeadWeights>) -> Vec<AttentionMatrix> {
    heads
        .into_iter()
        .map(|head| AttentionMatrix::new(head.keys, head.values))
        .collect()
}

fn texts(pieces: &[Piece]) -> Vec<String> {
    pieces.iter().map(|piece| piece.text.clone()).collect()
}
