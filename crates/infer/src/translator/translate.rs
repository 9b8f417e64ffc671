//! Translation of sentences.

use std::collections::HashSet;

use rayon::prelude::*;

use super::load::Translator;
use super::options::{LongSources, TranslateOptions};
use super::translation::{Translation, text_of};
use crate::doubt::repeats;
use crate::error::{InferError, until_error};
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::ids::check_lengths;
use crate::search::{Request, check, search_counting};
use crate::settings::{BeamRule, SearchSettings};

/// Sorts the hypotheses of a search: first those that the model ended, then the better ones.
pub(super) fn sort(all: &mut [Hypothesis]) {
    let is_cut = |own: &Hypothesis| own.finish == FinishReason::Limit;
    all.sort_by(|a, b| is_cut(a).cmp(&is_cut(b)).then(b.score.total_cmp(&a.score)));
}

/// Returns whether `found` is a loop of the search for `request`: neither the source nor a forced
/// prefix repeats a sequence.
pub(super) fn is_loop(Request { source, prefix, .. }: &Request, found: &Hypothesis) -> bool {
    repeats(&found.tokens) && !repeats(source) && !repeats(prefix)
}

/// The number of tokens of which no sequence occurs twice in the second search for a translation
/// that was a loop.
const WITHOUT_LOOPS: usize = 3;

/// The widths, as multiples of the first, of the searches that fill a list in which texts were
/// repeated.
const WIDER: [usize; 3] = [2, 4, 8];

impl Translator {
    /// Translates `sources`, one sentence each, in order. An empty source has an empty translation.
    ///
    /// # Errors
    /// The errors of [`search`](crate::search()), with sentences counted from 1;
    /// [`TooLong`](crate::SentenceError::TooLong) for a source above
    /// [`longest_source`](Self::longest_source), unless it is to be truncated; those of
    /// [`requests`](Self::requests).
    pub fn translate<S: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>, InferError> {
        self.translate_requests(self.requests(sources, options)?, options)
    }

