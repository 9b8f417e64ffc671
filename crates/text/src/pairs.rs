//! Signs that come in pairs around words: quotation marks and brackets; and the dash that begins
//! somebody's speech.

use crate::placeables::{Link, PartKind, apply_edits, parts};
use crate::words::{Mark, Span, is_letter, mark, overlap};

/// The kinds of paired signs. A translation may use other signs of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairKind {
    /// Quotation marks of any form.
    Quotes,
    /// `(…)`.
    Round,
    /// `[…]`.
    Square,
}

const KINDS: [PairKind; 3] = [PairKind::Quotes, PairKind::Round, PairKind::Square];

/// Quotation marks by family. An opening mark of one language can close in another, so a mark opens
/// if no mark of its family is open. The last family also has apostrophes.
const QUOTES: [&str; 6] = ["\"“”„‟＂", "«»", "‹›", "「」", "『』", "‘’‚'"];
/// The family with apostrophes.
const APOSTROPHE_FAMILY: usize = QUOTES.len() - 1;
/// Opening and closing brackets.
const BRACKETS: [(&str, &str, PairKind); 2] = [
    ("(（", ")）", PairKind::Round),
    ("[［", "]］", PairKind::Square),
];
/// Dashes before a speech. A hyphen needs a space after it.
const DASHES: [char; 4] = ['–', '—', '―', '‒'];

/// The largest number of nested signs, which bounds the time. Of more, the first have no partner.
const MAX_OPEN: usize = 32;

/// Two signs around a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The kind of the signs.
    pub kind: PairKind,
    /// The byte range of the opening sign.
    pub open: Span,
    /// The byte range of the closing sign.
    pub close: Span,
}

impl Pair {
    /// Returns whether `inner` is between the signs of this pair.
    fn contains(&self, inner: &Self) -> bool {
        self.open.start < inner.open.start && inner.close.end <= self.close.start
    }
}

/// Returns the pairs of signs in `text`, sorted by the closing sign. Signs inside of placeholders
/// and addresses, apostrophes, and signs without a partner do not count.
pub fn pairs(text: &str) -> Vec<Pair> {
    if !text.contains(is_sign) {
        return Vec::new();
    }
    let parts = parts(text);
    let mut verbatim = parts
        .into_iter()
        .filter(|part| part.kind == PartKind::Verbatim)
        .map(|part| part.range)
        .peekable();
    let mut closed_pairs = Vec::new();
    let mut open: Vec<(usize, Span)> = Vec::new();
    for (start, c) in text.char_indices() {
        let range = start..start + c.len_utf8();
        while verbatim.next_if(|part| part.end <= start).is_some() {}
        if verbatim.peek().is_some_and(|part| part.start <= start) {
            continue;
        }
        if let Some(family) = QUOTES.iter().position(|family| family.contains(c)) {
            quote(text, family, range, &mut open, &mut closed_pairs);
        } else if let Some(at) = BRACKETS.iter().position(|(open, ..)| open.contains(c)) {
            push(&mut open, QUOTES.len() + at, range);
        } else if let Some(at) = BRACKETS.iter().position(|(_, close, _)| close.contains(c)) {
            close(QUOTES.len() + at, range, &mut open, &mut closed_pairs);
        }
    }
    closed_pairs
}

/// Returns whether `c` may begin a pair.
fn is_sign(c: char) -> bool {
    QUOTES.iter().any(|family| family.contains(c)) || "([（［".contains(c)
}

/// Opens or closes a pair at the quotation mark `range` of `family`.
fn quote(
    text: &str,
    family: usize,
    range: Span,
    open: &mut Vec<(usize, Span)>,
    found: &mut Vec<Pair>,
) {
    let before = text[..range.start].chars().next_back();
    let after = text[range.end..].chars().next();
    let [word_before, word_after] = [before, after].map(|c| c.is_some_and(is_letter));
    let is_open = open.iter().any(|(other, _)| *other == family);
    if family == APOSTROPHE_FAMILY {
        // Between letters, it is an apostrophe; after a word without an opening mark, too.
        let is_apostrophe = word_before && (word_after || !is_open);
        if is_apostrophe || !is_open && !word_after {
            return;
        }
    }
    if is_open {
        close(family, range, open, found);
    } else {
        push(open, family, range);
    }
}

