use burnformer_data::Tokenizer;

/// The most tokens of each side that are linked. Time and memory of attention weights grow with the
/// product of the lengths.
pub const MOST_LINKED: usize = 400;

/// The weights of one attention head. The weights of each query sum to 1 over the keys, or to 0 if
/// the query sees no key.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadWeights {
    /// The number of rows: the positions that attend.
    pub queries: usize,
    /// The number of columns: the positions attended to.
    pub keys: usize,
    /// The weights, `[queries, keys]` in row-major order.
    pub values: Vec<f32>,
}

impl HeadWeights {
    /// The weights of the query `query` over the keys.
    pub fn row(&self, query: usize) -> &[f32] {
        &self.values[query * self.keys..(query + 1) * self.keys]
    }

    /// The mean of `heads`, which must have equal sizes.
    ///
    /// # Panics
    /// If there are none or their sizes differ.
    pub fn mean(heads: &[Self]) -> Self {
        let &Self { queries, keys, .. } = heads.first().expect("at least one head");
        let mut values = vec![0.0; queries * keys];
        for head in heads {
            assert_eq!((head.queries, head.keys), (queries, keys), "heads of one size");
            values.iter_mut().zip(&head.values).for_each(|(sum, weight)| *sum += weight);
        }
        values.iter_mut().for_each(|sum| *sum /= heads.len() as f32);
        Self { queries, keys, values }
    }
}

/// The weights of every layer and head for one sentence pair: `[layer][head]`.
///
/// A kind of attention that the architecture does not have is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttentionWeights {
    /// Self-attention of the encoder: source positions to source positions.
    pub encoder_self: Vec<Vec<HeadWeights>>,
    /// Self-attention of the decoder: target positions to the earlier target positions and
    /// themselves.
    pub decoder_self: Vec<Vec<HeadWeights>>,
    /// Cross-attention: target positions to source positions.
    pub cross: Vec<Vec<HeadWeights>>,
}

/// One token of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The spelling of the token in the vocabulary: `▁house`, `</s>`.
    pub text: String,
    /// The index of its word, counted from 0; words are separated by white space. `None` for `<s>`
    /// and `</s>`.
    pub word: Option<usize>,
}

/// A sentence pair in the model's tokens, and the attention weights of every layer and head.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// The positions of the encoder; the last is `</s>`.
    pub source: Vec<Piece>,
    /// The input of the decoder; the first token is `<s>`.
    pub target_input: Vec<Piece>,
    /// The tokens that the decoder predicts at the same positions; the last token is `</s>`.
    pub target_output: Vec<Piece>,
    /// The weights of every layer and head.
    pub weights: AttentionWeights,
}

/// The tokens of `ids`, each with the index of its word unless it is `special`.
pub(crate) fn pieces(tokenizer: &Tokenizer, ids: &[u32], special: &[u32]) -> Vec<Piece> {
    let text = |id| tokenizer.token(id).unwrap_or_else(|| format!("#{id}"));
    let words = tokenizer.words_of(ids);
    let piece =
        |(&id, word)| Piece { text: text(id), word: (!special.contains(&id)).then_some(word) };
    ids.iter().zip(words).map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_heads_is_taken_weight_by_weight() {
        let head = |values| HeadWeights { queries: 1, keys: 2, values };
        let mean = HeadWeights::mean(&[head(vec![1.0, 0.0]), head(vec![0.5, 0.5])]);
        assert_eq!(mean.row(0), [0.75, 0.25]);
    }
}
