//! Tokens that name languages: `>>fr<<` of OPUS-MT, `__fr__` of M2M100 and `fra_Latn` of NLLB.

use std::collections::BTreeMap;

/// Returns the code in a token that names a target language at the start of a source, such as
/// `>>fr<<`.
pub(super) fn code_of_tag(token: &str) -> Option<&str> {
    between(token, ">>", "<<")
}

/// Returns the code in a token that names the language of its side, in the form of M2M100
/// (`__fr__`) or NLLB (`fra_Latn`).
pub(super) fn code_of_language(token: &str) -> Option<&str> {
    let m2m100 = between(token, "__", "__").filter(|code| !code.is_empty());
    m2m100.or_else(|| is_nllb(token).then_some(token))
}

fn is_nllb(token: &str) -> bool {
    token.split_once('_').is_some_and(|(language, script)| {
        language.len() == 3 && script.len() == 4 && script.starts_with(|c: char| c.is_uppercase())
    })
}

/// Returns the text of `token` between `start` and `end`.
fn between<'a>(token: &'a str, start: &str, end: &str) -> Option<&'a str> {
    token.strip_prefix(start)?.strip_suffix(end)
}

/// Returns the special tokens of a `tokenizer.json`, in the order of their ids.
pub(super) fn special_tokens(inner: &tokenizers::Tokenizer) -> Vec<&str> {
    let added = inner.get_added_vocabulary().get_added_tokens_decoder();
    let special = added.iter().filter(|(_, token)| token.special);
    let by_id: BTreeMap<u32, &str> = special.map(|(id, token)| (*id, &*token.content)).collect();
    by_id.into_values().collect()
}
