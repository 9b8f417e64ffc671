//! Which language a text is in.

use isolang::Language;
use whatlang::{Detector, Lang};

/// A language that a text may be in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Detection {
    /// The code, as the models name it.
    pub language: String,
    /// How sure that is, from 0 to 100.
    pub confidence: f64,
}

/// The language of `text` among `codes`; `None` if there is no code that can be told, or no letter in the text.
pub(crate) fn detect(text: &str, codes: &[&str]) -> Option<Detection> {
    let known: Vec<(Lang, &str)> =
        codes.iter().filter_map(|code| Some((lang(code)?, *code))).collect();
    let allowed = known.iter().map(|&(lang, _)| lang).collect();
    let found = Detector::with_allowlist(allowed).detect(text)?;
    let (_, code) = known.iter().find(|&&(lang, _)| lang == found.lang())?;
    Some(Detection { language: (*code).to_owned(), confidence: found.confidence() * 100.0 })
}

fn lang(code: &str) -> Option<Lang> {
    let base = code.split(['-', '_']).next().unwrap_or(code);
    let language = Language::from_639_1(base).or_else(|| Language::from_639_3(base))?;
    // The detector has macrolanguages' main members where ISO 639-1 names the macrolanguage.
    Lang::from_code(match language.to_639_3() {
        "zho" => "cmn",
        "fas" => "pes",
        "nor" => "nob",
        "est" => "est",
        "lav" => "lav",
        code => code,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_among_those_of_the_models() {
        let codes = ["de", "en", "fr"];
        let found = |text| detect(text, &codes).map(|found| found.language);
        assert_eq!(found("Der alte Mann wohnt am Meer und fischt jeden Tag."), Some("de".into()));
        assert_eq!(
            found("The old man lives by the sea and goes fishing every day."),
            Some("en".into())
        );
        assert_eq!(
            found("Le vieil homme vit au bord de la mer et pêche tous les jours."),
            Some("fr".into())
        );
        assert_eq!(found("12345 !?"), None);
        assert_eq!(detect("Der alte Mann", &["xx"]), None);
    }
}
