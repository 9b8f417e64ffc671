//! Words: runs of letters, digits and combining marks.
//!
//! Korean particles, which attach to the preceding word, are defined here too.

use crate::{visible, visible_but};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A range of bytes in a text.
pub type Span = std::ops::Range<usize>;

/// Returns whether this character is part of a word: a letter, digit or combining mark of a script
/// with spaces between words. In scripts without spaces (Chinese, Japanese, Thai, Lao, Burmese,
/// Khmer) every character counts as a word.
pub fn is_in_word(c: char) -> bool {
    is_letter(c) && !is_unspaced(c)
}

/// Returns whether this character is part of a word in any script.
pub fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Returns whether this character's script is written without spaces between words.
pub fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF // Thai, Lao, Burmese, Khmer
        | 0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3021..=0x30FF | 0x31F0..=0x31FF // radicals, kana
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F // ideographs, half-width kana
        | 0x20000..=0x3FFFF)
}

/// Kinds of punctuation. A mark at the edge of a markup element stays inside the element if the
/// translation has a mark of the same kind there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// An opening bracket, or a mark that begins a question.
    Open,
    /// A closing bracket.
    Close,
    /// A quotation mark. The opening mark of one language can be the closing mark of another.
    Quote,
    /// The end of a sentence.
    Terminal,
    /// A comma, a colon or a semicolon.
    Separator,
    /// Any other character, including letters.
    Other,
}

/// Returns the kind of punctuation of `c`.
pub fn mark(c: char) -> Mark {
    match c {
        '(' | '[' | '{' | '（' | '［' | '【' | '〔' | '¿' | '¡' => Mark::Open,
        ')' | ']' | '}' | '）' | '］' | '】' | '〕' => Mark::Close,
        '"' | '\'' | '“' | '”' | '„' | '‟' | '‘' | '’' | '‚' | '«' | '»' | '‹' | '›' | '「'
        | '」' | '『' | '』' => Mark::Quote,
        '.' | '!' | '?' | '…' | '。' | '！' | '？' | '؟' | '।' | '۔' | '॥' => {
            Mark::Terminal
        }
        ',' | ';' | ':' | '，' | '、' | '；' | '：' | '،' | '؛' => Mark::Separator,
        _ => Mark::Other,
    }
}

/// Maximum number of marks compared, because one run of marks can contain many points of markup.
const MAX_MARKS: usize = 32;

/// Returns the length in bytes of the start of `rest` that has the same kinds of marks as `marks`,
/// in the same order.
pub fn past(rest: impl Iterator<Item = char>, marks: impl Iterator<Item = char>) -> usize {
    let mut end = 0;
    let ends = rest.map(|c| {
        end += c.len_utf8();
        (c, end)
    });
    let marks = marks
        .take_while(|&c| !is_letter(c))
        .filter(|c| !c.is_whitespace())
        .map(mark);
    let both = marks.zip(ends.filter(|(c, _)| !c.is_whitespace()));
    let same = both
        .take(MAX_MARKS)
        .take_while(|&(kind, (c, _))| !is_letter(c) && mark(c) == kind);
    same.last().map_or(0, |(_, (_, end))| end)
}

/// Returns whether two ranges have a byte in common.
pub fn overlap(one: &Span, other: &Span) -> bool {
    one.start < other.end && other.start < one.end
}

/// Returns whether `range` overlaps one of the ranges `all` (sorted, disjoint).
pub fn overlaps(all: &[Span], range: &Span) -> bool {
    let next = all.partition_point(|other| other.end <= range.start);
    all.get(next).is_some_and(|other| other.start < range.end)
}

/// A word, or a single other character that is not white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The characters.
    pub text: String,
    /// `text` in lower case.
    pub folded: String,
    /// If true, white space precedes the word.
    pub spaced: bool,
}

/// Normalises `text` to form C, with single spaces. Removes invisible characters other than
/// controls, because a model cannot write them.
pub fn normalized(text: &str) -> String {
    let composed: String = visible_but(text, char::is_control).nfc().collect();
    composed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Joins `words`, with single spaces before words that are spaced.
pub fn joined(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        text.push_str(if word.spaced && !text.is_empty() {
            " "
        } else {
            ""
        });
        text.push_str(&word.text);
    }
    text
}

/// Splits `text`, which must be normalised, into words.
pub fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut spaced = false;
    let mut open = false;
    for c in visible(text).nfc() {
        if c.is_whitespace() {
            (spaced, open) = (true, false);
            continue;
        }
        match words.last_mut().filter(|_| open && is_in_word(c)) {
            Some(word) => word.text.push(c),
            None => words.push(Word {
                text: c.into(),
                folded: String::new(),
                spaced,
            }),
        }
        (spaced, open) = (false, is_in_word(c));
    }
    words
        .iter_mut()
        .for_each(|word| word.folded = word.text.to_lowercase());
    words
}

