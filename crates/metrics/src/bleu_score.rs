//! The arithmetic of BLEU, from counts to score.

use std::fmt;
use std::str::FromStr;

use crate::{MetricError, Result};

/// The smoothing of BLEU: how n-gram orders without a match are counted. Chen and Cherry (2014)
/// number the methods.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Smoothing {
    /// The k-th order without a match counts 1/2^k matches (NIST; Chen and Cherry's method 3). This
    /// is sacreBLEU's default.
    #[default]
    Exp,
    /// An order without a match counts this many matches (Chen and Cherry's method 1).
    Floor(f64),
    /// Orders above 1 count this many additional matches and n-grams (Chen and Cherry's method 2).
    AddK(f64),
    /// An order without a match makes the score 0.
    None,
}

impl Smoothing {
    /// sacreBLEU's default for [`Floor`](Self::Floor).
    pub const FLOOR: Self = Self::Floor(0.1);
    /// sacreBLEU's default for [`AddK`](Self::AddK).
    pub const ADD_K: Self = Self::AddK(1.0);

    pub(crate) fn signature(self) -> String {
        match self {
            Self::Exp => "exp".into(),
            Self::Floor(value) => format!("floor[{value:.2}]"),
            Self::AddK(value) => format!("add-k[{value:.2}]"),
            Self::None => "none".into(),
        }
    }
}

impl FromStr for Smoothing {
    type Err = MetricError;

    /// Reads sacreBLEU's names `exp`, `floor`, `add-k` and `none`; the values are sacreBLEU's
    /// defaults.
    fn from_str(name: &str) -> Result<Self> {
        match name {
            "exp" => Ok(Self::Exp),
            "floor" => Ok(Self::FLOOR),
            "add-k" => Ok(Self::ADD_K),
            "none" => Ok(Self::None),
            _ => Err(MetricError::UnknownSmoothing(name.into())),
        }
    }
}

/// A BLEU score with the values behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct BleuScore {
    /// BLEU on a scale of 100.
    pub score: f64,
    /// Smoothed precisions in percent, one per n-gram order.
    pub precisions: Vec<f64>,
    /// Matched n-grams per order, before smoothing. With `add-k` smoothing the addend is included,
    /// as in sacreBLEU.
    pub counts: Vec<u64>,
    /// N-grams of the hypotheses per order, before smoothing.
    pub totals: Vec<u64>,
    /// The brevity penalty: 1 if the hypotheses are at least as long as the references, else exp(1
    /// − r/c) for lengths r and c.
    pub bp: f64,
    /// Length of the hypotheses divided by the length of the references; 0 if the references are
    /// empty.
    pub ratio: f64,
    /// Number of words in the hypotheses.
    pub sys_len: u64,
    /// Number of words in the references. For each segment, the reference that is closest in length
    /// counts.
    pub ref_len: u64,
}

impl BleuScore {
    /// Computes BLEU like `BLEU.compute_bleu` of sacreBLEU from summed statistics: the lengths of
    /// hypotheses and references, the matches per order, the n-grams per order.
    pub(crate) fn new(statistics: &[f64], smoothing: Smoothing, effective_order: bool) -> Self {
        let whole: Vec<u64> = statistics.iter().map(|&value| value as u64).collect();
        let sys_len = whole[0];
        let ref_len = whole[1];
        let (counts, totals) = whole[2..].split_at(whole.len() / 2 - 1);
        let bp = brevity_penalty(sys_len, ref_len);
        let matched = counts.iter().any(|&count| count > 0);
        let (precisions, last_order) = if matched {
            precisions(counts, totals, smoothing)
        } else {
            (vec![0.0; counts.len()], 0)
        };
        let order = if effective_order {
            last_order
        } else {
            counts.len()
        };
        let score = if matched {
            bp * geometric_mean(&precisions[..order])
        } else {
            0.0
        };
        let ratio = if ref_len > 0 {
            sys_len as f64 / ref_len as f64
        } else {
            0.0
        };
        Self {
            score,
            precisions,
            counts: counts.to_vec(),
            totals: totals.to_vec(),
            bp,
            ratio,
            sys_len,
            ref_len,
        }
    }

    /// Returns the details that sacreBLEU prints after the score:
    /// `65.1/40.2/… (BP = 1.000 ratio = … hyp_len = … ref_len = …)`.
    pub fn verbose(&self) -> String {
        let precisions: Vec<_> = self
            .precisions
            .iter()
            .map(|precision| format!("{precision:.1}"))
            .collect();
        format!(
            "{} (BP = {:.3} ratio = {:.3} hyp_len = {} ref_len = {})",
            precisions.join("/"),
            self.bp,
            self.ratio,
            self.sys_len,
            self.ref_len
        )
    }
}

