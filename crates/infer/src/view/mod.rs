//! Attention maps as HTML and text.
//!
//! The functions take plain numbers and return documents, with the same bytes on every machine.
//! Text uses the fonts of the viewing program.
//!
//! | to show | use |
//! |---|---|
//! | attention in a browser | [`page`], [`linked_page`] |
//! | attention in a terminal | [`blocks`] |
//! | the habits of heads over a text | [`HeadHabits`], [`heads_table`] |
//!
//! ```
//! use burnformer_infer::view::{AttentionMatrix, Panel, PanelKind, SentenceAttention, blocks, page};
//!
//! let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
//! let panel = Panel {
//!     kind: PanelKind::Cross,
//!     queries: words("a house"),
//!     keys: words("ein Haus"),
//!     layers: vec![vec![AttentionMatrix::new(2, vec![0.9, 0.1, 0.2, 0.8])]], // one layer, one head
//! };
//! let mean = panel.weights(0, None).expect("there is a layer");
//! println!("{}", blocks(&panel.queries, &panel.keys, &mean));
//!
//! let sentence = SentenceAttention {
//!     source: "ein Haus".into(),
//!     target: "a house".into(),
//!     alignment: vec![(0, 0), (1, 1)],
//!     panels: vec![panel],
//! };
//! assert!(page("Attention", &[sentence]).contains("Haus"));
//! ```

mod blocks;
mod heads;
mod html;
mod translator;

use serde::{Serialize, Serializer};

pub use blocks::blocks;
pub use heads::{HeadHabit, HeadHabits, HeadRole, heads_table};
pub use html::{PAGE_SCRIPT, PAGE_STYLE, linked_page, page};

/// The attention weights of one head: one row per query, one column per key.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionMatrix {
    columns: usize,
    values: Vec<f32>,
}

impl AttentionMatrix {
    /// Creates a matrix with the given number of columns from `values` in row-major order.
    ///
    /// # Panics
    /// Panics if the values do not fill whole rows.
    pub fn new(columns: usize, values: Vec<f32>) -> Self {
        let whole = columns > 0 && values.len().is_multiple_of(columns);
        assert!(
            whole || values.is_empty(),
            "{} values in rows of {columns}",
            values.len()
        );
        Self { columns, values }
    }

    /// The rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.values.chunks_exact(self.columns.max(1))
    }

    /// Returns the mean of matrices of the same size, or an empty matrix if there are none.
    pub fn mean(all: &[Self]) -> Self {
        let Some(first) = all.first() else {
            return Self::new(0, Vec::new());
        };
        let mut values = vec![0.0; first.values.len()];
        for matrix in all {
            values
                .iter_mut()
                .zip(&matrix.values)
                .for_each(|(sum, weight)| *sum += weight);
        }
        values.iter_mut().for_each(|sum| *sum /= all.len() as f32);
        Self {
            columns: first.columns,
            values,
        }
    }
}

/// Serialised as a list of rows.
impl Serialize for AttentionMatrix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows())
    }
}

/// The kind of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PanelKind {
    /// Encoder self-attention: source positions attend to source positions.
    Encoder,
    /// Decoder self-attention: target positions attend to the target positions so far.
    Decoder,
    /// Cross-attention: target positions attend to source positions.
    Cross,
}

impl PanelKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Encoder, Self::Decoder, Self::Cross];

    /// The name of the kind in addresses, JSON and options.
    pub fn name(self) -> &'static str {
        ["encoder", "decoder", "cross"][self as usize]
    }

    /// The name of the kind for readers.
    pub fn title(self) -> &'static str {
        [
            "Encoder self-attention",
            "Decoder self-attention",
            "Cross-attention",
        ][self as usize]
    }
}

/// One kind of attention in every layer and head.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// The kind of attention.
    pub kind: PanelKind,
    /// The query tokens, one per row.
    pub queries: Vec<String>,
    /// The key tokens, one per column.
    pub keys: Vec<String>,
    /// The weights, `[layer][head]`.
    pub layers: Vec<Vec<AttentionMatrix>>,
}

impl Panel {
    /// Returns the weights of `head` in `layer` (both counted from 0), or the mean of all heads if
    /// `head` is `None`. The result is `None` if there is no such layer or head.
    pub fn weights(&self, layer: usize, head: Option<usize>) -> Option<AttentionMatrix> {
        let heads = self.layers.get(layer)?;
        match head {
            Some(head) => heads.get(head).cloned(),
            None => Some(AttentionMatrix::mean(heads)),
        }
    }
}

/// A token for pictures, with a middle dot instead of SentencePiece's `▁`, which looks like a bar.
fn shown(token: &str) -> String {
    token.replace('▁', "·")
}

/// A sentence pair with the attention weights of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SentenceAttention {
    /// The source text.
    pub source: String,
    /// The translation.
    pub target: String,
    /// Aligned words as pairs `(source, target)` of word indices, counted from 0; words are
    /// separated by white space.
    pub alignment: Vec<(usize, usize)>,
    /// The weights for each kind of attention of the model.
    pub panels: Vec<Panel>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Two layers of two heads over three source and two target positions.
    pub(crate) fn sentence() -> SentenceAttention {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let head = |rows: usize, columns: usize, column: usize| {
            let values = (0..rows * columns).map(|i| if i % columns == column { 1.0 } else { 0.0 });
            AttentionMatrix::new(columns, values.collect())
        };
        let panel = |kind, queries: &[&str], keys: &[&str]| {
            let head = |column| head(queries.len(), keys.len(), column % keys.len());
            let layers = vec![vec![head(0), head(1)], vec![head(1), head(2)]];
            Panel {
                kind,
                queries: words(queries),
                keys: words(keys),
                layers,
            }
        };
        SentenceAttention {
            source: "ein <b>".into(),
            target: "a".into(),
            alignment: vec![(0, 0)],
            panels: vec![
                panel(
                    PanelKind::Encoder,
                    &["▁ein", "▁<b>", "</s>"],
                    &["▁ein", "▁<b>", "</s>"],
                ),
                panel(PanelKind::Cross, &["▁a", "</s>"], &["▁ein", "▁<b>", "</s>"]),
            ],
        }
    }

    #[test]
    fn the_mean_of_heads_has_equal_weights() {
        let mean = sentence().panels[1].weights(0, None).unwrap();
        assert_eq!(mean.rows().next().unwrap(), [0.5, 0.5, 0.0]);
        assert_eq!(sentence().panels[1].weights(2, None), None);
        assert_eq!(sentence().panels[1].weights(0, Some(2)), None);
    }

    #[test]
    fn a_matrix_is_rows_in_json() {
        let json = serde_json::to_value(sentence()).unwrap();
        assert_eq!(
            json["panels"][1]["layers"][1][0][0],
            serde_json::json!([0.0, 1.0, 0.0])
        );
        assert_eq!(json["panels"][1]["kind"], "cross");
        assert_eq!(json["alignment"], serde_json::json!([[0, 0]]));
    }
}
