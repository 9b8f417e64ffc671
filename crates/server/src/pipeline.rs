//! Translates the sentences of documents through the queue of a model.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use burnformer_documents::{Document, Format, Translated};
use burnformer_infer::quality_warnings;
use burnformer_terminology::Glossary;
use burnformer_text::Writing;
use burnformer_translation::pivot::{into_middle, out_of_middle, through_links};
use burnformer_translation::{Rounds, TermsTooLong};
use parking_lot::Mutex;

use crate::api::Client;
use crate::api::error::{ApiError, Result};
use crate::compute::{Cancel, Price, compute};
use crate::engine::{Candidate, Choice, Engine, Sentence};
use crate::formatting::formatted;
use crate::language::LanguagePair;
use crate::queue::{Queue, Watcher};

/// Translates the sentences of a request with the queue of its model and its glossaries.
pub(crate) struct Pipeline<'a> {
    client: &'a Client,
    pub pair: LanguagePair,
    /// The pairs of the models in a row: `pair`, or two with a language between.
    legs: Vec<Leg>,
    pub choice: Choice,
    /// Prescribed translations of terms; earlier glossaries take precedence.
    pub glossaries: Vec<Arc<Glossary>>,
    /// If true, translations begin and end like their sentences.
    pub keeps_formatting: bool,
    /// A text before each text, for models that were trained with context.
    pub before: String,
}

/// A model of a request.
struct Leg {
    pair: LanguagePair,
    /// The queue that the request used last. The request keeps its model between steps, so that it
    /// does not wait for the model at each.
    last: Mutex<Weak<Queue>>,
}

impl Leg {
    fn new(source: &str, target: &str) -> Self {
        Self {
            pair: LanguagePair {
                source: source.into(),
                target: target.into(),
            },
            last: Mutex::default(),
        }
    }
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
        let LanguagePair { source, target } = pair;
        let legs = match self.models.through(pair) {
            None => vec![Leg::new(source, target)],
            Some(middle) => vec![Leg::new(source, middle), Leg::new(middle, target)],
        };
        let pipeline = Pipeline {
            client: self,
            pair: pair.clone(),
            legs,
            choice,
            glossaries,
            keeps_formatting: false,
            before: String::new(),
        };
        for leg in &pipeline.legs {
            pipeline.queue_of(leg).await?;
        }
        Ok(pipeline)
    }
}