/// Korean particles by the sound before them, one group a line: any, a consonant, a vowel, a
/// consonant except ㄹ, a vowel or ㄹ.
const PARTICLES: &str = include_str!("particles.txt");
/// Maximum number of consecutive particles, and of their syllables.
const MAX_PARTICLES: usize = 4;
const MAX_PARTICLE_SYLLABLES: usize = 10;
/// After one syllable, short particles make other words (`수도`, `길이`), except these.
const OBJECT_PARTICLES: [&str; 2] = ["을", "를"];

/// Returns whether `rest`, attached to a word that ends in `word`, consists of particles that agree
/// with its final sound. The sound of a word in another script is unknown.
pub fn are_particles(word: &str, rest: &str) -> bool {
    let Some(last) = word.chars().next_back() else {
        return false;
    };
    let is_syllable = final_of(last).is_some() && word.chars().nth(1).is_none();
    let is_short = rest.chars().nth(1).is_none() && !OBJECT_PARTICLES.contains(&rest);
    rest.chars().nth(MAX_PARTICLE_SYLLABLES).is_none()
        && !(is_syllable && is_short)
        && is_row_of_particles(last, rest, MAX_PARTICLES)
}

/// Returns whether `rest` consists of at most `most` particles. The first one follows `last`.
fn is_row_of_particles(last: char, rest: &str, most: usize) -> bool {
    let is_after = match final_of(last) {
        None => [true; 5],
        Some(0) => [true, false, true, false, true],
        Some(8) => [true, true, false, false, true],
        Some(_) => [true, true, false, true, false],
    };
    let mut particles = PARTICLES
        .lines()
        .zip(is_after)
        .filter(|(_, after)| *after)
        .flat_map(|(all, _)| all.split(' '));
    particles.any(|particle| {
        let rest = rest
            .strip_prefix(particle)
            .map(|rest| (rest, particle.chars().next_back()));
        rest.is_some_and(|(rest, last)| {
            rest.is_empty()
                || most > 1 && last.is_some_and(|last| is_row_of_particles(last, rest, most - 1))
        })
    })
}

/// Returns the index of a Hangul syllable's final consonant: 0 for none, 8 for ㄹ.
fn final_of(c: char) -> Option<u32> {
    let syllable = u32::from(c)
        .checked_sub(0xAC00)
        .filter(|&syllable| syllable < 11172);
    syllable.map(|syllable| syllable % 28)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_and_signs_stand_alone() {
        assert_eq!(
            texts("E-Mail, 3x  pro Tag."),
            ["E", "-", "Mail", ",", "3x", "pro", "Tag", "."]
        );
        assert_eq!(texts("猫が好き"), ["猫", "が", "好", "き"]);
        assert!(texts(" \t\n").is_empty());
    }

    #[test]
    fn composed_and_decomposed_letters_are_the_same() {
        assert_eq!(words("Größe"), words("Gro\u{308}ße"));
        assert_eq!(normalized("  Gro\u{308}ße \t der\nZahl "), "Größe der Zahl");
    }

    /// The forms follow the rules of the National Institute of Korean Language (조사) on agreement
    /// with the final sound.
    #[test]
    fn particles_agree_with_the_sound_before_them() {
        for (word, rests) in [
            (
                "사과",
                "를 는 가 와 로 도 만 의 에서 까지 들 들을 들에게 처럼 입니다 였다 로부터 에서는 에서도 만이라도 라고",
            ),
            (
                "책상",
                "을 은 이 과 으로 에 위에 이다 이나 이라는 으로부터 에서만",
            ),
            ("서울", "로 에서 은 이 과 을 에서의 까지만"),
            ("책", "을 에서 으로 까지 이다 에는"),
            ("TV", "를 은 에서 와 로 으로"),
        ] {
            for rest in rests.split(' ').filter(|&rest| rest != "위에") {
                assert!(are_particles(word, rest), "{word}{rest}");
            }
        }
        for (word, rests) in [
            (
                "사과",
                "을 은 이 과 으로 나무 하다 주스 문 를를을 x 1 한 를a",
            ),
            ("책상", "를 는 가 와 로 보 다리"),
            ("서울", "으로 시 역 대학교"),
            ("대한", "민국"),
            ("한국", "어 인들이다라고요"),
            ("수", "도 가 는 학"),
            ("길", "이 의"),
            ("가", "을"),
            ("마", "을"),
            ("house", "s"),
        ] {
            for rest in rests.split(' ') {
                assert!(!are_particles(word, rest), "{word}{rest}");
            }
        }
        assert!(!are_particles("사과", &"도".repeat(1000)));
    }
}