    /// The requests to translate `sources`, with the terms that the glossary of `options`
    /// prescribes.
    ///
    /// # Errors
    /// [`InferError::TermText`] if the model's vocabulary cannot write a term.
    pub fn requests<S: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        options: &TranslateOptions,
    ) -> Result<Vec<Request>, InferError> {
        let request = |(source, ids): (&S, Vec<u32>)| {
            let source = source.as_ref();
            let terms = self.terms_for(source, &ids, options)?;
            Ok(Request { terms, text: source.into(), ..Request::new(ids) })
        };
        let ids = self.tokenizers.source.encode_batch(sources);
        sources.par_iter().zip(ids).map(request).collect()
    }

    /// Checks `requests` as [`translate_requests`](Self::translate_requests) does before it
    /// computes anything.
    ///
    /// # Errors
    /// The errors of [`translate_ids`](Self::translate_ids), except
    /// [`NotFinite`](crate::SentenceError::NotFinite).
    pub fn check_requests(
        &self,
        mut requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> Result<(), InferError> {
        Self::remember(&mut requests, options);
        self.prepare(&mut requests, options);
        self.check_lengths(&requests, options)?;
        check(&*self.model, &requests, &options.search)
    }

    /// Translates sentences that are given as ids (with or without their `</s>`) to text.
    ///
    /// # Errors
    /// The errors of [`translate_ids`](Self::translate_ids).
    pub fn translate_requests(
        &self,
        requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>, InferError> {
        Ok(self.texts_of(self.translate_ids(requests, options)?))
    }

    /// Translates sentences that are given as ids (with or without their `</s>`) to ids.
    ///
    /// # Errors
    /// The errors of [`search`](crate::search()); [`TooLong`](crate::SentenceError::TooLong) for a
    /// source above [`longest_source`](Self::longest_source), unless it is to be truncated.
    pub fn translate_ids(
        &self,
        mut requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Hypothesis>>, InferError> {
        Self::remember(&mut requests, options);
        let small = self.in_small_letters(&requests, options);
        self.prepare(&mut requests, options);
        self.search(&requests, &small, options, &|_| ())
    }

    /// Translates sentences that are given as ids, up to the first that cannot be translated, and
    /// returns the error of that one. Streams use it, in which no finished work must be lost.
    /// `done` takes the number of sentences of each batch whose search has ended.
    pub fn translate_ids_until_error(
        &self,
        mut requests: Vec<Request>,
        options: &TranslateOptions,
        done: &(dyn Fn(usize) + Sync),
    ) -> (Vec<Vec<Hypothesis>>, Option<InferError>) {
        Self::remember(&mut requests, options);
        let small = self.in_small_letters(&requests, options);
        self.prepare(&mut requests, options);
        until_error(requests.len(), |count| self.search(&requests[..count], &small, options, done))
    }

    /// The text of a hypothesis, on one line.
    pub fn text_of(&self, hypothesis: &Hypothesis) -> String {
        text_of(hypothesis, &self.tokenizers.target)
    }

    pub(super) fn texts_of(&self, hypotheses: Vec<Vec<Hypothesis>>) -> Vec<Translation> {
        let decode = |hypotheses| Translation::new(hypotheses, &self.tokenizers.target);
        hypotheses.into_iter().map(decode).collect()
    }

    /// Gives each request its languages, cuts texts that are too long, and lists the tokens that
    /// are likely for it.
    pub(super) fn prepare(&self, requests: &mut [Request], options: &TranslateOptions) {
        let eos = self.model.special().eos;
        requests.iter_mut().for_each(|request| options.languages.add_to(request, eos));
        self.truncate_sources(requests, options);
        if let Some(shortlist) = &options.shortlist {
            requests.par_iter_mut().for_each(|Request { source, shortlist: own, .. }| {
                own.get_or_insert_with(|| shortlist.tokens_for(source));
            });
        }
    }

    /// Answers the `requests` that the memory of `options` has, without a source to search for.
    fn remember(requests: &mut [Request], options: &TranslateOptions) {
        let Some(memory) = &options.memory else { return };
        requests.par_iter_mut().filter(|request| request.prefix.is_empty()).for_each(|request| {
            if let Some(text) = memory.translation(&request.text) {
                let cancel = request.cancel.clone();
                *request = Request { memory: Some(text.into()), cancel, ..Request::default() };
            }
        });
    }

    /// Cuts each source to the length that is allowed, with `</s>`, if `options` say so.
    fn truncate_sources(&self, requests: &mut [Request], options: &TranslateOptions) {
        if options.long_sources == LongSources::Refuse {
            return;
        }
        let (eos, limit) = (self.model.special().eos, self.longest_source(options));
        for Request { source, .. } in requests {
            if source.last() == Some(&eos) {
                source.pop();
            }
            source.truncate(limit - 1);
        }
    }

    fn search(
        &self,
        requests: &[Request],
        small: &[(usize, Request)],
        options: &TranslateOptions,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Vec<Hypothesis>>, InferError> {
        self.check_lengths(requests, options)?;
        let mut all =
            search_counting(&*self.model, requests, &options.search, &options.batching, done)?;
        self.try_small_letters(requests, small, options, &mut all);
        if options.search.second_search {
            self.leave_loops(requests, options, &mut all);
        }
        self.copy_unknown(requests, &mut all);
        self.keep_parts(requests, options, &mut all);
        self.write_amounts(requests, options, &mut all);
        self.make_distinct(requests, options, &mut all);
        for (Request { memory, .. }, found) in requests.iter().zip(&mut all) {
            if let Some(text) = memory {
                *found = vec![Hypothesis::from_memory(text.clone())];
            }
        }
        Ok(all)
    }

    /// The searches, as multiples of the first, that fill a list in which texts were repeated.
    pub(super) fn searches_for_texts(options: &TranslateOptions) -> usize {
        if Self::may_repeat(&options.search) { WIDER.iter().sum() } else { 0 }
    }

    /// Returns whether a search can find a text twice and has to look for others.
    fn may_repeat(search: &SearchSettings) -> bool {
        // The list of transformers is that of its search.
        let is_theirs = search.beam_rule == BeamRule::Transformers;
        search.n_best > 1 && search.sampling.is_none() && !is_theirs
    }

    /// Leaves each text in a list once. Where hypotheses had one text, searches with twice, four
    /// and eight times the beam find others behind the best one, until there are `n_best` texts or
    /// no further hypotheses.
    fn make_distinct(
        &self,
        requests: &[Request],
        options: &TranslateOptions,
        all: &mut [Vec<Hypothesis>],
    ) {
        let n_best = options.search.n_best;
        if !Self::may_repeat(&options.search) {
            return;
        }
        let loses = |found: &mut Vec<Hypothesis>| {
            let count = found.len();
            self.remove_repeated(found);
            found.len() < count && !found[0].is_second && !found[0].is_raised
        };
        let mut indices: Vec<usize> = (0..all.len()).filter(|&i| loses(&mut all[i])).collect();
        for factor in WIDER {
            let again: Vec<Request> = indices.iter().map(|&i| requests[i].clone()).collect();
            let mut wider = options.search.clone();
            (wider.n_best, wider.beam_size) = (factor * n_best, factor * wider.beam_size);
            let found = search_counting(&*self.model, &again, &wider, &options.batching, &|_| ());
            let mut found = found.unwrap_or_default();
            self.copy_unknown(&again, &mut found);
            self.write_amounts(&again, options, &mut found);
            let mut found = found.into_iter();
            indices.retain(|&i| {
                let (own, found) = (&mut all[i], found.next().unwrap_or_default());
                let is_full = found.len() == wider.n_best;
                let best = own[0].score;
                own.extend(found.into_iter().filter(|new| new.score <= best));
                sort(&mut own[1..]);
                self.remove_repeated(own);
                own.truncate(n_best);
                is_full && own.len() < n_best
            });
        }
    }

    /// Removes the hypotheses behind the first of each text.
    fn remove_repeated(&self, found: &mut Vec<Hypothesis>) {
        let mut texts = HashSet::new();
        found.retain(|own| texts.insert(self.text_of(own)));
    }

    /// Searches again for the requests whose best hypothesis is a loop, and takes what is none. If
    /// that fails, loops stay.
    fn leave_loops(
        &self,
        requests: &[Request],
        options: &TranslateOptions,
        all: &mut [Vec<Hypothesis>],
    ) {
        let settings = &options.search;
        if settings.no_repeat_ngram > 0 || settings.sampling.is_some() {
            return;
        }
        let is_loop = |&index: &usize| is_loop(&requests[index], &all[index][0]);
        let indices: Vec<usize> = (0..all.len()).filter(is_loop).collect();
        let again: Vec<Request> = indices.iter().map(|&index| requests[index].clone()).collect();
        let settings = SearchSettings { no_repeat_ngram: WITHOUT_LOOPS, ..settings.clone() };
        let found = search_counting(&*self.model, &again, &settings, &options.batching, &|_| ());
        for (index, mut found) in indices.into_iter().zip(found.unwrap_or_default()) {
            if !repeats(&found[0].tokens) {
                found.iter_mut().for_each(|hypothesis| hypothesis.is_second = true);
                all[index] = found;
            }
        }
    }

    fn check_lengths(
        &self,
        requests: &[Request],
        options: &TranslateOptions,
    ) -> Result<(), InferError> {
        let (limit, eos) = (self.longest_source(options), self.model.special().eos);
        check_lengths("source", requests.iter().map(|request| &request.source), eos, limit)
    }
}
