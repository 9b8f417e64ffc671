//! Turns lines into requests to the search: token ids within the limits.

use std::path::Path;

use anyhow::{Error, anyhow};
use burnformer_data::Tokenizer;
use burnformer_infer::{Request, SpecialIds, TranslateOptions, Translator};

use super::args::Args;
use super::input::{Chunk, Input};
use crate::commands::token_ids::line_to_ids;

/// The lines of `chunk` as requests, up to the first bad line, and the error in that line or after
/// the chunk.
pub(super) fn requests(
    args: &Args,
    translator: &Translator,
    input: &mut Input,
    chunk: Chunk,
    options: &TranslateOptions,
) -> (Vec<Request>, Option<Error>) {
    let Chunk { first, lines, prefixes, mut failure } = chunk;
    let (tokenizers, model) = (translator.tokenizers(), translator.model());
    let source = Side { tokenizer: &tokenizers.source, vocab: model.source_vocab(), first };
    let target = Side { tokenizer: &tokenizers.target, vocab: model.target_vocab(), first };
    let sources = source.encode(args, input.path(), &lines, &mut failure);
    let prefixes = match &input.prefixes {
        None => vec![Vec::new(); sources.len()],
        // Only those of the lines that are left, so that the failure is the first.
        Some(reader) => {
            let file = reader.path();
            let lines = &prefixes[..prefixes.len().min(sources.len())];
            let prefixes = target.encode(args, file, lines, &mut failure);
            ordinary(prefixes, file, first, model.special(), &mut failure)
        }
    };
    let request = |(source, prefix)| Request { prefix, ..Request::new(source) };
    let mut requests: Vec<Request> = sources.into_iter().zip(prefixes).map(request).collect();
    for (request, line) in requests.iter_mut().zip(&lines).filter(|_| !args.token_ids) {
        request.text.clone_from(line);
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

/// The `prefixes` before the first one that holds an id of `special`.
fn ordinary(
    mut prefixes: Vec<Vec<u32>>,
    file: &Path,
    first: u64,
    special: SpecialIds,
    failure: &mut Option<Error>,
) -> Vec<Vec<u32>> {
    let reserved = [special.pad, special.bos, special.eos];
    let found = |prefix: &Vec<u32>| prefix.iter().copied().find(|id| reserved.contains(id));
    let bad = (0..prefixes.len()).find_map(|place| Some((place, found(&prefixes[place])?)));
    if let Some((place, id)) = bad {
        let (file, number) = (file.display(), first + place as u64);
        *failure = Some(anyhow!(
            "{file}:{number}: the prefix holds the special id {id}; give ordinary tokens only"
        ));
        prefixes.truncate(place);
    }
    prefixes
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

/// How the lines of one side become ids.
struct Side<'a> {
    tokenizer: &'a Tokenizer,
    vocab: usize,
    first: u64,
}

impl Side<'_> {
    /// The ids of `lines`, up to the first line that has none.
    fn encode(
        &self,
        args: &Args,
        file: &Path,
        lines: &[String],
        failure: &mut Option<Error>,
    ) -> Vec<Vec<u32>> {
        if !args.token_ids {
            return self.tokenizer.encode_batch(lines);
        }
        let mut all = Vec::with_capacity(lines.len());
        for (number, line) in (self.first..).zip(lines) {
            match line_to_ids(file, number, line, self.vocab) {
                Ok(ids) => all.push(ids),
                Err(error) => {
                    *failure = Some(error);
                    break;
                }
            }
        }
        all
    }
}