impl Pipeline<'_> {
    /// Returns the queue of the first model.
    ///
    /// # Errors
    /// Returns [`ApiError`] if there is no such model, or if it cannot be loaded.
    pub async fn queue(&self) -> Result<Arc<Queue>> {
        self.queue_of(&self.legs[0]).await
    }

    /// The language between two models, if the request takes two.
    pub fn through(&self) -> Option<&str> {
        let [first, _] = &self.legs[..] else {
            return None;
        };
        Some(&first.pair.target)
    }

    /// Returns the queue of the model of `leg`. A model that was unloaded in favour of another is
    /// loaded again.
    async fn queue_of(&self, leg: &Leg) -> Result<Arc<Queue>> {
        let last = leg.last.lock().upgrade();
        if let Some(queue) = last.filter(|queue| !queue.is_unloaded()) {
            return Ok(queue);
        }
        let pair = &leg.pair;
        let queue = self.client.models.queue(pair).await.ok_or_else(|| {
            let message = format!("no model translates {pair}");
            ApiError::bad("target", message, "a pair of /languages")
        })?;
        let queue = queue.map_err(|_| ApiError::not_loaded(pair))?;
        *leg.last.lock() = Arc::downgrade(&queue);
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
        let price = Price::of_text(size + self.before.len());
        let before = self.before.clone();
        let mut engines = Vec::with_capacity(self.legs.len());
        for leg in &self.legs {
            engines.push(self.queue_of(leg).await?.engine().clone());
        }
        let glossaries = self.glossaries.clone();
        let mut round = compute(&self.client.sender, price, move |cancel| {
            let documents = divided(documents, &pair, &engines, cancel);
            let rounds = Rounds::new(documents, ranks, glossaries);
            next_round(in_context(rounds, &engines, &before, &pair), most, cancel)
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

    /// Returns the candidates of each sentence. Two models in a row translate the sentences one after
    /// the other, and the candidates are those of the second.
    ///
    /// # Errors
    /// Returns an [`ApiError`] if a model cannot be loaded, or if its queue or the model fails.
    pub async fn sentences(&self, all: Vec<Sentence>) -> Result<Vec<Vec<Candidate>>> {
        self.watched_sentences(all, None).await
    }

    /// Like [`sentences`](Self::sentences). `watcher` follows the best translation of each sentence.
    ///
    /// # Errors
    /// Returns the errors of [`sentences`](Self::sentences).
    pub async fn watched_sentences(
        &self,
        all: Vec<Sentence>,
        watcher: Option<Watcher>,
    ) -> Result<Vec<Vec<Candidate>>> {
        let [first, second] = &self.legs[..] else {
            return self
                .candidates(&self.legs[0], all, self.choice, watcher)
                .await;
        };
        let engine = self.queue_of(first).await?.engine().clone();
        let asked = all
            .iter()
            .map(|sentence| into_middle(sentence, |term| engine.can_write(term)));
        let asked = asked.collect();
        let best = Choice {
            n_best: 1,
            ..self.choice
        };
        let middle = self.candidates(first, asked, best, None).await?;
        let middle: Vec<Candidate> = middle
            .into_iter()
            .map(|found| found.into_iter().next().unwrap_or_default())
            .collect();
        let pairs = all.iter().zip(&middle);
        let asked = pairs.map(|(sentence, middle)| out_of_middle(sentence, &middle.text));
        let last = self
            .candidates(second, asked.collect(), self.choice, watcher)
            .await?;
        let mut joined = Vec::with_capacity(all.len());
        for ((sentence, middle), found) in all.iter().zip(&middle).zip(last) {
            let found = found.into_iter();
            joined.push(found.map(|last| through(sentence, middle, last)).collect());
        }
        Ok(joined)
    }

    /// Returns the candidates of each sentence by the model of `leg`, from the cache or the queue. Equal sentences are
    /// translated once.
    ///
    /// # Errors
    /// Returns an [`ApiError`] if the model cannot be loaded, or if the queue or the model fails.
    async fn candidates(
        &self,
        leg: &Leg,
        all: Vec<Sentence>,
        choice: Choice,
        watcher: Option<Watcher>,
    ) -> Result<Vec<Vec<Candidate>>> {
        let cache = &self.client.cache;
        let pair = leg.pair.to_string();
        let last: HashMap<&Sentence, usize> = all.iter().zip(0..).collect();
        let known = last
            .keys()
            .map(|&work| Some((work, cache.get(&pair, work, choice)?)));
        let mut found: HashMap<&Sentence, Vec<Candidate>> = known.flatten().collect();
        let cached = all.iter().filter(|work| found.contains_key(work)).count();
        if let Some(watcher) = &watcher {
            for (index, work) in all.iter().enumerate() {
                if let Some(best) = found.get(work).and_then(|found| found.first()) {
                    watcher(index, &best.text);
                }
            }
        }
        self.client.metrics.cached.inc_by(cached as u64);
        while found.len() < last.len() {
            let queue = self.queue_of(leg).await?;
            let asked: Vec<&Sentence> = all
                .iter()
                .zip(0..)
                .filter(|(work, index)| last[work] == *index && !found.contains_key(work))
                .map(|(work, _)| work)
                .collect();
            let work = asked.iter().copied().cloned().collect();
            let of_asked = watcher.as_ref().map(|it| watcher_of(&all, &asked, it));
            let answers = queue
                .translate(&self.client.sender, work, choice, of_asked)
                .await?;
            let unloaded = queue.is_unloaded();
            for (work, candidates) in asked.into_iter().zip(answers) {
                // A queue that is unloaded leaves sentences without candidates.
                if !unloaded || !candidates.is_empty() {
                    cache.put(&pair, work.clone(), choice, &candidates);
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

/// The watcher of `asked` that tells `watcher` about all sentences of `all` that are equal to one of
/// them.
fn watcher_of(all: &[Sentence], asked: &[&Sentence], watcher: &Watcher) -> Watcher {
    let mut indices = vec![Vec::new(); asked.len()];
    let places: HashMap<&Sentence, usize> = asked.iter().copied().zip(0..).collect();
    for (index, sentence) in all.iter().enumerate() {
        if let Some(&place) = places.get(sentence) {
            indices[place].push(index);
        }
    }
    let watcher = watcher.clone();
    Arc::new(move |place, settled| {
        for &index in &indices[place] {
            watcher(index, settled);
        }
    })
}

/// The translation `last` of `middle`, which is the translation of `sentence`. Confidence is of one
/// model.
fn through(sentence: &Sentence, middle: &Candidate, last: Candidate) -> Candidate {
    let links = through_links(&middle.links, last.links);
    Candidate {
        links,
        doubts: quality_warnings(&sentence.text, &last.text),
        confidence: None,
        is_second: middle.is_second || last.is_second,
        ..last
    }
}

/// Divides `documents` into sentences that fit into the models of `engines`, and looks their segments
/// up in the memory of a single one.
fn divided(
    documents: Vec<Document>,
    pair: &LanguagePair,
    engines: &[Arc<dyn Engine>],
    cancel: &Cancel,
) -> Vec<Document> {
    // The memory of the first of two models has translations into another language.
    let memory = match engines {
        [engine] => Some(engine),
        _ => None,
    };
    let mut divided = Vec::with_capacity(documents.len());
    for mut document in documents {
        document.divide([Some(&pair.source), Some(&pair.target)], &|sentence| {
            cancel.unwind_if_cancelled();
            engines.iter().all(|engine| engine.fits(sentence))
        });
        let remembered = |segment: &str, context: &str| memory?.remembered(segment, context);
        let writing = Writing::between(&pair.source, &pair.target);
        divided.push(document.with_writing(writing).with_memory(&remembered));
    }
    divided
}

/// The longest sentence of a context, in bytes. A longer one would not fit in front of a sentence.
const MAX_CONTEXT_BYTES: usize = 4096;

/// Returns `rounds` with the context that the model of a single one of `engines` reads. The text `before`
/// stands before each document. Two models translate sentences alone.
fn in_context(
    rounds: Rounds,
    engines: &[Arc<dyn Engine>],
    before: &str,
    pair: &LanguagePair,
) -> Rounds {
    let count = match engines {
        [engine] => engine.context(),
        _ => 0,
    };
    if count == 0 {
        return rounds;
    }
    let text = Document::parse(before, Format::Text, Some(&pair.source), &|_| true);
    let sentences = text.pending().into_iter().rev().take(count);
    let fitting = sentences.take_while(|sentence| sentence.text.len() <= MAX_CONTEXT_BYTES);
    let mut before: Vec<Arc<str>> = fitting.map(|sentence| sentence.text.into()).collect();
    before.reverse();
    rounds.with_context(count, before)
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
