//! Translates the sentences of documents through the queue of a model.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use burnformer_documents::{Document, Translated};
use burnformer_terminology::Glossary;
use burnformer_translation::{Rounds, TermsTooLong};
use parking_lot::Mutex;

use crate::api::Client;
use crate::api::error::{ApiError, Result};
use crate::compute::{Cancel, Price, compute};
use crate::engine::{Candidate, Choice, Engine, Sentence};
use crate::formatting::formatted;
use crate::language::LanguagePair;
use crate::queue::Queue;

/// Translates the sentences of a request with the queue of its model and its glossaries.
pub(crate) struct Pipeline<'a> {
    client: &'a Client,
    pub pair: LanguagePair,
    pub choice: Choice,
    /// Prescribed translations of terms; earlier glossaries take precedence.
    pub glossaries: Vec<Arc<Glossary>>,
    /// The queue that the request used last. The request keeps its model between steps, so that it
    /// does not wait for the model at each.
    last: Mutex<Weak<Queue>>,
    /// If true, translations begin and end like their sentences.
    pub keeps_formatting: bool,
}

/// The translations of a text: the best, then the alternatives.
pub(crate) type Translations = Vec<String>;

/// The documents of a request after a round.
enum Round {
    /// The documents, and the pending sentences of each.
    Pending(Rounds, Vec<Vec<Sentence>>),
    /// Nothing is pending: the translations.
    Finished(Vec<Translations>),
}

impl Client {
    /// Creates a pipeline from the queue of the model for `pair`, the search settings `choice` and
    /// the glossaries. The glossaries of the request take precedence over the glossary of the
    /// model.
    pub async fn pipeline(
        &self,
        pair: &LanguagePair,
        choice: Choice,
        of_request: Vec<Arc<Glossary>>,
    ) -> Result<Pipeline<'_>> {
        let glossaries = of_request
            .into_iter()
            .chain(self.models.glossary(pair))
            .collect();
        let pair = pair.clone();
        let last = Mutex::default();
        let pipeline = Pipeline {
            client: self,
            pair,
            choice,
            glossaries,
            last,
            keeps_formatting: false,
        };
        pipeline.queue().await?;
        Ok(pipeline)
    }
}

