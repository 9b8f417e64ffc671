//! Results for Python: instances of the dataclasses in `python/burnformer/results.py`.

use burnformer_documents::Detection;
use burnformer_infer::view::{Panel, SentenceAttention, page};
use burnformer_infer::{
    Alternative, Hypothesis, InferError, Languages, TargetScore, TextLink, Translator,
    quality_warnings,
};
use burnformer_text::character_offsets;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMemoryView, PyString};

/// The texts of a call: one text or several.
pub struct Texts {
    pub all: Vec<String>,
    pub is_one: bool,
}

impl Texts {
    /// Reads a string, or the strings of any iterable.
    ///
    /// # Errors
    /// A `TypeError` if it is neither.
    pub fn read(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        if given.is_instance_of::<PyString>() {
            return Ok(Self {
                all: vec![given.extract()?],
                is_one: true,
            });
        }
        // The items of bytes are numbers.
        let is_binary = given.is_instance_of::<PyBytes>() || given.is_instance_of::<PyByteArray>();
        let texts = given.try_iter().ok().filter(|_| !is_binary);
        let texts = texts.ok_or_else(|| not_a_text("a text", given))?;
        let all = texts.map(|text| {
            let text = text?;
            if text.is_instance_of::<PyString>() {
                text.extract()
            } else {
                Err(not_a_text("among the texts: a text", &text))
            }
        });
        Ok(Self {
            all: all.collect::<PyResult<_>>()?,
            is_one: false,
        })
    }
}

/// The error for a value that is not a text.
fn not_a_text(expected: &str, given: &Bound<'_, PyAny>) -> PyErr {
    let kind = given.get_type();
    let type_name = kind.name().map(|name| name.to_string());
    let type_name = type_name.unwrap_or_else(|_| "something else".to_owned());
    let remedy = match type_name.as_str() {
        "bytes" | "bytearray" => "; decode it first, such as data.decode(\"utf-8\")",
        _ if expected == "a text" => "; give a str, or an iterable of them",
        _ => "; give a str",
    };
    PyTypeError::new_err(format!("{expected} was expected, not {type_name}{remedy}"))
}

/// A translated sentence before conversion to a Python object: all hypotheses with their texts, and
/// the links of the best one.
pub struct TranslationResult {
    alternatives: Vec<Alternative>,
    doubts: Vec<String>,
    confidence: Option<f64>,
    alignment: Option<Vec<CharLink>>,
}

/// A link as ranges of characters: start and end in the source, then in the translation.
type CharLink = ((usize, usize), (usize, usize));

impl TranslationResult {
    /// Creates the translation of `source` from `hypotheses`, with links if `languages`, between
    /// which it was translated, are given.
    ///
    /// # Errors
    /// The errors of [`Translator::links`].
    pub fn new(
        translator: &Translator,
        source: &str,
        hypotheses: Vec<Hypothesis>,
        languages: Option<&Languages>,
    ) -> Result<Self, InferError> {
        let alternatives = translator.alternatives(hypotheses);
        let Alternative {
            text: best,
            hypothesis,
        } = &alternatives[0];
        let confidence = translator.confidence(source, best, hypothesis);
        let doubts = quality_warnings(source, best)
            .into_iter()
            .map(|doubt| doubt.to_string())
            .collect();
        let links = languages.map(|languages| translator.links(source, best, languages));
        let alignment = links
            .transpose()?
            .map(|links| in_characters(source, best, links));
        Ok(Self {
            alternatives,
            doubts,
            confidence,
            alignment,
        })
    }
}

/// Converts `links` from ranges of bytes to ranges of characters, as in Python strings.
fn in_characters(source: &str, target: &str, links: Vec<TextLink>) -> Vec<CharLink> {
    let [sources, targets] = [source, target].map(character_offsets);
    links
        .into_iter()
        .map(|TextLink { source, target }: TextLink| {
            (
                (sources[source.start], sources[source.end]),
                (targets[target.start], targets[target.end]),
            )
        })
        .collect()
}

/// The class `name` of the Python package.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("burnformer.results")?.getattr(name)
}

/// Converts `found` to an instance of the Python class `Translation`.
///
/// # Errors
/// Returns the exception of Python's import of the class.
pub fn translation<'py>(py: Python<'py>, found: TranslationResult) -> PyResult<Bound<'py, PyAny>> {
    let class_of_others = class(py, "Alternative")?;
    let alternatives = found
        .alternatives
        .into_iter()
        .map(|Alternative { text, hypothesis }: Alternative| {
            let Hypothesis {
                tokens,
                log_probs,
                score,
                finish,
                ..
            } = hypothesis;
            class_of_others.call1((text, score, tokens, log_probs, finish.to_string()))
        })
        .collect::<PyResult<Vec<_>>>()?;
    let TranslationResult {
        doubts,
        confidence,
        alignment,
        ..
    } = found;
    class(py, "Translation")?.call1((alternatives, doubts, confidence, alignment))
}

/// Converts `score` to an instance of the Python class `Score`.
///
/// # Errors
/// Returns the exception of Python's import of the class.
pub fn score<'py>(py: Python<'py>, score: TargetScore) -> PyResult<Bound<'py, PyAny>> {
    let perplexity = score.perplexity();
    class(py, "Score")?.call1((score.total, score.score, perplexity, score.log_probs))
}

/// Converts `found` to an instance of the Python class `Detection`.
///
/// # Errors
/// Returns the exception of Python's import of the class.
pub fn detection<'py>(py: Python<'py>, found: &Detection) -> PyResult<Bound<'py, PyAny>> {
    // As everywhere else in Python; the program and the server count to 100, as LibreTranslate
    // does.
    class(py, "Detection")?.call1((&found.language, found.confidence / 100.0))
}

/// Converts the attention of `sentence` by the model `name` to an instance of the Python class
/// `Attention`.
///
/// # Errors
/// Returns the exception of Python's import of the class.
pub fn attention<'py>(
    py: Python<'py>,
    name: &str,
    sentence: SentenceAttention,
) -> PyResult<Bound<'py, PyAny>> {
    let page = page(
        &format!("Attention of {name}"),
        std::slice::from_ref(&sentence),
    );
    let parts = PyDict::new(py);
    for panel in &sentence.panels {
        let queries = &panel.queries;
        let keys = &panel.keys;
        let part = class(py, "AttentionPart")?.call1((queries, keys, weights(py, panel)?))?;
        parts.set_item(panel.kind.name(), part)?;
    }
    let SentenceAttention {
        source,
        target,
        alignment,
        ..
    } = sentence;
    class(py, "Attention")?.call1((source, target, alignment, parts, page))
}

/// The weights of a panel as a memory view `[layers, heads, queries, keys]` of bytes owned by
/// Python.
fn weights<'py>(py: Python<'py>, panel: &Panel) -> PyResult<Bound<'py, PyAny>> {
    let heads = panel.layers.iter().flatten();
    let values = heads.flat_map(|head| head.rows().flatten());
    let bytes: Vec<u8> = values.flat_map(|value| value.to_ne_bytes()).collect();
    let bytes = PyBytes::new(py, &bytes);
    let heads = panel.layers.first().map_or(0, Vec::len);
    let shape = (
        panel.layers.len(),
        heads,
        panel.queries.len(),
        panel.keys.len(),
    );
    PyMemoryView::from(&bytes)?.call_method1("cast", ("f", shape))
}
