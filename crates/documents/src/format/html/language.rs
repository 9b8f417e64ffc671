//! The language that a page declares.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::catalogue::{is_same, tag_of};
use crate::words::regex;

/// The language of the page, and of its preview in social networks. The second group is the code.
static DECLARED: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        r#"(?i)(\s(?:xml:)?lang\s*=\s*["']?)([a-z]{2,3}(?:[-_][a-z0-9]+)*)"#,
        r#"(?i)(\scontent\s*=\s*["']?)([a-z]{2,3}(?:[-_][a-z0-9]+)*)"#,
    ]
    .map(regex)
});
/// The tags that declare it.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"(?i)<html\s[^<>]*>|<meta\s[^<>]*(?:http-equiv\s*=\s*["']?content-language|property\s*=\s*["']?og:locale["'\s])[^<>]*>"#,
    )
});

/// Replaces `from` by `into` where `page` declares its language.
pub(crate) fn in_language(page: &str, from: &str, into: &str) -> String {
    let into = tag_of(into);
    let declared = |found: &Captures<'_>| {
        let code = if is_same(&found[2], from) {
            &into
        } else {
            &found[2]
        };
        format!("{}{code}", &found[1])
    };
    let replaced = TAG.replace_all(page, |tag: &Captures<'_>| {
        let [of_page, of_meta] = &*DECLARED;
        let is_page = tag[0]
            .get(..5)
            .is_some_and(|name| name.eq_ignore_ascii_case("<html"));
        let declaration = if is_page { of_page } else { of_meta };
        declaration.replace_all(&tag[0], declared).into_owned()
    });
    replaced.into_owned()
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
                "<html class=a lang=\"fr\"><p lang=\"de\">",
                "en",
                "<html class=a lang=\"fr\"><p lang=\"de\">",
            ),
            (
                "<html lang=\"DE\" data-lang=\"de\">",
                "eng_Latn",
                "<html lang=\"en\" data-lang=\"de\">",
            ),
            (
                "<meta property=\"og:locale\" content=\"de_DE\">",
                "en-GB",
                "<meta property=\"og:locale\" content=\"en-GB\">",
            ),
            (
                "<meta http-equiv=content-language content=de>",
                "en",
                "<meta http-equiv=content-language content=en>",
            ),
            (
                "<meta property=\"og:locale:alternate\" content=\"de_DE\">",
                "en",
                "<meta property=\"og:locale:alternate\" content=\"de_DE\">",
            ),
        ] {
            assert_eq!(in_language(page, "de", into), expected);
        }
    }
}
