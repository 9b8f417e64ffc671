//! The parts of a subtitle that are translated alone: what somebody says, without the speaker's
//! name before it, and each sound in brackets.

use std::sync::LazyLock;

use regex::Regex;

use crate::words::{Span, has_letters, regex, trim};

/// A tag, a break or white space, which no part begins or ends with.
const EDGE: &str = r"(?:\s|\\[Nnh]|<[^<>]*>|\{[^{}]*\})*";

/// The largest number of sounds at each end.
const MAX_SOUNDS: usize = 8;

/// White space and tags, and a dash or arrows before a speaker.
static BEFORE: LazyLock<Regex> =
    LazyLock::new(|| regex(&format!(r"^{EDGE}(?:[-–—‐]\s*|>>+\s*)?{EDGE}")));
/// End tags, and white space.
static TAGS_BEHIND: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:\s|\\[Nnh]|</[^<>]*>)*"));
static AFTER: LazyLock<Regex> = LazyLock::new(|| regex(&format!("{EDGE}$")));
/// A name in capitals with a colon, and a note about the speaker before the colon.
static SPEAKER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:\p{L}{1,4}\. )?\p{Lu}[\p{Lu}\p{M}\d.'’&#-]+(?: [\p{Lu}\d&#][\p{Lu}\p{M}\d.'’&#-]*){0,3}(?: ?[(\[][^()\[\]\n]*[)\]])?[:：]",
    )
});
/// A sound at the beginning.
static SOUND: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:\[([^\[\]]*)\]|\(([^()]*)\)|（([^（）]*)）|［([^［］]*)］)"));

/// Returns the parts of `text`, what one speaker says, that are translated alone, in order.
pub(super) fn parts(text: &str) -> Vec<Span> {
    let (mut all, start) = sounds_before(text);
    let (behind, end) = sounds_behind(text, start);
    if start == 0 && behind.is_empty() {
        return std::iter::once(0..text.len()).collect();
    }
    // The tags around a sound stay with it.
    let start = start + found_length(&TAGS_BEHIND, &text[start..end]);
    let rest = trim(text, start..end);
    all.extend(has_letters(&text[rest.clone()]).then_some(rest));
    all.extend(behind);
    all
}

/// Returns the sounds before what is said, and where they and the speaker's name end.
fn sounds_before(text: &str) -> (Vec<Span>, usize) {
    let mut sounds = Vec::new();
    let mut end = 0;
    for _ in 0..MAX_SOUNDS {
        let start = end + found_length(&BEFORE, &text[end..]);
        let rest = &text[start..];
        if let Some(name) = speaker(rest) {
            end = start + name;
        } else if let Some(found) = SOUND.captures(rest) {
            let inner = (1..=4).find_map(|group| found.get(group));
            sounds.extend(inner.map(|it| start + it.start()..start + it.end()));
            end = start + found[0].len();
        } else {
            break;
        }
    }
    (sounds, end)
}

/// Returns the sounds at the end of `text`, from `start` on, and where they begin.
fn sounds_behind(text: &str, start: usize) -> (Vec<Span>, usize) {
    let mut sounds = Vec::new();
    let mut begin = text.len();
    for _ in 0..MAX_SOUNDS {
        let end = AFTER.find(&text[start..begin]);
        let end = end.map_or(begin, |edge| start + edge.start());
        let Some(inner) = last_sound(text, start..end) else {
            break;
        };
        let bracket = text[..inner.start].chars().next_back();
        begin = inner.start - bracket.map_or(0, char::len_utf8);
        sounds.push(inner);
    }
    sounds.reverse();
    (sounds, begin)
}

fn found_length(pattern: &Regex, text: &str) -> usize {
    pattern.find(text).map_or(0, |found| found.len())
}

/// Returns the length of the speaker's name at the start of `text`. In a text that is all in
/// capitals, a word before a colon may be anything.
fn speaker(text: &str) -> Option<usize> {
    let found = SPEAKER.find(text)?;
    let rest = &text[found.end()..];
    let is_name = rest.is_empty() || rest.starts_with([' ', '\n', '\r', '\\', '<', '{']);
    (is_name && rest.contains(char::is_lowercase)).then_some(found.len())
}

/// Returns the inside of the sound in brackets with which `text[range]` ends. Round brackets behind
/// a text are mostly a part of it.
fn last_sound(text: &str, range: Span) -> Option<Span> {
    let body = &text[range.clone()];
    let (open, close) = [('[', ']'), ('［', '］')]
        .into_iter()
        .find(|(_, close)| body.ends_with(*close))?;
    let start = range.start + body.rfind(open)? + open.len_utf8();
    let inner = start..range.end - close.len_utf8();
    let content = text.get(inner.clone())?;
    (!content.contains(close) && has_letters(content)).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speakers_stay_and_sounds_stand_alone() {
        for (text, expected) in [
            ("[Musik]", &["Musik"][..]),
            ("(lacht) Ich komme.", &["lacht", "Ich komme."]),
            ("ANNA: Ich komme.", &["Ich komme."]),
            ("ANNA (leise): Ich komme.", &["Ich komme."]),
            ("- DR. WEBER: [seufzt] Ja.", &["seufzt", "Ja."]),
            (
                "<i>[Wind]</i>\nEr geht. [Tür knallt]",
                &["Wind", "Er geht.", "Tür knallt"],
            ),
            (">> MANN 2: Na\nlos!", &["Na\nlos!"]),
            ("{\\an8}[Musik spielt]\\NHallo", &["Musik spielt", "Hallo"]),
            ("Ich (Anna) komme.", &["Ich (Anna) komme."]),
            ("Er geht (nach Hause)", &["Er geht (nach Hause)"]),
            ("ACHTUNG: FEUER!", &["ACHTUNG: FEUER!"]),
            ("Um 12:30 Uhr: Essen", &["Um 12:30 Uhr: Essen"]),
            ("♪ La la ♪", &["♪ La la ♪"]),
            ("[♪]", &[]),
        ] {
            let found = parts(text).into_iter().map(|range| &text[range]);
            let found: Vec<&str> = found.filter(|it| has_letters(it)).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    include!(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/growth/shortest_time.rs"
    ));

    /// A pass for each bracket would take sixteen times as long for the whole text as for its parts.
    #[test]
    fn time_is_linear_in_the_text() {
        for piece in ["[", "]", "(a) ", "A ", "<i>", "[a] "] {
            let [part, whole] = [20_000, 320_000].map(|count| piece.repeat(count));
            let short = shortest_time(|| (0..16).for_each(|_| drop(parts(&part))));
            let long = shortest_time(|| drop(parts(&whole)));
            assert!(long < 5 * short, "{piece}: {short:?} {long:?}");
        }
    }
}
