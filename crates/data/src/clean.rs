//! Decides which pairs are kept.

use std::collections::HashSet;

use burnformer_text::{numbers_stay, visible};
use serde::{Deserialize, Serialize};

use crate::cleaning_report::CleaningReport;
use crate::corpus::{LinePair, Utf8Policy};
use crate::error::{DataError, Result};
use crate::hash::key_of;

/// The cleaning rules. Lengths are in tokens, without `</s>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct CleaningSettings {
    /// Length of the longest source sentence that is kept.
    pub max_source_len: usize,
    /// Length of the longest target sentence that is kept.
    pub max_target_len: usize,
    /// Drop a pair if one side is more than this number of times as long as the other. `None` keeps
    /// such pairs.
    pub max_length_ratio: Option<f64>,
    /// Drop a pair if its target has other numbers than its source. This field is part of the key
    /// of a cache only if it is set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drop_unlike_numbers: bool,
    /// Drop a pair if both its texts occurred before. This needs 16 bytes of memory per pair.
    pub drop_duplicates: bool,
    /// The treatment of a line that is not UTF-8.
    pub utf8: Utf8Policy,
    /// The token budget of the batches that will be made. A pair that does not fit into a batch by
    /// itself is dropped.
    pub budget: Option<usize>,
    /// Keep pairs with an empty side. They teach nothing, but a text for validation is used whole.
    /// This field is part of the key of a cache only if it is set.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keep_empty: bool,
}

impl Default for CleaningSettings {
    fn default() -> Self {
        Self {
            max_source_len: 256,
            max_target_len: 256,
            max_length_ratio: Some(9.0),
            drop_unlike_numbers: false,
            drop_duplicates: false,
            utf8: Utf8Policy::Error,
            budget: None,
            keep_empty: false,
        }
    }
}

impl CleaningSettings {
    /// Settings that keep every pair of up to `longest` tokens per side, also duplicates and pairs
    /// with an empty side. They are meant for validation text.
    pub fn keep_all(longest: usize, utf8: Utf8Policy) -> Self {
        Self {
            max_source_len: longest,
            max_target_len: longest,
            max_length_ratio: None,
            utf8,
            keep_empty: true,
            ..Self::default()
        }
    }

    /// Checks that every setting is in its range.
    ///
    /// # Errors
    /// Returns [`DataError::InvalidSetting`] for the first setting that is out of its range.
    pub fn validate(&self) -> Result<()> {
        let lengths = [
            ("max_source_len", self.max_source_len),
            ("max_target_len", self.max_target_len),
        ];
        for (name, length) in lengths {
            DataError::check(
                length > 0,
                name,
                length,
                "choose at least 1; the default is 256",
            )?;
        }
        let ratio = self.max_length_ratio.unwrap_or(1.0);
        let remedy = "choose at least 1, or leave it out to keep all";
        DataError::check(ratio >= 1.0, "max_length_ratio", ratio, remedy)
    }

    /// Returns the settings without a budget that drops nothing. The key of a cache is made from
    /// them, and such a budget does not change it.
    pub(crate) fn effective(&self) -> Self {
        let longest = self.max_source_len.max(self.max_target_len);
        Self {
            budget: self.budget.filter(|&budget| budget <= longest),
            ..self.clone()
        }
    }
}

/// Decides on pairs one after another, and counts.
pub(crate) struct Cleaner {
    settings: CleaningSettings,
    seen: HashSet<[u8; 16]>,
    pub report: CleaningReport,
}

impl Cleaner {
    pub fn new(settings: &CleaningSettings) -> Self {
        Self {
            settings: settings.clone(),
            seen: HashSet::new(),
            report: CleaningReport::default(),
        }
    }

    /// Returns whether the pair, with `source` and `target` tokens, is kept.
    pub fn keeps(&mut self, pair: &LinePair, source: usize, target: usize) -> bool {
        let reason = self.reason(pair, source, target);
        self.report.read += 1;
        *reason.unwrap_or(|report| &mut report.kept)(&mut self.report) += 1;
        reason.is_none()
    }

