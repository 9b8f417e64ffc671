//! Texts all in capitals, and their forms in small letters.

use crate::{Part, PartKind, blank, may_have_parts, parts};

/// Returns `text` with the text around its placeholders and addresses changed by `change`.
fn changed_outside(text: &str, change: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for part in parts(text) {
        if part.kind == PartKind::Verbatim {
            out += &change(&text[end..part.range.start]);
            out += &text[part.range.clone()];
            end = part.range.end;
        }
    }
    out + &change(&text[end..])
}

/// Returns `text` in capitals, except for placeholders and addresses.
pub fn in_capitals(text: &str) -> String {
    changed_outside(text, str::to_uppercase)
}

/// Returns `text` without its placeholders and addresses.
fn without_verbatim(text: &str) -> String {
    let verbatim = parts(text)
        .into_iter()
        .filter(|part| part.kind == PartKind::Verbatim)
        .map(|part| part.range);
    blank(text, &verbatim.collect::<Vec<_>>())
}

/// Returns whether `text` may be in capitals: it has no small letter, or placeholders, in which
/// small letters do not count.
pub fn may_be_in_capitals(text: &str) -> bool {
    !text.contains(is_small) || may_have_parts(text)
}

/// The smallest number of letters of a capital word beside numbers; acronyms have fewer.
const MIN_CAPITALS: usize = 6;

/// Returns whether `text` is all in capitals: it has capital words, no small letter but ß (which
/// has no capital), and few letters of scripts without case. One short word beside a number is an
/// acronym or a unit (`5 GB`).
pub fn is_in_capitals(text: &str) -> bool {
    if !may_be_in_capitals(text) {
        return false;
    }
    let text = &without_verbatim(text);
    if text.contains(is_small) {
        return false;
    }
    let caseless = text
        .chars()
        .filter(|&c| c.is_alphabetic() && !is_capital(c) && !c.is_lowercase())
        .count();
    let words = text.split(|c: char| !c.is_alphanumeric());
    let lengths = words.filter(|word| !word.contains(char::is_numeric));
    let lengths = lengths.map(|word| word.chars().filter(|&c| is_capital(c)).count());
    let lengths: Vec<usize> = lengths.filter(|&capitals| capitals > 1).collect();
    let has_words = if text.contains(char::is_numeric) {
        lengths.len() > 1 || lengths.iter().any(|&length| length >= MIN_CAPITALS)
    } else {
        !lengths.is_empty()
    };
    has_words && lengths.len() > 2 * caseless
}

/// Returns whether `c` is a capital with a small form, except Cherokee, which is commonly written
/// in capitals.
fn is_capital(c: char) -> bool {
    c.is_uppercase() && !c.to_lowercase().eq([c]) && !matches!(c, '\u{13A0}'..='\u{13F5}')
}

/// Returns whether `c` is a small letter with a capital.
fn is_small(c: char) -> bool {
    c.is_lowercase() && c != 'ß' && !c.to_uppercase().eq([c])
}

/// Returns `text` in small letters with the same byte offsets: letters with a small form of another
/// length stay capital.
pub fn small_in_place(text: &str) -> String {
    text.chars()
        .map(|letter| {
            let mut small = letter.to_lowercase();
            let first = small
                .next()
                .filter(|first| first.len_utf8() == letter.len_utf8());
            first.filter(|_| small.next().is_none()).unwrap_or(letter)
        })
        .collect()
}

/// Returns `text`, which is all in capitals, in small letters, and in small letters with a first
/// capital. Placeholders and addresses stay.
pub fn in_small_letters(text: &str) -> [String; 2] {
    let small = changed_outside(text, str::to_lowercase);
    let blanked = without_verbatim(text);
    let is_verbatim = |part: &Part| part.kind == PartKind::Verbatim;
    let is_first_a_part = parts(text)
        .into_iter()
        .find(is_verbatim)
        .is_some_and(|part| !text[..part.range.start].contains(char::is_alphabetic));
    let has_letters = blanked.contains(char::is_alphabetic);
    if is_first_a_part || !has_letters {
        return [small.clone(), small];
    }
    let first = small.find(char::is_alphabetic).unwrap_or(0);
    let (before, rest) = small.split_at(first);
    let (letter, rest) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
    let sentence = [before, &letter.to_uppercase(), rest].concat();
    [small, sentence]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_all_in_capitals_has_other_forms() {
        let capitals = "7 WO? ÄRGER!|DIE STRAßE|DER HUND 東 IST GUT|HILFE!|À L'AIDE !|ЧТО ЭТО?|ΠΟΥ ΕΙΝΑΙ;|\
            PISO 3º DERECHA|KAPITEL 3|2 HUNDE UND 3 KATZEN|İSTANBUL'DA|E-MAIL-ADRESSE|DON’T PANIC";
        for text in capitals.split('|') {
            assert!(is_in_capitals(text), "{text}");
        }
        let others = "|7|I|A 7|Wo|ÄRGEr|東京|ß|5 GB|NATO 2024|COVID-19|U2|MP3|ISO 9001|H2O|B2B 24/7|Ⅷ Ⅸ|𝐀𝐁 𝐂𝐃|\
            ᎣᏏᏲ ᏙᎯᏧ|მე მიყვარს NATO|A4 80 g/m²";
        for text in others.split('|') {
            assert!(!is_in_capitals(text), "{text}");
        }
        assert_eq!(
            in_small_letters("7 WO? ÄRGER!"),
            ["7 wo? ärger!", "7 Wo? ärger!"]
        );
    }

    #[test]
    fn an_acronym_in_a_script_without_case_is_no_text_in_capitals() {
        let sentences = [
            "오늘 나는 {} 본다.",
            "我在{}工作。",
            "私は{}を見る。",
            "أشاهد {} الآن.",
            "मैं {} देखता हूँ।",
            "ฉันดู{}",
            "אני רואה {} היום",
            "আমি {} দেখি।",
            "நான் {} பார்க்கிறேன்.",
            "ես տեսնում եմ {}",
            "მე ვხედავ {}",
            "ខ្ញុំមើល {}",
            "ຂ້ອຍເບິ່ງ {}",
            "ငါ {} ကြည့်တယ်",
            "አሁን {} አያለሁ",
        ];
        let acronyms = [
            "TV",
            "NASA",
            "USB-C",
            "BMW X5",
            "HTML CSS",
            "UNESCO 2024",
            "A/B",
            "ÖBB, SBB",
        ];
        for (sentence, acronym) in sentences.iter().flat_map(|s| acronyms.map(|a| (s, a))) {
            let text = sentence.replace("{}", acronym);
            assert!(!is_in_capitals(&text), "{text}");
        }
    }

    #[test]
    fn small_letters_stay_in_their_places() {
        assert_eq!(small_in_place("GRÜN, İẞ!"), "grün, İẞ!");
    }
}
