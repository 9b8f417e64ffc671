//! How long a text can become.

use serde::Serialize;
use serde_json::Value;

use super::{Checked, MAX_STEPS, refusal};

/// How many times as long as it was a text may become on its way to ids. A few replacements that double the text 40 times
/// fill any memory; real tokenisers stay below 3,000 by the cautious estimates used here (ALBERT's).
pub(super) const ENCODING: f64 = 4_000.0;
/// How many times as long as they were tokens may become on their way to text.
pub(super) const DECODING: f64 = 100.0;

/// The steps so far, and how many times as long they can make a text.
pub(super) struct Growth {
    factor: f64,
    most: f64,
    steps: usize,
}

impl Growth {
    /// No step yet, and `most` times as long at the end of all.
    pub fn up_to(most: f64) -> Self {
        Self { factor: 1.0, most, steps: 0 }
    }

    /// Adds a step of `part` that can make a text `factor` times as long.
    pub fn step(&mut self, part: &str, factor: f64) -> Checked {
        self.factor *= factor;
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return refusal(part, format!("it has more than {MAX_STEPS} steps"));
        }
        if self.factor > self.most {
            let message = format!(
                "its steps can make a text more than {} times as long; leave out replacements that lengthen it",
                self.most
            );
            return refusal(part, message);
        }
        Ok(())
    }
}

/// A step as it stands in the file, for what the library keeps to itself.
pub(super) fn json(step: &impl Serialize) -> Value {
    serde_json::to_value(step).unwrap_or_default()
}
