use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Error, Result, anyhow};
use burn::tensor::Device;
use burnformer::device::{DeviceName, check_models};
use burnformer::embedded::PAIRS;
use burnformer::{named, values};
use burnformer_core::ComputeType;
use burnformer_documents::WholeFile;
use burnformer_infer::view::SentenceAttention;
use burnformer_infer::{
    AlignmentOptions, Cancel, Report, TargetScore, TextContext, TextRequest, TranslateOptions,
    Translation, begin_documents,
};
use burnformer_interop::hub::ModelName;
use burnformer_translation::Route;
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::compute::{Sender, compute, compute_reporting};
use crate::error::exception;
use crate::options::{Function, Options};
use crate::requests::requests;
use crate::results::{self, Texts, TranslationResult};
use crate::translations::Translations;

/// Translates `requests` as consecutive sentences behind the sentences `before`.
///
/// # Errors
/// Returns an error if the model was trained on sentences alone.
fn in_context(
    translator: &burnformer_infer::Translator,
    mut requests: Vec<TextRequest>,
    before: Vec<String>,
    options: &TranslateOptions,
) -> Result<Vec<Translation>> {
    if translator.context().is_none() {
        return Err(anyhow!(
            "context: the model was trained on sentences alone; leave context out, or use a model that was \
             trained with data.context"
        ));
    }
    let texts: Vec<&str> = requests.iter().map(|request| &*request.text).collect();
    let begins = begin_documents(&texts);
    let history = TextContext::of_sources(before);
    Ok(translator.translate_documents(&mut requests, &begins, &history, options)?)
}

/// The number of pairs that are scored between two checks of `cancel`.
const SCORED_AT_ONCE: usize = 256;

const TRANSLATE: Function = Function {
    name: "translate",
    keywords: "prefix context alignment callback",
    refused: "",
};
const TRANSLATE_ITERABLE: Function = Function {
    name: "translate_iterable",
    keywords: "chunk alignment",
    refused: "",
};
const TRANSLATE_DOCUMENT: Function = Function {
    name: "translate_document",
    keywords: "language",
    refused: "n_best",
};
const SCORE: Function = Function {
    name: "score",
    keywords: "",
    refused: "n_best sampling small_letters second_search keep_parts glossary memory shortlist",
};
const ATTENTION: Function = Function {
    name: "attention",
    keywords: "",
    refused: SCORE.refused,
};

/// A model that translates. Several threads may use it at the same time, and so may a forked
/// process.
#[pyclass(module = "burnformer", frozen)]
pub struct Translator {
    pub inner: Arc<burnformer_infer::Translator>,
    models: Vec<PathBuf>,
    device: String,
    compute: Option<String>,
}

/// A model by its name or its folder, or several as an ensemble.
#[derive(FromPyObject)]
pub enum Models {
    One(PathBuf),
    Several(Vec<PathBuf>),
}

/// A document: its text, or the bytes of its file.
#[derive(FromPyObject, IntoPyObject)]
enum Content {
    Text(String),
    Bytes(Vec<u8>),
}

#[pymethods]
impl Translator {
    #[new]
    #[pyo3(signature = (model = Models::One(PathBuf::from("de-en")), device = "auto".to_owned(), compute = None))]
    #[pyo3(text_signature = "(model='de-en', device='auto', compute=None)")]
    fn new(
        py: Python<'_>,
        model: Models,
        device: String,
        compute: Option<String>,
    ) -> PyResult<Self> {
        let models = match model {
            Models::One(model) => vec![model],
            Models::Several(models) => models,
        };
        let asked = (models.clone(), device.clone(), compute.clone());
        let inner = self::compute(py, move |cancel| {
            load(&asked.0, &asked.1, asked.2.as_deref(), cancel)
        })?;
        Ok(Self {
            inner: Arc::new(inner),
            models,
            device,
            compute,
        })
    }

