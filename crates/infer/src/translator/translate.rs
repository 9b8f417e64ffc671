//! Translation of sentences.

use std::collections::HashSet;

use rayon::prelude::*;

use super::load::Translator;
use super::options::{LongSources, TranslateOptions};
use super::translation::{Translation, text_of};
use crate::doubt::repeats;
use crate::error::{InferError, until_error};
use crate::hypothesis::{FinishReason, Hypothesis};
use crate::ids::first_too_long;
use crate::search::{Request, check, search_counting};
use crate::settings::{BeamRule, SearchSettings};

/// Sorts the hypotheses of a search: first those that the model ended, then the better ones.
fn sort(all: &mut [Hypothesis]) {
    let is_cut = |own: &Hypothesis| own.finish == FinishReason::Limit;
    all.sort_by(|a, b| is_cut(a).cmp(&is_cut(b)).then(b.score.total_cmp(&a.score)));
}

/// The number of tokens of which no sequence occurs twice in the second search for a translation
/// that was a loop.
const WITHOUT_LOOPS: usize = 3;

impl Translator {
    /// Translates `sources`, one sentence each, in order. An empty source has an empty translation.
    ///
    /// # Errors
    /// Those of [`search`](crate::search()), with sentences counted from 1;
    /// [`InferError::SourceTooLong`] for a source above [`longest_source`](Self::longest_source),
    /// unless it is to be truncated; those of [`requests`](Self::requests).
    pub fn translate<S: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>, InferError> {
        self.translate_requests(self.requests(sources, options)?, options)
    }

    /// Translates `sources` so that each translation begins with the text of `prefixes` at the same
    /// index. An empty source is translated by its prefix alone.
    ///
    /// A prefix is tokenised separately, so it should end at the end of a word.
    ///
    /// # Errors
    /// Those of [`translate`](Self::translate); [`InferError::Count`] if there is not one prefix
    /// for each source.
    pub fn translate_with_prefixes<S: AsRef<str> + Sync, T: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        prefixes: &[T],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>, InferError> {
        if sources.len() != prefixes.len() {
            let (sources, others) = (sources.len(), prefixes.len());
            return Err(InferError::Count { sources, others, what: "prefixes" });
        }
        let mut requests = self.requests(sources, options)?;
        let prefixes = self.tokenizers.target.encode_batch(prefixes);
        for (request, prefix) in requests.iter_mut().zip(prefixes) {
            request.prefix = prefix;
        }
        self.translate_requests(requests, options)
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
        let request = |source: &S| {
            let source = source.as_ref();
            let ids = self.tokenizers.source.encode(source);
            let terms = self.terms_for(source, &ids, options)?;
            let unknown = self.unknown_texts(source, &ids);
            Ok(Request { terms, unknown, ..Request::new(ids) })
        };
        sources.par_iter().map(request).collect()
    }

