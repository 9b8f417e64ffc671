//! The grammars of placeholders, and ICU's messages.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// The neighbours that a placeholder must have; without them its signs are prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Anything,
    /// No letter or digit before it; letters of scripts without case do not count.
    NoWordBefore,
    /// White space or an opening sign before it, as no colon of a sentence has.
    Start,
    /// None around it.
    NoWord,
    /// No digit before it, which would be a percentage: `5%p`.
    NoDigitBefore,
    /// No letter around it, and no number before it, which would be a percentage: `5 %ige`.
    NoPercentage,
    /// No letters behind it that would make it a command of TeX.
    NoCommand,
    /// A text with `$1`; others are amounts.
    FirstGroup,
}

/// Placeholders by the systems that have them, in the order of their precedence.
pub(super) const PLACEHOLDERS: [(Around, &str); 19] = {
    use Around::{
        Anything, FirstGroup, NoCommand, NoDigitBefore, NoPercentage, NoWord, NoWordBefore, Start,
    };
    [
        // Characters of HTML, Jinja, Django, Liquid, ERB.
        (
            Anything,
            r"&(?:#\d{1,7}|#[xX]\w{1,6}|[A-Za-z]\w{1,31});|\{%(?:[^%\n]|%[^}\n])*%\}|\{#(?:[^#\n]|#[^}\n])*#\}|<%(?:[^%\n]|%[^>\n])*%>",
        ),
        // Tags of HTML and XML, names in brackets, Mailchimp.
        (
            Anything,
            r"</?[A-Za-z][A-Za-z0-9_:.-]{0,40}(?:\s[^<>\n]*)?/?>|\[/?[A-Za-z]+(?:_[A-Za-z\d]+)+\]|\*\|[^|\n]{1,60}\|\*",
        ),
        // Escapes of C, JavaScript, JSON.
        (NoCommand, r#"\\(?:[nrt0"'\\]|u[\da-fA-F]{4}|x[\da-fA-F]{2})"#),
        // Jinja, Vue.
        (Anything, r"\{\{[^{}\n]{0,80}\}\}"),
        // Shells, JavaScript, Ruby.
        (Anything, r"[$%#]\{[^{}\n]{1,80}\}"),
        // Python, Java, C#, Rust.
        (Anything, r"\{[^{}\n]{0,80}\}"),
        // Python, Ruby.
        (
            Anything,
            r"%(?:\([^()\n]{1,60}\)|<\w{1,60}>)[#0+\-]*\d*(?:\.\d+)?[a-zA-Z]|%\[[A-Za-z0-9_.]{1,60}\]",
        ),
        // Printf with positions, and numbers of a width.
        (
            Anything,
            r"%\d+\$[#0+\-]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[a-zA-Z@]|%(?:0\d+|\d*\.\d+)[difgxX]",
        ),
        // Printf, Swift.
        (
            NoDigitBefore,
            r"%[#0+\-]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|q|j|t)?(?:[a-zA-Z](?-u:\b)|@)",
        ),
        // Windows, Twig.
        (NoPercentage, r"%%[A-Za-z_]\w*%%|%[A-Za-z_][\w.-]*%(?-u:\B)"),
        // Qt, Drupal.
        (NoPercentage, r"%L?\d{1,2}|%[A-Za-z_]\w*"),
        // i18next, Swift, wikis, %%.
        (Anything, r"\$t\([^()\n]{1,80}\)|\\\([^()\n]{1,80}\)|\[\[[^\[\]\n]{1,80}\]\]|%%"),
        // Shells, PHP.
        (Anything, r"\$[A-Za-z_]\w*"),
        // MediaWiki, regular expressions.
        (FirstGroup, r"\$[1-9](?-u:\b)"),
        // Emoji by name.
        (NoWord, r":(?:[a-z][a-z0-9_+-]+|[+-]1):"),
        // Python, reStructuredText.
        (NoWord, r"__\w+?__|\|[A-Za-z]\w*\|"),
        // Names between signs, powers.
        (NoWord, r"~[A-Za-z_]\w*~|\^[A-Za-z_]\w*\^|\w+(?:\.\d+)?\^[+-]?\w+"),
        // Vue, mentions, tags.
        (NoWordBefore, r"@(?:\.\w+)?:(?:\(\w[\w.]*\)|\w[\w.]*\w)|[#@][\p{L}_]\w*\w"),
        // Laravel, SQL, Drupal.
        (Start, r"[:!][A-Za-z_]\w*\w"),
    ]
};

/// Commands of TeX that begin like an escape; those of four letters or more with any ending.
const COMMANDS: &str = "nabla ne nearrow neg neq newcommand newline newpage newtheorem ni noindent \
    norm normal not notin nu rangle rceil ref renewcommand rfloor rho right rm tab table tan tanh tau \
    text tfrac theta thin tilde times tiny title to top triangle";

/// Returns whether `letters`, which follow a backslash, are a command of TeX.
pub(super) fn is_command(letters: &str) -> bool {
    let is_one = |name: &str| letters == name || name.len() > 3 && letters.starts_with(name);
    COMMANDS.split_whitespace().any(is_one)
}

/// The beginning of a plural or a select in ICU's messages; the beginning of an arm.
static ICU: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        r"^\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,\s*(?:offset:\s*\d+)?",
        r"^\s*(=\d+|[\w-]+)\s*\{",
    ]
    .map(|pattern| Regex::new(pattern).expect("a valid pattern"))
});

/// The arms of `text` if it is a plural or a select in ICU's messages.
pub fn arms(text: &str) -> Vec<Range<usize>> {
    match message(text, 0) {
        Ok((arms, end)) if end == text.len() => arms,
        _ => Vec::new(),
    }
}

/// The arms and the end of the message of ICU that begins at `start`; or the end of what is none.
pub(super) fn message(text: &str, start: usize) -> Result<(Vec<Range<usize>>, usize), usize> {
    let found = |pattern: usize, at: usize| {
        ICU[pattern].captures(&text[at..crate::words::floor(text, at + 120)])
    };
    let length = |found: &Captures<'_>| found.get(0).map_or(0, |found| found.len());
    let (mut arms, mut has_other) = (Vec::new(), false);
    let mut at = start + found(0, start).map(|found| length(&found)).ok_or(start)?;
    while let Some(arm) = found(1, at) {
        has_other |= &arm[1] == "other";
        let begin = at + length(&arm);
        let end = closing(text, begin).ok_or(text.len())?;
        arms.push(begin..end);
        at = end + 1;
    }
    let rest = text[at..].trim_start();
    match has_other && rest.starts_with('}') {
        true => Ok((arms, text.len() - rest.len() + 1)),
        false => Err(at),
    }
}

/// The brace that closes an arm which begins at `start`. Behind an apostrophe, signs mean nothing
/// up to the next one.
fn closing(text: &str, start: usize) -> Option<usize> {
    let (mut depth, mut chars) = (0usize, text[start..].char_indices().peekable());
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.peek().is_some_and(|(_, next)| "{}#|'".contains(*next)) => {
                let is_quote = |(_, next): &(usize, char)| *next == '\'';
                if chars.next_if(is_quote).is_none() {
                    while chars.any(|next| is_quote(&next)) && chars.next_if(is_quote).is_some() {}
                }
            }
            '{' => depth += 1,
            '}' if depth == 0 => return Some(start + at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}
