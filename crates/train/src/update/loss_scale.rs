use serde::{Deserialize, Serialize};

use crate::float_text;

/// The factor of the first update of a run.
pub(super) const START: f64 = 65_536.0;
/// The number of consecutive finite gradients before the factor is doubled.
const GROWTH_INTERVAL: u64 = 2_000;

/// The factor on the loss that brings its gradients into the range of float16. The gradients are
/// divided by it again in float32 (Micikevicius et al., 2018, §3.2).
///
/// The factor adapts with the constants of `torch.amp.GradScaler`: it is halved when a gradient
/// overflows, and doubled after 2,000 updates without overflow. It is a power of two and changes no
/// bit of a gradient in the range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossScale {
    #[serde(with = "float_text")]
    pub(super) factor: f64,
    /// The number of updates with a finite gradient since the factor changed.
    pub(super) good: u64,
}

impl Default for LossScale {
    fn default() -> Self {
        Self {
            factor: START,
            good: 0,
        }
    }
}

impl LossScale {
    /// The current factor, a power of two.
    pub fn factor(self) -> f64 {
        self.factor
    }

    /// Records whether the gradient of an update was finite. Returns false if it was not and the
    /// factor cannot be lowered: the gradient itself is not finite then.
    pub(crate) fn answers(&mut self, finite: bool) -> bool {
        self.good = if finite { self.good + 1 } else { 0 };
        if !finite && self.factor <= 1.0 {
            return false;
        }
        if !finite {
            self.factor /= 2.0;
        } else if self.good == GROWTH_INTERVAL {
            *self = Self {
                factor: 2.0 * self.factor,
                good: 0,
            };
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_halved_by_an_overflow_down_to_1() {
        let mut scale = LossScale::default();
        for halvings in 1..=16 {
            assert!(scale.answers(false));
            assert_eq!(scale.factor(), 65_536.0 / f64::from(1 << halvings));
        }
        assert_eq!(scale.factor(), 1.0);
        assert!(!scale.answers(false), "nothing left to lower");
        assert_eq!(scale.factor(), 1.0);
    }

    #[test]
    fn the_factor_doubles_after_2000_good_updates_in_a_row() {
        let mut scale = LossScale::default();
        (0..1_999).for_each(|_| assert!(scale.answers(true)));
        assert_eq!(scale.factor(), 65_536.0);
        assert!(scale.answers(false));
        (0..1_999).for_each(|_| assert!(scale.answers(true)));
        assert_eq!(
            scale.factor(),
            32_768.0,
            "the overflow began the count anew"
        );
        scale.answers(true);
        assert_eq!(scale.factor(), 65_536.0);
        (0..1_999).for_each(|_| assert!(scale.answers(true)));
        assert_eq!(scale.factor(), 65_536.0, "so did the doubling");
    }

    #[test]
    fn a_saved_scale_counts_on() {
        let mut scale = LossScale::default();
        (0..1_999).for_each(|_| assert!(scale.answers(true)));
        let saved = serde_json::to_vec(&scale).unwrap();
        let mut resumed: LossScale = serde_json::from_slice(&saved).unwrap();
        assert_eq!(resumed, scale);
        resumed.answers(true);
        assert_eq!(resumed.factor(), 131_072.0);
    }
}
