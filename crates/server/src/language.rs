//! Codes and names of languages, and pairs of them.

use std::str::FromStr;

use derive_more::Display;

/// The source and the target language of a model.
#[derive(Clone, Debug, Display, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[display("{source}-{target}")]
pub struct LanguagePair {
    /// The code of the source language, such as `de`.
    pub source: String,
    /// The code of the target language, such as `en`.
    pub target: String,
}

impl FromStr for LanguagePair {
    type Err = String;

    /// Reads `de-en`; where a code has a `-` itself, `pt-BR:en`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (source, target) = text
            .split_once(':')
            .or_else(|| text.split_once('-'))
            .unwrap_or_default();
        if is_code(source) && is_code(target) && source != target {
            Ok(Self {
                source: source.into(),
                target: target.into(),
            })
        } else {
            Err(format!(
                "{text:?} is no pair of different language codes such as de-en or pt-BR:en"
            ))
        }
    }
}

/// Returns whether `code` can be a language's: letters, digits and `-` or `_` (`de`, `pt-BR`,
/// `zh_Hans`).
pub(crate) fn is_code(code: &str) -> bool {
    (2..=16).contains(&code.len())
        && code
            .chars()
            .all(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// The code among `known` to which `code` refers, if there is just one.
pub(crate) fn resolve<'a>(code: &str, known: &[&'a str]) -> Option<&'a str> {
    burnformer_text::find_language(code, known.iter().copied()).ok()
}

/// The English name of a language, or its code where that is not known: `German` for `de`,
/// `Portuguese (BR)` for `pt-BR`.
pub(crate) fn name(code: &str) -> String {
    let (base, region) = code.split_once(['-', '_']).unwrap_or((code, ""));
    let Some(language) = burnformer_text::language(base) else {
        return code.to_owned();
    };
    // ISO 639 adds an explanation in brackets to some names: `Modern Greek (1453-)`.
    let plain = language.to_name().split(" (").next().unwrap_or_default();
    if region.is_empty() {
        plain.to_owned()
    } else {
        format!("{plain} ({region})")
    }
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
    fn codes_are_understood_as_people_write_them() {
        let known = ["de", "en", "pt-BR", "zho_Hans", "zho_Hant"];
        for code in ["de", "DE", "de-DE", "de_AT", "deu", "ger", "deu_Latn"] {
            assert_eq!(resolve(code, &known), Some("de"), "{code}");
        }
        for (code, meant) in [
            ("pt", Some("pt-BR")),
            ("pt_br", Some("pt-BR")),
            ("pt-PT", None),
            ("zh", None),
            ("zho-hant", Some("zho_Hant")),
            ("fr", None),
            ("", None),
            ("auto", None),
        ] {
            assert_eq!(resolve(code, &known), meant, "{code}");
        }
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

    #[test]
    fn pairs_are_read_and_written() {
        for text in ["de-en", "pt-BR:en"] {
            let pair: LanguagePair = text.parse().unwrap();
            assert_eq!(pair.to_string().replace(':', "-"), text.replace(':', "-"));
        }
        for text in ["", "de", "de-", "de-de", "../x-en", "de en"] {
            assert!(text.parse::<LanguagePair>().is_err(), "{text}");
        }
    }
}