    /// Returns the count of the first reason to drop the pair; `None` if it is kept.
    fn reason(&mut self, pair: &LinePair, source: usize, target: usize) -> Option<Count> {
        let limits = &self.settings;
        let columns = source.max(target) + 1;
        let is_over_budget = limits.budget.is_some_and(|budget| columns > budget);
        // Infinite if one side is empty.
        let ratio = source.max(target) as f64 / source.min(target) as f64;
        let is_unbalanced = limits.max_length_ratio.is_some_and(|max| ratio > max);
        let reasons: [(bool, Count); 6] = [
            (!pair.valid, |report| &mut report.invalid_utf8),
            (source.min(target) == 0 && !limits.keep_empty, |report| {
                &mut report.empty
            }),
            (source > limits.max_source_len, |report| {
                &mut report.source_too_long
            }),
            (target > limits.max_target_len, |report| {
                &mut report.target_too_long
            }),
            (is_over_budget, |report| &mut report.over_budget),
            (is_unbalanced, |report| &mut report.length_ratio),
        ];
        let found = reasons
            .into_iter()
            .find_map(|(is, count)| is.then_some(count));
        let found = found.or_else(|| {
            let is_kept =
                !limits.drop_unlike_numbers || !has_unlike_numbers(&pair.source, &pair.target);
            (!is_kept).then_some(|report| &mut report.unlike_numbers)
        });
        found.or_else(|| {
            let is_new = !limits.drop_duplicates || self.seen.insert(fingerprint(pair));
            (!is_new).then_some(|report| &mut report.duplicate)
        })
    }
}

/// Returns whether `target` has other numbers than `source`. A number that one side spells in
/// words, or leaves out, is not unlike: "18 Jahre" is also "eighteen years", as in a tenth of the
/// pairs with numbers of Tatoeba's German and English sentences.
pub fn has_unlike_numbers(source: &str, target: &str) -> bool {
    target.contains(char::is_numeric) && !numbers_stay(source, target)
}

/// A count of a report.
type Count = fn(&mut CleaningReport) -> &mut u64;

