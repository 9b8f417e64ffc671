//! The languages of multilingual models, by their codes.

use burnformer_data::Tokenizers;
use burnformer_text::find_language;

use super::Translator;
use super::error::LanguageError;
use super::options::Languages;

/// A result whose error is [`LanguageError`].
type Result<T> = std::result::Result<T, LanguageError>;

/// A source and a target language, by their codes.
type Direction = [String; 2];

/// Whether a model may translate a pair of languages on which it was not trained.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Untrained {
    Refused,
    Tried,
}

impl Translator {
    /// The pairs of source and target language on which the model was trained, if it knows them.
    pub fn directions(&self) -> &[[String; 2]] {
        &self.settings.directions
    }

    /// The tokens for a translation from the language `source` into the language `target`. Codes
    /// may be written as in the model's vocabulary (`fr` for M2M100, `fra_Latn` for NLLB, `fra` for
    /// an OPUS-MT model with several target languages, `>>fra<<`) or in any other form that
    /// [`find_language`](burnformer_text::find_language) accepts. A model that knows its
    /// [`directions`](Self::directions) needs only what distinguishes them.
    ///
    /// # Errors
    /// Returns an error if the vocabulary has no such token or several, if a needed language is
    /// missing, if the model has no languages to choose from, or if it was not trained on this
    /// pair.
    pub fn languages(&self, source: Option<&str>, target: Option<&str>) -> Result<Languages> {
        self.languages_between(source, target, Untrained::Refused)
    }

    /// The tokens for a translation as by [`languages`](Self::languages), also for a pair of the
    /// model's languages on which it was not trained (zero-shot translation).
    ///
    /// # Errors
    /// Returns the other errors of [`languages`](Self::languages).
    pub fn zero_shot_languages(
        &self,
        source: Option<&str>,
        target: Option<&str>,
    ) -> Result<Languages> {
        self.languages_between(source, target, Untrained::Tried)
    }

    /// Returns the tokens for a translation from the language `source` into the language `target`.
    /// A side with a single language has no tokens.
    ///
    /// # Errors
    /// Returns an error if the model needs the token of a language and its vocabulary has no such
    /// token or several, or if it was not trained on this pair.
    pub fn languages_of_pair(&self, source: &str, target: &str) -> Result<Languages> {
        if self.directions().is_empty() {
            return Languages::of_pair(&self.tokenizers, source, target);
        }
        let languages = self.languages(Some(source), Some(target))?;
        Ok(Languages {
            codes: Some([source.into(), target.into()]),
            ..languages
        })
    }

    fn languages_between(
        &self,
        source: Option<&str>,
        target: Option<&str>,
        untrained: Untrained,
    ) -> Result<Languages> {
        if self.directions().is_empty() {
            let languages = Languages::between(&self.tokenizers, source, target)?;
            let codes = languages.codes.or_else(|| self.pair.clone());
            return Ok(Languages { codes, ..languages });
        }
        let (from, into) = direction(self.directions(), [source, target], untrained)?;
        match from {
            Some(from) => Languages::of_pair(&self.tokenizers, &from, &into),
            None => Languages::into_language(&self.tokenizers, &into),
        }
    }
}

impl Languages {
    /// The codes of both languages if both are given, and their tokens in the vocabularies of
    /// `tokenizers`.
    fn between(
        tokenizers: &Tokenizers,
        source: Option<&str>,
        target: Option<&str>,
    ) -> Result<Self> {
        let source_tokenizer = &tokenizers.source;
        let target_tokenizer = &tokenizers.target;
        let codes = source.zip(target);
        let mut languages = Self {
            codes: codes.map(|(source, target)| [source.into(), target.into()]),
            ..Self::default()
        };
        if let Some(code) = chosen("source", source, &source_tokenizer.language_codes(), true)? {
            languages
                .source
                .extend(source_tokenizer.language_token(&code));
        }
        let tags = source_tokenizer.target_tags();
        if !tags.is_empty() {
            let tag = chosen("target", target, &tags, false)?;
            languages
                .source
                .extend(tag.and_then(|code| source_tokenizer.target_tag(&code)));
        } else if let Some(code) =
            chosen("target", target, &target_tokenizer.language_codes(), true)?
        {
            languages
                .target
                .extend(target_tokenizer.language_token(&code));
        }
        Ok(languages)
    }

    /// The languages `source` and `target`, with their tokens in the vocabularies of `tokenizers`.
    /// A side with a single language has no tokens.
    ///
    /// # Errors
    /// Returns an error if a vocabulary names several languages, and this one not or in several
    /// ways.
    pub fn of_pair(
        tokenizers: &Tokenizers,
        source: &str,
        target: &str,
    ) -> std::result::Result<Self, LanguageError> {
        let [from, into] = names_language(tokenizers);
        let languages = Self::between(tokenizers, from.then_some(source), into.then_some(target))?;
        Ok(Self {
            codes: Some([source.into(), target.into()]),
            ..languages
        })
    }

    /// The language `target`, with its tokens, from any language.
    fn into_language(tokenizers: &Tokenizers, target: &str) -> Result<Self> {
        let [_, into] = names_language(tokenizers);
        Self::between(tokenizers, None, into.then_some(target))
    }
}