/// Opens a pair at the sign `range` of `group`.
fn push(open: &mut Vec<(usize, Span)>, group: usize, range: Span) {
    if open.len() == MAX_OPEN {
        open.remove(0);
    }
    open.push((group, range));
}

/// Closes the last open sign of `group`. Signs that were opened after it have no partner.
fn close(group: usize, range: Span, open: &mut Vec<(usize, Span)>, found: &mut Vec<Pair>) {
    let Some(at) = open.iter().rposition(|(other, _)| *other == group) else {
        return;
    };
    let (_, opening) = open.swap_remove(at);
    open.truncate(at);
    let kind = match group.checked_sub(QUOTES.len()) {
        None => PairKind::Quotes,
        Some(bracket) => BRACKETS[bracket].2,
    };
    found.push(Pair {
        kind,
        open: opening,
        close: range,
    });
}

/// Returns the kinds of pairs of which `translation` has fewer than `source`.
pub fn missing_pairs(source: &str, translation: &str) -> Vec<PairKind> {
    let source_pairs = pairs(source);
    if source_pairs.is_empty() {
        return Vec::new();
    }
    let translation_pairs = pairs(translation);
    KINDS
        .into_iter()
        .filter(|kind| count(&translation_pairs, *kind) < count(&source_pairs, *kind))
        .collect()
}

/// Returns the number of pairs of this kind.
fn count(all: &[Pair], kind: PairKind) -> usize {
    all.iter().filter(|pair| pair.kind == kind).count()
}

/// Returns the dash with which `source` begins a speech, if `translation` begins without one.
pub fn missing_dash(source: &str, translation: &str) -> Option<String> {
    let dash = dash(source)?;
    dash_of(translation).is_none().then_some(dash)
}

/// Returns the dash at the beginning of `text` with the white space after it.
fn dash(text: &str) -> Option<String> {
    let end = dash_of(text)?;
    let rest = &text[end..];
    let space = &rest[..rest.len() - rest.trim_start().len()];
    let has_words = rest.contains(is_letter);
    has_words.then(|| [text[..end].trim_start(), space].concat())
}

/// Returns the end of the dash at the beginning of `text`.
fn dash_of(text: &str) -> Option<usize> {
    let rest = text.trim_start();
    let c = rest.chars().next()?;
    let after = &rest[c.len_utf8()..];
    let is_dash = DASHES.contains(&c) || c == '-' && after.starts_with(char::is_whitespace);
    is_dash.then(|| text.len() - after.len())
}

/// Returns `translation` with the paired signs and the dash of `source` that it lacks, around the
/// words that are aligned with the words between them. `align` links the source with a translation.
/// Only the text from the byte `from` on is changed. Returns `None` if nothing is missing, if the
/// places of two pairs cross, or if the source has more than 32 pairs, as each takes a
/// pass over both texts.
pub fn with_pairs(
    source: &str,
    translation: &str,
    align: impl FnOnce(&str) -> Vec<Link>,
    from: usize,
) -> Option<String> {
    let mut source_pairs = pairs(source);
    if source_pairs.len() > MAX_PAIRS {
        return None;
    }
    let kinds = missing_pairs(source, translation);
    let dash = missing_dash(source, translation).filter(|_| from == 0);
    if kinds.is_empty() && dash.is_none() {
        return None;
    }
    source_pairs.retain(|pair| kinds.contains(&pair.kind));
    let text = without_lone_signs(translation, &kinds, from);
    let links = if source_pairs.is_empty() {
        Vec::new()
    } else {
        align(&text)
    };
    let places = places(source, &text, &source_pairs, &links, from)?;
    let mut edits = Vec::new();
    for (pair, place) in source_pairs.iter().zip(&places) {
        let [open, close] = signs(source, pair);
        edits.push((place.start..place.start, false, pair.open.start, open));
        edits.push((place.end..place.end, true, pair.close.start, close));
    }
    // At one position, closing signs come first, and both in the order of the source.
    edits.sort_by_key(|(range, closes, at, _)| (range.start, !closes, *at));
    let edits: Vec<(Span, String)> = edits
        .into_iter()
        .map(|(range, _, _, sign)| (range, sign))
        .collect();
    Some(dash.unwrap_or_default() + &apply_edits(&text, &edits))
}

