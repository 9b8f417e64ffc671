//! The languages of multilingual models, by their codes.

use burnformer_text::find_language;

use super::Translator;
use super::error::LanguageError;
use super::options::Languages;

/// A result whose error is [`LanguageError`].
type Result<T> = std::result::Result<T, LanguageError>;

impl Translator {
    /// The tokens for a translation from the language `source` into the language `target`. Codes may
    /// be written as in the model's vocabulary (`fr` for M2M100, `fra_Latn` for NLLB, `fra` for an
    /// OPUS-MT model with several target languages, `>>fra<<`) or in any other form that
    /// [`find_language`](burnformer_text::find_language) accepts.
    ///
    /// # Errors
    /// Returns an error if the vocabulary has no such token or several, if a needed language is
    /// missing, or if the model has no languages to choose from.
    pub fn languages(&self, source: Option<&str>, target: Option<&str>) -> Result<Languages> {
        let of_source = &self.tokenizers.source;
        let of_target = &self.tokenizers.target;
        let codes = [source, target].map(|code| code.map(str::to_owned));
        let known = match (codes, &self.pair) {
            ([Some(source), Some(target)], _) => Some([source, target]),
            (_, pair) => pair.clone(),
        };
        let mut languages = Languages {
            codes: known,
            ..Languages::default()
        };
        if let Some(code) = chosen("source", source, &of_source.language_codes(), true)? {
            languages.source.extend(of_source.language_token(&code));
        }
        let tags = of_source.target_tags();
        if !tags.is_empty() {
            let tag = chosen("target", target, &tags, false)?;
            languages
                .source
                .extend(tag.and_then(|code| of_source.target_tag(&code)));
        } else if let Some(code) = chosen("target", target, &of_target.language_codes(), true)? {
            languages.target.extend(of_target.language_token(&code));
        }
        Ok(languages)
    }

    /// Returns the tokens for a translation from the language `source` into the language `target`.
    /// A side with a single language has no tokens.
    ///
    /// # Errors
    /// Returns an error if the model needs the token of a language and its vocabulary has no such
    /// token or several.
    pub fn languages_of_pair(&self, source: &str, target: &str) -> Result<Languages> {
        let tokenizers = [&self.tokenizers.source, &self.tokenizers.target];
        let [from, into] = tokenizers.map(|side| !side.language_codes().is_empty());
        let into = into || !self.tokenizers.source.target_tags().is_empty();
        let languages = self.languages(from.then_some(source), into.then_some(target))?;
        Ok(Languages {
            codes: Some([source.into(), target.into()]),
            ..languages
        })
    }
}

/// The code among `known` for the language `asked`. A `needed` language must be given if several are
/// known.
fn chosen(
    side: &'static str,
    asked: Option<&str>,
    known: &[String],
    needed: bool,
) -> Result<Option<String>> {
    let Some(code) = asked else {
        if !needed || known.is_empty() {
            return Ok(None);
        }
        let what = format!(
            "the model knows several ({}), and none was given; name one",
            listed(known)
        );
        return Err(LanguageError { side, what });
    };
    if known.is_empty() {
        let what = format!(
            "the model is not told its {side} language, but {code:?} was given; leave it out"
        );
        return Err(LanguageError { side, what });
    }
    let what = match find_language(code, known.iter().map(String::as_str)) {
        Ok(found) => return Ok(Some(found.to_owned())),
        Err(found) if found.is_empty() => format!(
            "{code:?} is none of those that the model knows ({}); name one of them",
            listed(known)
        ),
        Err(found) => format!(
            "{code:?} can be each of {}; name one of them",
            found.join(", ")
        ),
    };
    Err(LanguageError { side, what })
}

/// The codes, or the first of many.
fn listed(codes: &[String]) -> String {
    const MAX_NAMED: usize = 20;
    match codes.get(..MAX_NAMED) {
        Some(first) if codes.len() > MAX_NAMED => {
            format!(
                "{} … and {} more in its vocabulary",
                first.join(", "),
                codes.len() - MAX_NAMED
            )
        }
        _ => codes.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_languages_is_cut() {
        let codes: Vec<String> = (0..100).map(|number| format!("x{number}")).collect();
        assert!(listed(&codes).ends_with("x19 … and 80 more in its vocabulary"));
        assert_eq!(listed(&codes[..2]), "x0, x1");
    }
}
