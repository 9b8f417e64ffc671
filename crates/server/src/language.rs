//! Language codes, language names and language pairs.

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

    /// Parses `de-en`. If a code itself contains a `-`, the separator is a colon: `pt-BR:en`.
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

/// Returns whether `code` has the form of a language code: letters, digits and `-` or `_` (`de`,
/// `pt-BR`, `zh_Hans`).
pub(crate) fn is_code(code: &str) -> bool {
    (2..=16).contains(&code.len())
        && code
            .chars()
            .all(|c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// The only code among `known` that `code` refers to, if there is exactly one.
pub(crate) fn resolve<'a>(code: &str, known: &[&'a str]) -> Option<&'a str> {
    burnformer_text::find_language(code, known.iter().copied()).ok()
}

/// The English name of a language, or its code if the name is not known: `German` for `de`,
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
    fn known_codes_have_language_names() {
        assert_eq!(name("de"), "German");
        assert_eq!(name("deu"), "German");
        assert_eq!(name("pt-BR"), "Portuguese (BR)");
        assert_eq!(name("el"), "Modern Greek");
        assert_eq!(name("xx-yy"), "xx-yy");
    }

    #[test]
    fn codes_are_resolved_in_common_spellings() {
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
    fn pairs_are_parsed_and_displayed() {
        for text in ["de-en", "pt-BR:en"] {
            let pair: LanguagePair = text.parse().unwrap();
            assert_eq!(pair.to_string().replace(':', "-"), text.replace(':', "-"));
        }
        for text in ["", "de", "de-", "de-de", "../x-en", "de en"] {
            assert!(text.parse::<LanguagePair>().is_err(), "{text}");
        }
    }
}
