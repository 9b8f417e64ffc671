//! Translation of sentences.

use burnformer_data::corpus::Side;
use burnformer_terminology::Term;
use rayon::prelude::*;

use super::Translator;
use super::error::TermError;
use super::options::{Languages, LongSources, TranslateOptions};
use super::protections::Results;
use super::request::{TextContext, TextRequest, searches};
use super::until_error::until_error;
use crate::error::{InferError, Result};
use crate::hypothesis::{Alternative, Hypothesis, Translation, one_line};
use crate::search::{Request, check, check_lengths, search_counting};

/// Requests that are ready for a search.
struct Prepared {
    requests: Vec<TextRequest>,
    /// The forms in small letters of sources in capitals, with the index of their request.
    small: Vec<(usize, TextRequest)>,
}

impl Translator {
    /// Translates `sources`, one sentence each, in order. An empty source has an empty translation.
    ///
    /// # Errors
    /// Returns the errors of [`search`](crate::search()), with sentences counted from 1;
    /// [`TooLong`](crate::SentenceError::TooLong) for a source above
    /// [`longest_source`](Self::longest_source), unless it is truncated; the errors of
    /// [`requests`](Self::requests).
    pub fn translate<S: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        self.translate_requests(self.requests(sources, options)?, options)
    }

    /// Tokenises `sources` and returns a request for each, with its terms from the glossary of
    /// `options`.
    ///
    /// # Errors
    /// Returns a [`TermError`] if the model's vocabulary cannot write a term.
    pub fn requests<S: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        options: &TranslateOptions,
    ) -> Result<Vec<TextRequest>, TermError> {
        let ids = self.encode_sources(sources, &options.languages);
        sources
            .par_iter()
            .zip(ids)
            .map(|(source, ids)| {
                let source = source.as_ref();
                let wanted = options.wanted(source);
                self.request(source, ids, wanted)
            })
            .collect()
    }

    /// The ids of `text`, a source, without the ids of its language. If `languages` name the
    /// language by a token, a language token at the start of the text (`>>fra<<`) is text.
    pub fn encode_source(&self, text: &str, languages: &Languages) -> Vec<u32> {
        let source = &self.tokenizers.source;
        if languages.source.is_empty() {
            source.encode(text)
        } else {
            source.encode_untagged(text)
        }
    }

    /// The ids of `sources` as by [`encode_source`](Self::encode_source).
    pub fn encode_sources<S: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        languages: &Languages,
    ) -> Vec<Vec<u32>> {
        let mut ids = self.tokenizers.source.encode_batch(sources);
        for (source, ids) in sources.iter().zip(&mut ids) {
            let source = source.as_ref();
            if source.contains(">>") {
                *ids = self.encode_source(source, languages);
            }
        }
        ids
    }

    /// Returns the request for `source` with the ids `ids`, with the terms `wanted`.
    ///
    /// # Errors
    /// Returns a [`TermError`] if the model's vocabulary cannot write a term.
    pub fn request(
        &self,
        source: &str,
        ids: Vec<u32>,
        wanted: Vec<Term>,
    ) -> Result<TextRequest, TermError> {
        let terms = self.terms(&wanted, &ids)?;
        Ok(TextRequest {
            text: source.into(),
            wanted,
            context: TextContext::default(),
            search: Request {
                terms,
                ..Request::new(ids)
            },
            report: None,
            answer: None,
        })
    }

    /// Makes the checks of [`translate_requests`](Self::translate_requests), without any
    /// computation.
    ///
    /// # Errors
    /// Returns the errors of [`translate_ids`](Self::translate_ids), except
    /// [`NotFinite`](crate::SentenceError::NotFinite).
    pub fn check_requests(
        &self,
        requests: Vec<TextRequest>,
        options: &TranslateOptions,
    ) -> Result<()> {
        let Prepared { requests, .. } = self.answer_or_prepare(requests, options);
        self.check_lengths(&requests, options)?;
        check(&*self.model, &searches(&requests), &options.search)
    }

    /// Translates sentences as ids (with or without `</s>`) to text.
    ///
    /// # Errors
    /// Returns the errors of [`translate_ids`](Self::translate_ids).
    pub fn translate_requests(
        &self,
        requests: Vec<TextRequest>,
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        if requests.iter().any(|request| request.report.is_some()) {
            self.translate_reporting(requests, options)
        } else {
            self.translate_unreported(requests, options)
        }
    }

    /// Translates sentences without a report.
    pub(super) fn translate_unreported(
        &self,
        requests: Vec<TextRequest>,
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        let found = self.translate_ids(requests, options)?.into_iter();
        Ok(found
            .map(|hypotheses| Translation::new(self.alternatives(hypotheses)))
            .collect())
    }

    /// Translates sentences as ids (with or without `</s>`) to ids.
    ///
    /// # Errors
    /// Returns the errors of [`search`](crate::search());
    /// [`TooLong`](crate::SentenceError::TooLong) for a source above
    /// [`longest_source`](Self::longest_source), unless it is truncated.
    pub fn translate_ids(
        &self,
        requests: Vec<TextRequest>,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Hypothesis>>> {
        self.translate_counting(requests, options, &|_| ())
    }

    /// Translates like [`translate_ids`](Self::translate_ids). `done` is called with the number of
    /// sentences of each finished batch.
    pub(super) fn translate_counting(
        &self,
        requests: Vec<TextRequest>,
        options: &TranslateOptions,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<Hypothesis>>> {
        let prepared = self.answer_or_prepare(requests, options);
        let count = prepared.requests.len();
        self.search(&prepared, count, options, done)
    }

    /// Translates sentences as ids up to the first error, and returns it too. For streams, where
    /// finished work must not be lost. `done` is called with the number of sentences of each
    /// finished batch.
    pub fn translate_ids_until_error(
        &self,
        requests: Vec<TextRequest>,
        options: &TranslateOptions,
        done: &(dyn Fn(usize) + Sync),
    ) -> (Vec<Vec<Hypothesis>>, Option<InferError>) {
        let prepared = self.answer_or_prepare(requests, options);
        until_error(prepared.requests.len(), |count| {
            self.search(&prepared, count, options, done)
        })
    }

    /// Returns the text of a hypothesis, on one line.
    pub fn text_of(&self, hypothesis: &Hypothesis) -> String {
        if let Some(text) = &hypothesis.text {
            return one_line(text);
        }
        let target = &self.tokenizers.target;
        one_line(&target.decode_copying(&hypothesis.tokens, &hypothesis.copies))
    }

    /// Returns `hypotheses` together with their texts.
    pub fn alternatives(&self, hypotheses: Vec<Hypothesis>) -> Vec<Alternative> {
        hypotheses
            .into_iter()
            .map(|hypothesis| Alternative {
                text: self.text_of(&hypothesis),
                hypothesis,
            })
            .collect()
    }

    /// Answers the requests that need no search, and prepares the others.
    fn answer_or_prepare(
        &self,
        mut requests: Vec<TextRequest>,
        options: &TranslateOptions,
    ) -> Prepared {
        Self::answer(&mut requests, options);
        let small = self.in_small_letters(&requests, options);
        self.prepare(&mut requests, options);
        Prepared { requests, small }
    }

    /// Adds languages, contexts and shortlists to the requests, and truncates long sources.
    pub(super) fn prepare(&self, requests: &mut [TextRequest], options: &TranslateOptions) {
        let eos = self.model.special().eos;
        requests
            .iter_mut()
            .for_each(|request| options.languages.add_to(&mut request.search, eos));
        self.truncate_sources(requests, options);
        self.add_contexts(requests, options);
        if let Some(shortlist) = &options.shortlist {
            requests.par_iter_mut().for_each(|request| {
                let Request {
                    source,
                    shortlist: tokens,
                    ..
                } = &mut request.search;
                tokens.get_or_insert_with(|| shortlist.tokens_for(source));
            });
        }
    }

    /// Answers `requests` that need no search: from the memory of `options`, or with the source if
    /// it has nothing to translate. Their sources become empty.
    fn answer(requests: &mut [TextRequest], options: &TranslateOptions) {
        requests
            .par_iter_mut()
            .filter(|request| request.search.prefix.is_empty() && !request.text.is_empty())
            .for_each(|request| {
                if let Some(answer) = options.answer(request) {
                    let search = Request {
                        cancel: request.search.cancel.clone(),
                        ..Request::default()
                    };
                    *request = TextRequest {
                        answer: Some(answer),
                        ..search.into()
                    };
                }
            });
    }

    /// Truncates each source to the allowed length, with `</s>`, if `options` say so.
    fn truncate_sources(&self, requests: &mut [TextRequest], options: &TranslateOptions) {
        if options.long_sources == LongSources::Refuse {
            return;
        }
        let eos = self.model.special().eos;
        let limit = self.source_limit(options);
        for TextRequest { search, .. } in requests {
            let source = &mut search.source;
            if source.last() == Some(&eos) {
                source.pop();
            }
            source.truncate(limit - 1);
        }
    }

    /// Translates the first `count` requests.
    fn search(
        &self,
        Prepared { requests, small }: &Prepared,
        count: usize,
        options: &TranslateOptions,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<Hypothesis>>> {
        let requests = &requests[..count];
        self.check_lengths(requests, options)?;
        let hypotheses = search_counting(
            &*self.model,
            &searches(requests),
            &options.search,
            &options.batching,
            done,
        )?;
        let mut results = Results {
            translator: self,
            requests: requests.to_vec(),
            options,
            hypotheses,
        };
        // The searches of protections report no settled beginning.
        for request in &mut results.requests {
            request.search.watch = None;
        }
        results.protect(small);
        let mut hypotheses = results.hypotheses;
        for (TextRequest { answer, .. }, found) in requests.iter().zip(&mut hypotheses) {
            if let Some((text, finish)) = answer {
                *found = vec![Hypothesis {
                    text: Some(text.clone()),
                    finish: *finish,
                    ..Hypothesis::default()
                }];
            }
        }
        Ok(hypotheses)
    }

    fn check_lengths(&self, requests: &[TextRequest], options: &TranslateOptions) -> Result<()> {
        let limit = self.source_limit(options);
        let eos = self.model.special().eos;
        check_lengths(
            Side::Source,
            requests.iter().map(|request| &request.search.source),
            eos,
            limit,
        )
    }
}
