//! How long a text can become.

use serde::Serialize;
use serde_json::Value;

use super::{Checked, MAX_STEPS, refusal};

/// How many times as long as it was a text may become. Real tokenisers stay below 4,000 by the cautious estimates used
/// here (ALBERT's), and a few replacements that double the text 40 times fill any memory.
const MAX_GROWTH: f64 = 10_000.0;

/// The steps so far, and how many times as long they can make a text.
pub(super) struct Growth {
    factor: f64,
    steps: usize,
}

impl Default for Growth {
    fn default() -> Self {
        Self { factor: 1.0, steps: 0 }
    }
}

impl Growth {
    /// Adds a step of `part` that can make a text `factor` times as long.
    pub fn step(&mut self, part: &str, factor: f64) -> Checked {
        self.factor *= factor;
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return refusal(part, format!("it has more than {MAX_STEPS} steps"));
        }
        if self.factor > MAX_GROWTH {
            let message = format!(
                "its steps can make a text more than {MAX_GROWTH} times as long; leave out replacements that lengthen it"
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
