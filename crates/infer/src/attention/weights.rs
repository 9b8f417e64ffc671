use burnformer_data::Tokenizer;

/// The weights of one attention head: each query's row over the keys sums to 1, or to 0 where the
/// query may see no key.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadWeights {
    /// Rows: the positions that attend.
    pub queries: usize,
    /// Columns: the positions attended to.
    pub keys: usize,
    /// Weights `[queries, keys]`, row by row.
    pub values: Vec<f32>,
}

impl HeadWeights {
    /// The weights of `query` over the keys.
    pub fn row(&self, query: usize) -> &[f32] {
        &self.values[query * self.keys..(query + 1) * self.keys]
    }

    /// The mean of `heads`, which must be of one size.
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
/// A kind of attention that an architecture does not have is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttentionWeights {
    /// Source positions attending to the source.
    pub encoder_self: Vec<Vec<HeadWeights>>,
    /// Target positions attending to the target before them.
    pub decoder_self: Vec<Vec<HeadWeights>>,
    /// Target positions attending to the source.
    pub cross: Vec<Vec<HeadWeights>>,
}

/// One token of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its spelling in the vocabulary: `▁house`, `</s>`.
    pub text: String,
    /// The word it belongs to, counted from 0 and separated by white space; `None` for `<s>` and `</s>`.
    pub word: Option<usize>,
}

/// A sentence pair in the model's tokens, and the attention weights of every layer and head.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// The encoder's positions, `</s>` last.
    pub source: Vec<Piece>,
    /// What the decoder reads, `<s>` first.
    pub target_input: Vec<Piece>,
    /// What the decoder predicts at the same positions, `</s>` last.
    pub target_output: Vec<Piece>,
    /// The weights.
    pub weights: AttentionWeights,
}

/// The pieces of `ids`, each with its word unless it is `special`.
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
