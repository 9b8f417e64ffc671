//! Attention weights as plain numbers, with the tokens of their rows and columns, and word
//! alignment.

use burnformer_data::Tokenizer;

/// The largest number of linked tokens on each side. Time and memory of attention weights grow with
/// the product of the lengths.
pub const MAX_LINKED_TOKENS: usize = 400;

/// The weights of one attention head. The weights of each query sum to 1 over the keys, or to 0 if
/// the query sees no key.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadWeights {
    /// The number of rows: query positions.
    pub queries: usize,
    /// The number of columns: key positions.
    pub keys: usize,
    /// The weights, `[queries, keys]` in row-major order.
    pub values: Vec<f32>,
}

impl HeadWeights {
    /// The weights of the query `query` over the keys.
    pub fn row(&self, query: usize) -> &[f32] {
        &self.values[query * self.keys..(query + 1) * self.keys]
    }

    /// Returns the mean of `heads`, which must have equal sizes.
    ///
    /// # Panics
    /// Panics if `heads` is empty or their sizes differ.
    pub fn mean(heads: &[Self]) -> Self {
        let &Self { queries, keys, .. } = heads.first().expect("at least one head");
        let mut values = vec![0.0; queries * keys];
        for head in heads {
            assert_eq!(
                (head.queries, head.keys),
                (queries, keys),
                "heads of one size"
            );
            values
                .iter_mut()
                .zip(&head.values)
                .for_each(|(sum, weight)| *sum += weight);
        }
        values.iter_mut().for_each(|sum| *sum /= heads.len() as f32);
        Self {
            queries,
            keys,
            values,
        }
    }
}

/// The weights of every layer and head for one sentence pair: `[layer][head]`.
///
/// A kind of attention that the architecture lacks is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttentionWeights {
    /// Self-attention of the encoder: source positions to source positions.
    pub encoder_self: Vec<Vec<HeadWeights>>,
    /// Self-attention of the decoder: target positions to themselves and earlier target positions.
    pub decoder_self: Vec<Vec<HeadWeights>>,
    /// Cross-attention: target positions to source positions.
    pub cross: Vec<Vec<HeadWeights>>,
}

/// One token of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The spelling of the token in the vocabulary: `▁house`, `</s>`.
    pub text: String,
    /// The index of its word, counted from 0; words are separated by white space. `None` for `<s>`,
    /// `</s>` and the tokens of languages.
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
    let words = tokenizer.words_of(ids);
    ids.iter()
        .zip(words)
        .map(|(&id, word)| Piece {
            text: tokenizer.token(id).unwrap_or_else(|| format!("#{id}")),
            word: (!special.contains(&id)).then_some(word),
        })
        .collect()
}

/// The decoder layer and the head of the cross-attention that aligns words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlignmentOptions {
    /// The decoder layer, counted from 0. `None` is the last layer, which aligned words best in
    /// models of two and three layers (`docs/results.md`). In deeper models the last but one may be
    /// better (Garg et al., 2019).
    pub layer: Option<usize>,
    /// The head, counted from 0. `None` is the mean of all heads.
    pub head: Option<usize>,
}

/// Returns pairs of the most attended source word and the target word, as indices, in the order of
/// the target.
///
/// Words are separated by white space. The weight of a source word for a target word is the sum
/// over the tokens of the source word of the mean over the tokens of the target word, at the
/// positions that *predict* the target tokens. `</s>` is not a word. Of equal weights, the earlier
/// source word is chosen. A model without cross-attention, an empty source or an empty target gives
/// no pairs.
///
/// # Panics
/// Panics if the layer or the head of `options` does not exist.
pub fn word_alignment(attention: &Attention, options: AlignmentOptions) -> Vec<(usize, usize)> {
    let layers = &attention.weights.cross;
    if layers.is_empty() {
        return Vec::new();
    }
    let layer = options.layer.unwrap_or(layers.len() - 1);
    let weights = match options.head {
        Some(head) => layers[layer][head].clone(),
        None => HeadWeights::mean(&layers[layer]),
    };
    let words = word_weights(&weights, &attention.target_output, &attention.source);
    words
        .into_iter()
        .enumerate()
        .filter_map(|(target, row)| Some((strongest(&row)?, target)))
        .collect()
}

/// The weights `[target words][source words]`: means over target tokens of sums over source tokens.
fn word_weights(weights: &HeadWeights, queries: &[Piece], keys: &[Piece]) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; word_count(keys)]; word_count(queries)];
    let mut sizes = vec![0usize; sums.len()];
    for (query, piece) in queries.iter().enumerate() {
        let Some(target) = piece.word else { continue };
        sizes[target] += 1;
        for (key, &weight) in keys.iter().zip(weights.row(query)) {
            if let Some(source) = key.word {
                sums[target][source] += f64::from(weight);
            }
        }
    }
    for (row, &size) in sums.iter_mut().zip(&sizes) {
        row.iter_mut().for_each(|sum| *sum /= size.max(1) as f64);
    }
    sums
}