    /// Checks `requests` as [`translate_requests`](Self::translate_requests) does before it
    /// computes anything.
    ///
    /// # Errors
    /// Those of [`translate_ids`](Self::translate_ids), except [`InferError::NotFinite`].
    pub fn check_requests(
        &self,
        mut requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> Result<(), InferError> {
        self.prepare(&mut requests, options);
        self.check_lengths(&requests, options)?;
        check(&*self.model, &requests, &options.search)
    }

    /// Translates sentences that are given as ids (with or without their `</s>`) to text.
    ///
    /// # Errors
    /// Those of [`translate_ids`](Self::translate_ids).
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
    /// Those of [`search`](crate::search()); [`InferError::SourceTooLong`] for a source above
    /// [`longest_source`](Self::longest_source), unless it is to be truncated.
    pub fn translate_ids(
        &self,
        mut requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Hypothesis>>, InferError> {
        let small = self.in_small_letters(&requests, options);
        self.prepare(&mut requests, options);
        self.search(&requests, &small, options)
    }

    /// Translates sentences that are given as ids, up to the first that cannot be translated, and
    /// returns the error of that one. Streams use it, in which no finished work must be lost.
    pub fn translate_ids_until_error(
        &self,
        mut requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> (Vec<Vec<Hypothesis>>, Option<InferError>) {
        let small = self.in_small_letters(&requests, options);
        self.prepare(&mut requests, options);
        until_error(requests.len(), |count| self.search(&requests[..count], &small, options))
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
    ) -> Result<Vec<Vec<Hypothesis>>, InferError> {
        self.check_lengths(requests, options)?;
        let done = |count| options.tally.add(count);
        let mut all =
            search_counting(&*self.model, requests, &options.search, &options.batching, &done)?;
        self.try_small_letters(requests, small, options, &mut all);
        if options.search.second_search {
            self.leave_loops(requests, options, &mut all);
        }
        self.keep_parts(requests, options, &mut all);
        self.copy_unknown(requests, &mut all);
        self.add_distinct(requests, options, &mut all);
        Ok(all)
    }

    /// Where hypotheses have one text, a search with twice the beam finds others in the place of
    /// all but the best of them. They stay only where there are too few others.
    fn add_distinct(
        &self,
        requests: &[Request],
        options: &TranslateOptions,
        all: &mut [Vec<Hypothesis>],
    ) {
        let SearchSettings { n_best, beam_size, .. } = options.search;
        // The list of transformers is that of its search.
        let is_theirs = options.search.beam_rule == BeamRule::Transformers;
        if n_best == 1 || options.search.sampling.is_some() || is_theirs {
            return;
        }
        // The hypotheses behind the first of each text.
        let others = |found: &mut Vec<Hypothesis>| {
            let mut texts = HashSet::new();
            found.extract_if(.., |own| !texts.insert(self.text_of(own))).collect::<Vec<_>>()
        };
        let others_of: Vec<_> = all.iter_mut().map(others).collect();
        let found_once = |own: &Hypothesis| !own.is_second && !own.is_raised;
        let asks = |place: &usize| !others_of[*place].is_empty() && found_once(&all[*place][0]);
        let places: Vec<usize> = (0..all.len()).filter(asks).collect();
        let again: Vec<Request> = places.iter().map(|&place| requests[place].clone()).collect();
        let wider = (2 * n_best, 2 * beam_size);
        let wider =
            SearchSettings { n_best: wider.0, beam_size: wider.1, ..options.search.clone() };
        let found = search_counting(&*self.model, &again, &wider, &options.batching, &|_| ());
        let mut found = found.unwrap_or_default();
        self.copy_unknown(&again, &mut found);
        for (place, found) in places.into_iter().zip(found) {
            let own = &mut all[place];
            let best = own[0].score;
            own.extend(found.into_iter().filter(|new| new.score <= best));
            sort(own);
            others(own);
            own.truncate(n_best);
        }
        for (own, others) in all.iter_mut().zip(others_of).filter(|(_, others)| !others.is_empty())
        {
            own.extend(others);
            own.truncate(n_best);
            if found_once(&own[0]) {
                sort(own);
            }
        }
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
        // What the source or a forced prefix repeats is no loop of the search.
        let is_loop = |place: &usize| {
            let Request { source, prefix, .. } = &requests[*place];
            repeats(&all[*place][0].tokens) && !repeats(source) && !repeats(prefix)
        };
        let places: Vec<usize> = (0..all.len()).filter(is_loop).collect();
        let again: Vec<Request> = places.iter().map(|&place| requests[place].clone()).collect();
        let settings = SearchSettings { no_repeat_ngram: WITHOUT_LOOPS, ..settings.clone() };
        let found = search_counting(&*self.model, &again, &settings, &options.batching, &|_| ());
        for (place, mut found) in places.into_iter().zip(found.unwrap_or_default()) {
            if !repeats(&found[0].tokens) {
                found.iter_mut().for_each(|own| own.is_second = true);
                all[place] = found;
            }
        }
    }

    fn check_lengths(
        &self,
        requests: &[Request],
        options: &TranslateOptions,
    ) -> Result<(), InferError> {
        let limit = self.longest_source(options);
        let sources = requests.iter().map(|request| &request.source[..]);
        match first_too_long(sources, self.model.special().eos, limit) {
            Some((sentence, length)) => Err(InferError::SourceTooLong { sentence, length, limit }),
            None => Ok(()),
        }
    }
}
