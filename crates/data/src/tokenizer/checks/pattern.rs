//! Checks regular expressions for constructs that make the library's engine loop forever.
//!
//! The backtracking of the engine is limited to a million steps per match. Two things are not
//! limited. A match that `\K` makes begin before the start of the search is found again and again.
//! A counted repetition of a look-around loops without reading text.

use serde_json::Value;

use super::growth::{Check, refusal};

/// The largest product of the counts of all repetitions of a pattern, as if they were nested.
const MAX_ROUNDS: f64 = 10_000.0;

/// Checks the pattern of a `Split`, which never makes a text longer.
pub(super) fn split(part: &str, step: &Value) -> Check<f64> {
    step["pattern"]["Regex"]
        .as_str()
        .map_or(Ok(()), |pattern| check(part, pattern))?;
    Ok(1.0)
}

/// Checks a `Replace` and returns how many times as long it can make a text.
pub(super) fn replacement(part: &str, step: &Value) -> Check<f64> {
    split(part, step)?;
    let content = step["content"].as_str().unwrap_or_default().len() as f64;
    // A regular expression, like an empty text, can match between all characters.
    Ok(
        match step["pattern"]["String"].as_str().unwrap_or_default().len() {
            0 => 1.0 + content,
            bytes => (content / bytes as f64).max(1.0),
        },
    )
}

fn check(part: &str, pattern: &str) -> Check {
    if keeps_out(pattern) {
        return refusal(
            part,
            format!("the pattern {pattern:?} has \\K; use a look-behind instead"),
        );
    }
    let rounds = rounds(pattern);
    if rounds > MAX_ROUNDS {
        let message = format!(
            "the repetitions {{…}} of the pattern {pattern:?} come to more than {MAX_ROUNDS} rounds; ask for fewer"
        );
        return refusal(part, message);
    }
    Ok(())
}

/// Returns whether the pattern has an unescaped `\K`.
fn keeps_out(pattern: &str) -> bool {
    // Without its escaped backslashes, each other backslash begins an escape.
    pattern.replace(r"\\", "").contains(r"\K")
}

/// Returns the product of the highest counts of all `{n}`, `{n,}` and `{n,m}`. Braces after `\x`,
/// `\u`, `\p` and the like are names of characters and do not count.
fn rounds(pattern: &str) -> f64 {
    let mut rounds = 1.0;
    let mut before = [' '; 2];
    for (at, c) in pattern.char_indices() {
        let names = before[0] == '\\' && "xuUpPkgoN".contains(before[1]);
        if c == '{' && !names {
            rounds *= count(&pattern[at + 1..]).unwrap_or(1.0).max(1.0);
        }
        before = [before[1], c];
    }
    rounds
}

/// Returns the highest number of `n}`, `n,}` or `n,m}` at the start of `text`.
fn count(text: &str) -> Option<f64> {
    let (inside, _) = text.split_once('}')?;
    let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
    let number = high.trim().parse().or(low.trim().parse::<u64>()).ok()?;
    Some(number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_counted_and_names_of_characters_are_not() {
        for (pattern, expected) in [
            (r"\p{N}{1,3}", 3.0),
            (r"[\x{2581}\u{20000}]+", 1.0),
            (r"(?:a{2}){5,}b{,7}", 70.0),
            (r"(?:(?:(?=a)){99999}){88888}", 99999.0 * 88888.0),
            (r"a{b}{", 1.0),
        ] {
            assert_eq!(rounds(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn an_escaped_keep_out_is_text() {
        assert!(keeps_out(r"(?<=\Ka)") && keeps_out(r"\\\K"));
        assert!(!keeps_out(r"\\K") && !keeps_out("K"));
    }
}
