//! Texts as requests to the search.

use anyhow::{Result, bail};
use burnformer_infer::{Cancel, InferError, TextRequest, TranslateOptions, Translator};

/// The number of texts that are tokenised between two checks of `cancel`.
const READ_AT_ONCE: usize = 1024;

/// Creates requests to translate `texts`. `cancel` ends all of them.
///
/// # Errors
/// Returns the errors of [`requests`](Translator::requests), and an error if the numbers of texts
/// and prefixes differ.
pub fn requests(
    translator: &Translator,
    texts: &[String],
    prefixes: Option<&[String]>,
    options: &TranslateOptions,
    cancel: &Cancel,
) -> Result<Vec<TextRequest>> {
    let mut requests = Vec::with_capacity(texts.len());
    for texts in texts.chunks(READ_AT_ONCE) {
        if cancel.is_cancelled() {
            bail!("interrupted");
        }
        requests.extend(translator.requests(texts, options)?);
    }
    for request in &mut requests {
        request.search.cancel = cancel.clone();
    }
    let Some(prefixes) = prefixes else {
        return Ok(requests);
    };
    if prefixes.len() != texts.len() {
        let sources = texts.len();
        let others = prefixes.len();
        let what = "prefixes";
        return Err(InferError::Count {
            sources,
            others,
            what,
        }
        .into());
    }
    let prefixes = translator.tokenizers().target.encode_batch(prefixes);
    for (request, prefix) in requests.iter_mut().zip(prefixes) {
        request.search.prefix = prefix;
    }
    Ok(requests)
}
