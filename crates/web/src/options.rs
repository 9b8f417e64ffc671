//! Translation options, as passed by a page.

use std::collections::BTreeMap;
use std::sync::Arc;

use burnformer_infer::{Glossary, NamedOptions, TranslateOptions, Translator};
use serde::Deserialize;

use crate::Result;

/// Options with the same names as in the program and in Python.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Options {
    /// If true, results contain the word alignment.
    pub alignment: bool,
    /// If false, the shortlist of the model is not used.
    pub shortlist: Option<bool>,
    glossary: BTreeMap<String, String>,
    #[serde(flatten)]
    named: NamedOptions,
}

impl Options {
    /// Returns the options for the model of `translator`: its defaults, overridden by the given
    /// values.
    ///
    /// # Errors
    /// Returns an error for an unknown name, or a value of the wrong type or out of range.
    pub fn resolve(self, translator: &Translator) -> Result<TranslateOptions> {
        let mut options = self.named.resolve(translator)?;
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
            .change(&given.named.settings)
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
