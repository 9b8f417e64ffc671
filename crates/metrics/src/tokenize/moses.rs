//! The tokeniser of Moses for German and English, following `tokenizer.perl` with its normal
//! options (`-l de`, `-l en`).
//!
//! Deliberately absent: protected patterns, aggressive hyphen splitting (`-a`), the Penn variant,
//! and languages other than these two. Every step is the Perl script's; character properties are
//! those of this build's Unicode version. [`MULTI_DOT`] replaces the script's words `DOTMULTI`.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::moses_language::{Breaking, MosesLanguage};
use crate::text::Substitutions;

/// Replaces each dot of `..` or more dots while single periods are split off. It is a code point
/// that is not a character and does not occur in texts.
const MULTI_DOT: &str = "\u{fdd0}";

static DOTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\.{2,}").expect("the pattern is valid"));

/// Letters, marks that count as letters and decimal digits (Perl's `\p{IsAlnum}`) stay in words.
/// Later steps decide about the other characters of the list.
static OTHERS_APART: LazyLock<Substitutions> =
    LazyLock::new(|| Substitutions::new(&[(r"[^\p{Alphabetic}\p{Nd} .'`,-]", " $0 ")]));

/// Commas are words, except between digits.
static COMMAS_APART: LazyLock<Substitutions> = LazyLock::new(|| {
    Substitutions::new(&[(r"(\P{N}),", "$1 , "), (r",(\P{N})", " , $1"), (r"(\p{N}),$", "$1 ,")])
});

/// In German the apostrophe becomes a word.
static GERMAN_APOSTROPHES: LazyLock<Substitutions> =
    LazyLock::new(|| Substitutions::new(&[("'", " ' ")]));

/// English contractions are split before the apostrophe (Moses writes `don 't`; `do n't` is Penn's
/// form).
static ENGLISH_APOSTROPHES: LazyLock<Substitutions> = LazyLock::new(|| {
    Substitutions::new(&[
        (r"(\P{Alphabetic})'(\P{Alphabetic})", "$1 ' $2"),
        (r"([^\p{Alphabetic}\p{N}])'(\p{Alphabetic})", "$1 ' $2"),
        (r"(\p{Alphabetic})'(\P{Alphabetic})", "$1 ' $2"),
        (r"(\p{Alphabetic})'(\p{Alphabetic})", "$1 '$2"),
        (r"(\p{N})'(s)", "$1 '$2"),
    ])
});

const ESCAPES: [(&str, &str); 8] = [
    ("&", "&amp;"),
    ("|", "&#124;"),
    ("<", "&lt;"),
    (">", "&gt;"),
    ("'", "&apos;"),
    ("\"", "&quot;"),
    ("[", "&#91;"),
    ("]", "&#93;"),
];

/// Tokenises a line as Moses does: words separated by spaces, special characters as XML escapes.
pub fn moses_tokenize(line: &str, language: MosesLanguage) -> String {
    let line = OTHERS_APART.apply(&clean(line));
    let line = COMMAS_APART.apply(&join_dots(&line));
    let line = match language {
        MosesLanguage::German => GERMAN_APOSTROPHES.apply(&line),
        MosesLanguage::English => ENGLISH_APOSTROPHES.apply(&line),
    };
    let line = split_last_apostrophe(&split_periods(&line, language)).replace(MULTI_DOT, ".");
    ESCAPES.iter().fold(line, |line, (character, escape)| line.replace(character, escape))
}

/// Replaces runs of spaces by one, and removes control characters and spaces at both ends.
fn clean(line: &str) -> String {
    let words = line.split_whitespace().map(|word| word.replace(|c| c <= '\u{1f}', ""));
    squeeze_spaces(&words.collect::<Vec<_>>().join(" "))
}

/// `s/ +/ /g; s/^ //; s/ $//`
fn squeeze_spaces(line: &str) -> String {
    line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Makes words of runs of two dots or more.
fn join_dots(line: &str) -> String {
    let joined = |run: &Captures| format!(" {} ", MULTI_DOT.repeat(run[0].len()));
    DOTS.replace_all(line, joined).into_owned()
}

/// Splits the period off a word, unless the word is an abbreviation or the sentence continues in
/// lower case.
fn split_periods(line: &str, language: MosesLanguage) -> String {
    // Perl's split yields an empty word between two neighbouring spaces, except at the end.
    let words: Vec<&str> = line.trim_end_matches(' ').split(' ').collect();
    let split = words.iter().enumerate().map(|(i, word)| match word.strip_suffix('.') {
        Some(stem)
            if !stem.is_empty() && ends_sentence(stem, words.get(i + 1).copied(), language) =>
        {
            format!("{stem} .")
        }
        _ => (*word).to_owned(),
    });
    squeeze_spaces(&split.collect::<Vec<_>>().join(" "))
}

fn ends_sentence(stem: &str, next: Option<&str>, language: MosesLanguage) -> bool {
    // The last word of a line is unlikely to be an abbreviation.
    let Some(next) = next else { return true };
    let initials = stem.contains('.') && stem.contains(char::is_alphabetic);
    let goes_on = match language.breaking(stem) {
        Breaking::Never => true,
        Breaking::UnlessNumber => next.starts_with(|c: char| c.is_ascii_digit()),
        Breaking::Always => false,
    };
    !(initials || goes_on || next.starts_with(char::is_lowercase))
}

/// Splits `.'` off the end of a sentence.
fn split_last_apostrophe(line: &str) -> String {
    line.strip_suffix(".'").map_or_else(|| line.to_owned(), |head| format!("{head} . '"))
}

#[cfg(test)]
mod tests {
    use super::*;
    // Expected words: tokenizer.perl of mosesdecoder (commit e344528), perl 5.36.
    #[test]
    fn german_words_are_those_of_moses() {
        for (line, words) in [
            (
                r#"Dr. Müller kam am 3. Mai (z.B. mit ca. 5,5 Mio. Euro)."#,
                r#"Dr. Müller kam am 3. Mai ( z.B. mit ca. 5,5 Mio. Euro ) ."#,
            ),
            (
                r#"Rich-Text ist "gut", sagt's Hans... Ja?"#,
                r#"Rich-Text ist &quot; gut &quot; , sagt &apos; s Hans ... Ja ?"#,
            ),
            (
                r#"Das kostet 1.000 € & mehr; s. S. 5."#,
                r#"Das kostet 1.000 € &amp; mehr ; s. S. 5 ."#,
            ),
            (
                r#"Er sagte: ‚nein‘. Ende [1] | <b>"#,
                r#"Er sagte : ‚ nein ‘ . Ende &#91; 1 &#93; &#124; &lt; b &gt;"#,
            ),
        ] {
            assert_eq!(moses_tokenize(line, MosesLanguage::German).trim_end(), words, "{line}");
        }
    }

    #[test]
    fn english_words_are_those_of_moses() {
        for (line, words) in [
            (
                r#"Don't say it's the 1990's, Mr. O'Neil's dog!"#,
                r#"Don &apos;t say it &apos;s the 1990 &apos;s , Mr. O &apos;Neil &apos;s dog !"#,
            ),
            (
                r#"See No. 5 or No. five... etc., e.g. this."#,
                r#"See No. 5 or No. five ... etc . , e.g. this ."#,
            ),
            (
                r#"U.S. and 'quoted' words in the U.S."#,
                r#"U.S. and &apos; quoted &apos; words in the U.S ."#,
            ),
            (r#"Wait.. what.'"#, r#"Wait .. what . &apos;"#),
        ] {
            assert_eq!(moses_tokenize(line, MosesLanguage::English).trim_end(), words, "{line}");
        }
    }
}