fn word_count(pieces: &[Piece]) -> usize {
    pieces
        .iter()
        .filter_map(|piece| piece.word)
        .max()
        .map_or(0, |last| last + 1)
}

/// The index of the largest weight; the first of several.
pub(crate) fn strongest<T: PartialOrd>(row: &[T]) -> Option<usize> {
    (0..row.len()).reduce(|best, index| if row[index] > row[best] { index } else { best })
}

/// Formats an alignment in Pharaoh format: pairs `source-target`, separated by spaces, such as
/// `0-0 2-1`.
pub fn pharaoh(alignment: &[(usize, usize)]) -> String {
    let pairs = alignment
        .iter()
        .map(|(source, target)| format!("{source}-{target}"));
    pairs.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attention::AttentionWeights;

    #[test]
    fn the_mean_of_heads_is_taken_weight_by_weight() {
        let head = |values| HeadWeights {
            queries: 1,
            keys: 2,
            values,
        };
        let mean = HeadWeights::mean(&[head(vec![1.0, 0.0]), head(vec![0.5, 0.5])]);
        assert_eq!(mean.row(0), [0.75, 0.25]);
    }

    fn pieces(words: &[Option<usize>]) -> Vec<Piece> {
        words
            .iter()
            .map(|&word| Piece {
                text: "x".into(),
                word,
            })
            .collect()
    }

    /// Source: word 0 in one piece, word 1 in two, `</s>`. Target: word 0 in two pieces, word 1,
    /// `</s>`.
    fn example(heads: Vec<Vec<f32>>) -> Attention {
        let heads = heads.into_iter().map(|values| HeadWeights {
            queries: 4,
            keys: 4,
            values,
        });
        Attention {
            source: pieces(&[Some(0), Some(1), Some(1), None]),
            target_input: pieces(&[None, Some(0), Some(0), Some(1)]),
            target_output: pieces(&[Some(0), Some(0), Some(1), None]),
            weights: AttentionWeights {
                cross: vec![heads.collect()],
                ..Default::default()
            },
        }
    }

    fn align(heads: Vec<Vec<f32>>, head: Option<usize>) -> String {
        let options = AlignmentOptions {
            head,
            ..Default::default()
        };
        pharaoh(&word_alignment(&example(heads), options))
    }

    #[rustfmt::skip]
    const SPLIT: [f32; 16] = [
        0.4, 0.3, 0.3, 0.0, // word 1 wins by its two pieces together
        0.4, 0.3, 0.3, 0.0,
        0.3, 0.0, 0.0, 0.7, // </s> is not a word
        0.0, 0.0, 0.0, 1.0,
    ];

    #[test]
    fn pieces_of_a_source_word_add_up_and_the_end_is_no_word() {
        assert_eq!(align(vec![SPLIT.to_vec()], None), "1-0 0-1");
    }

    #[test]
    fn pieces_of_a_target_word_are_averaged() {
        let mut weights = SPLIT;
        weights[..4].copy_from_slice(&[1.0, 0.0, 0.0, 0.0]);
        // Word 0 has (1.0 + 0.4) / 2 of target word 0, word 1 has 0.6 / 2.
        assert_eq!(align(vec![weights.to_vec()], None), "0-0 0-1");
    }

    #[test]
    fn heads_are_averaged_unless_one_is_chosen() {
        let first = [[1.0, 0.0, 0.0, 0.0]; 4].concat();
        let second = [[0.1, 0.8, 0.1, 0.0]; 4].concat();
        let heads = vec![first, second];
        assert_eq!(align(heads.clone(), None), "0-0 0-1");
        assert_eq!(align(heads, Some(1)), "1-0 1-1");
    }

    #[test]
    fn of_equal_weights_the_earlier_word_wins() {
        assert_eq!(
            align(vec![[[0.4, 0.2, 0.2, 0.2]; 4].concat()], None),
            "0-0 0-1"
        );
    }

    #[test]
    fn an_empty_side_has_no_links() {
        let mut attention = example(vec![SPLIT.to_vec()]);
        attention
            .source
            .iter_mut()
            .for_each(|piece| piece.word = None);
        assert_eq!(word_alignment(&attention, AlignmentOptions::default()), []);
    }

    #[test]
    fn the_last_layer_is_the_default() {
        let mut attention = example(vec![SPLIT.to_vec()]);
        let first = example(vec![[[1.0, 0.0, 0.0, 0.0]; 4].concat()])
            .weights
            .cross
            .remove(0);
        attention.weights.cross.insert(0, first);
        let align = |layer| {
            let options = AlignmentOptions {
                layer,
                ..Default::default()
            };
            pharaoh(&word_alignment(&attention, options))
        };
        assert_eq!(align(None), align(Some(1)));
        assert_eq!([align(Some(0)), align(Some(1))], ["0-0 0-1", "1-0 0-1"]);
    }
}
