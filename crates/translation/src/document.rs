//! Whole documents, translated along a [`Route`].

use std::path::Path;

use burnformer_data::corpus::open_bytes;
use burnformer_documents::{MessageState, Remembered, WholeFile};
use burnformer_files::{FileKind, read_to_end};
use burnformer_infer::{Cancel, TranslateOptions};

use crate::division::Division;
use crate::error::{TranslationError, TranslationProblem};
use crate::rounds::{Round, Rounds};
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
    let options = route.first.options;
    let division = Division {
        languages: [source, target],
        abbreviations: language,
        fits: &|sentence| route.fits(sentence),
        memory: &|text, context| remembered(options, text, context),
    };
    let document = division.read(&file.text, file.format, more)?;
    let before = route.before.unwrap_or_default().iter();
    let before = before.map(|sentence| sentence.as_str().into()).collect();
    let rounds = Rounds::new(vec![document], 1, Vec::new());
    let mut rounds = rounds.with_context(route.context(), before);
    loop {
        let round = rounds.advance(usize::MAX, &|| ());
        match round.expect("terms come from the options, not from the rounds") {
            Round::Finished(texts) => {
                let languages = [language.or(source), target];
                return Ok(file.write(texts.concat().concat(), languages));
            }
            Round::Pending(pending) => {
                let translations = route.translate(pending.sentences(), cancel)?;
                let best = translations.into_iter().map(|translated| vec![translated]);
                rounds = pending.accept(best.collect(), &|| ());
            }
        }
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
