//! The target language of a string catalogue.

use std::collections::BTreeSet;

use crate::catalogue::message::{is_same, tag_of};
use crate::json_tree::Value;

/// Returns the target language as the file writes it, or as it is to be written.
pub(super) fn target_of(
    strings: &Value,
    source: &str,
    asked: Option<&str>,
) -> Result<String, String> {
    let all = strings
        .children
        .iter()
        .filter_map(|it| it.get("localizations"));
    let languages = all.flat_map(|all| all.children.iter().map(|it| &*it.key));
    let codes: BTreeSet<&str> = languages.filter(|it| *it != source).collect();
    let Some(asked) = asked else {
        let first = codes.first().map(|first| first.to_string());
        return first.ok_or_else(|| {
            format!("the texts are in {source:?} alone; name the language to translate into, as with --target-language")
        });
    };
    let tag = tag_of(asked);
    let exact = codes.iter().find(|it| it.eq_ignore_ascii_case(&tag));
    let mut near = codes
        .iter()
        .filter(|code| is_same(code, &tag) && has_script_of(code, &tag));
    match exact.or_else(|| near.next()) {
        Some(code) => Ok(code.to_string()),
        None if is_same(source, &tag) => Err(format!(
            "the texts are in {source:?}, which is the language to translate into; take a model \
             from {source:?} into another language"
        )),
        None => Ok(tag),
    }
}

/// Returns whether the codes name the same script, or one of them names none.
fn has_script_of(one: &str, other: &str) -> bool {
    let scripts = script(one).zip(script(other));
    scripts.is_none_or(|(one, other)| one.eq_ignore_ascii_case(other))
}

/// Returns the script that `code` names, such as `Hans`.
fn script(code: &str) -> Option<&str> {
    let mut parts = code.split(['-', '_']).skip(1);
    parts.find(|part| part.len() == 4)
}