/// Half a SHA-256 of the texts without their invisible characters. The probability that two of
/// 10¹² different pairs have the same one is below 10⁻¹⁴.
fn fingerprint(pair: &LinePair) -> [u8; 16] {
    let source = visible(&pair.source);
    let target = visible(&pair.target);
    let key = key_of(&[source.as_bytes(), target.as_bytes()]);
    std::array::from_fn(|i| key[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(source: &str, target: &str) -> LinePair {
        LinePair {
            line: 1,
            source: source.into(),
            target: target.into(),
            valid: true,
            begins: false,
        }
    }

    #[test]
    fn keep_all_keeps_duplicates_empty_sides_and_any_ratio() {
        let mut cleaner = Cleaner::new(&CleaningSettings::keep_all(10, Utf8Policy::Skip));
        for (source, target) in [(1, 10), (1, 10), (0, 3), (3, 0), (0, 0)] {
            assert!(
                cleaner.keeps(&pair("a", "b"), source, target),
                "{source} {target}"
            );
        }
        assert!(!cleaner.keeps(&pair("a", "b"), 11, 1));
        assert!(!cleaner.keeps(&pair("a", "b"), 1, 11));
        assert!(!cleaner.keeps(
            &LinePair {
                valid: false,
                ..pair("", "")
            },
            0,
            0
        ));
        assert_eq!((cleaner.report.kept, cleaner.report.dropped()), (5, 3));
    }

    #[test]
    fn the_cache_of_training_text_keeps_its_key() {
        let json = serde_json::to_string(&CleaningSettings::default()).unwrap();
        assert!(
            !json.contains("keep_empty") && !json.contains("unlike"),
            "{json}"
        );
    }

    #[test]
    fn every_reason_is_counted_once_and_in_order() {
        let settings = CleaningSettings {
            max_source_len: 10,
            max_target_len: 8,
            max_length_ratio: Some(3.0),
            drop_unlike_numbers: true,
            drop_duplicates: true,
            budget: Some(8),
            ..Default::default()
        };
        let mut cleaner = Cleaner::new(&settings);
        assert!(cleaner.keeps(&pair("a", "b"), 2, 6));
        assert!(!cleaner.keeps(
            &LinePair {
                valid: false,
                ..pair("", "")
            },
            0,
            0
        ));
        assert!(!cleaner.keeps(&pair("", "b"), 0, 3));
        assert!(!cleaner.keeps(&pair("c", "b"), 11, 3));
        assert!(!cleaner.keeps(&pair("c", "b"), 3, 9));
        assert!(!cleaner.keeps(&pair("c", "b"), 8, 8));
        assert!(!cleaner.keeps(&pair("c", "b"), 2, 7));
        assert!(!cleaner.keeps(&pair("7 a", "8 b"), 2, 6));
        assert!(!cleaner.keeps(&pair("a", "b"), 2, 6));
        let expected = CleaningReport {
            read: 9,
            kept: 1,
            invalid_utf8: 1,
            empty: 1,
            source_too_long: 1,
            target_too_long: 1,
            over_budget: 1,
            length_ratio: 1,
            unlike_numbers: 1,
            duplicate: 1,
        };
        assert_eq!(cleaner.report, expected);
        assert_eq!(expected.dropped(), 8);
    }

    /// Values count, not digits, and words may stand for them.
    #[test]
    fn pairs_with_unlike_numbers_are_dropped() {
        let settings = CleaningSettings {
            drop_unlike_numbers: true,
            ..Default::default()
        };
        let mut cleaner = Cleaner::new(&settings);
        for (source, target, is_kept) in [
            ("Er hat 3 Hunde.", "He has 3 dogs.", true),
            ("Er hat 3 Hunde.", "He has three dogs.", true),
            ("Es kostet 1.234,5 Euro.", "It costs 1,234.5 euros.", true),
            ("Er hat Hunde.", "He has dogs.", true),
            ("Er hat 3 Hunde.", "He has 5 dogs.", false),
            ("Er ist 18 Jahre alt.", "He is eighteen.", true),
            ("Er hat 37 Hunde.", "He has 38 dogs.", false),
        ] {
            assert_eq!(
                cleaner.keeps(&pair(source, target), 5, 5),
                is_kept,
                "{source} {target}"
            );
        }
        assert_eq!(cleaner.report.unlike_numbers, 2);
        // Without the setting all are kept, and the report has the form of earlier versions.
        let mut all = Cleaner::new(&CleaningSettings::default());
        assert!(all.keeps(&pair("3", "5"), 1, 1));
        let json = serde_json::to_string(&all.report).unwrap();
        assert!(!json.contains("unlike"), "{json}");
    }

    #[test]
    fn pairs_that_differ_in_invisible_characters_are_duplicates() {
        let settings = CleaningSettings {
            drop_duplicates: true,
            ..Default::default()
        };
        let mut cleaner = Cleaner::new(&settings);
        assert!(cleaner.keeps(&pair("ein Haus", "a house"), 2, 2));
        for c in [
            '\u{AD}', '\u{200B}', '\u{200E}', '\u{FEFF}', '\u{2060}', '\u{1}',
        ] {
            for private_use in [
                pair(&format!("ein{c} Haus"), "a house"),
                pair("ein Haus", &format!("{c}a house")),
            ] {
                assert!(!cleaner.keeps(&private_use, 2, 2), "U+{:04X}", u32::from(c));
            }
        }
        assert!(cleaner.keeps(&pair("Haus", "house"), 1, 1));
    }

    #[test]
    fn the_report_names_only_reasons_that_occurred() {
        let report = CleaningReport {
            read: 10,
            kept: 7,
            empty: 2,
            duplicate: 1,
            ..Default::default()
        };
        assert_eq!(
            report.to_string(),
            "10 pairs read, 7 kept, 3 dropped: 2 empty side, 1 duplicate"
        );
    }

    #[test]
    fn a_budget_that_drops_nothing_does_not_change_the_cache_key() {
        let [none, large, small] = [None, Some(4096), Some(256)].map(|budget| {
            let settings = CleaningSettings {
                budget,
                ..Default::default()
            };
            settings.effective()
        });
        assert_eq!(none, large);
        assert_ne!(none, small);
    }

    #[test]
    fn out_of_range_limits_are_refused() {
        let ratio = CleaningSettings {
            max_length_ratio: Some(0.5),
            ..Default::default()
        }
        .validate()
        .unwrap_err();
        assert!(matches!(
            ratio,
            DataError::InvalidSetting {
                name: "max_length_ratio",
                ..
            }
        ));
        let length = CleaningSettings {
            max_target_len: 0,
            ..Default::default()
        }
        .validate()
        .unwrap_err();
        assert!(matches!(
            length,
            DataError::InvalidSetting {
                name: "max_target_len",
                ..
            }
        ));
    }
}
