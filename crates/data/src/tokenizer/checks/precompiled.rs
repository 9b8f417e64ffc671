//! Checks SentencePiece's table of replacements: a double-array trie over bytes, and the texts to which its values
//! point.
//!
//! The library follows the trie without checking its bounds. This module follows every path through it once.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::refusal::{Checked, refusal};

const PART: &str = "normalizer (Precompiled)";
/// The key of the table in a `Precompiled` normaliser.
const KEY: &str = "precompiled_charsmap";
/// Size of the largest accepted table in bytes. The tables of SentencePiece's models have about 300,000 bytes.
const LARGEST: usize = 16 << 20;

/// Calls `check` with every object in `json` that has a table, at any depth.
pub(super) fn every(json: &Value, check: &mut dyn FnMut(&Value) -> Checked) -> Checked {
    match json {
        Value::Object(fields) => {
            if fields.contains_key(KEY) {
                check(json)?;
            }
            fields.values().try_for_each(|field| every(field, check))
        }
        Value::Array(items) => items.iter().try_for_each(|item| every(item, check)),
        _ => Ok(()),
    }
}

/// How many times as long the table can make a text.
///
/// # Errors
/// A table that the library would read outside of its bounds.
pub(super) fn growth(normalizer: &Value) -> Checked<f64> {
    let table = normalizer[KEY].as_str().and_then(|text| STANDARD.decode(text).ok());
    let Some(bytes) = table.filter(|bytes| bytes.len() <= LARGEST) else {
        return refusal(PART, format!("its {KEY} is no Base64 text of at most {LARGEST} bytes"));
    };
    match Table::parse(&bytes).and_then(|table| table.growth()) {
        Some(growth) => Ok(growth),
        None => refusal(
            PART,
            format!(
                "its {KEY} points outside of itself; copy it from the SentencePiece model anew"
            ),
        ),
    }
}

struct Table<'a> {
    units: Vec<usize>,
    texts: &'a str,
}

/// A state of the search: the offset of the units for the next byte, and the smallest number of bytes that lead there.
type State = (usize, usize);

impl<'a> Table<'a> {
    /// Reads the size of the trie in bytes, its units of 32 bits, and the texts, each followed by a NUL.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (size, rest) = bytes.split_first_chunk()?;
        let units = u32::from_le_bytes(*size) as usize / 4 * 4;
        let (units, texts) = rest.split_at_checked(units)?;
        let units = units.as_chunks().0.iter().map(|unit| u32::from_le_bytes(*unit) as usize);
        Some(Self { units: units.collect(), texts: std::str::from_utf8(texts).ok()? })
    }

    /// Follows every path through the trie, the shortest first. Returns `None` if one leaves the table.
    fn growth(&self) -> Option<f64> {
        let mut growth = 1.0_f64;
        let start = offset(*self.units.first()?);
        let mut seen = vec![false; self.units.len()];
        let mut states: Vec<State> = vec![(start, 0)];
        while !states.is_empty() {
            let mut further = Vec::new();
            for (state, length) in states {
                if std::mem::replace(seen.get_mut(state)?, true) {
                    continue;
                }
                // The bytes that occur in UTF-8, except NUL, which ends a search.
                for byte in (1..=0xf4).filter(|byte| !(0xc0..=0xc1).contains(byte)) {
                    let at = state ^ byte;
                    let unit = *self.units.get(at)?;
                    if unit & (1 << 31 | 0xff) != byte {
                        continue;
                    }
                    let next = (at ^ offset(unit), length + 1);
                    if unit & 1 << 8 != 0 {
                        let replacement = self.text(*self.units.get(next.0)?)?;
                        growth = growth.max(replacement.len() as f64 / next.1 as f64);
                    }
                    further.push(next);
                }
            }
            states = further;
        }
        Some(growth)
    }

    /// The text to which a leaf points.
    fn text(&self, leaf: usize) -> Option<&str> {
        self.texts.get(leaf & ((1 << 31) - 1)..)?.split('\0').next()
    }
}

/// The distance from a unit to its children (`darts.h`).
fn offset(unit: usize) -> usize {
    unit >> 10 << ((unit & 1 << 9) >> 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table as a `Precompiled` normaliser holds it.
    fn table(units: &[u32], texts: &str) -> Value {
        let mut bytes = (units.len() as u32 * 4).to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend(texts.bytes());
        serde_json::json!({ KEY: STANDARD.encode(bytes) })
    }

    /// A trie of 256 units that replaces `a` by the text at `value`: the root's children start at 0, `a` has a leaf,
    /// and its value is at unit 1.
    fn replaces_a(value: u32) -> Vec<u32> {
        let mut units = vec![0; 256];
        let a = usize::from(b'a');
        units[a] = u32::from(b'a') | 1 << 8 | ((a as u32 ^ 1) << 10);
        units[1] = value;
        units
    }

    #[test]
    fn a_sound_table_is_measured() {
        assert_eq!(growth(&table(&replaces_a(0), "xyz\0")), Ok(3.0));
        assert_eq!(growth(&table(&replaces_a(2), "xyz\0")), Ok(1.0));
        let parsed = tokenizers::normalizers::Precompiled::from(
            &STANDARD.decode(table(&replaces_a(0), "xyz\0")[KEY].as_str().unwrap()).unwrap(),
        );
        assert_eq!(parsed.unwrap().normalize_string("bab"), "bxyzb");
    }

    #[test]
    fn a_table_that_points_outside_of_itself_is_refused() {
        let short_of_a_block = &replaces_a(0)[..200];
        let mut far = replaces_a(0);
        far[usize::from(b'a')] |= 1 << 30;
        for (units, texts) in [
            (&[0][..], ""),
            (&[][..], "xyz\0"),
            (short_of_a_block, "xyz\0"),
            (&far, "xyz\0"),
            (&replaces_a(5), "xyz\0"),
            (&replaces_a(1), "ä\0"),
        ] {
            let refusal = growth(&table(units, texts)).unwrap_err();
            assert_eq!(refusal.part, PART);
            assert!(refusal.message.contains("outside of itself"), "{refusal:?}");
        }
    }

    #[test]
    fn a_trie_that_claims_more_than_there_is_is_refused() {
        let claim = serde_json::json!({ KEY: STANDARD.encode(u32::MAX.to_le_bytes()) });
        assert!(growth(&claim).unwrap_err().message.contains("outside of itself"));
        for text in ["no base64!", ""] {
            assert!(growth(&serde_json::json!({ KEY: text })).is_err());
        }
    }

    #[test]
    fn a_table_is_found_however_deep_it_is() {
        let mut found = 0;
        let json = serde_json::json!({"normalizers": [{"a": {KEY: ""}}, {KEY: ""}]});
        every(&json, &mut |_| {
            found += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(found, 2);
    }
}