/// Whether the vocabularies have tokens for the source language and for the target language.
fn names_language(Tokenizers { source, target }: &Tokenizers) -> [bool; 2] {
    let from = !source.language_codes().is_empty();
    let into = !target.language_codes().is_empty() || !source.target_tags().is_empty();
    [from, into]
}

/// The direction among `known` that the codes in `asked` distinguish. Its source is `None` if it is
/// one of several.
fn direction(
    known: &[Direction],
    asked: [Option<&str>; 2],
    untrained: Untrained,
) -> Result<(Option<String>, String)> {
    let codes = distinct(known.iter().flatten());
    let source = chosen("source", asked[0], &codes, false)?;
    let target = chosen("target", asked[1], &codes, false)?;
    let is_same = |asked: &Option<String>, code| asked.as_ref().is_none_or(|asked| asked == code);
    let fitting = known
        .iter()
        .filter(|[from, into]| is_same(&source, from) && is_same(&target, into));
    let sources = distinct(fitting.clone().map(|[from, _]| from));
    let targets = distinct(fitting.map(|[_, into]| into));
    match (&sources[..], &targets[..]) {
        ([from], [into]) => Ok((Some(from.clone()), into.clone())),
        (_, [into]) => Ok((None, into.clone())),
        ([], _) => match (source, target) {
            (Some(from), Some(into)) if untrained == Untrained::Tried && from != into => {
                Ok((Some(from), into))
            }
            (source, target) => Err(not_trained(known, source, target)),
        },
        _ => Err(missing("target", &targets)),
    }
}

/// The error for a pair of languages on which the model was not trained.
fn not_trained(
    known: &[Direction],
    source: Option<String>,
    target: Option<String>,
) -> LanguageError {
    let from = source.map_or(String::new(), |code| format!(" from {code:?}"));
    let into = target.map_or(String::new(), |code| format!(" into {code:?}"));
    let known_pairs: Vec<String> = known.iter().map(|pair| pair.join(" → ")).collect();
    let what = format!(
        "the model was not trained to translate{from}{into}, but {}; name one of these, or ask for a pair that was not \
         trained (zero-shot)",
        listed(&known_pairs)
    );
    LanguageError {
        side: "target",
        what,
    }
}

/// The texts of `all` in their order, each once.
fn distinct<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for text in all {
        if !distinct.contains(text) {
            distinct.push(text.clone());
        }
    }
    distinct
}

/// The code among `known` for the language `asked`. A `needed` language must be given if several
/// are known.
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
        return Err(missing(side, known));
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

/// The error for a language that must be given, one of `known`.
fn missing(side: &'static str, known: &[String]) -> LanguageError {
    let what = format!(
        "the model knows several ({}), and none was given; name one",
        listed(known)
    );
    LanguageError { side, what }
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

    fn codes(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn asked(pairs: &[[&str; 2]], source: &str, target: &str) -> Result<(Option<String>, String)> {
        let known: Vec<Direction> = pairs.iter().map(|pair| pair.map(String::from)).collect();
        let given = [source, target].map(|code| Some(code).filter(|code| !code.is_empty()));
        direction(&known, given, Untrained::Refused)
    }

    #[test]
    fn a_long_list_of_languages_is_cut() {
        let codes: Vec<String> = (0..100).map(|number| format!("x{number}")).collect();
        assert!(listed(&codes).ends_with("x19 … and 80 more in its vocabulary"));
        assert_eq!(listed(&codes[..2]), "x0, x1");
    }

    #[test]
    fn a_direction_is_known_by_what_distinguishes_it() {
        let one = [["de", "en"]];
        let many = [["de", "en"], ["en", "de"], ["fr", "en"]];
        let known = |source: &str, target: &str| (Some(source.into()), target.into());
        for (pairs, source, target, expected) in [
            (&one[..], "", "", known("de", "en")),
            (&one, "de-AT", "", known("de", "en")),
            (&many, "", "de", known("en", "de")),
            (&many, "deu", "eng", known("de", "en")),
            (&many, "fr", "", known("fr", "en")),
            (&many, "", "en", (None, "en".into())),
        ] {
            assert_eq!(asked(pairs, source, target).unwrap(), expected);
        }
    }

    #[test]
    fn a_direction_that_was_not_trained_is_refused_with_those_that_were() {
        let many = [["de", "en"], ["en", "de"], ["fr", "en"]];
        for (source, target, needle) in [
            (
                "de",
                "fr",
                "from \"de\" into \"fr\", but de → en, en → de, fr → en",
            ),
            ("", "fr", "translate into \"fr\""),
            ("", "", "several (en, de)"),
            ("ja", "en", "\"ja\" is none of those"),
        ] {
            let message = asked(&many, source, target).unwrap_err().to_string();
            assert!(message.contains(needle), "{message}");
        }
        let known = many.map(|pair| pair.map(String::from));
        let tried = direction(&known, [Some("de"), Some("fr")], Untrained::Tried).unwrap();
        assert_eq!(tried, (Some("de".into()), "fr".into()));
        assert!(direction(&known, [Some("de"), Some("de")], Untrained::Tried).is_err());
        assert_eq!(distinct(codes(&["a", "b", "a"]).iter()), codes(&["a", "b"]));
    }
}
