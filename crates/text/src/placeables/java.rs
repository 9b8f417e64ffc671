//! Java's MessageFormat: an apostrophe quotes the text up to the next one, and two are one.

use super::writing::apply_edits;
use crate::words::Span;

/// A pattern as its program shows it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shown<'a> {
    text: String,
    /// The arguments, such as `{0}` and `{1,date,d 'of' MMMM}`.
    arguments: Vec<&'a str>,
}

/// Returns the text of `pattern` as its program shows it, with its arguments as they are. Quotation
/// marks that quote no brace are text, because their author took them for apostrophes.
pub(super) fn shown(pattern: &str) -> Option<String> {
    Some(read(pattern)?.text)
}

/// Returns `translation`, a translation of what [`shown`] returns for `source`, as a pattern.
pub(super) fn pattern(source: &str, translation: String) -> String {
    let Some(Shown { mut arguments, .. }) = read(source) else {
        return translation;
    };
    let mut literals: Vec<Span> = Vec::new();
    let mut at = 0;
    while let Some(start) = translation[at..].find(['\'', '{', '}']) {
        let start = at + start;
        let rest = &translation[start..];
        let argument = arguments.iter().position(|it| rest.starts_with(it));
        if let Some(argument) = argument {
            at = start + arguments.swap_remove(argument).len();
            continue;
        }
        at = start + literal(rest);
        // The quotation marks of two neighbours would be an apostrophe.
        match literals.last_mut().filter(|last| last.end == start) {
            Some(last) => last.end = at,
            None => literals.push(start..at),
        }
    }
    let edits: Vec<(Span, String)> = literals
        .into_iter()
        .map(|range| {
            let text = quoted(&translation[range.clone()]);
            (range, text)
        })
        .collect();
    apply_edits(&translation, &edits)
}

/// Returns `text` as a pattern writes it: apostrophes twice, and braces in apostrophes.
fn quoted(text: &str) -> String {
    let text = text.replace('\'', "''");
    let quote = if text.contains(['{', '}']) { "'" } else { "" };
    format!("{quote}{text}{quote}")
}

/// Returns the length of the sign at the beginning of `text`, with the text in braces behind it.
fn literal(text: &str) -> usize {
    let inner = text.strip_prefix('{').unwrap_or_default();
    let end = inner
        .find(['{', '}'])
        .filter(|&end| inner[end..].starts_with('}'));
    end.map_or(1, |end| end + 2)
}

/// Reads a pattern; `None` if it is broken, or an argument has patterns of its own, as of `choice`.
fn read(pattern: &str) -> Option<Shown<'_>> {
    let mut shown = Shown::default();
    // Whether the quotation marks around the text are text.
    let mut quoted: Option<bool> = None;
    let mut at = 0;
    while let Some(c) = pattern[at..].chars().next() {
        let next = at + c.len_utf8();
        let rest = &pattern[next..];
        match (c, quoted) {
            ('\'', _) if rest.starts_with('\'') => {
                shown.text.push('\'');
                at = next + 1;
                continue;
            }
            ('\'', None) => {
                let is_text = !rest.starts_with(['{', '}']);
                shown.text.extend(is_text.then_some('\''));
                quoted = Some(is_text);
            }
            ('\'', Some(is_text)) => {
                shown.text.extend(is_text.then_some('\''));
                quoted = None;
            }
            ('{', None) => {
                let argument = &pattern[at..next + argument_end(rest)?];
                shown.arguments.push(argument);
                shown.text += argument;
                at += argument.len();
                continue;
            }
            _ => shown.text.push(c),
        }
        at = next;
    }
    Some(shown)
}

/// Returns the end of the argument whose brace stands before `text`. What it quotes belongs to it.
fn argument_end(text: &str) -> Option<usize> {
    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '{' if !is_quoted => return None,
            '}' if !is_quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second text is what `new MessageFormat(…).format(…)` of OpenJDK 17 shows, with the
    /// arguments as they are.
    const PATTERNS: [(&str, &str); 9] = [
        ("it''s {0}", "it's {0}"),
        ("'{'x'}' of {0}", "{x} of {0}"),
        ("'{0}' of {0}", "{0} of {0}"),
        ("'''{x}'''", "'{x}'"),
        ("'{it''s}' {1}", "{it's} {1}"),
        ("{0,date,d 'of' MMMM} it''s", "{0,date,d 'of' MMMM} it's"),
        ("a } {0}", "a } {0}"),
        ("{0}''{1}", "{0}'{1}"),
        ("'{'0'}'{1}", "{0}{1}"),
    ];

    #[test]
    fn patterns_are_what_java_shows() {
        for (source, text) in PATTERNS {
            assert_eq!(shown(source).as_deref(), Some(text));
        }
        // Java shows these without their apostrophes.
        assert_eq!(shown("it's {0}").as_deref(), Some("it's {0}"));
        assert_eq!(shown("'a' {0}").as_deref(), Some("'a' {0}"));
        for broken in ["{0", "{0,choice,0#none|1#{1}}", "{'0}"] {
            assert_eq!(shown(broken), None);
        }
    }

    /// Each text of pieces that are special somewhere, behind any source with its arguments.
    #[test]
    fn a_text_is_shown_as_it_is() {
        let pieces = ["'", "{", "}", "{0}", "{x}", "l'", " a", "''", "é"];
        for number in 0..pieces.len().pow(4) {
            let text: String = (0..4)
                .map(|place| pieces[number / pieces.len().pow(place) % pieces.len()])
                .collect();
            for source in ["{0} it''s", "it''s", "{0} '{0}'"] {
                let found = pattern(source, text.clone());
                let shown = read(&found).unwrap_or_else(|| panic!("{text} -> {found}"));
                assert_eq!(shown.text, text, "{found}");
                let wanted = read(source).unwrap().arguments.len();
                let known = text.matches("{0}").count();
                assert_eq!(shown.arguments.len(), wanted.min(known), "{found}");
            }
        }
    }
}
