//! The signs and letters attached to a part, and the spaces beside it.

use super::number::ENDINGS;
use super::words::{month_beside, scale_word, with_units};
use crate::words::{Mark, Span, is_in_word, is_letter, is_unspaced, mark};

/// Maximum number of letters in a word that is kept because it is glued to a part.
const MAX_LETTERS: usize = 24;
/// Maximum number of letters in a word kept with a part although signs separate them.
const MAX_NEAR_LETTERS: usize = 2;
/// Maximum number of signs between a part and a word.
const MAX_SIGNS: usize = 4;

/// Extends `part` by everything attached to it: a currency, a percentage, the full stop of an
/// ordinal number, brackets and quotes, adjacent signs, and words that cannot stand alone.
pub(super) fn glued(source: &str, part: Span) -> Span {
    let mut range = in_brackets(source, with_signs(source, part));
    // Brackets around a part can belong to a name: `f(5).x`.
    for _ in 0..3 {
        let wider = in_brackets(
            source,
            with_words(source, with_signs(source, range.clone())),
        );
        if wider == range {
            break;
        }
        range = wider;
    }
    range
}

/// Extends `part` by its month, or by its multiplier word and its unit, currency or percentage. A
/// space may separate them, and a full stop may follow.
fn with_signs(source: &str, part: Span) -> Span {
    if !source[part.clone()].ends_with(|c: char| c.is_numeric()) {
        return part;
    }
    let month = month_beside(source, &part).map_or(part.clone(), |(_, month)| month);
    let (scale, powers) = scale_word(&source[part.end..]);
    let wider = if powers.is_empty() {
        part.end
    } else {
        part.end + scale.end
    };
    let (Span { mut start, mut end }, _) = with_units(source, part.start..wider);
    (start, end) = (start.min(month.start), end.max(month.end));
    if source[end..]
        .strip_prefix(". ")
        .is_some_and(|rest: &str| rest.starts_with(|c: char| c.is_alphabetic()))
    {
        end += 1;
    }
    start..end
}

/// Extends `part` by the signs beside it with short words after them (`a=5`, `5-s`), by an adjacent
/// ending or unit (`5px`), and by the letters before a number (`A4`). Scripts without case are left
/// out, because they write no spaces between words or attach particles.
fn with_words(source: &str, part: Span) -> Span {
    let before = &source[..part.start];
    let after = &source[part.end..];
    let [left, right] = [beside(before.chars().rev()), beside(after.chars())];
    let is_number = source[part.clone()].starts_with(char::is_numeric);
    let has_left = if left.signs == 0 {
        is_number
    } else {
        left.letters <= MAX_NEAR_LETTERS
    };
    let is_ending = source[part.clone()].ends_with(char::is_numeric)
        && right.signs == 0
        && ENDINGS.contains(&&after[..right.word]);
    let has_right = right.letters <= MAX_NEAR_LETTERS && !is_ending;
    part.start - left.width(has_left)..part.end + right.width(has_right)
}

/// What is glued to one side of a part.
struct Neighbours {
    /// The number of bytes of signs that belong to the part.
    signs: usize,
    /// The number of bytes of the word after them, if it may belong to the part.
    word: usize,
    /// The number of characters in the word.
    letters: usize,
}

impl Neighbours {
    /// Returns the number of bytes of the signs, and of the word if it belongs to the part.
    fn width(&self, has_word: bool) -> usize {
        self.signs + if has_word { self.word } else { 0 }
    }
}

fn beside(chars: impl Iterator<Item = char> + Clone) -> Neighbours {
    let signs: Vec<char> = chars
        .clone()
        .take_while(|c: &char| {
            let apostrophe = matches!(c, '\'' | '’');
            let ascii = matches!(mark(*c), Mark::Terminal | Mark::Separator) && c.is_ascii();
            let other = mark(*c) == Mark::Other && !is_letter(*c);
            !c.is_whitespace() && !is_unspaced(*c) && *c != '`' && (apostrophe || ascii || other)
        })
        .take(MAX_SIGNS)
        .collect();
    let rest = chars.skip(signs.len());
    let is_glued = rest.clone().next().is_some_and(is_letter);
    let word: Vec<char> = rest
        .take_while(|c| is_in_word(*c))
        .take(MAX_LETTERS)
        .collect();
    let has_case = word
        .iter()
        .any(|c| c.is_ascii_alphanumeric() || c.is_lowercase() || c.is_uppercase());
    let is_word = word.len() < MAX_LETTERS && has_case;
    // A comma or full stop without a letter after it belongs to the sentence.
    let count = signs
        .iter()
        .take_while(|c| is_glued || mark(**c) == Mark::Other)
        .count();
    let letters = if is_word && count == signs.len() {
        word.len()
    } else {
        0
    };
    Neighbours {
        signs: bytes(&signs[..count]),
        word: bytes(&word[..letters]),
        letters,
    }
}

/// Returns the number of bytes of `all`.
fn bytes(all: &[char]) -> usize {
    all.iter().map(|c| c.len_utf8()).sum()
}

/// Extends `part` by brackets or quotes directly around it, which would be left empty.
fn in_brackets(source: &str, part: Span) -> Span {
    match around(source, &part).map(|c| c.map(|c| (mark(c), c.len_utf8()))) {
        [Some((Mark::Open, left)), Some((Mark::Close, right))]
        | [Some((Mark::Quote, left)), Some((Mark::Quote, right))] => {
            part.start - left..part.end + right
        }
        _ => part,
    }
}

/// Returns the characters of `source` before and after `range`.
pub(super) fn around(source: &str, range: &Span) -> [Option<char>; 2] {
    [
        source[..range.start].chars().next_back(),
        source[range.end..].chars().next(),
    ]
}

/// Returns whether white space is needed between a part and `neighbour`, the translation's
/// character on its left or, with `right`, on its right. `edges` are the neighbour in the source
/// and the adjacent character of the part. A neighbour that touched the part touches it again.
pub(super) fn needs_space(edges: [Option<char>; 2], neighbour: Option<char>, right: bool) -> bool {
    let Some(next) = neighbour.filter(|c| !c.is_whitespace()) else {
        return false;
    };
    let [source, edge] = edges;
    let is_joint = edge.is_some_and(|c| mark(c) == Mark::Other && c.is_ascii_punctuation());
    let was_glued = source.is_some_and(|c| !c.is_whitespace());
    if was_glued && (is_alike(source, neighbour) || is_joint && !"`%".contains(edge.unwrap_or(' ')))
    {
        return false;
    }
    let touches = if right {
        matches!(mark(next), Mark::Terminal | Mark::Separator | Mark::Close)
    } else {
        mark(next) == Mark::Open || "„“‚-/".contains(next)
    };
    let is_wide = matches!(next, '\u{3000}'..='\u{303F}' | '\u{FF00}'..='\u{FF65}');
    !touches && !is_wide
}

/// Returns whether `neighbour` in the translation corresponds to the part's neighbour in the
/// source: the same letter, the same kind of mark, or both in scripts without case.
pub(super) fn is_alike(source: Option<char>, neighbour: Option<char>) -> bool {
    let (Some(source), Some(next)) = (source, neighbour) else {
        return false;
    };
    let has_no_case =
        |c: char| is_letter(c) && !c.is_numeric() && !c.is_lowercase() && !c.is_uppercase();
    let are_marks = [source, next]
        .iter()
        .all(|&c| !is_letter(c) && !c.is_whitespace());
    source == next
        || source.to_lowercase().eq(next.to_lowercase())
        || has_no_case(source) && has_no_case(next)
        || are_marks && mark(source) == mark(next)
}