    /// Translates one text, or the texts of an iterable, one sentence each. `prefix` forces the
    /// beginning of a translation. With `context`, a list of the sentences before the first text,
    /// the texts are consecutive sentences of a document. The model must have been trained with
    /// context. With `alignment`, each translation contains links to the characters of its source.
    /// `callback` is called with the index of a text and the settled beginning of its translation,
    /// each time that it has grown; the last time with the whole. What was settled is never taken
    /// back. A greedy search (`beam_size=1`) settles each token.
    #[pyo3(signature = (text, *, prefix = None, context = None, alignment = false, callback = None, **options))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn translate<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        prefix: Option<&Bound<'py, PyAny>>,
        context: Option<&Bound<'py, PyAny>>,
        alignment: bool,
        callback: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let texts = Texts::read(text)?;
        let is_one = texts.is_one;
        let prefixes = prefix
            .map(Texts::read)
            .transpose()?
            .map(|prefixes| prefixes.all);
        let context = context.map(Texts::read).transpose()?;
        let options = Options::read(options, &TRANSLATE)?;
        let inner = self.inner.clone();
        let is_watched = callback.is_some();
        let work = move |cancel: &Cancel, sender: Sender<(usize, String)>| {
            let options = options.resolve(&inner)?;
            let mut requests = requests(&inner, &texts.all, prefixes.as_deref(), &options, cancel)?;
            if is_watched {
                watch(&mut requests, sender);
            }
            let all = match context {
                None => inner.translate_requests(requests, &options)?,
                Some(context) => in_context(&inner, requests, context.all, &options)?,
            };
            let found = texts.all.iter().zip(all).map(|(source, translation)| {
                let is_aligned = alignment && !cancel.is_cancelled();
                let languages = is_aligned.then_some(&options.languages);
                let all = translation.n_best.into_iter();
                let hypotheses = all.map(|found| found.hypothesis).collect();
                Ok(TranslationResult::new(
                    &inner, source, hypotheses, languages,
                )?)
            });
            found.collect::<Result<Vec<TranslationResult>>>()
        };
        let found = compute_reporting(py, work, |_, settled| match callback {
            Some(callback) => callback.call1(settled).map(drop),
            None => Ok(()),
        })?;
        given_as(
            py,
            is_one,
            found
                .into_iter()
                .map(|found| results::translation(py, found)),
        )
    }

    /// Returns an iterator over the translations of any number of texts, in order and in constant
    /// memory. `chunk` texts are read before the first is translated, so that texts of similar
    /// length share batches.
    #[pyo3(signature = (texts, *, chunk = 2048, alignment = false, **options))]
    fn translate_iterable<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        chunk: usize,
        alignment: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Translations> {
        if texts.is_instance_of::<PyString>() {
            let message = "texts: give an iterable of texts; translate() takes a single one";
            return Err(PyTypeError::new_err(message));
        }
        let texts = texts.try_iter()?.unbind();
        let options = Options::read(options, &TRANSLATE_ITERABLE)?;
        let inner = self.inner.clone();
        let options = compute(py, move |_| options.resolve(&inner))?;
        Ok(Translations::new(
            self.inner.clone(),
            texts,
            Arc::new(options),
            chunk,
            alignment,
        ))
    }

    /// Translates a whole document and keeps its markup. A text gives a text, the bytes of a file
    /// give bytes. `format` is the name of a format ("text", "html", "markdown") or a file
    /// extension ("docx"). Sentence splitting uses the abbreviations of `language`: by default the
    /// source language, or English if that is unknown. A warning names what stays in the source
    /// language, such as names of sheets.
    #[pyo3(signature = (text, format = "text", *, language = None, **options))]
    fn translate_document(
        &self,
        py: Python<'_>,
        text: Content,
        format: &str,
        language: Option<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Content> {
        let is_text = matches!(text, Content::Text(_));
        let file = match text {
            Content::Text(text) => WholeFile::of_text(text, format),
            Content::Bytes(bytes) => WholeFile::read(bytes, format),
        };
        let file = file.map_err(|error| exception(&Error::new(error)))?;
        warn_of(py, &file.untranslated())?;
        let options = Options::read(options, &TRANSLATE_DOCUMENT)?;
        let language = language.or_else(|| options.named.source_language.clone());
        let inner = self.inner.clone();
        let translated = compute(py, move |cancel| {
            let options = options.resolve(&inner)?;
            let language = language.as_deref();
            let route = Route::direct(&inner, &options);
            Ok(burnformer_translation::translate(
                &route,
                &file,
                language,
                &[],
                cancel,
            )?)
        })?;
        Ok(if is_text {
            Content::Text(String::from_utf8(translated)?)
        } else {
            Content::Bytes(translated)
        })
    }

    /// Returns the probability of `target` as the translation of `source`: two texts, or two
    /// iterables of texts.
    #[pyo3(signature = (source, target, **options))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        source: &Bound<'py, PyAny>,
        target: &Bound<'py, PyAny>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sources = Texts::read(source)?;
        let targets = Texts::read(target)?;
        if sources.is_one != targets.is_one {
            return Err(PyTypeError::new_err(
                "source and target: give two texts, or two lists",
            ));
        }
        let is_one = sources.is_one;
        let options = Options::read(options, &SCORE)?;
        let inner = self.inner.clone();
        let scores = compute(py, move |cancel| {
            score(
                &inner,
                &sources.all,
                &targets.all,
                &options.resolve(&inner)?,
                cancel,
            )
        })?;
        given_as(
            py,
            is_one,
            scores.into_iter().map(|score| results::score(py, score)),
        )
    }

    /// The pairs of source and target language on which the model was trained, by their codes;
    /// empty if it does not know them.
    #[getter]
    fn directions(&self) -> Vec<(String, String)> {
        let directions = self.inner.directions().iter().cloned();
        directions
            .map(|[source, target]| (source, target))
            .collect()
    }

    /// Returns the attention weights of the model for `source` and `target`, by default its own
    /// translation.
    #[pyo3(signature = (source, target = None, **options))]
    fn attention<'py>(
        &self,
        py: Python<'py>,
        source: String,
        target: Option<String>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::read(options, &ATTENTION)?;
        let inner = self.inner.clone();
        let sentence = compute(py, move |_| {
            let options = options.resolve(&inner)?;
            let target = match target {
                Some(target) => target,
                None => inner.translate(&[&source], &options)?.remove(0).text,
            };
            let attention = inner.attention(&source, &target, &options.languages)?;
            Ok(SentenceAttention::new(
                &source,
                &target,
                attention,
                AlignmentOptions::default(),
            ))
        })?;
        results::attention(py, &self.__repr__(), sentence)
    }

    /// Pickles the arguments. Unpickling loads the model again.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let arguments = (&self.models, &self.device, &self.compute).into_pyobject(py)?;
        Ok((py.get_type::<Self>().into_any(), arguments))
    }

    fn __repr__(&self) -> String {
        let models: Vec<String> = self
            .models
            .iter()
            .map(|model| model.display().to_string())
            .collect();
        format!(
            "Translator({:?}, device={:?})",
            models.join(", "),
            self.device
        )
    }
}

