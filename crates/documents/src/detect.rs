//! Language detection.

use std::sync::LazyLock;

use burnformer_text::is_unspaced;
use isolang::Language;
use regex::Regex;
use serde::Serialize;
use whatlang::{Detector, Info, Lang};

use crate::words::regex;
use crate::{Document, Format};

/// Number of bytes of words, from the beginning, used for detection.
const MAX_BYTES: usize = 4_000;

/// Minimum confidence for the detected language of a short text.
const MIN_CONFIDENCE: f64 = 10.0;

/// Minimum confidence for a certain language. Measured on 1,000 German and English texts of one to
/// four words: above it 2 of 394 were in the other language, below it 186 of 606.
const MIN_CERTAIN_CONFIDENCE: f64 = 50.0;

/// A detected language.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Detection {
    /// The language code, as the models write it if one supports the language.
    pub language: String,
    /// Confidence from 0 to 100.
    pub confidence: f64,
    /// If true, a model supports the language.
    #[serde(skip)]
    pub served: bool,
}

/// Detects the language of all `texts` together. The result is one of `codes`, the languages of the
/// models, unless the texts are clearly in another language. Returns `None` if the texts contain no
/// words. Markup, code, addresses and numbers are ignored.
pub fn detect<'a>(texts: impl IntoIterator<Item = &'a str>, codes: &[&str]) -> Option<Detection> {
    let texts: Vec<String> = texts
        .into_iter()
        .map(|text| prose(text, Format::Text, &|_| true))
        .collect();
    let (found, sure) = Languages::new(codes).detect(&texts.join("\n"))?;
    (sure || !found.served || found.confidence >= MIN_CONFIDENCE).then_some(found)
}

/// Returns the first words of `text` without markup, code, addresses and numbers. `fits` is called
/// for each sentence, as in [`Document::parse`].
pub fn prose(text: &str, format: Format, fits: &dyn Fn(&str) -> bool) -> String {
    let format = match format {
        Format::Text if text.contains('<') && text.contains('>') => Format::Html,
        Format::Text if text.contains('`') => Format::Markdown,
        format => format,
    };
    // Documents keep code in their sentences, because models translate them together.
    let is_html = format == Format::Html;
    let is_marked = is_html || format == Format::Markdown;
    let text = if is_marked {
        CODE[usize::from(is_html)].replace_all(text, " ")
    } else {
        text.into()
    };
    words_of(&Document::parse(&text, format, None, fits))
}

/// Returns the words of a `document`, like [`prose`] for a text.
pub fn words_of(document: &Document) -> String {
    let sentences = document.pending();
    let mut words = String::new();
    for word in sentences
        .iter()
        .flat_map(|sentence| sentence.text.split_whitespace())
    {
        if words.len() >= MAX_BYTES {
            break;
        } else if word.contains(is_unspaced) {
            // Without spaces, numbers and code may stand anywhere in a sentence.
            words.extend(word.chars().filter(|&c| is_unspaced(c)).take(MAX_BYTES));
            words.push(' ');
        } else if is_word(word) {
            words.extend([word, " "]);
        }
    }
    words
}

/// Code in Markdown and in HTML.
static CODE: LazyLock<[Regex; 2]> =
    LazyLock::new(|| ["(?s)`.*?`", "(?s)<code.*?</code>"].map(regex));

/// Returns whether `text`, which contains no white space, is a word and not a number, address,
/// placeholder or identifier.
fn is_word(text: &str) -> bool {
    let core = text.trim_matches(|c: char| !c.is_alphanumeric());
    core.contains(char::is_alphabetic)
        && !core.contains(char::is_numeric)
        && !core
            .chars()
            .zip(core.chars().skip(1))
            .any(|(a, b): (char, char)| match a {
                '-' | '\'' => false,
                a => {
                    (a.is_lowercase() && b.is_uppercase()) || (a.is_ascii_punctuation() && b != '-')
                }
            })
        && !text.starts_with(['@', '#', '$', '{', '%', '&', '\\', '_'])
}

/// The models' languages, restricted to languages known to the detector.
pub struct Languages<'a> {
    langs: Vec<(Lang, &'a str)>,
    others: Vec<&'a str>,
}

impl<'a> Languages<'a> {
    /// Creates a set of the languages with these codes.
    pub fn new(codes: &[&'a str]) -> Self {
        let (known, others) = codes
            .iter()
            .partition::<Vec<&str>, _>(|code| lang(code).is_some());
        let langs = known
            .into_iter()
            .filter_map(|code| Some((lang(code)?, code)))
            .collect();
        Self { langs, others }
    }

    fn code(&self, lang: Lang) -> Option<&'a str> {
        self.langs
            .iter()
            .find(|known| known.0 == lang)
            .map(|known| known.1)
    }

    /// Returns the most probable language that is not in `without`.
    fn among(&self, text: &str, without: &[&str]) -> Option<Info> {
        let left = self
            .langs
            .iter()
            .filter(|(_, code)| !without.contains(code));
        let found = Detector::with_allowlist(left.map(|known| known.0).collect()).detect(text)?;
        self.code(found.lang())
            .is_some_and(|code| !without.contains(&code))
            .then_some(found)
    }

