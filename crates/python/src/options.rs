//! Keyword arguments of a translation as search options.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use burnformer_infer::{
    GenerationSettings, Glossary, NamedOptions, Shortlist, TranslateOptions, TranslationMemory,
    Translator,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::translation_memory::Memory;

/// The keywords that are not keys of `generation.json`.
const OF_CALL: &str = "batch_size batch_tokens longest truncate source_language target_language zero_shot glossary memory shortlist";

/// Keywords of other libraries, and what is asked for here.
const ELSEWHERE: [(&str, &str); 16] = [
    ("beam", "beam_size"),
    ("beams", "beam_size"),
    ("num_beams", "beam_size"),
    ("num_return_sequences", "n_best"),
    ("num_hypotheses", "n_best"),
    ("max_new_tokens", "max_length"),
    ("max_decoding_length", "max_length"),
    ("no_repeat_ngram_size", "no_repeat_ngram"),
    ("do_sample", "sampling"),
    ("temperature", "sampling"),
    ("prefix_bias_beta", "prefix_bias"),
    ("sampling_temperature", "sampling"),
    ("sampling_topk", "sampling"),
    ("sampling_topp", "sampling"),
    ("src_lang", "source_language"),
    ("tgt_lang", "target_language"),
];

/// The names of all keywords: the keys of `generation.json` that are no facts about the model, and
/// `OF_CALL`.
pub fn names() -> Vec<String> {
    let all = serde_json::to_value(GenerationSettings::default()).expect("settings are plain data");
    let keys = all
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .filter(|key| !["calibration", "directions"].contains(&key.as_str()));
    keys.cloned()
        .chain(OF_CALL.split(' ').map(String::from))
        .collect()
}

/// A function that accepts keywords of a translation.
pub struct Function {
    /// The name of the function.
    pub name: &'static str,
    /// Additional keywords of the function.
    pub keywords: &'static str,
    /// The keywords that the function does not support.
    pub refused: &'static str,
}

/// The keywords of a call, each checked separately.
#[derive(Default)]
pub struct Options {
    pub named: NamedOptions,
    batch_size: Option<usize>,
    batch_tokens: Option<usize>,
    glossary: Option<Terms>,
    memory: Option<Arc<TranslationMemory>>,
    shortlist: Option<PathBuf>,
}

/// The source of a glossary.
#[derive(FromPyObject)]
enum Terms {
    Pairs(std::collections::BTreeMap<String, String>),
    File(PathBuf),
}

impl Options {
    /// Reads the keywords `given` in a call of `function`.
    ///
    /// # Errors
    /// A `TypeError` for an unknown keyword or a value of the wrong type.
    pub fn read(given: Option<&Bound<'_, PyDict>>, function: &Function) -> PyResult<Self> {
        let Function {
            name: function,
            keywords,
            refused,
        } = function;
        let mut options = Self::default();
        let mut known = names();
        known.retain(|name| !refused.split(' ').any(|refused| refused == name));
        for (name, value) in given.into_iter().flat_map(|given| given.iter()) {
            let name: String = name.extract()?;
            if !known.contains(&name) {
                let known = keywords.split_whitespace().map(String::from).chain(known);
                let known: Vec<String> = known.collect();
                let nearest = nearest(value.py(), &name, &known)?
                    .map(|name| format!("did you mean {name:?}? "))
                    .unwrap_or_default();
                let known = known.join(", ");
                let message =
                    format!("{function}() takes no keyword {name:?}; {nearest}there are {known}");
                return Err(PyTypeError::new_err(message));
            }
            options.set(&name, &value)?;
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match name {
            "batch_size" => self.batch_size = of(name, value)?,
            "batch_tokens" => self.batch_tokens = of(name, value)?,
            "longest" => self.named.longest = of(name, value)?,
            "truncate" => self.named.truncate = of(name, value)?,
            "source_language" => self.named.source_language = of(name, value)?,
            "target_language" => self.named.target_language = of(name, value)?,
            "zero_shot" => self.named.zero_shot = of(name, value)?,
            "glossary" => self.glossary = of(name, value)?,
            "memory" => {
                let message = "memory: give a burnformer.Memory, which is made once for many calls";
                let memory = value
                    .cast::<Memory>()
                    .map_err(|_| PyTypeError::new_err(message))?;
                self.memory = Some(memory.get().inner.clone());
            }
            "shortlist" => self.shortlist = of(name, value)?,
            _ => {
                let value = json(name, value)?;
                // Types are checked now, ranges when the model's other settings are known.
                GenerationSettings::default()
                    .set(name, value.clone())
                    .map_err(|error| PyTypeError::new_err(error.to_string()))?;
                self.named.settings.insert(name.into(), value);
            }
        }
        Ok(())
    }

    /// Resolves the options. Reads files, and computes on all threads.
    ///
    /// # Errors
    /// Returns an error if a value is out of range, or a file is invalid.
    pub fn resolve(self, translator: &Translator) -> Result<TranslateOptions> {
        let mut options = self.named.resolve(translator)?;
        let batching = &mut options.batching;
        batching.max_sentences = self.batch_size.unwrap_or(batching.max_sentences);
        batching.max_tokens = self.batch_tokens.unwrap_or(batching.max_tokens);
        batching.validate()?;
        if let Some(terms) = self.glossary {
            let glossary = match terms {
                Terms::Pairs(pairs) => Glossary::from_pairs(pairs)?,
                Terms::File(path) => Glossary::load(&path)?,
            };
            translator.check_glossary(&glossary)?;
            options.glossary = Some(Arc::new(glossary));
        }
        options.memory = self.memory;
        if let Some(path) = &self.shortlist {
            let shortlist = Shortlist::load(path)?;
            translator
                .check_shortlist(&shortlist)
                .with_context(|| path.display().to_string())?;
            options.shortlist = Some(Arc::new(shortlist));
        }
        Ok(options)
    }
}

/// Returns the one of the `known` keywords that `name` stands for in another library. A name that
/// no library has is taken for a mistake, and the keyword that is spelt most like it is returned.
fn nearest(py: Python<'_>, name: &str, known: &[String]) -> PyResult<Option<String>> {
    if let Some((_, meant)) = ELSEWHERE.iter().find(|(other, _)| *other == name) {
        return Ok(known.iter().find(|known| known == meant).cloned());
    }
    let similar: Vec<String> = py
        .import("difflib")?
        .call_method1("get_close_matches", (name, known, 1))?
        .extract()?;
    Ok(similar.into_iter().next())
}

/// Extracts the value of the keyword `name`.
fn of<'py, T>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<T>
where
    T: for<'a> FromPyObject<'a, 'py>,
    for<'a> <T as FromPyObject<'a, 'py>>::Error: Into<PyErr>,
{
    value.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        PyTypeError::new_err(format!("{name}: {}", error.value(value.py())))
    })
}

/// Converts a Python value to JSON.
fn json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let values = value.py().import("burnformer.values")?;
    let text: String = values.call_method1("to_json", (name, value))?.extract()?;
    serde_json::from_str(&text).map_err(|error| PyTypeError::new_err(format!("{name}: {error}")))
}