/// Returns the range of `text` for each pair of `source`. Returns `None` if two of them cross, or
/// if a range is empty.
fn places(
    source: &str,
    text: &str,
    wanted: &[Pair],
    links: &[Link],
    from: usize,
) -> Option<Vec<Span>> {
    let mut places: Vec<Span> = wanted
        .iter()
        .map(|pair| around(source, text, pair, links, from))
        .collect();
    // Pairs are sorted by the closing sign, so a pair follows the pairs inside of it.
    for inner in (0..wanted.len()).rev() {
        let outer = (inner + 1..wanted.len())
            .rev()
            .find(|&outer| wanted[outer].contains(&wanted[inner]));
        if let Some(outer) = outer {
            places[inner].start = places[inner].start.max(places[outer].start);
            places[inner].end = places[inner].end.min(places[outer].end);
        }
        if places[inner].is_empty() {
            return None;
        }
    }
    let is_crossed = (0..wanted.len()).any(|one| {
        (one + 1..wanted.len()).any(|other| {
            let is_nested = wanted[other].contains(&wanted[one]);
            !is_nested && overlap(&places[one], &places[other])
        })
    });
    (!is_crossed).then_some(places)
}

/// Returns `text` without its signs of `kinds`, from the byte `from` on.
fn without_lone_signs(text: &str, kinds: &[PairKind], from: usize) -> String {
    let edits: Vec<(Span, String)> = lone_signs(text, kinds)
        .into_iter()
        .filter(|range| range.start >= from)
        .map(|range| (with_one_space(text, range), String::new()))
        .collect();
    apply_edits(text, &edits)
}

/// Returns `range` with the space after it, if there is one on both sides.
fn with_one_space(text: &str, range: Span) -> Span {
    let before = &text[..range.start];
    let is_spaced = before.is_empty() || before.ends_with(' ');
    let end = if is_spaced && text[range.end..].starts_with(' ') {
        range.end + 1
    } else {
        range.end
    };
    range.start..end
}

/// Returns the signs of `kinds` in `text`, which is about to get complete pairs.
fn lone_signs(text: &str, kinds: &[PairKind]) -> Vec<Span> {
    let mut all: Vec<Span> = pairs(text)
        .into_iter()
        .filter(|pair| kinds.contains(&pair.kind))
        .flat_map(|pair| [pair.open, pair.close])
        .collect();
    if kinds.contains(&PairKind::Quotes) {
        let lone = text.match_indices(is_double_quote);
        all.extend(lone.map(|(at, sign)| at..at + sign.len()));
    }
    all.sort_by_key(|range| range.start);
    all.dedup();
    all
}

fn is_double_quote(c: char) -> bool {
    QUOTES[..APOSTROPHE_FAMILY]
        .iter()
        .any(|family| family.contains(c))
}

/// Returns the signs of `pair` for a translation: `"` for every double quotation mark, since each
/// language knows it.
fn signs(source: &str, pair: &Pair) -> [String; 2] {
    let open = &source[pair.open.clone()];
    match pair.kind {
        PairKind::Round => ["(".into(), ")".into()],
        PairKind::Square => ["[".into(), "]".into()],
        PairKind::Quotes if QUOTES[APOSTROPHE_FAMILY].contains(open) => ["'".into(), "'".into()],
        PairKind::Quotes => ["\"".into(), "\"".into()],
    }
}

/// The largest number of pairs in a source to which missing signs are added.
const MAX_PAIRS: usize = 32;

/// The largest distance in words within the translation of the words between two signs.
const MAX_GAP: usize = 2;

