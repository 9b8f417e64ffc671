//! Runs of digits with the separators between them.

use crate::words::Span;

/// Spaces that separate groups of digits.
const SPACES: [char; 4] = [' ', '\u{a0}', '\u{202f}', '\u{2009}'];
/// Separators in numbers, dates, times, ratios and ranges, with one sign for each kind.
const SEPARATORS: &str = ".,'٫:/-";

/// A digit sequence, converted to ASCII, and the separator before it, as one sign for each kind of
/// separator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub separator: char,
    pub digits: String,
}

/// Returns the value of a decimal digit in any script.
pub(super) fn digit(c: char) -> Option<char> {
    // Unicode's decimal digits come in rows of ten that begin at these zeros.
    const ZEROS: &str = include_str!("zeros.txt");
    let zeros = if c.is_numeric() { ZEROS.trim_end() } else { "" };
    let zero = zeros.chars().rfind(|&zero| zero <= c)?;
    char::from_digit(u32::from(c) - u32::from(zero), 36).filter(char::is_ascii_digit)
}

/// Returns the runs of `text` from left to right. With `joined`, spaces between groups of three
/// digits belong to a run.
pub(super) fn runs(text: &str, joined: bool) -> Vec<(Span, Vec<Group>)> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..]
        .find(|c| digit(c).is_some())
        .map(|begin| at + begin)
    {
        let (digits, mut end) = digits(text, start);
        let mut groups = vec![Group {
            separator: ' ',
            digits,
        }];
        while let Some((group, next)) = next_group(text, end, &groups, joined) {
            groups.push(group);
            end = next;
        }
        at = end;
        all.push((start..end, groups));
    }
    all
}

fn digits(text: &str, start: usize) -> (String, usize) {
    let digits: String = text[start..].chars().map_while(digit).collect();
    let bytes = text[start..]
        .chars()
        .take(digits.len())
        .map(char::len_utf8)
        .sum::<usize>();
    (digits, start + bytes)
}

/// Returns the group after `groups`, which end at `end`, and its end.
fn next_group(text: &str, end: usize, groups: &[Group], joined: bool) -> Option<(Group, usize)> {
    let separator = text[end..].chars().next()?;
    let (digits, next) = digits(text, end + separator.len_utf8());
    let is_space = joined
        && SPACES.contains(&separator)
        && digits.len() == 3
        && groups[0].digits.len() <= 3
        && groups.last().is_some_and(|group| group.separator == ' ');
    let is_separator = is_space || SEPARATORS.contains(plain(separator));
    (is_separator && !digits.is_empty()).then(|| {
        (
            Group {
                separator: plain(separator),
                digits,
            },
            next,
        )
    })
}

/// Returns one sign for all separators of the same meaning.
pub(super) fn plain(separator: char) -> char {
    match separator {
        '．' => '.',
        '，' => ',',
        '’' | '٬' => '\'',
        '：' => ':',
        '⁄' => '/',
        '‐' | '\u{2011}' | '–' | '−' => '-',
        space if SPACES.contains(&space) => ' ',
        other => other,
    }
}
