//! The average behaviour of each attention head over all sentences of a text.

use serde::Serialize;

use super::{AttentionMatrix, PanelKind, SentenceAttention};

/// The most attended positions of a head (after Voita et al., 2019, and Clark et al., 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadRole {
    /// The position before the query.
    Previous,
    /// The position of the query.
    Same,
    /// The position after the query.
    Next,
    /// `<s>`, `</s>` or a punctuation mark: often a position where the head adds little.
    Separator,
    /// The position of the query and its two neighbours. For cross-attention, the source position
    /// at the same share of the length and its two neighbours.
    Diagonal,
}

impl HeadRole {
    const ALL: [Self; 5] = [
        Self::Previous,
        Self::Same,
        Self::Next,
        Self::Separator,
        Self::Diagonal,
    ];

    /// The name of the role in tables and pages.
    pub fn name(self) -> &'static str {
        ["previous", "same", "next", "separator", "diagonal"][self as usize]
    }
}

/// The means of one head over all queries of a text with more than one key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadHabit {
    /// The kind of attention.
    pub part: PanelKind,
    /// The layer, from 1.
    pub layer: usize,
    /// The head, from 1.
    pub head: usize,
    /// The role with more than half of the weight, if there is one.
    pub role: Option<HeadRole>,
    /// The share of the weight on each role: previous, same, next, separator, diagonal. The first
    /// three are 0 in cross-attention, between different texts.
    pub shares: [f64; 5],
    /// The mean entropy of the weights of a query, in nats: 0 if it attends to a single key, ln(n)
    /// if it attends to n keys equally.
    pub entropy: f64,
    /// The mean distance between a query and its keys, weighted by attention, in positions; in
    /// cross-attention, the distance from the diagonal.
    pub distance: f64,
}

/// Accumulates the habits of heads, sentence by sentence.
#[derive(Clone, Debug, Default)]
pub struct HeadHabits {
    /// For each head, the sums over its queries, and their number.
    sums: Vec<(HeadHabit, f64)>,
}

impl HeadHabits {
    /// Returns the habits of the heads over `sentences`, which must come from one model.
    pub fn of(sentences: &[SentenceAttention]) -> Vec<HeadHabit> {
        let mut habits = Self::default();
        sentences.iter().for_each(|sentence| habits.add(sentence));
        habits.means()
    }

    /// Adds the heads of `sentence`. All sentences must come from one model.
    pub fn add(&mut self, sentence: &SentenceAttention) {
        let mut index = 0;
        for panel in &sentence.panels {
            let is_separator: Vec<bool> = panel.keys.iter().map(|key| rests(key)).collect();
            for (layer, heads) in panel.layers.iter().enumerate() {
                for (head, matrix) in heads.iter().enumerate() {
                    if index == self.sums.len() {
                        let zero = HeadHabit::zero(panel.kind, layer + 1, head + 1);
                        self.sums.push((zero, 0.0));
                    }
                    let (sum, queries) = &mut self.sums[index];
                    *queries += sum.add(matrix, &is_separator);
                    index += 1;
                }
            }
        }
    }

    /// Returns the means over all sentences, sorted by kind, layer and head.
    pub fn means(&self) -> Vec<HeadHabit> {
        self.sums
            .iter()
            .map(|(sum, queries)| sum.over(*queries))
            .collect()
    }
}

impl HeadHabit {
    fn zero(part: PanelKind, layer: usize, head: usize) -> Self {
        Self {
            part,
            layer,
            head,
            role: None,
            shares: [0.0; 5],
            entropy: 0.0,
            distance: 0.0,
        }
    }

    /// Adds the rows of `matrix` and returns their number.
    fn add(&mut self, matrix: &AttentionMatrix, is_separator: &[bool]) -> f64 {
        let queries = matrix.rows().len();
        let mut counted = 0.0;
        // The first query of the decoder sees only itself, and so does the query of a single token.
        let alone = usize::from(self.part == PanelKind::Decoder || is_separator.len() == 1);
        for (query, row) in matrix.rows().enumerate().skip(alone) {
            counted += 1.0;
            let center = match self.part {
                PanelKind::Cross => query as f64 * row.len() as f64 / queries as f64,
                _ => query as f64,
            };
            for (key, &weight) in row.iter().enumerate() {
                let weight = f64::from(weight);
                let offset = key as f64 - center;
                let is_self = self.part != PanelKind::Cross;
                let hits = [
                    is_self && offset == -1.0,
                    is_self && offset == 0.0,
                    is_self && offset == 1.0,
                    is_separator[key],
                    offset.abs() <= 1.0,
                ];
                for (share, hit) in self.shares.iter_mut().zip(hits) {
                    *share += if hit { weight } else { 0.0 };
                }
                self.distance += weight * offset.abs();
                self.entropy -= if weight > 0.0 {
                    weight * weight.ln()
                } else {
                    0.0
                };
            }
        }
        counted
    }