/// Returns the range of `translation` to put between the signs of `pair`: whole words, and the sign
/// that ends a sentence if the source has one there.
fn around(source: &str, translation: &str, pair: &Pair, links: &[Link], from: usize) -> Span {
    let inner = pair.open.end..pair.close.start;
    let words: Vec<Span> = word_spans(translation)
        .into_iter()
        .filter(|word| word.start >= from)
        .collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return translation.len()..translation.len();
    };
    let is_whole = !source[..pair.open.start].contains(is_letter)
        && !source[pair.close.end..].contains(is_letter);
    let inside: Vec<&Link> = links
        .iter()
        .filter(|link| overlap(&link.source, &inner))
        .collect();
    let numbers: Vec<usize> = (0..words.len())
        .filter(|&number| {
            inside
                .iter()
                .any(|link| overlap(&link.target, &words[number]))
        })
        .collect();
    let longest = numbers
        .chunk_by(|one, next| next - one <= MAX_GAP)
        .max_by_key(|run| run.len());
    let range = match longest {
        _ if is_whole => first.start..last.end,
        Some(run) => words[run[0]].start..words[run[run.len() - 1]].end,
        None => at_same_share(source, &inner, &words),
    };
    let end = range.end + sign_after(&source[inner], &translation[range.end..]);
    range.start..end
}

/// Returns the words at the same share of the text as the range `inner` of `source`.
fn at_same_share(source: &str, inner: &Span, words: &[Span]) -> Span {
    let [first, last] = [inner.start, inner.end].map(|at| at * words.len() / source.len().max(1));
    let first = first.min(words.len() - 1);
    let last = last.clamp(first, words.len() - 1);
    words[first].start..words[last].end
}

/// Returns the length of the sign at the start of `rest` that ends a sentence, if `inner` ends with
/// such a sign.
fn sign_after(inner: &str, rest: &str) -> usize {
    if !inner.trim_end().ends_with(is_terminal) {
        return 0;
    }
    rest.len() - rest.trim_start_matches(is_terminal).len()
}

fn is_terminal(c: char) -> bool {
    mark(c) == Mark::Terminal
}

