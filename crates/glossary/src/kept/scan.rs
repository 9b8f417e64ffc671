//! Runs of digits with the separators between them.

use std::ops::Range;

/// Spaces that divide groups of digits.
const SPACES: [char; 4] = [' ', '\u{a0}', '\u{202f}', '\u{2009}'];
/// Separators within numbers, dates, times, ratios and ranges.
const SEPARATORS: [char; 17] = [
    '.', ',', '\'', '’', '٫', '٬', '．', '，', ':', '：', '/', '⁄', '-', '‐', '\u{2011}', '–', '−',
];

/// A digit sequence in ASCII and the separator before it, as one sign of each kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub separator: char,
    pub digits: String,
}

/// The value of a decimal digit of any script.
pub(super) fn digit(c: char) -> Option<char> {
    // Unicode's decimal digits are in rows of ten that begin at these zeros.
    const ZEROS: [u32; 37] = [
        0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66,
        0xDE6, 0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
        0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0,
        0xFF10,
    ];
    let code = u32::from(c);
    let zero = ZEROS[..ZEROS.partition_point(|&zero| zero <= code)].last()?;
    char::from_digit(code - zero, 36).filter(char::is_ascii_digit)
}

/// The runs of `text` from left to right. With `joined`, spaces between groups of three digits
/// belong to a run.
pub(super) fn runs(text: &str, joined: bool) -> Vec<(Range<usize>, Vec<Group>)> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..].find(|c| digit(c).is_some()).map(|begin| at + begin) {
        let (digits, mut end) = digits(text, start);
        let mut groups = vec![Group { separator: ' ', digits }];
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
    let bytes = text[start..].chars().take(digits.len()).map(char::len_utf8).sum::<usize>();
    (digits, start + bytes)
}

/// The group after `groups`, which end at `end`, and its end.
fn next_group(text: &str, end: usize, groups: &[Group], joined: bool) -> Option<(Group, usize)> {
    let separator = text[end..].chars().next()?;
    let (digits, next) = digits(text, end + separator.len_utf8());
    let spaced = joined
        && SPACES.contains(&separator)
        && digits.len() == 3
        && groups[0].digits.len() <= 3
        && groups.last().is_some_and(|group| group.separator == ' ');
    let known = spaced || SEPARATORS.contains(&separator);
    (known && !digits.is_empty()).then(|| (Group { separator: plain(separator), digits }, next))
}

/// One sign for all that have the same meaning.
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
