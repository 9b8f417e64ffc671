//! The parts of a text that must not be translated: addresses, placeholders, code, numbers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use crate::block::{Atom, AtomKind, Block};
use crate::words::floor;

/// Alternatives in the order of their precedence. A group names the check that follows the pattern, words
/// of other letters than those of ASCII among it: Unicode's `\b` is fifteen times slower.
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let alternatives = [
        // Web addresses; their closing punctuation is removed below.
        r#"(?P<url>(?i:(?-u:\b)(?:https?|ftps?|file|mailto|tel):[^\s<>"'`{}|\\^]+|(?-u:\b)www\.[^\s<>"'`{}|\\^]+))"#,
        r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
        r"`[^`\n]+`",
        // Placeholders of template languages, shells, and printf in C and Python.
        r"\{\{[^{}\n]{0,80}\}\}|\$\{[^{}\n]{1,80}\}|\{[\w.:,\-!\[\]$@#]{0,60}\}",
        // Tags of template languages: Jinja, Liquid, ERB.
        r"\{%(?:[^%\n]|%[^}\n])*%\}|\{#(?:[^#\n]|#[^}\n])*#\}|<%(?:[^%\n]|%[^>\n])*%>",
        r"%\([\w.]+\)[#0+\-]*\d*(?:\.\d+)?[a-zA-Z]|%\d+\$[#0+\-]*\d*(?:\.\d+)?[a-zA-Z]",
        r"(?P<format>%[#0+\-]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[sdiufxXeEgGcp@](?-u:\b))|%[A-Z][A-Z0-9_]+%",
        r"\$[A-Za-z_]\w*",
        r"(?P<outside>:[a-z][a-z0-9_+-]+:)",
        // Files: absolute, from home, relative with an extension, Windows.
        r"(?P<path>(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?|[\w-]+(?:/[\w.-]+)+\.[A-Za-z]\w{0,4}(?-u:\b)|(?-u:\b)[A-Za-z]:\\[^\s<>]+)",
        // Degrees, µm, and words with numerals that are no digits: m², H₂O, ½.
        r"°[CF](?-u:\b)|\u{b5}\w*|\w*\p{No}[\w\p{No}]*",
        // Symbols, currencies and emoji, which many models drop.
        r"(?:[0-9#*]\u{fe0f}?\u{20e3}|[‼⁉〰〽]|[\p{So}§•†‡[[\p{Sm}\p{Sc}]&&[^\x00-\x7f]]])[\p{So}\p{Sk}\p{M}\u{200d}\u{e0020}-\u{e007f}]*",
        r"(?P<number>\d{1,3}(?: \d{3})+(?-u:\b)|\d+(?:[.,'’\u{a0}\u{202f}]\d+)*)",
    ];
    let pattern = RegexBuilder::new(&alternatives.join("|")).dfa_size_limit(16 << 20).build();
    pattern.expect("a valid pattern")
});

/// Adds the other parts of `text` that must stay as they are to `atoms`, which are sorted. Parts that a border of markup cuts are
/// left out.
pub(crate) fn find_atoms(text: &str, borders: &[usize], atoms: &mut Vec<Atom>) {
    let known = atoms.len();
    let mut at = 0;
    while let Some(found) = next_part(text, at) {
        at = found.get(0).map_or(text.len(), |part| part.end());
        let Some((range, kind)) = candidate(text, &found) else {
            continue;
        };
        let overlap = atoms[..known].partition_point(|atom| atom.range.end <= range.start);
        let taken = atoms[..known].get(overlap).is_some_and(|atom| atom.range.start < range.end);
        let border = borders.partition_point(|&border| border <= range.start);
        let cut = borders.get(border).is_some_and(|&border| border < range.end);
        if !taken && !cut {
            atoms.push(Atom { range, node: None, kind });
        }
    }
    atoms.sort_by_key(|atom| atom.range.start);
}

/// The least number of bytes that a search reads ahead.
const REACH: usize = 1024;