/// Returns the ranges of the words of `text`: runs of letters and digits.
fn word_spans(text: &str) -> Vec<Span> {
    let mut words: Vec<Span> = Vec::new();
    let mut end_of_last = None;
    for (start, c) in text.char_indices() {
        if !is_letter(c) {
            continue;
        }
        let end = start + c.len_utf8();
        if end_of_last == Some(start) {
            words.last_mut().expect("a word was begun").end = end;
        } else {
            words.push(start..end);
        }
        end_of_last = Some(end);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(text: &str) -> Vec<&str> {
        let pairs = pairs(text).into_iter();
        pairs
            .map(|pair| &text[pair.open.end..pair.close.start])
            .collect()
    }

    #[test]
    fn pairs_of_every_form_are_found_and_apostrophes_are_none() {
        for (text, expected) in [
            ("Er sagte „Komm“ und »Geh«.", &["Komm", "Geh"][..]),
            ("“One” and ‘two’ and 'three'", &["One", "two", "three"]),
            ("« Oui », dit-il (vite) [1]", &[" Oui ", "vite", "1"]),
            ("「猫」と『犬』（はい）", &["猫", "犬", "はい"]),
            ("\"a (b) c\"", &["b", "a (b) c"]),
            ("Don't, the dogs' house, rock 'n' roll", &["n"]),
            ("l’homme d'été", &[]),
            ("1) ein 2) zwei", &[]),
            ("Siehe http://a.de/(b) und {\"c\"}", &[]),
            ("5\" Schrauben", &[]),
        ] {
            assert_eq!(between(text), expected, "{text}");
        }
    }

    #[test]
    fn a_translation_may_have_other_signs_but_not_fewer_pairs() {
        for (source, translation, expected) in [
            ("Er rief „Halt!“", "He called \"Stop!\"", &[][..]),
            ("Er rief „Halt!“", "He called 'Stop!'", &[]),
            ("Er rief „Halt!“", "He called Stop!", &[PairKind::Quotes]),
            ("Er (alt) [sic]", "He", &[PairKind::Round, PairKind::Square]),
            ("„A“ und „B“", "\"A\" and B", &[PairKind::Quotes]),
            ("Er ruft.", "He \"calls\".", &[]),
        ] {
            assert_eq!(missing_pairs(source, translation), expected, "{source}");
        }
    }

    /// Links between equal words of the two texts.
    fn links(source: &str, translation: &str, words: &[(&str, &str)]) -> Vec<Link> {
        let range = |text: &str, word: &str| {
            let at = text.find(word).unwrap();
            at..at + word.len()
        };
        words
            .iter()
            .map(|(one, other)| Link {
                source: range(source, one),
                target: range(translation, other),
            })
            .collect()
    }

    #[test]
    fn missing_pairs_are_put_around_the_aligned_words() {
        for (source, translation, words, expected) in [
            (
                "Das Wort „Haus“ ist kurz.",
                "The word house is short.",
                &[("Haus", "house"), ("Wort", "word"), ("kurz", "short")][..],
                "The word \"house\" is short.",
            ),
            (
                "„Komm her!“",
                "Come here!",
                &[("Komm", "Come"), ("her", "here")],
                "\"Come here!\"",
            ),
            (
                "Er (der Alte) schläft.",
                "He, the old man, sleeps.",
                &[("der", "the"), ("Alte", "old"), ("Alte", "man")],
                "He, (the old man), sleeps.",
            ),
            (
                "Er sagte „ja“ und „nein“.",
                "He said \"yes and no.",
                &[("ja", "yes"), ("nein", "no")],
                "He said \"yes\" and \"no\".",
            ),
            (
                "„Wo (in Rom) ist er?“, fragte sie.",
                "Where in Rome is he? she asked.",
                &[
                    ("Wo", "Where"),
                    ("in", "in"),
                    ("Rom", "Rome"),
                    ("er?", "he?"),
                    ("ist", "is"),
                ],
                "\"Where (in Rome) is he?\" she asked.",
            ),
        ] {
            let found = with_pairs(source, translation, |text| links(source, text, words), 0);
            assert_eq!(found.as_deref(), Some(expected), "{source}");
        }
        assert_eq!(with_pairs("Ein Haus.", "A house.", |_| Vec::new(), 0), None);
    }

    #[test]
    fn pairs_whose_places_cross_are_left_out() {
        let source = "Das „alte Haus“ ist (sehr klein).";
        let translation = "The house very old is.";
        let words = [
            ("alte", "old"),
            ("Haus", "house"),
            ("sehr", "very"),
            ("klein", "is"),
        ];
        let align = |text: &str| links(source, text, &words);
        assert_eq!(with_pairs(source, translation, align, 0), None);
    }

    #[test]
    fn a_speech_keeps_its_dash() {
        assert_eq!(
            with_pairs("– Komm her!", "Come here!", |_| Vec::new(), 0).as_deref(),
            Some("– Come here!")
        );
        for source in ["-5 Grad", "– ", "Komm – her"] {
            assert_eq!(
                with_pairs(source, "It is", |_| Vec::new(), 0),
                None,
                "{source}"
            );
        }
        assert_eq!(with_pairs("- Komm", "— Come", |_| Vec::new(), 0), None);
    }

    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/growth/shortest_time.rs"
    ));

    /// A pass for each sign would take sixteen times as long for the whole text as for its parts.
    #[test]
    fn pairs_are_found_in_time_that_is_linear_in_the_text() {
        let add = |text: &str| drop(with_pairs(text, "a", |_| Vec::new(), 0));
        for piece in ["(", "„", "'a", "(\"", "« ("] {
            let [part, whole] = [5_000, 80_000].map(|count| piece.repeat(count));
            let parts = shortest_time(|| (0..16).for_each(|_| add(&part)));
            let whole = shortest_time(|| add(&whole));
            assert!(whole < 5 * parts, "{piece}: {parts:?} {whole:?}");
        }
    }
}
