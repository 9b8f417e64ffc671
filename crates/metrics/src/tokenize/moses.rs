//! The tokeniser of Moses for German and English, following `tokenizer.perl` with its normal
//! options (`-l de`, `-l en`).
//!
//! Deliberately absent: protected patterns, aggressive hyphen splitting (`-a`), the Penn variant,
//! and languages other than these two. Every step is the Perl script's; character properties are
//! those of this build's Unicode version. [`MULTI_DOT`] replaces the script's words `DOTMULTI`.

use super::moses_language::{Breaking, MosesLanguage};
use crate::text::{is_number, pad_chars, replace_between, replace_pairs};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// Replaces each dot of `..` or more dots while single periods are split off. It is a code point
/// that is not a character and does not occur in texts.
const MULTI_DOT: char = '\u{fdd0}';

/// Tokenises a line as Moses does: words separated by spaces, special characters as XML escapes.
pub fn moses_tokenize(line: &str, language: MosesLanguage) -> String {
    let line = pad_chars(&clean(line), |c| !is_alnum(c) && !is_common(c));
    let line = split_commas(&join_dots(&line));
    let line = split_apostrophes(&line, language);
    let line = split_periods(&line, language);
    escape(&split_last_apostrophe(&line).replace(MULTI_DOT, "."))
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

/// Perl's `\p{IsAlnum}`: letters, the marks that count as letters, decimal digits.
fn is_alnum(c: char) -> bool {
    c.is_alphabetic() || c.general_category() == GeneralCategory::DecimalNumber
}

/// Characters about which later steps decide.
fn is_common(c: char) -> bool {
    matches!(c, ' ' | '.' | '\'' | '`' | ',' | '-')
}

/// Makes words of runs of two dots or more.
fn join_dots(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("..") {
        let run = rest[start..].bytes().take_while(|&byte| byte == b'.').count();
        out.push_str(&rest[..start]);
        out.push(' ');
        out.extend(std::iter::repeat_n(MULTI_DOT, run));
        rest = &rest[start + run..];
        if !rest.is_empty() {
            out.push(' ');
        }
    }
    out + rest
}

/// Makes words of commas, except between digits.
fn split_commas(line: &str) -> String {
    let line = replace_pairs(line, |a, b| !is_number(a) && b == ',', |a, b| [a, ' ', b, ' ']);
    let line = replace_pairs(&line, |a, b| a == ',' && !is_number(b), |a, b| [' ', a, ' ', b]);
    match line.strip_suffix(',') {
        Some(head) if head.ends_with(is_number) => format!("{head} ,"),
        _ => line,
    }
}

/// Splits English contractions before the apostrophe (Moses writes `don 't`; `do n't` is Penn's
/// form). In German the apostrophe becomes a word.
fn split_apostrophes(line: &str, language: MosesLanguage) -> String {
    match language {
        MosesLanguage::German => pad_chars(line, |c| c == '\''),
        MosesLanguage::English => split_contractions(line),
    }
}

fn split_contractions(line: &str) -> String {
    let alpha = char::is_alphabetic;
    let line = replace_between(line, '\'', |a, b| !alpha(a) && !alpha(b), " ' ");
    let line = replace_between(&line, '\'', |a, b| !alpha(a) && !is_number(a) && alpha(b), " ' ");
    let line = replace_between(&line, '\'', |a, b| alpha(a) && !alpha(b), " ' ");
    let line = replace_between(&line, '\'', |a, b| alpha(a) && alpha(b), " '");
    replace_between(&line, '\'', |a, b| is_number(a) && b == 's', " '")
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

fn escape(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '|' => out.push_str("&#124;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&apos;"),
            '"' => out.push_str("&quot;"),
            '[' => out.push_str("&#91;"),
            ']' => out.push_str("&#93;"),
            _ => out.push(c),
        }
    }
    out
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
