//! Codes and names of languages.

use isolang::Language;

/// Whether `code` can be a language's: letters, digits and `-` or `_` (`de`, `pt-BR`, `zh_Hans`).
pub(crate) fn is_code(code: &str) -> bool {
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (2..=16).contains(&code.len()) && code.chars().all(valid)
}

/// The English name of a language, or its code where that is not known: `German` for `de`, `Portuguese (BR)` for `pt-BR`.
pub(crate) fn name(code: &str) -> String {
    let (base, region) = code.split_once(['-', '_']).map_or((code, None), |(b, r)| (b, Some(r)));
    let language = Language::from_639_1(base).or_else(|| Language::from_639_3(base));
    match (language, region) {
        (Some(language), Some(region)) => format!("{} ({region})", plain(language)),
        (Some(language), None) => plain(language),
        (None, _) => code.to_owned(),
    }
}

/// The name without the explanation in brackets that ISO 639 has behind some: `Modern Greek (1453-)`.
fn plain(language: Language) -> String {
    language.to_name().split(" (").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_have_names_where_their_code_is_known() {
        assert_eq!(name("de"), "German");
        assert_eq!(name("deu"), "German");
        assert_eq!(name("pt-BR"), "Portuguese (BR)");
        assert_eq!(name("el"), "Modern Greek");
        assert_eq!(name("xx-yy"), "xx-yy");
    }

    #[test]
    fn codes_are_short_and_plain() {
        assert!(["de", "pt-BR", "zh_Hans"].into_iter().all(is_code));
        assert!(
            ["", "d", "de en", "../etc", "a-very-long-language-code"]
                .into_iter()
                .all(|c| !is_code(c))
        );
    }
}
