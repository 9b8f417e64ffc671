//! Which language a text is in.

use isolang::Language;
use whatlang::{Detector, Lang};

use crate::language;

/// The characters from the beginning of a text by which its language is told.
const MOST_CHARACTERS: usize = 4_000;

/// Below this, what a short text is found to be is a guess.
const LEAST_CONFIDENCE: f64 = 0.1;

/// A language that a text may be in.
#[derive(Clone, Debug, PartialEq)]
pub struct Detection {
    /// The code, as the models name it if one takes the language.
    pub language: String,
    /// How sure that is, from 0 to 100.
    pub confidence: f64,
    /// Whether a model takes the language.
    pub served: bool,
}

/// The language of `texts` together. It is one of `codes`, those that models take, unless the texts are clearly in another
/// language; `None` if there is nothing by which to tell.
pub fn detect<'a>(texts: impl IntoIterator<Item = &'a str>, codes: &[&str]) -> Option<Detection> {
    let text: Vec<&str> = texts.into_iter().collect();
    let text: String =
        text.iter().flat_map(|text| text.chars().chain(['\n'])).take(MOST_CHARACTERS).collect();
    let known: Vec<(Lang, &str)> =
        codes.iter().filter_map(|code| Some((lang(code)?, *code))).collect();
    let any = Detector::new().detect(&text)?;
    let is_reliable = any.is_reliable();
    let allowed = known.iter().map(|&(lang, _)| lang).collect();
    let among = Detector::with_allowlist(allowed).detect(&text);
    let is_known = |found: Lang| known.iter().any(|&(lang, _)| lang == found);
    // Of a short text nobody can tell which of all languages it is in, but often which of a few.
    let found = match among {
        Some(among) if !is_reliable && among.confidence() < LEAST_CONFIDENCE => return None,
        Some(among) if !is_reliable || is_known(any.lang()) => among,
        _ => any,
    };
    let code = known.iter().find(|&&(lang, _)| lang == found.lang()).map(|&(_, code)| code);
    let language = match (code, Language::from_639_3(found.lang().code())) {
        (Some(code), _) => code,
        (None, Some(language)) => language.to_639_1().unwrap_or(language.to_639_3()),
        (None, None) => found.lang().code(),
    };
    Some(Detection {
        language: language.to_owned(),
        confidence: found.confidence() * 100.0,
        served: code.is_some(),
    })
}

fn lang(code: &str) -> Option<Lang> {
    let (language, _) = language::of(code);
    // The detector has macrolanguages' main members where ISO 639-1 names the macrolanguage.
    Lang::from_code(match language?.to_639_3() {
        "zho" => "cmn",
        "fas" => "pes",
        "nor" => "nob",
        code => code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, codes: &[&str]) -> Option<(String, bool)> {
        detect([text], codes).map(|found| (found.language, found.served))
    }

    #[test]
    fn a_language_is_told_among_those_of_the_models() {
        let codes = ["de", "en", "fr"];
        for (text, code) in [
            ("Der alte Mann wohnt am Meer und fischt jeden Tag.", "de"),
            ("The old man lives by the sea and goes fishing every day.", "en"),
            ("Le vieil homme vit au bord de la mer et pêche tous les jours.", "fr"),
            // Too short for a detector that knows all languages.
            ("Guten Morgen!", "de"),
            ("Good morning!", "en"),
        ] {
            assert_eq!(found(text, &codes), Some((code.into(), true)), "{text}");
        }
        assert_eq!(found("12345 !?", &codes), None);
        for text in ["12345", "Bonjour tout le monde"] {
            assert_eq!(found(text, &["de", "en"]), None, "{text}");
        }
    }

    #[test]
    fn a_language_that_no_model_takes_is_named() {
        for (text, code) in [
            ("Le vieil homme vit au bord de la mer et pêche tous les jours avec son fils.", "fr"),
            ("Старик живёт у моря и каждый день ловит рыбу.", "ru"),
            ("老人は海のそばに住んでいて、毎日釣りをします。", "ja"),
        ] {
            assert_eq!(found(text, &["de", "en"]), Some((code.into(), false)), "{text}");
        }
        assert_eq!(found("Der alte Mann", &["xx"]).map(|(_, served)| served), Some(false));
    }
}
