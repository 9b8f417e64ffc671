//! Documents, translated by a model.

use std::path::Path;

use anyhow::Context;
use burnformer_data::corpus::open_bytes;
use burnformer_documents::{
    Document, MessageState, PendingSentence, Remembered, Translated, WholeFile,
};
use burnformer_files::{FileKind, read_to_end};
use burnformer_infer::{Cancel, InferError, TranslateOptions, Translation, Translator};

use crate::output::say;

/// Reads the file `path` in the format `kind`, and prints its encoding if it is not UTF-8.
///
/// # Errors
/// Returns an error if the file cannot be read or is broken.
pub fn read(path: &Path, kind: &str) -> anyhow::Result<WholeFile> {
    let name = path.display();
    let bytes =
        read_to_end(open_bytes(path)?, FileKind::DOCUMENT).with_context(|| name.to_string())?;
    let file = WholeFile::read(bytes, kind).with_context(|| name.to_string())?;
    if let Some(encoding) = file.encoding() {
        say(format_args!("{name}: is not UTF-8 but {encoding}"));
    }
    Ok(file)
}

/// Translates `file` and returns the bytes of the translated file. Sentences are split with the
/// abbreviations of `language`, a code such as `de`, or of English if it is `None`. In a catalogue,
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
) -> anyhow::Result<Vec<u8>> {
    let limit = translator.longest_source(options);
    // `</s>` takes one token.
    let fits = |sentence: &str| translator.tokenizers().source.encode(sentence).len() < limit;
    let languages = [language, options.languages.codes().map(|codes| &*codes[1])];
    let document = Document::try_parse(&file.text, file.format, languages, more, &fits)?;
    let mut document = document
        .with_writing(options.languages.writing())
        .with_memory(&|text: &str, _: &str| {
            let text = options.memory.as_ref()?.translation(text)?.to_string();
            Some(Remembered {
                text,
                is_sure: true,
            })
        });
    loop {
        let pending = document.pending();
        if pending.is_empty() {
            return Ok(file.write(document.finish(), languages));
        }
        document.accept(translated(translator, &pending, options, cancel)?);
    }
}

/// The translations of `sentences`, with links where needed.
fn translated(
    translator: &Translator,
    sentences: &[PendingSentence],
    options: &TranslateOptions,
    cancel: &Cancel,
) -> Result<Vec<Translated>, InferError> {
    let texts: Vec<&str> = sentences
        .iter()
        .map(|sentence| sentence.text.as_str())
        .collect();
    let mut requests = translator.requests(&texts, options)?;
    requests
        .iter_mut()
        .for_each(|request| request.cancel = cancel.clone());
    let translations = translator.translate_requests(requests, options)?;
    sentences
        .iter()
        .zip(translations)
        .map(|(sentence, translation): (&PendingSentence, Translation)| {
            let links = if sentence.links && !cancel.is_cancelled() {
                translator.links(&sentence.text, &translation.text)?
            } else {
                Vec::new()
            };
            Ok(Translated {
                text: translation.text,
                links,
            })
        })
        .collect()
}