/// The first part from `at` on. Reading ends soon after it. Otherwise, in a text of many `1-`, each of them would begin an address
/// whose `@` is searched up to the end of the text.
fn next_part(text: &str, mut at: usize) -> Option<regex::Captures<'_>> {
    let mut reach = REACH;
    loop {
        let limit = floor(text, at + reach);
        let found = PATTERN.captures_at(&text[..limit], at);
        let range = found.as_ref().and_then(|found| Some(found.get(0)?.range()));
        match range {
            _ if limit == text.len() => return found,
            Some(range) if range.end + REACH / 8 <= limit => return found,
            Some(range) if range.start == at => reach *= 2,
            Some(range) => (at, reach) = (range.start, REACH),
            None => (at, reach) = (floor(text, limit - REACH / 8), REACH),
        }
    }
}

fn candidate(text: &str, found: &regex::Captures<'_>) -> Option<(Range<usize>, AtomKind)> {
    let range = found.get(0)?.range();
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if found.name("number").is_some() {
        let spelled = !in_word(before) && !in_word(after);
        return (spelled && is_long(&text[range.clone()])).then_some((range, AtomKind::Number));
    }
    let starts = ["outside", "path", "url"].iter().any(|&name| found.name(name).is_some());
    let ends = ["outside", "path", "format"].iter().any(|&name| found.name(name).is_some());
    if starts && in_word(before) || ends && in_word(after) {
        return None;
    }
    let closes = found.name("url").is_some() || found.name("path").is_some();
    let end = if closes { range.start + without_closing(&text[range.clone()]) } else { range.end };
    Some((range.start..end, AtomKind::Verbatim))
}

/// Short numbers may be written out ("3" as "three"), long ones are copied.
fn is_long(number: &str) -> bool {
    number.chars().filter(|c| c.is_numeric()).count() >= 3 || number.contains(['.', ','])
}

/// Bytes of an address without the punctuation that belongs to the sentence around it.
fn without_closing(address: &str) -> usize {
    let opening = address.matches('(').count();
    let mut closing = address.matches(')').count();
    let square = address.contains('[');
    let mut rest = address;
    loop {
        let shorter =
            rest.trim_end_matches(['.', ',', ';', ':', '!', '?', '…', '。', '，', '”', '»']);
        let round = shorter.ends_with(')') && closing > opening;
        let unopened = round || shorter.ends_with(']') && !square;
        closing -= usize::from(round);
        let shorter = if unopened { &shorter[..shorter.len() - 1] } else { shorter };
        if shorter.len() == rest.len() {
            return rest.len();
        }
        rest = shorter;
    }
}

/// The places of the atoms of `block.text[range]` in `translation`, if it has each of them as often as the source.
pub(crate) fn places(
    block: &Block,
    range: &Range<usize>,
    translation: &str,
) -> Option<Vec<(usize, Range<usize>)>> {
    let atoms = block.atoms_in(range);
    if atoms.is_empty() {
        return Some(Vec::new());
    }
    let source = &block.text[range.clone()];
    if !has_numbers(block, atoms.clone(), translation) {
        return None;
    }
    let mut places = Vec::new();
    for (text, indices) in by_text(block, atoms) {
        let found = occurrences(translation, text);
        let expected = occurrences(source, text);
        if found.len() != expected.len() {
            return None;
        }
        for index in indices {
            let start = block.atoms[index].range.start - range.start;
            let which = expected.iter().position(|place| place.start == start)?;
            places.push((index, found[which].clone()));
        }
    }
    places.sort_by_key(|(_, place)| place.start);
    let disjoint = places.windows(2).all(|pair| pair[0].1.end <= pair[1].1.start);
    disjoint.then_some(places)
}

fn by_text(block: &Block, atoms: Range<usize>) -> BTreeMap<&str, Vec<usize>> {
    let mut all: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for index in atoms.filter(|&index| block.atoms[index].kind == AtomKind::Verbatim) {
        all.entry(&block.text[block.atoms[index].range.clone()]).or_default().push(index);
    }
    all
}

/// The places of `needle` in `text`, unless it is a part of a longer word.
fn occurrences(text: &str, needle: &str) -> Vec<Range<usize>> {
    let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let (starts, ends) = (word(needle.chars().next()), word(needle.chars().next_back()));
    let whole = |range: &Range<usize>| {
        !(starts && word(text[..range.start].chars().next_back())
            || ends && word(text[range.end..].chars().next()))
    };
    // Between scripts without spaces, the words around an address touch it.
    let all = text.match_indices(needle).map(|(start, _)| start..start + needle.len());
    let all: Vec<Range<usize>> = all.collect();
    match all.iter().any(whole) {
        true => all.into_iter().filter(whole).collect(),
        false => all,
    }
}