    /// Returns the `most` most probable languages of `text`, then up to as many languages that the
    /// detector does not know.
    pub fn ranked(&self, text: &str, most: usize) -> Vec<&'a str> {
        let mut codes = Vec::new();
        while let Some(found) = self.among(text, &codes).filter(|_| codes.len() < most) {
            codes.extend(self.code(found.lang()));
        }
        codes.extend(self.others.iter().take(most));
        codes
    }

    /// Returns the most probable language of `text`, and whether the detection is certain. The
    /// result is one of these languages unless the text is certainly in another.
    pub fn detect(&self, text: &str) -> Option<(Detection, bool)> {
        let any = Detector::new().detect(text)?;
        let is_reliable = any.is_reliable();
        // A short text is too short for detection among all languages, but often enough for a few.
        let among = self.among(text, &[]);
        let among = among.filter(|_| !is_reliable || self.code(any.lang()).is_some());
        let info = among.unwrap_or(any);
        let code = self.code(info.lang());
        let language = match (code, Language::from_639_3(info.lang().code())) {
            (Some(code), _) => code,
            (None, Some(language)) => language.to_639_1().unwrap_or(language.to_639_3()),
            (None, None) => info.lang().code(),
        };
        let confidence = info.confidence() * 100.0;
        let served = code.is_some();
        // A language that the detector lacks is mistaken for another.
        let sure = if served {
            is_reliable || (confidence >= MIN_CERTAIN_CONFIDENCE && self.others.is_empty())
        } else {
            is_reliable && self.others.is_empty()
        };
        Some((
            Detection {
                language: language.to_owned(),
                confidence,
                served,
            },
            sure,
        ))
    }
}

fn lang(code: &str) -> Option<Lang> {
    let language = burnformer_text::language(code.split(['-', '_']).next()?)?;
    // The detector knows the main member where ISO 639-1 names the macrolanguage.
    Lang::from_code(match language.to_639_3() {
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
    fn a_language_is_found_among_those_of_the_models() {
        let codes = ["de", "en", "fr"];
        for (text, code) in [
            ("Der alte Mann wohnt am Meer und fischt jeden Tag.", "de"),
            (
                "The old man lives by the sea and goes fishing every day.",
                "en",
            ),
            (
                "Le vieil homme vit au bord de la mer et pêche tous les jours.",
                "fr",
            ),
            // Too short for detection among all languages.
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
    fn markup_and_numbers_do_not_tell_the_language() {
        let german = "Der alte Mann wohnt am Meer und fischt jeden Tag.";
        let names = "the main header with some buttons and this very long navigation of that page";
        let class = names.replace(' ', "-");
        for (text, format) in [
            (
                format!("<p class=\"{names}\"><!-- {names} -->{german}</p>"),
                Format::Html,
            ),
            (format!("<p class=\"{names}\">{german}<br>"), Format::Text),
            (
                format!("<style>.{class} {{color: red}}</style><p>{german}"),
                Format::Text,
            ),
            (
                format!("<script>let text = \"{names}\";</script>{german}"),
                Format::Html,
            ),
            (
                format!("{german} https://example.org/{class}/with/the/page.html?of={class}"),
                Format::Text,
            ),
            (format!("{german}\n\n```\n{names}\n```\n"), Format::Text),
            (format!("Mit `{names}`: {german}"), Format::Markdown),
            (
                format!("{german} <code class=a>{names}</code><b>Ja</b> <code>the</code>"),
                Format::Html,
            ),
            (
                format!("[{german}](https://example.org/{class})"),
                Format::Markdown,
            ),
            (
                format!(
                    "{german} {{name_of_the_user}} %(theValue)s $theHouse theUserName the_new_house"
                ),
                Format::Text,
            ),
            (
                format!("1\n00:00:01,000 --> 00:00:02,000\n<i>{german}</i>\n"),
                Format::Srt,
            ),
            (
                format!("{german} someone.with.the.name@the-house.example #thisIsTheTag @theUser"),
                Format::Text,
            ),
        ] {
            let words = prose(&text, format, &|_| true);
            assert!(
                words.starts_with("Der alte") || words.starts_with("Mit"),
                "{words}"
            );
            let (found, sure) = Languages::new(&["de", "en"]).detect(&words).unwrap();
            assert!(found.language == "de" && sure, "{text}: {words}: {found:?}");
        }
        for text in [
            "12345",
            "https://example.org/the/house",
            "{{ name }}",
            "<br>",
            "a@b.example",
            "v1.2.3",
            "",
            " ",
        ] {
            assert_eq!(prose(text, Format::Text, &|_| true), "", "{text}");
        }
        assert_eq!(
            prose("これは2024年の本です。 私も。", Format::Text, &|_| true),
            "これは年の本です 私も "
        );
    }

    #[test]
    fn a_language_that_no_model_takes_is_named() {
        for (text, code) in [
            (
                "Le vieil homme vit au bord de la mer et pêche tous les jours avec son fils.",
                "fr",
            ),
            ("Старик живёт у моря и каждый день ловит рыбу.", "ru"),
            ("老人は海のそばに住んでいて、毎日釣りをします。", "ja"),
        ] {
            assert_eq!(
                found(text, &["de", "en"]),
                Some((code.into(), false)),
                "{text}"
            );
        }
        assert_eq!(
            found("Der alte Mann", &["xx"]).map(|(_, served)| served),
            Some(false)
        );
    }
}
