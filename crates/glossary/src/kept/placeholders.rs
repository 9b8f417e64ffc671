//! The grammars of placeholders, and ICU's messages.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What has to be around a placeholder, without which its signs are prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Anything,
    /// No letter or digit before it.
    NoWordBefore,
    /// None around it.
    NoWord,
    /// No letter behind it, and no number before it, which would be a percentage: `5 %ige`.
    NoPercentage,
    /// A text with `$1`; others are amounts.
    FirstGroup,
}

/// Placeholders by the systems that have them, in the order of their precedence.
pub(super) const PLACEHOLDERS: [(Around, &str); 15] = {
    use Around::{Anything, FirstGroup, NoPercentage, NoWord, NoWordBefore};
    [
        // Jinja, Django, Liquid, ERB.
        (Anything, r"\{%(?:[^%\n]|%[^}\n])*%\}|\{#(?:[^#\n]|#[^}\n])*#\}|<%(?:[^%\n]|%[^>\n])*%>"),
        // Jinja, Vue.
        (Anything, r"\{\{[^{}\n]{0,80}\}\}"),
        // Shells, JavaScript, Ruby.
        (Anything, r"[$%#]\{[^{}\n]{1,80}\}"),
        // Python, Java, C#, Rust.
        (Anything, r"\{[^{}\n]{0,80}\}"),
        // Python, Ruby.
        (Anything, r"%(?:\([^()\n]{1,60}\)|<\w{1,60}>)[#0+\-]*\d*(?:\.\d+)?[a-zA-Z]"),
        // Printf with positions.
        (Anything, r"%\d+\$[#0+\-]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?[a-zA-Z@]"),
        // Printf, Swift.
        (
            NoPercentage,
            r"%[#0+\-]*(?:\d+|\*)?(?:\.(?:\d+|\*))?(?:hh|h|ll|l|z|q|j|t)?(?:[a-zA-Z](?-u:\b)|@)",
        ),
        // Windows, Twig.
        (NoPercentage, r"%[A-Za-z_][\w.-]*%"),
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
        // Python.
        (NoWord, r"__\w+?__"),
        // Laravel, SQL, Drupal, Vue, mentions.
        (
            NoWordBefore,
            r"@(?:\.\w+)?:(?:\(\w[\w.]*\)|\w[\w.]*\w)|[#@][\p{L}_]\w*\w|[:!][A-Za-z_]\w*\w",
        ),
    ]
};

/// The beginning of a plural or a select in ICU's messages, up to its first arm; the beginning of
/// another arm; the end.
static ICU: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        r"^\{\s*\w+\s*,\s*(?:plural|select|selectordinal)\s*,(?:\s*offset:\d+)?\s*(?:=\d+|[\w-]+)\s*\{",
        r"^\}\s*(?:=\d+|[\w-]+)\s*\{",
        r"^\}\s*\}",
    ]
    .map(|pattern| Regex::new(pattern).expect("a valid pattern"))
});

/// The syntax of the message of ICU that begins at `start`, around its arms, which are text; or the
/// end of what is none.
pub(super) fn message(text: &str, start: usize) -> Result<Vec<Range<usize>>, usize> {
    let found = |pattern: usize, at: usize| {
        let end = super::super::words::floor(text, at + 120);
        ICU[pattern].find(&text[at..end]).map(|found| at..at + found.end())
    };
    let (mut all, mut depth, mut at) = (Vec::new(), 0, start);
    while let Some(next) = text[at..].find(['{', '}', '#']).map(|next| at + next) {
        let (opens, another) = (found(0, next), found(1, next));
        let part = match (opens, another, found(2, next)) {
            (Some(opens), ..) => {
                depth += 1;
                opens
            }
            (_, Some(another), _) if depth > 0 => another,
            (_, _, Some(end)) if depth > 0 => {
                depth -= 1;
                end
            }
            _ if depth == 0 || text[next..].starts_with('}') => return Err(next + 1),
            _ if text[next..].starts_with('#') => next..next + 1,
            _ => {
                let end = text[next..].find('}').ok_or(text.len())?;
                next..next + end + 1
            }
        };
        at = part.end;
        all.push(part);
        if depth == 0 {
            return Ok(all);
        }
    }
    Err(text.len())
}
