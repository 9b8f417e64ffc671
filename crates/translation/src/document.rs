//! Whole documents, translated by a [`Translator`].

use std::path::Path;

use burnformer_data::corpus::open_bytes;
use burnformer_documents::{Document, MessageState, Remembered, Translated, WholeFile};
use burnformer_files::{FileKind, read_to_end};
use burnformer_infer::{Cancel, InferError, TranslateOptions, Translation, Translator};

use crate::error::{TranslationError, TranslationProblem};
use crate::rounds::{Rounds, Sentence};

/// Reads the file `path` in the format `kind`, the name of a format or a file extension.
///
/// # Errors
/// Returns an error if the file cannot be read or is broken.
pub fn read(path: &Path, kind: &str) -> Result<WholeFile, TranslationError> {
    let text = open_bytes(path)?;
    let bytes = read_to_end(text, FileKind::DOCUMENT)
        .map_err(|error| TranslationProblem::from(error).of(path))?;
    WholeFile::read(bytes, kind).map_err(|error| TranslationProblem::from(error).of(path))
}

/// Translates `file` and returns the bytes of the translated file. Sentences are split with the
/// abbreviations of `language`, a code such as `de`; by default of the source language of `options`,
/// or of English if that is unknown. In a catalogue,
/// messages without a translation and messages in the states `more` are translated. Sentences that
/// are too long for the model are cut at clauses. After `cancel`, no further sentence is
/// translated, and the result must not be used.
///
/// # Errors
/// Returns the errors of [`Translator::translate`] and [`Translator::links`], and an error if a
/// catalogue is broken.
pub fn translate(
    translator: &Translator,
    file: &WholeFile,
    language: Option<&str>,
    more: &[MessageState],
    options: &TranslateOptions,
    cancel: &Cancel,
) -> Result<Vec<u8>, TranslationError> {
    let language = language.or(options.languages.source());
    let languages = [language, options.languages.codes().map(|codes| &*codes[1])];
    let document = Document::try_parse(&file.text, file.format, languages, more, &|sentence| {
        translator.fits(sentence, options)
    })?
    .with_writing(options.languages.writing())
    .with_memory(&|text, context| remembered(options, text, context));
    let mut rounds = Rounds::new(vec![document], 1, Vec::new());
    loop {
        // The terms come from the options.
        let pending = rounds.pending(usize::MAX, &|| ()).unwrap_or_default();
        let sentences = pending.concat();
        if sentences.is_empty() {
            let text = rounds.finish(&|| ()).concat().concat();
            return Ok(file.write(text, languages));
        }
        let found = translated(translator, &sentences, options, cancel)?;
        rounds.accept(vec![found], &|| ());
    }
}

/// Returns the translation of `segment`, a message in `context`, from the translation memory of
/// `options`: with the same context, or else without it, which is not sure.
pub fn remembered(options: &TranslateOptions, segment: &str, context: &str) -> Option<Remembered> {
    let memory = options.memory.as_ref()?;
    let (text, is_sure) = memory.in_context(segment, context)?;
    Some(Remembered {
        text: text.into(),
        is_sure,
    })
}

/// The translations of `sentences`, with links where needed.
fn translated(
    translator: &Translator,
    sentences: &[Sentence],
    options: &TranslateOptions,
    cancel: &Cancel,
) -> Result<Vec<Vec<Translated>>, InferError> {
    let texts: Vec<&str> = sentences
        .iter()
        .map(|sentence| sentence.text.as_str())
        .collect();
    let mut requests = translator.requests(&texts, options)?;
    requests
        .iter_mut()
        .for_each(|request| request.search.cancel = cancel.clone());
    let translations = translator.translate_requests(requests, options)?;
    let mut all = Vec::with_capacity(sentences.len());
    for (sentence, Translation { text, .. }) in sentences.iter().zip(translations) {
        let links = if sentence.links && !cancel.is_cancelled() {
            translator.links(&sentence.text, &text)?
        } else {
            Vec::new()
        };
        all.push(vec![Translated { text, links }]);
    }
    Ok(all)
}
