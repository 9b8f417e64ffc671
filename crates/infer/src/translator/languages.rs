//! The languages of models that know several.

use super::load::Translator;
use super::options::Languages;
use crate::error::InferError;

impl Translator {
    /// The tokens for a translation from the language `source` into the language `target`, as the vocabulary writes them:
    /// `en` and `fr` for M2M100, `eng_Latn` and `fra_Latn` for NLLB, `fra` alone for an OPUS-MT model with several
    /// target languages (`>>fra<<`).
    ///
    /// # Errors
    /// [`InferError::Language`] if the vocabulary has no such token, or asks for a language that is not given.
    pub fn languages(
        &self,
        source: Option<&str>,
        target: Option<&str>,
    ) -> Result<Languages, InferError> {
        let (of_source, of_target) = (&self.tokenizers.source, &self.tokenizers.target);
        let mut languages = Languages::default();
        if let Some(code) = source {
            let id = of_source.language_token(code);
            languages.source.push(id.ok_or_else(|| unknown("source", code))?);
        } else if of_source.names_languages() {
            return Err(missing("source"));
        }
        match target {
            Some(code) => match (of_source.target_tag(code), of_target.language_token(code)) {
                (Some(tag), _) => languages.source.push(tag),
                (None, Some(token)) => languages.target.push(token),
                (None, None) => return Err(unknown("target", code)),
            },
            None if of_target.names_languages() => return Err(missing("target")),
            None => {}
        }
        Ok(languages)
    }
}

fn unknown(side: &'static str, code: &str) -> InferError {
    InferError::Language { side, what: format!("the vocabulary has no token for {code:?}") }
}

fn missing(side: &'static str) -> InferError {
    let what = "the model knows several, and none was given".into();
    InferError::Language { side, what }
}