/// Warns of what stays in the source language in a document.
fn warn_of(py: Python<'_>, left: &str) -> PyResult<()> {
    if left.is_empty() {
        return Ok(());
    }
    let message = CString::new(format!("stays in the source language: {left}"))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)
}

/// Loads the model that `models` name, or an ensemble of several.
fn load(
    models: &[PathBuf],
    device: &str,
    compute: Option<&str>,
    cancel: &Cancel,
) -> Result<burnformer_infer::Translator> {
    let device: DeviceName = device.parse().map_err(Error::msg)?;
    let device: Device = device.open()?;
    let compute = compute.map(compute_type).transpose()?;
    let folders = models.iter().map(|model| folder(model, cancel));
    let folders = folders.collect::<Result<Vec<PathBuf>>>()?;
    check_models(&device, &folders)?;
    Ok(burnformer_infer::Translator::load_as(
        &folders, &device, compute,
    )?)
}

/// Returns whether `name` is one word, such as `fr-en`, of which there is neither a folder nor an
/// embedded model.
fn is_unknown(name: &Path) -> bool {
    let text = name.to_str().unwrap_or_default();
    !text.is_empty() && !text.contains([':', '/', '\\', '.']) && !name.exists()
}

/// The error for a name that is unknown, with the names that there are.
fn unknown(given: &Path) -> Error {
    let given = given.display();
    let names = PAIRS.join(", ");
    anyhow!(
        "{given}: no such folder and no model of this name; there are {names}, other pairs of Firefox \
         as firefox:{given}, names of the hub such as Helsinki-NLP/opus-mt-{given}, and folders"
    )
}

