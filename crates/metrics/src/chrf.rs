//! chrF (Popović, 2015) and chrF++ (Popović, 2017), computed as in sacreBLEU.

use crate::ngram::{self, Counts, Interner};
use crate::signature::{case, yes_no};
use crate::{Metric, MetricError, ReferenceCount, Result, Signature, text};

/// chrF with its options. [`Default`] is chrF2; [`Chrf::plus_plus`] is chrF2++.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chrf {
    /// The longest character n-grams that are counted.
    pub char_order: usize,
    /// The longest word n-grams that are counted: 0 for chrF, 2 for chrF++.
    pub word_order: usize,
    /// β of the F-score: the weight of recall, relative to precision.
    pub beta: u32,
    /// If true, texts are lower-cased before they are compared.
    pub lowercase: bool,
    /// If true, character n-grams include spaces.
    pub whitespace: bool,
    /// If true, the F-scores of all orders are averaged, as chrF++.py does. Otherwise precision and
    /// recall are averaged over the orders that occur.
    pub eps_smoothing: bool,
}

impl Default for Chrf {
    fn default() -> Self {
        Self {
            char_order: 6,
            word_order: 0,
            beta: 2,
            lowercase: false,
            whitespace: false,
            eps_smoothing: false,
        }
    }
}

impl Chrf {
    /// chrF2++: chrF with word n-grams up to 2.
    pub fn plus_plus() -> Self {
        Self {
            word_order: 2,
            ..Self::default()
        }
    }

    fn chars(&self, line: &str) -> Vec<u32> {
        line.chars()
            .filter(|&c| self.whitespace || !text::is_space(c))
            .map(u32::from)
            .collect()
    }

    fn words<'a>(&self, line: &'a str, interner: &mut Interner<'a>) -> Vec<u32> {
        if self.word_order == 0 {
            Vec::new()
        } else {
            interner.ids(text::split(line).flat_map(split_punctuation))
        }
    }

    /// Returns the counted n-grams of characters and of words.
    fn count<'a>(&self, [chars, words]: &'a [Vec<u32>; 2]) -> [NgramCounts<'a>; 2] {
        [(chars, self.char_order), (words, self.word_order)]
            .map(|(tokens, order)| (tokens.len(), order, ngram::count(tokens, order)))
    }
}

/// The length of a sequence, the highest order, and the counted n-grams.
type NgramCounts<'a> = (usize, usize, Counts<'a>);

/// Returns the counts of every order, characters before words, compared with one reference.
fn compare(hypothesis: &[NgramCounts<'_>; 2], reference: &[NgramCounts<'_>; 2]) -> Vec<f64> {
    let pairs = hypothesis.iter().zip(reference);
    pairs
        .flat_map(|(one, other)| orders(one, other))
        .flatten()
        .map(|count| count as f64)
        .collect()
}

/// Hypothesis, reference and matching n-grams of each order.
fn orders(
    (len, max_order, counts): &NgramCounts<'_>,
    (reference_len, _, reference): &NgramCounts<'_>,
) -> impl Iterator<Item = [u64; 3]> {
    let matches = ngram::matches(counts, reference, *max_order);
    (1..).zip(matches).map(move |(order, matches)| {
        let total = ngram::total(*reference_len, order);
        // If the reference is too short for an order, that order does not count against the
        // hypothesis.
        let count = if total > 0 {
            ngram::total(*len, order)
        } else {
            0
        };
        [count, total, matches]
    })
}

/// Splits ASCII punctuation off the end of a word, or else off its beginning: `(hi)` gives `(hi`
/// and `)`, as in chrF++.py.
fn split_punctuation(word: &str) -> impl Iterator<Item = &str> {
    let cut = match (word.chars().next(), word.chars().next_back()) {
        (Some(first), _) if first.len_utf8() == word.len() => word.len(),
        (_, Some(last)) if last.is_ascii_punctuation() => word.len() - 1,
        (Some(first), _) if first.is_ascii_punctuation() => 1,
        _ => word.len(),
    };
    let (head, tail) = word.split_at(cut);
    [head, tail].into_iter().filter(|part| !part.is_empty())
}

