use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The function by which the score of a hypothesis takes its length into account.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LengthPenalty {
    /// The log-probability log P itself, which favours short translations.
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
    /// The number by which the log-probability of a hypothesis of `n` tokens, `</s>` included, is
    /// divided.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_has_no_penalty_and_seven_with_alpha_one_have_two() {
        assert_eq!(length_penalty(1, 0.6), 1.0);
        assert_eq!(length_penalty(7, 1.0), 2.0);
        assert_eq!(length_penalty(50, 0.0), 1.0);
    }

    #[test]
    fn average_divides_by_the_tokens_and_none_by_one() {
        assert_eq!(LengthPenalty::Average.divisor(4), 4.0);
        assert_eq!(LengthPenalty::None.divisor(4), 1.0);
    }

    #[test]
    fn a_power_of_the_tokens_is_average_at_one_and_none_at_zero() {
        assert_eq!(LengthPenalty::Power(1.0).divisor(4), 4.0);
        assert_eq!(LengthPenalty::Power(0.5).divisor(4), 2.0);
        assert_eq!(LengthPenalty::Power(0.0).divisor(4), 1.0);
    }
}
