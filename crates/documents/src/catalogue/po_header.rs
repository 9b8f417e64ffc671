//! The header of a gettext catalogue, filled for a target language as msginit fills a template.

use std::sync::LazyLock;

use burnformer_text::apply_edits;
use regex::Regex;

use crate::words::{Span, regex};

/// The plural rules of gettext, one a line, and the languages that have them: as msginit of gettext
/// 0.21 writes them, and for languages that it does not know as translate-toolkit 3.16 has them.
const PLURAL_FORMS: &str = include_str!("plural_forms.tsv");
/// The field with the number of plural forms and the rule that chooses one.
const RULE: &str = "Plural-Forms";

/// The header: the translation of the empty text. The group contains its strings.
static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"(?m)^msgid[ \t]*""[ \t]*\r?\n(?:[ \t]*""[ \t]*\r?\n)*"#,
        r#"msgstr[ \t]*((?:[ \t]*"(?:\\.|[^"\\\n])*"[ \t]*(?:\r?\n|\z))+)"#,
    ))
});
/// An empty string for a plural form, and the number of the form.
static EMPTY_FORM: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"^(?:#~[ \t]*)?msgstr\[(\d+)\][ \t]*""\s*$"#));
/// The number of plural forms in a rule.
static FORMS: LazyLock<Regex> = LazyLock::new(|| regex(r"nplurals\s*=\s*(\d+)"));
/// A field: its name, and its value, which may go over several strings.
static FIELD: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"(?:"|\\n)([A-Za-z-]+):((?:[^"\\]|\\[^n]|"\s*")*)"#));
/// The end of a string and the beginning of the next one.
static JOINT: LazyLock<Regex> = LazyLock::new(|| regex(r#""\s*""#));

/// Returns the catalogue `text` with the language `code`, its plural rule and an encoding in its
/// header. Fields with a value stay. A catalogue without a header gets one. Empty strings for
/// plural forms that the rule does not have are left out, because msgfmt refuses them.
pub(super) fn filled(text: &str, code: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let has_plurals = text.lines().any(|line| line.starts_with("msgid_plural"));
    let rule = plural_forms(code).filter(|_| has_plurals);
    let mut heads = HEAD.captures_iter(text);
    let head = heads.find(|head| !is_in_context(&text[..head.get_match().start()]));
    let Some(head) = head else {
        let head = with_fields(&new_header(newline), code, rule, newline);
        return with_forms(&[&head, newline, text].concat(), rule);
    };
    let whole = head.get_match().range();
    let old = &text[whole.clone()];
    let new = with_fields(old, code, rule, newline);
    let forms = field(&new, RULE).map(|value| value_of(&new[value]));
    let mut edits = Vec::new();
    if new != old {
        // A template's header is marked as fuzzy.
        let flag = fuzzy(&text[..whole.start]).map(|flag| (flag, String::new()));
        edits.extend(flag);
        edits.push((whole, new));
    }
    with_forms(&apply_edits(text, &edits), forms.as_deref())
}

/// Returns whether the lines before a message give it a context.
fn is_in_context(before: &str) -> bool {
    let last = before.trim_end().rsplit('\n').next();
    last.is_some_and(|line| line.starts_with("msgctxt"))
}

/// Returns the line before a message that only marks it as fuzzy.
fn fuzzy(before: &str) -> Option<Span> {
    let line = before.split_inclusive('\n').next_back()?;
    let is_flag = line.trim().strip_prefix("#,")?.trim() == "fuzzy";
    is_flag.then(|| before.len() - line.len()..before.len())
}

/// Returns a header with the fields that programs need.
fn new_header(newline: &str) -> String {
    let fields = [
        r#"msgid """#,
        r#"msgstr """#,
        r#""MIME-Version: 1.0\n""#,
        r#""Content-Type: text/plain; charset=UTF-8\n""#,
        r#""Content-Transfer-Encoding: 8bit\n""#,
    ];
    fields.map(|line| line.to_owned() + newline).concat()
}

/// Returns the header `head` with its open fields filled.
fn with_fields(head: &str, code: &str, rule: Option<&str>, newline: &str) -> String {
    let head = with_field(head, ("Language", Some(code)), newline);
    let encoding = ("Content-Type", Some("text/plain; charset=UTF-8"));
    let head = with_field(&head, encoding, newline);
    with_field(&head, (RULE, rule), newline)
}

/// Returns the header `head` with a field of this name and value, unless it has one with a value.
fn with_field(head: &str, (name, value): (&str, Option<&str>), newline: &str) -> String {
    let Some(value) = value else {
        return head.into();
    };
    if let Some(range) = field(head, name) {
        let old_value = value_of(&head[range.clone()]);
        let is_open =
            old_value.is_empty() || old_value.contains("INTEGER") || old_value.ends_with("CHARSET");
        let edit = is_open.then(|| (range, format!(" {value}")));
        return apply_edits(head, &Vec::from_iter(edit));
    }
    let strings = head.trim_end();
    let end = &head[strings.len()..];
    let before = strings.trim_end_matches('"');
    let is_whole = before.ends_with("\\n") || strings.ends_with("\"\"");
    let stop = if is_whole { "\"" } else { "\\n\"" };
    let before = strings.strip_suffix('"').unwrap_or(strings);
    let end = if end.is_empty() { newline } else { end };
    format!("{before}{stop}{newline}\"{name}: {value}\\n\"{end}")
}

/// Returns the byte range of a field's value in the strings of `head`.
fn field(head: &str, name: &str) -> Option<Span> {
    let mut fields = FIELD.captures_iter(head);
    let field = fields.find(|field| field[1].eq_ignore_ascii_case(name))?;
    Some(field.get(2)?.range())
}

/// Returns the value of a field from its strings.
fn value_of(raw: &str) -> String {
    JOINT.replace_all(raw, "").trim().to_owned()
}

/// Returns `text` without empty strings for forms that the plural rule `rule` does not have.
fn with_forms(text: &str, rule: Option<&str>) -> String {
    let count = rule.and_then(|rule| FORMS.captures(rule)?[1].parse::<usize>().ok());
    let Some(count) = count else {
        return text.into();
    };
    let lines = text.split_inclusive('\n');
    let nexts = lines.clone().skip(1).chain([""]);
    let mut kept = String::new();
    for (line, next) in lines.zip(nexts) {
        let form = EMPTY_FORM.captures(line);
        let form = form.and_then(|form| form[1].parse::<usize>().ok());
        let continues = next
            .trim_start_matches(['#', '~', ' ', '\t'])
            .starts_with('"');
        let is_extra = form.is_some_and(|form| form >= count.max(1)) && !continues;
        if !is_extra {
            kept += line;
        }
    }
    kept
}

/// Returns the plural rule of the language `code`.
pub(super) fn plural_forms(code: &str) -> Option<&'static str> {
    let base = code.split(['_', '@']).next().unwrap_or_default();
    [code, base, &format!("{base}_CN")]
        .into_iter()
        .find_map(rule_of)
}

/// Returns the plural rule in the row with exactly this `code`.
fn rule_of(code: &str) -> Option<&'static str> {
    let mut rows = PLURAL_FORMS
        .lines()
        .filter_map(|line| line.split_once('\t'));
    let (rule, _) = rows.find(|(_, codes)| codes.split(' ').any(|known| known == code))?;
    Some(rule)
}
