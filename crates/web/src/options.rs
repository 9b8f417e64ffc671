//! Translation options, as passed by a page.

use std::collections::BTreeMap;
use std::sync::Arc;

use burnformer_infer::{Glossary, LongSources, TranslateOptions, Translator};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::Result;

/// Options with the same names as in the program and in Python.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Options {
    /// If true, results contain the word alignment.
    pub alignment: bool,
    /// If false, the shortlist of the model is not used.
    pub shortlist: Option<bool>,
    source_language: Option<String>,
    target_language: Option<String>,
    zero_shot: bool,
    longest: Option<usize>,
    truncate: bool,
    glossary: BTreeMap<String, String>,
    /// Keys of `generation.json`. They override the settings of the model.
    #[serde(flatten)]
    settings: Map<String, Value>,
}

impl Options {
    /// Returns the options for the model of `translator`: its defaults, overridden by the given
    /// values.
    ///
    /// # Errors
    /// Returns an error for an unknown name, or a value of the wrong type or out of range.
    pub fn resolve(self, translator: &Translator) -> Result<TranslateOptions> {
        let mut options = translator.options();
        options.change(&self.settings)?;
        let [source, target] = [&self.source_language, &self.target_language].map(Option::as_deref);
        options.languages = if self.zero_shot {
            translator.zero_shot_languages(source, target)?
        } else {
            translator.languages(source, target)?
        };
        options.longest = self.longest.unwrap_or(options.longest);
        if self.truncate {
            options.long_sources = LongSources::Truncate;
        }
        if !self.glossary.is_empty() {
            let glossary = Glossary::from_pairs(self.glossary)?;
            translator.check_glossary(&glossary)?;
            options.glossary = Some(Arc::new(glossary));
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(json: &str) -> Result<TranslateOptions, String> {
        let given: Options = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let mut options = TranslateOptions::default();
        options.protections.second_search = true;
        options
            .change(&given.settings)
            .map_err(|error| error.to_string())?;
        Ok(options)
    }

    #[test]
    fn given_settings_override_the_model_and_the_others_stay() {
        let found = changed(r#"{"beam_size": 2, "length_penalty": {"gnmt": 1.5}}"#).unwrap();
        assert_eq!(found.search.beam_size, 2);
        assert!(found.protections.second_search);
        let found = changed(r#"{"n_best": 9, "alignment": true, "second_search": false}"#).unwrap();
        assert_eq!(found.search.beam_size, 9);
        assert!(!found.protections.second_search);
    }

    #[test]
    fn an_unknown_or_wrong_option_is_named() {
        for (json, name) in [
            (r#"{"beem_size": 2}"#, "beem_size"),
            (r#"{"beam_size": 0}"#, "beam_size"),
            (r#"{"beam_size": "wide"}"#, "wide"),
            (r#"{"beam_size.x": 2}"#, "beam_size.x"),
            (r#"{"beam_size": 2, "n_best": 3}"#, "n_best"),
            (r#"{"truncate": 3}"#, "boolean"),
        ] {
            let error = changed(json).unwrap_err();
            assert!(error.contains(name), "{json}: {error}");
        }
    }
}
