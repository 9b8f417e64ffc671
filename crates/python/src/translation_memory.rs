use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use burnformer::output::say;
use burnformer_infer::{FuzzyMatch, TranslationMemory};
use burnformer_translation::translation_memory;
use pyo3::prelude::*;

use crate::compute::compute;

/// A translation memory, for the keyword `memory` of a translation.
#[pyclass(module = "burnformer", frozen)]
pub struct Memory {
    pub inner: Arc<TranslationMemory>,
}

/// The source of a memory.
#[derive(FromPyObject)]
enum Segments {
    Pairs(BTreeMap<String, String>),
    File(PathBuf),
    Files(Vec<PathBuf>),
}

#[pymethods]
impl Memory {
    /// Creates a memory from a dictionary, or from files as `translate --memory` reads them. The
    /// languages select among the languages of a TMX file.
    #[new]
    #[pyo3(signature = (segments, source_language = None, target_language = None))]
    fn new(
        py: Python<'_>,
        segments: Segments,
        source_language: Option<String>,
        target_language: Option<String>,
    ) -> PyResult<Self> {
        let files = match segments {
            Segments::Pairs(pairs) => {
                return Ok(Self {
                    inner: Arc::new(pairs.into_iter().collect()),
                });
            }
            Segments::File(file) => vec![file],
            Segments::Files(files) => files,
        };
        let inner = compute(py, move |_| {
            let languages = [source_language.as_deref(), target_language.as_deref()];
            Ok(translation_memory::load(&files, languages, &mut |note| {
                say(note)
            })?)
        })?;
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Returns the pair most similar to `text`, with its similarity from 0 to 1, if one is similar.
    fn nearest(&self, text: &str) -> Option<(String, String, f64)> {
        let FuzzyMatch {
            source,
            translation,
            score,
        } = self.inner.nearest(text)?;
        Some((source.into(), translation.into(), score))
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }
}
