//! Requests: the sentences to translate, as ids, and their checks before any computation.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burnformer_core::RandomKey;
use burnformer_data::corpus::Side;
use burnformer_terminology::MAX_TERMS;

use super::context::SearchContext;
use super::error::SentenceError;
use super::terms::{Terms, WordEdges};
use crate::error::{InferError, Result};
use crate::model::{SpecialIds, StepModel};
use crate::settings::{self, SearchSettings};

/// The largest number of terms per sentence with a continued search. Further terms replace words,
/// and the rest of the translation stays.
pub(super) const MAX_ROUNDS: usize = 8;

/// A flag that cancels the search for a sentence. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the search for the sentence before its next step.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl From<Arc<AtomicBool>> for Cancel {
    /// Cancels when `flag` becomes true.
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

/// A function that is called during a search with the tokens that are settled: every translation
/// that the search can still find begins with them. Clones share it.
#[derive(Clone)]
pub struct Watch(Arc<WatchFn>);

type WatchFn = dyn Fn(&[u32]) + Send + Sync;

impl Watch {
    /// Calls `report` after each step. It is called from the thread that searches, and with the
    /// same tokens again if no further token is settled.
    pub fn new(report: impl Fn(&[u32]) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    pub(super) fn report(&self, settled: &[u32]) {
        (self.0)(settled);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// One sentence to translate, as ids.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The ids of the source. `</s>` is added if it is missing.
    pub source: Vec<u32>,
    /// The ids that the translation must begin with. Their log-probabilities count, except with
    /// [`BeamRule::Transformers`](crate::BeamRule::Transformers) and
    /// [`BeamRule::Ctranslate2`](crate::BeamRule::Ctranslate2), where forced tokens have
    /// probability 1. Constraints apply only after them. The translation of an empty source is its
    /// prefix and `</s>`. With a [`prefix_bias`](SearchSettings::prefix_bias), a translation may
    /// differ from it after the first [`languages`](Self::languages) tokens.
    pub prefix: Vec<u32>,
    /// The number of tokens at the beginning of the prefix that name the language; they are always
    /// forced.
    pub languages: usize,
    /// The word boundaries of tokens, if the prefix must end with a whole word: no word
    /// continuation follows it.
    pub prefix_edges: Option<Arc<WordEdges>>,
    /// What the model reads before the source and the translation.
    pub context: SearchContext,
    /// The key of this sentence's samples. `None` uses the ids of the source, so that equal sources
    /// have equal samples at any place in the list.
    pub key: Option<u64>,
    /// The required terms. Beam search and greedy search support terms; sampling does not.
    pub terms: Terms,
    /// The target ids that the search chooses from, in any order; `None` allows all. `</s>`, the
    /// prefix and the tokens of the terms are always allowed. Probabilities are normalised over the
    /// allowed tokens.
    pub shortlist: Option<Vec<u32>>,
    /// Ends the search early, with the empty translation.
    pub cancel: Cancel,
    /// Follows the search. Terms may change tokens that were reported.
    pub watch: Option<Watch>,
}

impl Request {
    /// A request to translate `source`, without a prefix.
    pub fn new(source: Vec<u32>) -> Self {
        Self {
            source,
            ..Self::default()
        }
    }

    /// Returns the request without its terms. The shortlist still allows their tokens.
    pub(super) fn without_terms(&self) -> Self {
        let mut request = Self {
            terms: Terms::default(),
            ..self.clone()
        };
        if let Some(shortlist) = &mut request.shortlist {
            let phrases = self.terms.phrases.iter().flatten();
            shortlist.extend(phrases.flat_map(|phrase| &phrase.tokens));
        }
        request
    }

    /// The ids of the source, ending with `</s>`.
    pub(crate) fn source_with_eos(&self, eos: u32) -> Vec<u32> {
        with_eos(&self.source, eos)
    }

    /// The ids that the model reads: the context, and the source ending with `</s>`.
    pub(crate) fn read_source(&self, eos: u32) -> Vec<u32> {
        self.context.before_source(&self.source_with_eos(eos))
    }

    /// The number of positions that the model has for the translation.
    fn positions(&self, model: &dyn StepModel) -> Option<usize> {
        let before = self.context.target.len();
        model
            .max_positions()
            .map(|positions| positions.saturating_sub(before))
    }

    /// Returns whether the source has no token but `</s>`.
    pub(crate) fn is_empty(&self, eos: u32) -> bool {
        self.source.is_empty() || self.source == [eos]
    }

    /// The largest number of tokens of the translation, with `</s>`: the limit of the settings plus
    /// the tokens of the terms.
    pub(super) fn limit(&self, settings: &SearchSettings, model: &dyn StepModel) -> usize {
        let positions = self.positions(model);
        let limit = settings.limit(len_with_eos(&self.source, model.special().eos), positions);
        match self.terms.tokens() {
            0 => limit,
            needed => {
                let most = positions.map_or(usize::MAX, |positions| positions.saturating_sub(1));
                limit.saturating_add(needed + 1).min(most)
            }
        }
    }

    /// The largest number of live hypotheses: the width of a search, times the number of searches
    /// for the terms.
    pub fn rows(&self, settings: &SearchSettings) -> usize {
        settings.width() * (1 + self.terms.phrases.len().min(MAX_ROUNDS))
    }

    pub(super) fn random_key(&self, seed: u64) -> RandomKey {
        let key = RandomKey::new(seed);
        match self.key {
            Some(index) => key.fold(0).fold(index),
            None => self
                .source
                .iter()
                .fold(key.fold(1), |key, &id| key.fold(u64::from(id))),
        }
    }
}

/// `ids` with `</s>` at the end.
pub(crate) fn with_eos(ids: &[u32], eos: u32) -> Vec<u32> {
    let open = ids.last() != Some(&eos);
    ids.iter().copied().chain(open.then_some(eos)).collect()
}

/// The length of `ids` with `</s>` at the end.
pub(crate) fn len_with_eos(ids: &[u32], eos: u32) -> usize {
    ids.len() + usize::from(ids.last() != Some(&eos))
}

/// Checks all `requests` before any is translated.
pub(crate) fn check(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
) -> Result<()> {
    let vocab = model.target_vocab();
    for (name, id) in settings.token_ids() {
        let remedy = "every id must lie inside the target vocabulary";
        settings::check((id as usize) < vocab, name, &id, remedy)?;
    }
    for (sentence, request) in (1..).zip(requests) {
        check_request(model, request, settings).map_err(|error| error.of(sentence))?;
    }
    Ok(())
}

fn check_request(
    model: &dyn StepModel,
    request: &Request,
    settings: &SearchSettings,
) -> Result<(), SentenceError> {
    let source = request.read_source(model.special().eos);
    check_text(model, Side::Source, &source)?;
    check_ids(model, Side::Target, &request.context.target)?;
    check_prefix(model, request, settings)?;
    check_terms(model, request, settings)?;
    let shortlist = request.shortlist.as_deref().unwrap_or_default();
    check_ids(model, Side::Target, shortlist)
}

fn check_prefix(
    model: &dyn StepModel,
    request: &Request,
    settings: &SearchSettings,
) -> Result<(), SentenceError> {
    check_ids(model, Side::Target, &request.prefix)?;
    if let Some(&id) = request.prefix.iter().find(|&&id| is_reserved(model, id)) {
        return Err(SentenceError::PrefixToken(id));
    }
    let source_len = len_with_eos(&request.source, model.special().eos);
    let limit = settings.limit(source_len, request.positions(model));
    match request.prefix.len() {
        length if length > limit => Err(SentenceError::PrefixTooLong { length, limit }),
        _ => Ok(()),
    }
}

/// Returns whether `id` is a special token (padding, `<s>` or `</s>`), which cannot be inside a
/// translation.
fn is_reserved(model: &dyn StepModel, id: u32) -> bool {
    let SpecialIds { pad, bos, eos } = model.special();
    [pad, bos, eos].contains(&id)
}

fn refuse(what: &'static str) -> Result<(), SentenceError> {
    Err(SentenceError::Terms(what))
}

/// Checks the terms of a request with a valid prefix.
///
/// # Errors
/// Returns [`SentenceError::Terms`] if a translation cannot contain the terms,
/// [`SentenceError::TermsTooLong`] if they do not fit into it, and [`SentenceError::UnknownId`] if
/// the vocabulary lacks one of their tokens.
fn check_terms(
    model: &dyn StepModel,
    request: &Request,
    settings: &SearchSettings,
) -> Result<(), SentenceError> {
    let terms = &request.terms;
    if terms.is_empty() {
        return Ok(());
    }
    if settings.sampling.is_some() {
        return refuse("samples cannot be made to contain terms; search instead of sampling");
    }
    if request.is_empty(model.special().eos) {
        return refuse("an empty source has no terms; leave them out");
    }
    if terms.phrases.len() > MAX_TERMS {
        return refuse("there are more than 64 terms; leave out the others or split the sentence");
    }
    for phrase in terms.phrases.iter().flatten() {
        check_ids(model, Side::Target, &phrase.tokens)?;
        if phrase.tokens.is_empty()
            || phrase
                .tokens
                .iter()
                .any(|&id| is_reserved(model, id) || settings.suppress.contains(&id))
        {
            return refuse(
                "a term has a phrase that is empty or holds a special or suppressed token; leave it out",
            );
        }
    }
    if terms
        .phrases
        .iter()
        .any(|phrases| terms.cost(phrases).is_none())
    {
        return refuse(
            "a term has no phrase that can follow any token; add one that begins a word",
        );
    }
    let limit = request.limit(settings, model);
    match request.prefix.len() + terms.tokens() + 1 {
        length if length > limit => Err(SentenceError::TermsTooLong { length, limit }),
        _ => Ok(()),
    }
}

/// Checks that no text of a `side` is longer than `limit`, `</s>` included.
///
/// # Errors
/// Returns [`SentenceError::TooLong`] for the first longer text.
pub(crate) fn check_lengths<T: AsRef<[u32]>>(
    side: Side,
    texts: impl IntoIterator<Item = T>,
    eos: u32,
    limit: usize,
) -> Result<()> {
    for (sentence, ids) in (1..).zip(texts) {
        let length = len_with_eos(ids.as_ref(), eos);
        check_length(side, length, limit).map_err(|error| error.of(sentence))?;
    }
    Ok(())
}

fn check_length(side: Side, length: usize, limit: usize) -> Result<(), SentenceError> {
    if length > limit {
        Err(SentenceError::TooLong {
            side,
            length,
            limit,
        })
    } else {
        Ok(())
    }
}

/// Checks that the numbers of sources and targets are equal, and that the model accepts each text.
/// All texts must end with `</s>`.
///
/// # Errors
/// Returns [`InferError::Count`] if the numbers differ, [`SentenceError::UnknownId`] if an id is
/// outside the vocabulary, and [`SentenceError::TooLong`] if the model has too few positions.
pub(crate) fn check_pairs(
    model: &dyn StepModel,
    sources: &[Vec<u32>],
    targets: &[Vec<u32>],
) -> Result<()> {
    if sources.len() != targets.len() {
        let sources = sources.len();
        let others = targets.len();
        return Err(InferError::Count {
            sources,
            others,
            what: "targets",
        });
    }
    for (sentence, (source, target)) in (1..).zip(sources.iter().zip(targets)) {
        check_text(model, Side::Source, source)
            .and_then(|()| check_text(model, Side::Target, target))
            .map_err(|error| error.of(sentence))?;
    }
    Ok(())
}

/// Checks a text of a `side` that ends with `</s>`.
///
/// # Errors
/// Returns [`SentenceError::UnknownId`] if an id is outside the vocabulary, and
/// [`SentenceError::TooLong`] if the model has too few positions.
fn check_text(model: &dyn StepModel, side: Side, ids: &[u32]) -> Result<(), SentenceError> {
    check_ids(model, side, ids)?;
    check_length(side, ids.len(), model.max_positions().unwrap_or(usize::MAX))
}

/// Checks that all ids of a `side` are in its vocabulary.
///
/// # Errors
/// Returns [`SentenceError::UnknownId`] for the first id outside the vocabulary.
fn check_ids(model: &dyn StepModel, side: Side, ids: &[u32]) -> Result<(), SentenceError> {
    let vocab = match side {
        Side::Source => model.source_vocab(),
        Side::Target => model.target_vocab(),
    };
    match ids.iter().find(|&&id| id as usize >= vocab) {
        Some(&id) => Err(SentenceError::UnknownId { side, id, vocab }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_eos_is_added_once() {
        assert_eq!(with_eos(&[5, 6], 2), [5, 6, 2]);
        assert_eq!(with_eos(&[5, 2], 2), [5, 2]);
        assert_eq!(with_eos(&[], 2), [2]);
        for ids in [&[5, 6][..], &[5, 2], &[]] {
            assert_eq!(len_with_eos(ids, 2), with_eos(ids, 2).len());
        }
    }
}