/// Returns the F-score, on a scale of 100, of counts per order.
fn f_score(statistics: &[f64], beta: u32, eps_smoothing: bool) -> f64 {
    const EPS: f64 = 1e-16;
    let factor = f64::from(beta).powi(2);
    let mut sum = 0.0;
    let mut precisions = 0.0;
    let mut recalls = 0.0;
    let mut occurring = 0.0;
    for order in statistics.chunks_exact(3) {
        let hypothesis = order[0];
        let reference = order[1];
        let matches = order[2];
        let precision = if hypothesis > 0.0 {
            matches / hypothesis
        } else {
            EPS
        };
        let recall = if reference > 0.0 {
            matches / reference
        } else {
            EPS
        };
        sum += if factor * precision + recall > 0.0 {
            f_measure(factor, precision, recall)
        } else {
            EPS
        };
        if hypothesis > 0.0 && reference > 0.0 {
            precisions += precision;
            recalls += recall;
            occurring += 1.0;
        }
    }
    if eps_smoothing {
        100.0 * sum / (statistics.len() / 3) as f64
    } else if precisions + recalls > 0.0 {
        100.0 * f_measure(factor, precisions / occurring, recalls / occurring)
    } else {
        0.0
    }
}

/// Returns the F-measure with the factor β² of recall.
fn f_measure(factor: f64, precision: f64, recall: f64) -> f64 {
    (1.0 + factor) * precision * recall / (factor * precision + recall)
}

impl Metric for Chrf {
    fn name(&self) -> String {
        format!("chrF{}{}", self.beta, "+".repeat(self.word_order))
    }

    fn signature(&self, references: ReferenceCount) -> Signature {
        Signature::new(references)
            .with("case", case(self.lowercase))
            .with("eff", yes_no(!self.eps_smoothing))
            .with("nc", self.char_order.to_string())
            .with("nw", self.word_order.to_string())
            .with("space", yes_no(self.whitespace))
    }

    fn validate(&self) -> Result<()> {
        if self.width() == 0 {
            return Err(MetricError::ZeroOrder("chrF"));
        }
        Ok(())
    }

    /// Hypothesis, reference and matching n-grams for each order, characters before words.
    fn width(&self) -> usize {
        3 * (self.char_order + self.word_order)
    }

    fn segment(&self, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        let lines = std::iter::once(hypothesis).chain(references.iter().copied());
        let lines: Vec<String> = if self.lowercase {
            lines.map(str::to_lowercase).collect()
        } else {
            lines.map(str::to_owned).collect()
        };
        let mut interner = Interner::default();
        let tokens: Vec<_> = lines
            .iter()
            .map(|line| [self.chars(line), self.words(line, &mut interner)])
            .collect();
        let hypothesis = self.count(&tokens[0]);
        let mut best = Vec::new();
        let mut best_score = -1.0;
        for reference in &tokens[1..] {
            let statistics = compare(&hypothesis, &self.count(reference));
            let score = self.value(&statistics);
            if score > best_score {
                best = statistics;
                best_score = score;
            }
        }
        best
    }

    fn value(&self, statistics: &[f64]) -> f64 {
        f_score(statistics, self.beta, self.eps_smoothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::References;

    #[test]
    fn punctuation_is_split_off_one_end_only() {
        for (word, parts) in [
            ("(hi)", &["(hi", ")"][..]),
            ("(hi", &["(", "hi"]),
            (".", &["."]),
            ("é", &["é"]),
            ("..", &[".", "."]),
            ("«hi»", &["«hi»"]),
        ] {
            assert_eq!(split_punctuation(word).collect::<Vec<_>>(), parts);
        }
    }

    #[test]
    fn names_follow_beta_and_word_order() {
        assert_eq!(Chrf::default().name(), "chrF2");
        assert_eq!(Chrf::plus_plus().name(), "chrF2++");
        assert_eq!(
            Chrf {
                beta: 3,
                word_order: 1,
                ..Chrf::default()
            }
            .name(),
            "chrF3+"
        );
    }

    #[test]
    fn chrf_without_any_order_is_an_error() {
        let nothing = Chrf {
            char_order: 0,
            ..Chrf::default()
        };
        let score = nothing.evaluate(&["a"], &References::of_segment(&["a"]));
        assert_eq!(score, Err(MetricError::ZeroOrder("chrF")));
    }
}
