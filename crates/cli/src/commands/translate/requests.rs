//! Turns lines into requests to the search: token ids within the limits.

use anyhow::Error;
use burnformer_infer::{Request, TranslateOptions, Translator};

use super::input::{Chunk, Input};

/// The lines of `chunk` as requests, up to the first bad line, and the error in that line or after
/// the chunk.
pub(super) fn requests(
    translator: &Translator,
    input: &mut Input,
    chunk: Chunk,
    options: &TranslateOptions,
) -> (Vec<Request>, Option<Error>) {
    let Chunk { first, lines, prefixes, mut failure } = chunk;
    let tokenizers = translator.tokenizers();
    let sources = tokenizers.source.encode_batch(&lines);
    let request = |(source, line): (Vec<u32>, &String)| Request {
        text: line.clone(),
        ..Request::new(source)
    };
    let mut requests: Vec<Request> = sources.into_iter().zip(&lines).map(request).collect();
    let prefixes = tokenizers.target.encode_batch(&prefixes);
    for (request, prefix) in requests.iter_mut().zip(prefixes) {
        request.prefix = prefix;
    }
    if options.glossary.is_some() {
        failure = add_terms(&mut requests, &lines, translator, options).or(failure);
    }
    for (number, request) in (first..).zip(&mut requests) {
        fit(request, number, translator, input, options);
    }
    (requests, failure)
}

/// Adds to each request the terms that the glossary prescribes for its line, up to the first line
/// whose terms have no tokens, and returns that error.
fn add_terms(
    requests: &mut Vec<Request>,
    lines: &[String],
    translator: &Translator,
    options: &TranslateOptions,
) -> Option<Error> {
    for place in 0..requests.len() {
        match translator.terms_for(&lines[place], &requests[place].source, options) {
            Ok(terms) => requests[place].terms = terms,
            Err(error) => {
                requests.truncate(place);
                return Some(error.into());
            }
        }
    }
    None
}

/// Cuts the prefix of line `number` to the length limit of its translation. Warns if the prefix or
/// the source is too long, or the line has too many terms.
fn fit(
    request: &mut Request,
    number: u64,
    translator: &Translator,
    input: &mut Input,
    options: &TranslateOptions,
) {
    input.warnings.source(number, request.source.len(), translator.longest_source(options));
    input.warnings.terms(number, request.terms.left_out);
    let limit = translator.longest_target(&request.source, options);
    if let Some(warnings) = &mut input.prefix_warnings {
        warnings.prefix(number, request.prefix.len(), limit);
    }
    request.prefix.truncate(limit);
}
