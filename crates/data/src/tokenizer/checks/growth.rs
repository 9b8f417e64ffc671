//! Limits on how much longer a text can become, and the error for a refused tokeniser file.

use serde::Serialize;
use serde_json::Value;

/// Largest length of a normalised text, as a multiple of its length before. Forty replacements that
/// double a text fill any memory. Real tokenisers stay below 3,000 by the cautious estimates used
/// here (ALBERT's).
pub(super) const MAX_ENCODING: f64 = 4_000.0;
/// Largest length of a decoded text, as a multiple of the length of its tokens.
pub(super) const MAX_DECODING: f64 = 100.0;

/// Largest number of steps of a normaliser, a pre-tokeniser or a decoder.
const MAX_STEPS: usize = 100;

/// The number of steps so far, and the factor by which they can lengthen a text together.
pub(super) struct Growth {
    factor: f64,
    max: f64,
    steps: usize,
}

impl Growth {
    /// Starts without steps. All steps together may make a text up to `max` times as long.
    pub fn up_to(max: f64) -> Self {
        Self {
            factor: 1.0,
            max,
            steps: 0,
        }
    }

    /// Adds a step of `part` that can make a text `factor` times as long.
    pub fn step(&mut self, part: &str, factor: f64) -> Check {
        self.factor *= factor;
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return refusal(part, format!("it has more than {MAX_STEPS} steps"));
        }
        if self.factor > self.max {
            let message = format!(
                "its steps can make a text more than {} times as long; leave out replacements that lengthen it",
                self.max
            );
            return refusal(part, message);
        }
        Ok(())
    }
}

/// A step in the form of the file, for fields that the library keeps private.
pub(super) fn json(step: &impl Serialize) -> Value {
    serde_json::to_value(step).unwrap_or_default()
}

/// A part of a `tokenizer.json` that cannot be used, with the reason and the remedy.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tokenizer) struct Refusal {
    pub part: String,
    pub message: String,
}

pub(super) type Check<T = ()> = Result<T, Refusal>;

/// Returns the error for `part`.
pub(super) fn refusal<T>(part: &str, message: impl Into<String>) -> Check<T> {
    Err(Refusal {
        part: part.to_owned(),
        message: message.into(),
    })
}
