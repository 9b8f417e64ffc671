use std::sync::Arc;
use std::vec;

use burnformer_infer::{TranslateOptions, Translator};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::compute::compute;
use crate::error::exception;
use crate::requests::requests;
use crate::results::{self, TranslationResult};

/// The translations of an iterable of texts, in order.
#[pyclass(module = "burnformer")]
pub struct Translations {
    translator: Arc<Translator>,
    /// The iterator of further texts, until it ends or fails.
    texts: Option<Py<PyIterator>>,
    options: Arc<TranslateOptions>,
    chunk: usize,
    alignment: bool,
    ready: vec::IntoIter<TranslationResult>,
    /// The exception to raise after the finished translations.
    failure: Option<PyErr>,
    /// The number of translated texts.
    done: usize,
}

impl Translations {
    /// Translates `texts`, `chunk` texts at a time.
    pub fn new(
        translator: Arc<Translator>,
        texts: Py<PyIterator>,
        options: Arc<TranslateOptions>,
        chunk: usize,
        alignment: bool,
    ) -> Self {
        Self {
            translator,
            texts: Some(texts),
            options,
            chunk: chunk.max(1),
            alignment,
            ready: Vec::new().into_iter(),
            failure: None,
            done: 0,
        }
    }

    /// Reads the next texts. If the iterator raises an exception, it is kept, and no texts follow.
    ///
    /// # Errors
    /// Exceptions that end a program, at once: a `KeyboardInterrupt` or a `SystemExit` of the
    /// iterator.
    fn next_texts(&mut self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut texts = Vec::new();
        let Some(iterator) = &self.texts else {
            return Ok(texts);
        };
        let mut iterator = iterator.bind(py).clone();
        while texts.len() < self.chunk {
            match iterator.next().map(|text| text?.extract::<String>()) {
                Some(Ok(text)) => texts.push(text),
                Some(Err(error)) if !error.is_instance_of::<PyException>(py) => return Err(error),
                end => {
                    self.failure = end.and_then(Result::err);
                    self.texts = None;
                    break;
                }
            }
        }
        Ok(texts)
    }

    /// Translates `texts` up to the first that cannot be translated. Its error is raised after
    /// them.
    fn translate(&mut self, py: Python<'_>, texts: Vec<String>) -> PyResult<()> {
        let translator = self.translator.clone();
        let options = self.options.clone();
        let alignment = self.alignment;
        let before = self.done;
        let (found, failure) = compute(py, move |cancel| {
            let requests = requests(&translator, &texts, None, &options, cancel)?;
            let (all, failure) = translator.translate_ids_until_error(requests, &options, &|_| ());
            let mut found = Vec::with_capacity(all.len());
            for (text, hypotheses) in texts.iter().zip(all) {
                let is_aligned = alignment && !cancel.is_cancelled();
                found.push(TranslationResult::new(
                    &translator,
                    text,
                    hypotheses,
                    is_aligned.then_some(&options.languages),
                )?);
            }
            Ok((found, failure.map(|failure| failure.offset(before))))
        })?;
        self.done += found.len();
        self.ready = found.into_iter();
        if let Some(failure) = failure {
            self.texts = None;
            self.failure = Some(exception(&failure.into()));
        }
        Ok(())
    }

    /// The next translation, if there is one.
    fn next_found(&mut self, py: Python<'_>) -> PyResult<Option<TranslationResult>> {
        loop {
            if let Some(found) = self.ready.next() {
                return Ok(Some(found));
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let texts = self.next_texts(py)?;
            if texts.is_empty() && self.failure.is_none() {
                return Ok(None);
            }
            self.translate(py, texts)?;
        }
    }
}

#[pymethods]
impl Translations {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.next_found(py).inspect_err(|_| {
            // The texts that were read are lost. No later text may be returned in their place.
            self.texts = None;
            self.failure = None;
        });
        found?
            .map(|found| results::translation(py, found))
            .transpose()
    }
}
