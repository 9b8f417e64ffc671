//! TeX commands that look like placeholders, and ICU messages.

use std::iter::Peekable;
use std::str::CharIndices;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::words::Span;

/// TeX commands that begin like an escape. Commands of four or more letters may have any ending.
const COMMANDS: &str = include_str!("tex.txt");

/// Returns whether `letters` after a backslash are a TeX command.
pub(super) fn is_command(letters: &str) -> bool {
    COMMANDS
        .split_whitespace()
        .any(|name: &str| letters == name || name.len() > 3 && letters.starts_with(name))
}

/// The beginning of an ICU plural or select, and the beginning of an arm.
static ICU: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        r"^\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,\s*(?:offset:\s*\d+)?",
        r"^\s*(=\d+|[\w-]+)\s*\{",
    ]
    .map(|pattern| Regex::new(pattern).expect("a valid pattern"))
});

/// Returns the names and texts of the arms of `text` if it is an ICU plural or select.
pub fn arms(text: &str) -> Vec<[Span; 2]> {
    match message(text, 0) {
        Ok((arms, end)) if end == text.len() => arms,
        _ => Vec::new(),
    }
}

/// Returns the arms and the end of the ICU message that begins at `start`. If there is no valid
/// message, the error is the offset where the search continues.
pub(super) fn message(text: &str, start: usize) -> Result<(Vec<[Span; 2]>, usize), usize> {
    let mut arms = Vec::new();
    let mut has_other = false;
    let first = icu(0, text, start).ok_or(start)?;
    let mut at = start + first[0].len();
    while let Some(arm) = icu(1, text, at) {
        has_other |= &arm[1] == "other";
        let name = arm
            .get(1)
            .map_or(at..at, |name| at + name.start()..at + name.end());
        let begin = at + arm[0].len();
        let end = closing(text, begin).ok_or(text.len())?;
        arms.push([name, begin..end]);
        at = end + 1;
    }
    let rest = text[at..].trim_start();
    if has_other && rest.starts_with('}') {
        Ok((arms, text.len() - rest.len() + 1))
    } else {
        Err(at)
    }
}

/// Returns the match of this pattern at `at`, within the next 120 bytes.
fn icu(pattern: usize, text: &str, at: usize) -> Option<Captures<'_>> {
    ICU[pattern].captures(&text[at..text.floor_char_boundary(at + 120)])
}

fn is_apostrophe((_, next): &(usize, char)) -> bool {
    *next == '\''
}

/// Moves behind the plain text that an apostrophe began. Two apostrophes are one in the text.
fn skip_quoted(chars: &mut Peekable<CharIndices>) {
    if chars.next_if(is_apostrophe).is_some() {
        return;
    }
    while chars.any(|next| is_apostrophe(&next)) && chars.next_if(is_apostrophe).is_some() {}
}

/// Returns the offset of the brace that closes an arm beginning at `start`. After an apostrophe,
/// braces are plain text up to the next apostrophe.
fn closing(text: &str, start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut chars = text[start..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars
                .peek()
                .is_some_and(|(_, next)| "{}#|'".contains(*next)) =>
            {
                skip_quoted(&mut chars);
            }
            '{' => depth += 1,
            '}' if depth == 0 => return Some(start + at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
