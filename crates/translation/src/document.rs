//! Whole documents, translated along a [`Route`].

use std::path::Path;

use burnformer_data::corpus::open_bytes;
use burnformer_documents::{Document, MessageState, Remembered, WholeFile};
use burnformer_files::{FileKind, read_to_end};
use burnformer_infer::{Cancel, TranslateOptions};

use crate::error::{TranslationError, TranslationProblem};
use crate::rounds::Rounds;
use crate::route::Route;

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

/// Translates `file` along `route` and returns the bytes of the translated file. Sentences are split
/// with the abbreviations of `language`, a code such as `de`; by default of the source language of
/// the route, or of English if that is unknown. In a catalogue, messages without a translation and
/// messages in the states `more` are translated. Sentences that are too long for the first model
/// are cut at clauses. After `cancel`, no further sentence is translated, and the result must not
/// be used.
///
/// # Errors
/// Returns the errors of [`Route::translate`], and an error if a catalogue is broken.
pub fn translate(
    route: &Route,
    file: &WholeFile,
    language: Option<&str>,
    more: &[MessageState],
    cancel: &Cancel,
) -> Result<Vec<u8>, TranslationError> {
    let [source, target] = route.languages();
    let languages = [language.or(source), target];
    let options = route.first.options;
    let document = Document::try_parse(&file.text, file.format, languages, more, &|sentence| {
        route.fits(sentence)
    })?
    .with_writing(route.writing())
    .with_memory(&|text, context| remembered(options, text, context));
    let rounds = Rounds::new(vec![document], 1, Vec::new());
    let before = route.before.unwrap_or_default().iter();
    let before = before.map(|sentence| sentence.as_str().into()).collect();
    let mut rounds = rounds.with_context(route.context(), before);
    loop {
        // The terms come from the options.
        let pending = rounds.pending(usize::MAX, &|| ()).unwrap_or_default();
        let sentences = pending.concat();
        if sentences.is_empty() {
            let text = rounds.finish(&|| ()).concat().concat();
            return Ok(file.write(text, languages));
        }
        let found = route.translate(&sentences, cancel)?;
        let found = found.into_iter().map(|translated| vec![translated]);
        rounds.accept(vec![found.collect()], &|| ());
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
