//! Documents, translated by a model.

use burnformer_documents::{Document, Format, PendingSentence, Translated};
use burnformer_infer::{Cancel, InferError, Request, TranslateOptions, Translation, Translator};

/// The source of a translated document: its text, its format, and the language by whose
/// abbreviations it is split into sentences.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The whole document.
    pub text: &'a str,
    /// The format, whose markup is kept.
    pub format: Format,
    /// The language, such as `de`; English if there is none.
    pub language: Option<&'a str>,
}

/// The document `source`, translated. Sentences that are too long for the model are cut at clauses.
/// Once `cancel` says so, no further sentence is translated, and the result is worth nothing.
///
/// # Errors
/// The errors of [`Translator::translate`] and [`Translator::links`]; a broken catalogue.
pub fn translate(
    translator: &Translator,
    source: Source,
    options: &TranslateOptions,
    cancel: &Cancel,
) -> anyhow::Result<String> {
    let limit = translator.longest_source(options);
    // One token is left for </s>.
    let fits = |sentence: &str| translator.tokenizers().source.encode(sentence).len() < limit;
    let document = Document::try_parse(source.text, source.format, source.language, &fits)?;
    let known = |text: &str| Some(options.memory.as_ref()?.translation(text)?.to_string());
    let mut document = document.with_writing(options.languages.writing()).with_memory(&known);
    loop {
        let pending = document.pending();
        if pending.is_empty() {
            return Ok(document.finish());
        }
        document.accept(translated(translator, &pending, options, cancel)?);
    }
}

/// The translations of `sentences`, with links for those that need them.
fn translated(
    translator: &Translator,
    sentences: &[PendingSentence],
    options: &TranslateOptions,
    cancel: &Cancel,
) -> Result<Vec<Translated>, InferError> {
    let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    let mut requests = translator.requests(&texts, options)?;
    requests.iter_mut().for_each(|Request { cancel: own, .. }| *own = cancel.clone());
    let translations = translator.translate_requests(requests, options)?;
    let link = |(sentence, translation): (&PendingSentence, Translation)| {
        let links = match sentence.links && !cancel.is_cancelled() {
            true => translator.links(&sentence.text, &translation.text)?,
            false => Vec::new(),
        };
        Ok(Translated { text: translation.text, links })
    };
    sentences.iter().zip(translations).map(link).collect()
}