impl Pipeline<'_> {
    /// Returns the queue of the model. A model that was unloaded in favour of another is loaded
    /// again.
    ///
    /// # Errors
    /// Returns [`ApiError`] if there is no such model, or if it cannot be loaded.
    pub async fn queue(&self) -> Result<Arc<Queue>> {
        if let Some(queue) = self
            .last
            .lock()
            .upgrade()
            .filter(|queue| !queue.is_unloaded())
        {
            return Ok(queue);
        }
        let pair = &self.pair;
        let queue = self.client.models.queue(pair).await.ok_or_else(|| {
            let message = format!("no model translates {pair}");
            ApiError::bad("target", message, "a pair of /languages")
        })?;
        let queue = queue.map_err(|_| ApiError::not_loaded(pair))?;
        *self.last.lock() = Arc::downgrade(&queue);
        Ok(queue)
    }

    /// Returns the best translation of each of `texts` and up to `choice.n_best − 1` alternatives.
    ///
    /// The sentences of all texts wait together, so that a request with many
    /// texts has one turn in the queue.
    ///
    /// `size` is the size of the texts in bytes.
    ///
    /// # Errors
    /// Returns an [`ApiError`] if the terms of the sentences are too long, or if the queue or the
    /// model fails.
    pub async fn translate(
        &self,
        documents: Vec<Document>,
        size: usize,
    ) -> Result<Vec<Translations>> {
        let pair = self.pair.clone();
        let ranks = self.choice.n_best.max(1);
        let most = self.client.limits.characters;
        let price = Price::of_text(size);
        let engine = self.queue().await?.engine().clone();
        let glossaries = self.glossaries.clone();
        let mut round = compute(&self.client.sender, price, move |cancel| {
            let documents = divided(documents, &pair, &*engine, cancel);
            next_round(Rounds::new(documents, ranks, glossaries), most, cancel)
        })
        .await??;
        // After the first round there is a document for each rank.
        let most = most * ranks;
        loop {
            let (mut rounds, pending) = match round {
                Round::Pending(rounds, pending) => (rounds, pending),
                Round::Finished(translations) => return Ok(translations),
            };
            let found = self.translated(&pending).await?;
            round = compute(&self.client.sender, price * ranks, move |cancel| {
                rounds.accept(found, &|| cancel.unwind_if_cancelled());
                next_round(rounds, most, cancel)
            })
            .await??;
        }
    }

    /// Returns the translations of each sentence of each document.
    async fn translated(&self, pending: &[Vec<Sentence>]) -> Result<Vec<Vec<Vec<Translated>>>> {
        let asked = pending.concat();
        let all = self.sentences(asked.clone()).await?;
        let mut all = asked
            .iter()
            .zip(all)
            .map(|(work, found)| self.ranked(work, found));
        Ok(pending
            .iter()
            .map(|sentences| all.by_ref().take(sentences.len()).collect())
            .collect())
    }

    /// The translations of the sentence `work` for its document.
    fn ranked(&self, work: &Sentence, found: Vec<Candidate>) -> Vec<Translated> {
        let plain = found
            .into_iter()
            .map(|Candidate { text, links, .. }| Translated { text, links });
        if self.keeps_formatting {
            plain
                .map(|plain| formatted(&work.text, plain, &self.pair.target))
                .collect()
        } else {
            plain.collect()
        }
    }

    /// Returns the candidates of each sentence, from the cache or the queue. Equal sentences are
    /// translated once.
    ///
    /// # Errors
    /// Returns an [`ApiError`] if the model cannot be loaded, or if the queue or the model fails.
    pub async fn sentences(&self, all: Vec<Sentence>) -> Result<Vec<Vec<Candidate>>> {
        let cache = &self.client.cache;
        let pair = self.pair.to_string();
        let last: HashMap<&Sentence, usize> = all.iter().zip(0..).collect();
        let known = last
            .keys()
            .map(|&work| Some((work, cache.get(&pair, work, self.choice)?)));
        let mut found: HashMap<&Sentence, Vec<Candidate>> = known.flatten().collect();
        let cached = all.iter().filter(|work| found.contains_key(work)).count();
        self.client.metrics.cached.inc_by(cached as u64);
        while found.len() < last.len() {
            let queue = self.queue().await?;
            let asked: Vec<&Sentence> = all
                .iter()
                .zip(0..)
                .filter(|(work, index)| last[work] == *index && !found.contains_key(work))
                .map(|(work, _)| work)
                .collect();
            let work = asked.iter().copied().cloned().collect();
            let answers = queue
                .translate(&self.client.sender, work, self.choice)
                .await?;
            let unloaded = queue.is_unloaded();
            for (work, candidates) in asked.into_iter().zip(answers) {
                // A queue that is unloaded leaves sentences without candidates.
                if !unloaded || !candidates.is_empty() {
                    cache.put(&pair, work.clone(), self.choice, &candidates);
                    found.insert(work, candidates);
                }
            }
        }
        Ok(all
            .iter()
            .zip(0..)
            .map(|(work, index)| {
                if last[work] == index {
                    found.remove(work)
                } else {
                    found.get(work).cloned()
                }
            })
            .map(Option::unwrap_or_default)
            .collect())
    }
}

/// Divides `documents` into sentences that fit into the model of `engine`, and looks their segments
/// up in its memory.
fn divided(
    documents: Vec<Document>,
    pair: &LanguagePair,
    engine: &dyn Engine,
    cancel: &Cancel,
) -> Vec<Document> {
    let mut divided = Vec::with_capacity(documents.len());
    for mut document in documents {
        document.divide([Some(&pair.source), Some(&pair.target)], &|sentence| {
            cancel.unwind_if_cancelled();
            engine.fits(sentence)
        });
        let document = document
            .with_writing(engine.writing())
            .with_memory(&|segment, context| engine.remembered(segment, context));
        divided.push(document);
    }
    divided
}

/// Returns `rounds` with their pending sentences, or finishes them if there are none. All terms
/// together may have `most` bytes.
fn next_round(rounds: Rounds, most: usize, cancel: &Cancel) -> Result<Round> {
    let pending = rounds
        .pending(most, &|| cancel.unwind_if_cancelled())
        .map_err(terms_too_long)?;
    if pending.iter().all(Vec::is_empty) {
        let translations = rounds.finish(&|| cancel.unwind_if_cancelled());
        return Ok(Round::Finished(translations));
    }
    Ok(Round::Pending(rounds, pending))
}

fn terms_too_long(error: TermsTooLong) -> ApiError {
    ApiError::bad(
        "glossary",
        error.to_string(),
        "send fewer sentences, or terms, at a time",
    )
}

/// Returns `sentence` with the terms that `glossaries` require in its translation. `left` is the
/// number of bytes that remain for terms. It is limited because a short term can prescribe a long
/// translation in every sentence.
///
/// # Errors
/// Returns an error if the terms are longer than `left`.
pub(crate) fn with_terms(
    sentence: Sentence,
    glossaries: &[Arc<Glossary>],
    left: &mut usize,
) -> Result<Sentence> {
    let sentence = sentence.with_terms(glossaries);
    *left = left
        .checked_sub(sentence.size_of_terms())
        .ok_or_else(|| terms_too_long(TermsTooLong))?;
    Ok(sentence)
}