fn has_numbers(block: &Block, atoms: Range<usize>, translation: &str) -> bool {
    let numbers = atoms.filter(|&index| block.atoms[index].kind == AtomKind::Number);
    let mut missing: BTreeMap<String, usize> = BTreeMap::new();
    for index in numbers {
        *missing.entry(digits(&block.text[block.atoms[index].range.clone()])).or_default() += 1;
    }
    if missing.is_empty() {
        return true;
    }
    for number in NUMBER.find_iter(translation) {
        if let Some(count) = missing.get_mut(&digits(number.as_str())) {
            *count = count.saturating_sub(1);
        }
    }
    missing.values().all(|&count| count == 0)
}

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\d{1,3}(?:[ \u{a0}\u{202f}]\d{3})+(?:[.,٫]\d+)?|\d+(?:[.,'’\u{a0}\u{202f}٫٬]\d+)*")
        .expect("a valid pattern")
});

/// The digits of a number as ASCII, without its separators.
fn digits(number: &str) -> String {
    // Unicode's decimal digits are in rows of ten that begin at these zeros.
    const ZEROS: [u32; 12] =
        [0x30, 0x660, 0x6F0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xBE6, 0xC66, 0xCE6, 0xE50, 0xFF10];
    let digit = |c: char| {
        let code = u32::from(c);
        let zero = ZEROS.into_iter().find(|&zero| (zero..zero + 10).contains(&code))?;
        char::from_digit(code - zero, 10)
    };
    number.chars().filter_map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        let mut atoms = Vec::new();
        find_atoms(text, &[], &mut atoms);
        atoms.into_iter().map(|atom| &text[atom.range]).collect()
    }

    #[test]
    fn addresses_end_before_the_punctuation_of_the_sentence() {
        assert_eq!(
            found("See https://a.org/b_(c)?d=1, or (www.x.de)."),
            ["https://a.org/b_(c)?d=1", "www.x.de"]
        );
        assert_eq!(found("Write to a.b+c@d-e.org."), ["a.b+c@d-e.org"]);
    }

    #[test]
    fn placeholders_of_many_kinds_are_found() {
        let text = "{name} {} {{ x }} ${y} %s %1$d %(z)s %.2f $HOME :smile: %PATH% `a b`";
        let all = [
            "{name}", "{}", "{{ x }}", "${y}", "%s", "%1$d", "%(z)s", "%.2f", "$HOME", ":smile:",
            "%PATH%", "`a b`",
        ];
        assert_eq!(found(text), all);
    }

    #[test]
    fn symbols_and_numerals_that_models_drop_are_found() {
        assert_eq!(
            found("Bei 20 °C kosten ½ Liter H₂O 5 € oder £4, 20 m² und 5 µm nach § 5 • gut ♪"),
            ["°C", "½", "H₂O", "€", "£", "m²", "µm", "§", "•", "♪"]
        );
    }

    #[test]
    fn paths_are_found_and_alternatives_are_not() {
        assert_eq!(
            found("In /usr/bin or ~/x/y or src/main.rs or C:\\a\\b."),
            ["/usr/bin", "~/x/y", "src/main.rs", "C:\\a\\b"]
        );
        assert_eq!(found("He and/or she drives 90 km/h, 100% sure, at 10:30:45."), ["100"]);
    }

    #[test]
    fn long_numbers_are_found_and_short_ones_may_be_written_out() {
        assert_eq!(
            found("In 1998, 3 of 1,234.5 or 12 345 were 3.5 m."),
            ["1998", "1,234.5", "12 345", "3.5"]
        );
    }

    #[test]
    fn separators_of_numbers_may_change_and_digits_may_not() {
        assert_eq!(digits("1,234.5"), digits("1.234,5"));
        assert_eq!(digits("١٩٩٨"), "1998");
        assert_ne!(digits("1234"), digits("1243"));
    }

    #[test]
    fn a_short_name_is_not_found_in_a_word() {
        assert_eq!(occurrences("a cat at a", "a"), [0..1, 9..10]);
    }
}
