use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::check;
use super::error::Result;

/// The length penalty of scores.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LengthPenalty {
    /// The log-probability log P, which favours short translations.
    None,
    /// log P per token.
    Average,
    /// log P / ((5 + n) / 6)^α for n tokens, with α ≥ 0: the paper's choice (§6.1) with α 0.6, from
    /// Wu et al., 2016, equation 14. Larger α favours longer translations.
    Gnmt(f64),
    /// log P / n^α for n tokens, with α ≥ 0, as in Hugging Face's transformers, Marian and
    /// CTranslate2; α 1 is `average`.
    Power(f64),
}

impl LengthPenalty {
    pub(super) fn validate(self) -> Result<()> {
        let (name, alpha) = match self {
            Self::Gnmt(alpha) => ("length_penalty.gnmt", alpha),
            Self::Power(alpha) => ("length_penalty.power", alpha),
            Self::None | Self::Average => return Ok(()),
        };
        let good = alpha.is_finite() && alpha >= 0.0;
        check(good, name, &alpha, "a number of at least 0 is needed")
    }

    /// The divisor of the log-probability of a hypothesis of `n` tokens, `</s>` included.
    pub fn divisor(self, n: usize) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Average => n.max(1) as f64,
            Self::Gnmt(alpha) => length_penalty(n, alpha),
            Self::Power(alpha) => (n.max(1) as f64).powf(alpha),
        }
    }
}

impl Default for LengthPenalty {
    fn default() -> Self {
        Self::Gnmt(0.6)
    }
}

/// The length penalty of GNMT for `n` tokens, `</s>` included: ((5 + n) / 6)^α.
pub fn length_penalty(n: usize, alpha: f64) -> f64 {
    ((5.0 + n as f64) / 6.0).powf(alpha)
}