    fn over(&self, queries: f64) -> Self {
        let shares = self.shares.map(|sum| mean(sum, queries));
        // The diagonal includes three other roles, so it comes after them.
        let most = (0..4)
            .max_by(|&a, &b| shares[a].total_cmp(&shares[b]))
            .filter(|&i| shares[i] > 0.5);
        let role = most
            .or((shares[4] > 0.5).then_some(4))
            .map(|index| HeadRole::ALL[index]);
        Self {
            role,
            shares,
            entropy: mean(self.entropy, queries),
            distance: mean(self.distance, queries),
            ..self.clone()
        }
    }
}

/// The mean of `count` values with this `sum`; 0 for none.
fn mean(sum: f64, count: f64) -> f64 {
    if count > 0.0 { sum / count } else { 0.0 }
}

/// Returns whether `token` has neither letters nor digits: `<s>`, `</s>`, `▁,`.
fn rests(token: &str) -> bool {
    matches!(token, "<s>" | "</s>") || !token.chars().any(char::is_alphanumeric)
}

/// Formats the habits of heads as a table, one line per head.
pub fn heads_table(habits: &[HeadHabit]) -> String {
    let mut text = format!("{:8} {:>5} {:>4}  {:9}", "part", "layer", "head", "role");
    HeadRole::ALL
        .iter()
        .for_each(|role| text += &format!(" {:>9}", role.name()));
    text += "   entropy  distance\n";
    for habit in habits {
        let role = habit.role.map_or("–", HeadRole::name);
        text += &format!(
            "{:8} {:>5} {:>4}  {role:9}",
            habit.part.name(),
            habit.layer,
            habit.head
        );
        for number in habit.shares.iter().chain([&habit.entropy, &habit.distance]) {
            text += &format!(" {number:>9.2}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Panel;

    /// One head with the single key `looks(i)` for query `i`.
    fn sentence(
        kind: PanelKind,
        tokens: &[&str],
        looks: impl Fn(usize) -> usize,
    ) -> SentenceAttention {
        let tokens: Vec<String> = tokens.iter().map(ToString::to_string).collect();
        let n = tokens.len();
        let cells = (0..n * n).map(|i| f32::from(u8::from(looks(i / n) == i % n)));
        let layers = vec![vec![AttentionMatrix::new(n, cells.collect())]];
        let panel = Panel {
            kind,
            queries: tokens.clone(),
            keys: tokens,
            layers,
        };
        SentenceAttention {
            source: "".into(),
            target: "".into(),
            alignment: vec![],
            panels: vec![panel],
        }
    }

    fn role(kind: PanelKind, looks: impl Fn(usize) -> usize) -> Option<HeadRole> {
        HeadHabits::of(&[sentence(kind, &["▁a", "▁b", "▁c", "▁d", "▁,", "▁e"], looks)])[0].role
    }

    #[test]
    fn heads_are_named_by_their_most_attended_positions() {
        use PanelKind::{Cross, Decoder, Encoder};
        assert_eq!(role(Encoder, |i| (i + 1) % 6), Some(HeadRole::Next));
        assert_eq!(
            role(Decoder, |i| i.saturating_sub(1)),
            Some(HeadRole::Previous)
        );
        assert_eq!(role(Encoder, |i| i), Some(HeadRole::Same));
        assert_eq!(role(Encoder, |_| 4), Some(HeadRole::Separator));
        assert_eq!(role(Cross, |i| i), Some(HeadRole::Diagonal));
        assert_eq!(
            role(Encoder, |i| [1, 0, 3, 2, 5, 4][i]),
            Some(HeadRole::Diagonal)
        );
        assert_eq!(role(Encoder, |i| (i + 3) % 6), None);
    }

    #[test]
    fn entropy_and_distance_are_means_over_all_sentences() {
        let far = sentence(PanelKind::Encoder, &["▁a", "▁b"], |i| 1 - i);
        let even = SentenceAttention {
            panels: vec![Panel {
                layers: vec![vec![AttentionMatrix::new(2, vec![0.5; 4])]],
                ..far.panels[0].clone()
            }],
            ..far.clone()
        };
        let habit = &HeadHabits::of(&[far, even])[0];
        assert!((habit.distance - 0.75).abs() < 1e-9, "{habit:?}");
        assert!((habit.entropy - 0.5 * 2f64.ln()).abs() < 1e-9, "{habit:?}");
        let table = heads_table(std::slice::from_ref(habit));
        assert!(table.contains("encoder      1    1  diagonal "), "{table}");
    }

    #[test]
    fn tokens_without_letters_or_digits_are_separators() {
        assert!(["</s>", "<s>", "▁,", "…"].into_iter().all(rests));
        assert!(!["▁a", "7", "家", "<unk>"].into_iter().any(rests));
    }
}
