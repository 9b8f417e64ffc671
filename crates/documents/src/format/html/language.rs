//! The language that a page declares.

use burnformer_text::apply_edits;

use super::attributes::attributes;
use super::lexer::{TokenKind, lex};
use super::tags::role;
use crate::language::Renaming;
use crate::words::{Span, moved};

/// Names of metadata about the language of the page, also in its preview in social networks.
const METADATA: [&str; 6] = [
    "content-language",
    "language",
    "og:locale",
    "dc.language",
    "dcterms.language",
    "inlanguage",
];

/// Replaces `from` by `into` where `page` declares the language of itself and of its translated
/// elements.
pub(crate) fn in_language(page: &str, from: &str, into: &str) -> String {
    let renaming = Renaming::new(from, into);
    let lexed = lex(page);
    let mut edits: Vec<(Span, String)> = Vec::new();
    let mut regions: Vec<(usize, bool)> = Vec::new();
    for (index, token) in lexed.tokens.iter().enumerate() {
        while regions.last().is_some_and(|&(end, _)| end < index) {
            regions.pop();
        }
        let TokenKind::Start {
            name, translate, ..
        } = &token.kind
        else {
            continue;
        };
        let around = regions.last().is_none_or(|&(_, translated)| translated);
        let is_kept = role(name).keeps(*translate);
        let is_translated = !is_kept && (around || *translate == Some(true));
        if let Some(end) = lexed.partner[index].filter(|_| is_translated != around) {
            regions.push((end, is_translated));
        }
        let tag = &lexed.masked[token.range.clone()];
        if is_translated {
            for (range, code) in declarations(name, tag, &renaming) {
                edits.push((moved(&range, 0, token.range.start), code));
            }
        }
    }
    apply_edits(page, &edits)
}

/// Returns the edits to the start tag `tag` of the element `name`.
fn declarations(name: &str, tag: &str, renaming: &Renaming<'_>) -> Vec<(Span, String)> {
    let all = attributes(tag);
    let is_metadata = name == "meta"
        && all.iter().any(|(name, value)| {
            let value = tag[value.clone()].to_ascii_lowercase();
            matches!(&**name, "http-equiv" | "name" | "property" | "itemprop")
                && METADATA.contains(&&*value)
        });
    let mut edits: Vec<(Span, String)> = Vec::new();
    for (name, value) in &all {
        let declares = match name.as_str() {
            "lang" | "xml:lang" => true,
            "content" => is_metadata,
            _ => false,
        };
        if declares && let Some(code) = renaming.of(&tag[value.clone()]) {
            edits.push((value.clone(), code));
        }
    }
    if !is_metadata && let Some((last, _)) = edits.last() {
        edits.extend(direction(name, tag, last.end, renaming));
        edits.sort_by_key(|(range, _)| range.start);
    }
    edits
}

/// Returns the edit that gives the start tag `tag` the direction of the target language. The root
/// of a page gets one after its language, whose value ends at `end`.
fn direction(name: &str, tag: &str, end: usize, renaming: &Renaming<'_>) -> Option<(Span, String)> {
    let [from, into] = renaming.directions();
    let all = attributes(tag);
    match all.into_iter().find(|(name, _)| name == "dir") {
        Some((_, value)) if tag[value.clone()].eq_ignore_ascii_case(from) => {
            (from != into).then(|| (value, into.to_owned()))
        }
        None if name == "html" && into == "rtl" => {
            let at = end + usize::from(tag[end..].starts_with(['"', '\'']));
            Some((at..at, format!(" dir=\"{into}\"")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_declares_the_language_of_its_translation() {
        for (page, into, expected) in [
            ("<html lang=\"de\">", "en", "<html lang=\"en\">"),
            (
                "<HTML xml:lang='de-AT' LANG=de>",
                "pt_BR",
                "<HTML xml:lang='pt-BR' LANG=pt-BR>",
            ),
            (
                "<html class=a lang=\"fr\"><p lang=\"de\" translate=no>",
                "en",
                "<html class=a lang=\"fr\"><p lang=\"de\" translate=no>",
            ),
            (
                "<p xml:lang=de><code lang=de>a</code><i lang=fr>b</i><b translate=no>c<i translate=yes lang=de>d</i></b>",
                "pt-BR",
                "<p xml:lang=pt-BR><code lang=de>a</code><i lang=fr>b</i><b translate=no>c<i translate=yes lang=pt-BR>d</i></b>",
            ),
            (
                "<meta name=\"DC.language\" content=\"de\"><meta content='de-AT' itemprop=inLanguage>",
                "en",
                "<meta name=\"DC.language\" content=\"en\"><meta content='en' itemprop=inLanguage>",
            ),
            (
                "<html lang=\"DE\" data-lang=\"de\">",
                "eng_Latn",
                "<html lang=\"en\" data-lang=\"de\">",
            ),
            (
                "<meta property=\"og:locale\" content=\"de_DE\">",
                "en-GB",
                "<meta property=\"og:locale\" content=\"en_GB\">",
            ),
            (
                "<meta http-equiv=content-language content=de>",
                "en",
                "<meta http-equiv=content-language content=en>",
            ),
            (
                "<html lang=\"de\" class=a><p lang=de dir=ltr>",
                "ar",
                "<html lang=\"ar\" dir=\"rtl\" class=a><p lang=ar dir=rtl>",
            ),
            (
                "<html lang=de><body dir=ltr>",
                "he",
                "<html lang=he dir=\"rtl\"><body dir=ltr>",
            ),
            (
                "<html dir=\"auto\" lang=\"de\"><p dir=rtl lang=de>",
                "ur",
                "<html dir=\"auto\" lang=\"ur\"><p dir=rtl lang=ur>",
            ),
            (
                "<html xml:lang='de' DIR='LTR' lang='de'><html class=b>",
                "fa",
                "<html xml:lang='fa' DIR='rtl' lang='fa'><html class=b>",
            ),
            (
                "<html lang=\"de\" dir=\"ltr\">",
                "en",
                "<html lang=\"en\" dir=\"ltr\">",
            ),
            (
                "<meta property=\"og:locale:alternate\" content=\"de_DE\">",
                "en",
                "<meta property=\"og:locale:alternate\" content=\"de_DE\">",
            ),
        ] {
            assert_eq!(in_language(page, "de", into), expected);
        }
        let arabic = "<html lang=\"ar\" dir=\"rtl\"><p dir=rtl>";
        let expected = "<html lang=\"de\" dir=\"ltr\"><p dir=rtl>";
        assert_eq!(in_language(arabic, "ar", "de"), expected);
    }
}