impl fmt::Display for BleuScore {
    /// Writes sacreBLEU's line without a signature, with two decimals or with the precision of the
    /// formatter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "BLEU = {:.*} {}",
            f.precision().unwrap_or(2),
            self.score,
            self.verbose()
        )
    }
}

/// Returns the brevity penalty of BLEU: 1 if the hypotheses are at least as long as the references,
/// else exp(1 − r/c) with the reference length r and the hypothesis length c. It is 0 if there are
/// no words.
fn brevity_penalty(sys_len: u64, ref_len: u64) -> f64 {
    match (sys_len, ref_len) {
        (sys, reference) if sys >= reference => 1.0,
        (0, _) => 0.0,
        (sys, reference) => (1.0 - reference as f64 / sys as f64).exp(),
    }
}

/// Smoothed precisions in percent, and the last order with n-grams in the hypotheses.
fn precisions(counts: &[u64], totals: &[u64], smoothing: Smoothing) -> (Vec<f64>, usize) {
    let mut precisions = vec![0.0; counts.len()];
    let mut last_order = 0;
    let mut halving = 1.0;
    for (i, (&count, &total)) in counts.iter().zip(totals).enumerate() {
        let addend = if let (Smoothing::AddK(k), 1..) = (smoothing, i) {
            k
        } else {
            0.0
        };
        let count = count as f64 + addend;
        let total = total as f64 + addend;
        if total == 0.0 {
            break;
        }
        last_order = i + 1;
        precisions[i] = match smoothing {
            _ if count != 0.0 => 100.0 * count / total,
            Smoothing::Exp => {
                halving *= 2.0;
                100.0 / (halving * total)
            }
            Smoothing::Floor(value) => 100.0 * value / total,
            Smoothing::AddK(_) | Smoothing::None => 0.0,
        };
    }
    (precisions, last_order)
}

// sacreBLEU uses a very low value for the logarithm of 0, so that the exponential of the mean is 0.
fn geometric_mean(precisions: &[f64]) -> f64 {
    let logs = precisions.iter().map(|&precision| {
        if precision == 0.0 {
            -9_999_999_999.0
        } else {
            precision.ln()
        }
    });
    (logs.sum::<f64>() / precisions.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two words of four match.
    const LITTLE: [f64; 10] = [4.0, 4.0, 2.0, 0.0, 0.0, 0.0, 4.0, 3.0, 2.0, 1.0];

    #[test]
    fn smoothing_is_named_as_in_sacrebleu() {
        assert_eq!("add-k".parse(), Ok(Smoothing::AddK(1.0)));
        assert_eq!(Smoothing::Floor(0.1).signature(), "floor[0.10]");
        let error = MetricError::UnknownSmoothing("laplace".into());
        assert_eq!("laplace".parse::<Smoothing>(), Err(error));
    }

    #[test]
    fn only_short_hypotheses_are_penalised() {
        assert_eq!(brevity_penalty(10, 10), 1.0);
        assert_eq!(brevity_penalty(11, 10), 1.0);
        assert_eq!(brevity_penalty(0, 10), 0.0);
        assert_eq!(brevity_penalty(0, 0), 1.0);
        assert!((brevity_penalty(5, 10) - (-1.0f64).exp()).abs() < 1e-15);
    }

    #[test]
    fn exp_smoothing_halves_with_every_empty_order() {
        let score = BleuScore::new(&LITTLE, Smoothing::Exp, false);
        assert_eq!(
            score.precisions,
            [50.0, 100.0 / 6.0, 100.0 / 8.0, 100.0 / 8.0]
        );
    }

    #[test]
    fn without_smoothing_an_empty_order_makes_the_score_zero() {
        let score = BleuScore::new(&LITTLE, Smoothing::None, false);
        assert_eq!(score.score, 0.0);
    }

    #[test]
    fn effective_order_leaves_out_orders_longer_than_the_text() {
        let short = [2.0, 2.0, 2.0, 1.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0];
        let effective = BleuScore::new(&short, Smoothing::Exp, true);
        assert!((effective.score - 100.0).abs() < 1e-9);
        let all = BleuScore::new(&short, Smoothing::Exp, false);
        assert_eq!(all.score, 0.0);
    }
}
