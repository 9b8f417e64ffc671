//! Checks SentencePiece's table of replacements, which the library follows without checking its
//! bounds.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use burnformer_sentencepiece::Charsmap;
use serde_json::Value;

use super::growth::{Check, refusal};

const PART: &str = "normalizer (Precompiled)";
/// The key of the table in a `Precompiled` normaliser.
const KEY: &str = "precompiled_charsmap";
/// Size of the largest accepted table in bytes. The tables of SentencePiece's models have about
/// 300,000 bytes.
const MAX_BYTES: usize = 16 << 20;

/// Checks every table in `json`, at any depth.
pub(super) fn every(json: &Value) -> Check {
    match json {
        Value::Object(fields) => {
            if fields.contains_key(KEY) {
                growth(json)?;
            }
            fields.values().try_for_each(every)
        }
        Value::Array(items) => items.iter().try_for_each(every),
        _ => Ok(()),
    }
}

/// Returns the factor by which the table can lengthen a text.
///
/// # Errors
/// Returns an error for a table that the library would read outside of its bounds.
pub(super) fn growth(normalizer: &Value) -> Check<f64> {
    let table = normalizer[KEY]
        .as_str()
        .and_then(|text| STANDARD.decode(text).ok());
    let Some(bytes) = table.filter(|bytes| bytes.len() <= MAX_BYTES) else {
        let message = format!("its {KEY} is not Base64 of at most {MAX_BYTES} bytes");
        return refusal(PART, message);
    };
    let Ok(map) = Charsmap::parse(&bytes) else {
        let message = format!(
            "its {KEY} points outside of itself; copy it from the SentencePiece model anew"
        );
        return refusal(PART, message);
    };
    Ok(map.growth())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a table as a `Precompiled` normaliser holds it.
    fn table(units: &[u32], texts: &str) -> Value {
        let mut bytes = (units.len() as u32 * 4).to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend(texts.bytes());
        serde_json::json!({ KEY: STANDARD.encode(bytes) })
    }

    /// Returns a trie of 512 units that replaces `a` by the text at `value`.
    fn replaces_a(value: u32) -> Vec<u32> {
        let mut units = vec![0; 512];
        let a = 256 | usize::from(b'a');
        units[0] = 256 << 10;
        units[a] = u32::from(b'a') | 1 << 8 | ((a as u32 ^ 256) << 10);
        units[256] = 1 << 31 | value;
        units
    }

    #[test]
    fn a_sound_table_is_measured() {
        assert_eq!(growth(&table(&replaces_a(0), "xyz\0")), Ok(3.0));
        assert_eq!(growth(&table(&replaces_a(2), "xyz\0")), Ok(1.0));
        let parsed = tokenizers::normalizers::Precompiled::from(
            &STANDARD
                .decode(table(&replaces_a(0), "xyz\0")[KEY].as_str().unwrap())
                .unwrap(),
        );
        assert_eq!(parsed.unwrap().normalize_string("bab"), "bxyzb");
    }

    #[test]
    fn a_table_that_points_outside_of_itself_is_refused() {
        let short_of_a_block = &replaces_a(0)[..300];
        let mut far = replaces_a(0);
        far[256 | usize::from(b'a')] |= 1 << 30;
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
        assert!(
            growth(&claim)
                .unwrap_err()
                .message
                .contains("outside of itself")
        );
        for text in ["no base64!", ""] {
            assert!(growth(&serde_json::json!({ KEY: text })).is_err());
        }
    }

    #[test]
    fn a_table_is_found_at_any_depth() {
        let good = table(&replaces_a(0), "xyz\0");
        for bad in [
            serde_json::json!({"a": {KEY: ""}}),
            serde_json::json!({KEY: ""}),
        ] {
            assert!(
                every(&serde_json::json!({"normalizers": [good, bad]})).is_err(),
                "{bad}"
            );
        }
        assert_eq!(
            every(&serde_json::json!({"normalizers": [good, 7]})),
            Ok(())
        );
    }
}