/// Returns `name` in the form of the program's `--model`: `embedded:de-en` for `de-en`, and
/// `hf:OWNER/NAME` for a name of the hub. Any other name is returned unchanged.
pub fn name_of(name: &Path) -> PathBuf {
    let text = name.to_str().filter(|_| !name.is_dir()).unwrap_or_default();
    let is_embedded = PAIRS.contains(&text);
    // A name that begins with a dot or a slash is meant as a path.
    let is_of_hub =
        !text.starts_with(['.', '/']) && !text.contains(':') && ModelName::of_hub(text).is_ok();
    match (is_embedded, is_of_hub) {
        (true, _) => format!("embedded:{text}").into(),
        (_, true) => format!("hf:{text}").into(),
        _ => name.into(),
    }
}

/// Returns the folder of a model: this path, an embedded model of this name, or a downloaded model.
fn folder(given: &Path, cancel: &Cancel) -> Result<PathBuf> {
    let name = name_of(given);
    let Some(parsed) = name.to_str().and_then(ModelName::parse) else {
        return if is_unknown(&name) {
            Err(unknown(given))
        } else {
            values::model_dir(&name)
        };
    };
    let found = named::model(&parsed?, &|| !cancel.is_cancelled());
    if name == given {
        found
    } else {
        found.with_context(|| {
            format!(
                "there is no folder {}, and as a name of the hub",
                given.display()
            )
        })
    }
}

fn compute_type(name: &str) -> Result<ComputeType> {
    let compute_type = ComputeType::ALL
        .into_iter()
        .find(|compute| compute.name() == name);
    let names = || ComputeType::ALL.map(ComputeType::name).join(", ");
    compute_type.ok_or_else(|| anyhow!("there is no compute type `{name}`; there are {}", names()))
}

/// Sends the settled beginnings of the translations of `requests` to `sender`, with their indices.
fn watch(requests: &mut [TextRequest], sender: Sender<(usize, String)>) {
    let sender = Arc::new(sender);
    for (index, request) in requests.iter_mut().enumerate() {
        let sender = sender.clone();
        let report = move |settled: &str| sender.send((index, settled.into()));
        request.report = Some(Report::new(report));
    }
}

/// Returns the scores of all pairs, or of the first ones if `cancel` is set meanwhile.
fn score(
    translator: &burnformer_infer::Translator,
    sources: &[String],
    targets: &[String],
    options: &TranslateOptions,
    cancel: &Cancel,
) -> Result<Vec<TargetScore>> {
    if sources.len() != targets.len() {
        let sources = sources.len();
        let others = targets.len();
        return Err(burnformer_infer::InferError::Count {
            sources,
            others,
            what: "targets",
        }
        .into());
    }
    let mut scores = Vec::with_capacity(sources.len());
    let chunks = sources
        .chunks(SCORED_AT_ONCE)
        .zip(targets.chunks(SCORED_AT_ONCE));
    for (sources, targets) in chunks.take_while(|_| !cancel.is_cancelled()) {
        let done = scores.len();
        let more = translator.score(sources, targets, options);
        scores.extend(more.map_err(|error| error.offset(done))?);
    }
    Ok(scores)
}

/// Returns the only result if a single text was given, or else a list.
fn given_as<'py>(
    py: Python<'py>,
    is_one: bool,
    mut results: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
) -> PyResult<Bound<'py, PyAny>> {
    if is_one {
        results.next().expect("a result for each text")
    } else {
        Ok(results.collect::<PyResult<Vec<_>>>()?.into_pyobject(py)?)
    }
}
