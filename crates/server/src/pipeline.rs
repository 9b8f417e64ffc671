//! Translates the sentences of documents through the queue of a model.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Weak};

use burnformer_documents::{Document, Format, Splitting, Translated};
use burnformer_infer::quality_warnings;
use burnformer_terminology::Glossary;
use burnformer_translation::{
    Cascade, Division, Pivot, Round, Rounds, TermsTooLong, through_links,
};
use parking_lot::Mutex;

use crate::api::Client;
use crate::api::error::{ApiError, Result};
use crate::compute::{CancelWatch, Price, compute};
use crate::engine::{Candidate, Choice, Engine, Sentence};
use crate::formatting::formatted;
use crate::language::LanguagePair;
use crate::queue::{Queue, Watcher};

/// Translates the sentences of a request with the queue of its model and its glossaries.
pub(crate) struct Pipeline<'a> {
    client: &'a Client,
    pub pair: LanguagePair,
    /// The models: that of `pair`, or two with a language between.
    models: Cascade<ModelSlot>,
    pub choice: Choice,
    /// Prescribed translations of terms; earlier glossaries take precedence.
    pub glossaries: Vec<Arc<Glossary>>,
    /// If true, translations begin and end like their sentences.
    pub keeps_formatting: bool,
    /// A text before each text, for models that were trained with context.
    pub before: String,
}

/// A model of a request.
struct ModelSlot {
    pair: LanguagePair,
    /// The queue that the request used last. The request keeps its model between steps, so that it
    /// does not wait for the model at each.
    last: Mutex<Weak<Queue>>,
}

impl ModelSlot {
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
        let models = match self.models.through(pair) {
            None => Cascade {
                first: ModelSlot::new(source, target),
                second: None,
            },
            Some(middle) => Cascade {
                first: ModelSlot::new(source, middle),
                second: Some(ModelSlot::new(middle, target)),
            },
        };
        let pipeline = Pipeline {
            client: self,
            pair: pair.clone(),
            models,
            choice,
            glossaries,
            keeps_formatting: false,
            before: String::new(),
        };
        pipeline.queue().await?;
        if let Some(second) = &pipeline.models.second {
            pipeline.queue_of(second).await?;
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
        self.queue_of(&self.models.first).await
    }

    /// The language between two models, if the request takes two.
    pub fn through(&self) -> Option<&str> {
        let Cascade { first, second } = &self.models;
        second.as_ref().map(|_| &*first.pair.target)
    }

    /// Returns the engines of the models. No queue is held meanwhile: the first model may have to
    /// leave for the second.
    async fn engines(&self) -> Result<Cascade<Arc<dyn Engine>>> {
        let first = self.engine_of(&self.models.first).await?;
        let second = match &self.models.second {
            None => None,
            Some(slot) => Some(self.engine_of(slot).await?),
        };
        Ok(Cascade { first, second })
    }

    async fn engine_of(&self, slot: &ModelSlot) -> Result<Arc<dyn Engine>> {
        Ok(self.queue_of(slot).await?.engine().clone())
    }

    /// Returns the queue of the model of `slot`. A model that was unloaded in favour of another is
    /// loaded again.
    async fn queue_of(&self, slot: &ModelSlot) -> Result<Arc<Queue>> {
        let last = slot.last.lock().upgrade();
        if let Some(queue) = last.filter(|queue| !queue.is_unloaded()) {
            return Ok(queue);
        }
        let pair = &slot.pair;
        let queue = self.client.models.queue(pair).await.ok_or_else(|| {
            let message = format!("no model translates {pair}");
            ApiError::bad("target", message, "a pair of /languages")
        })?;
        let queue = queue.map_err(|_| ApiError::not_loaded(pair))?;
        *slot.last.lock() = Arc::downgrade(&queue);
        Ok(queue)
    }

    /// Returns the places of the sentences in a plain `text`, in bytes.
    pub async fn sentence_places(&self, text: String) -> Result<Vec<Range<usize>>> {
        let pair = self.pair.clone();
        let engines = self.engines().await?;
        let price = Price::of_text(text.len());
        let places = compute(&self.client.sender, price, move |cancel| {
            let mut document = Document::read_text(&text, Format::Text, Splitting::Lines);
            let languages = [&pair.source, &pair.target].map(|code| Some(&**code));
            document.divide(languages, &|sentence| {
                cancel.unwind_if_cancelled();
                engines.fits(sentence)
            });
            document.sentence_places()
        });
        Ok(places.await?)
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
        let ranks = self.choice.n_best;
        let most = self.client.limits.characters;
        let price = Price::of_text(size + self.before.len());
        let before = self.before.clone();
        let engines = self.engines().await?;
        let glossaries = self.glossaries.clone();
        let mut round = compute(&self.client.sender, price, move |cancel| {
            let documents = divided(documents, &pair, &engines, cancel);
            let rounds = Rounds::new(documents, ranks, glossaries);
            let rounds = in_context(rounds, engines.context(), &before, &pair);
            next_round(rounds, most, cancel)
        })
        .await??;
        // After the first round there is a document for each rank.
        let most = most * ranks;
        loop {
            let pending = match round {
                Round::Pending(pending) => pending,
                Round::Finished(translations) => return Ok(translations),
            };
            let translations = self.translated(pending.sentences()).await?;
            round = compute(&self.client.sender, price * ranks, move |cancel| {
                let rounds = pending.accept(translations, &|| cancel.unwind_if_cancelled());
                next_round(rounds, most, cancel)
            })
            .await??;
        }
    }

    /// Returns the translations of each of `sentences`.
    async fn translated(&self, sentences: &[Sentence]) -> Result<Vec<Vec<Translated>>> {
        let candidates = self.sentences(sentences.to_vec()).await?;
        let pairs = sentences.iter().zip(candidates);
        let ranked = pairs.map(|(sentence, candidates)| self.ranked(sentence, candidates));
        Ok(ranked.collect())
    }

    /// The translations of `sentence` for its document.
    fn ranked(&self, sentence: &Sentence, candidates: Vec<Candidate>) -> Vec<Translated> {
        let plain = candidates
            .into_iter()
            .map(|Candidate { text, links, .. }| Translated { text, links });
        if self.keeps_formatting {
            plain
                .map(|plain| formatted(&sentence.text, plain, &self.pair.target))
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
        let first = &self.models.first;
        let Some(second) = &self.models.second else {
            return self.candidates(first, all, self.choice, watcher).await;
        };
        // The memories of a server lead into the target languages of its models.
        let pivot = Pivot::new(all, |_| None);
        let engine = self.engine_of(first).await?;
        let asked = pivot.into_middle(|term| engine.can_write(term));
        let middle = self
            .candidates(first, asked, Choice::default(), None)
            .await?;
        let middle: Vec<Candidate> = middle
            .into_iter()
            .map(|candidates| candidates.into_iter().next().unwrap_or_default())
            .collect();
        let asked = pivot.out_of_middle(middle.iter().map(|candidate| &*candidate.text));
        let last = self.candidates(second, asked, self.choice, watcher).await?;
        let pairs = pivot.unknown().zip(&middle);
        let joined = pairs.zip(last).map(|((sentence, middle), candidates)| {
            let candidates = candidates.into_iter();
            candidates
                .map(|last| through(sentence, middle, last))
                .collect()
        });
        Ok(joined.collect())
    }

    /// Returns the candidates of each sentence by the model of `slot`, from the cache or the queue.
    /// Equal sentences are translated once.
    ///
    /// # Errors
    /// Returns an [`ApiError`] if the model cannot be loaded, or if the queue or the model fails.
    async fn candidates(
        &self,
        slot: &ModelSlot,
        all: Vec<Sentence>,
        choice: Choice,
        watcher: Option<Watcher>,
    ) -> Result<Vec<Vec<Candidate>>> {
        let cache = &self.client.cache;
        let pair = slot.pair.to_string();
        let last: HashMap<&Sentence, usize> = all.iter().zip(0..).collect();
        let cached = last
            .keys()
            .map(|&sentence| Some((sentence, cache.get(&pair, sentence, choice)?)));
        let mut found: HashMap<&Sentence, Vec<Candidate>> = cached.flatten().collect();
        let count = all.iter().filter(|it| found.contains_key(it)).count();
        if let Some(watcher) = &watcher {
            for (index, sentence) in all.iter().enumerate() {
                let candidates = found.get(sentence);
                if let Some(best) = candidates.and_then(|candidates| candidates.first()) {
                    watcher(index, &best.text);
                }
            }
        }
        self.client.metrics.cached.inc_by(count as u64);
        while found.len() < last.len() {
            let queue = self.queue_of(slot).await?;
            let missing: Vec<&Sentence> = all
                .iter()
                .zip(0..)
                .filter(|(it, index)| last[it] == *index && !found.contains_key(it))
                .map(|(sentence, _)| sentence)
                .collect();
            let sentences = missing.iter().copied().cloned().collect();
            let watcher_of_missing = watcher.as_ref().map(|it| watcher_of(&all, &missing, it));
            let answers = queue
                .translate(&self.client.sender, sentences, choice, watcher_of_missing)
                .await?;
            let unloaded = queue.is_unloaded();
            for (sentence, candidates) in missing.into_iter().zip(answers) {
                // A queue that is unloaded leaves sentences without candidates.
                if !unloaded || !candidates.is_empty() {
                    cache.put(&pair, sentence.clone(), choice, &candidates);
                    found.insert(sentence, candidates);
                }
            }
        }
        Ok(all
            .iter()
            .zip(0..)
            .map(|(sentence, index)| {
                if last[sentence] == index {
                    found.remove(sentence)
                } else {
                    found.get(sentence).cloned()
                }
            })
            .map(Option::unwrap_or_default)
            .collect())
    }
}

/// The watcher of `missing` that tells `watcher` about all sentences of `all` that are equal to one
/// of them.
fn watcher_of(all: &[Sentence], missing: &[&Sentence], watcher: &Watcher) -> Watcher {
    let mut indices = vec![Vec::new(); missing.len()];
    let places: HashMap<&Sentence, usize> = missing.iter().copied().zip(0..).collect();
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
    engines: &Cascade<Arc<dyn Engine>>,
    cancel: &CancelWatch,
) -> Vec<Document> {
    // The memory of the first of two models has translations into another language.
    let memory = match engines.second {
        None => Some(&engines.first),
        Some(_) => None,
    };
    let division = Division {
        languages: [Some(&pair.source), Some(&pair.target)],
        abbreviations: None,
        fits: &|sentence| {
            cancel.unwind_if_cancelled();
            engines.fits(sentence)
        },
        memory: &|segment, context| memory?.remembered(segment, context),
    };
    let documents = documents.into_iter();
    documents.map(|it| division.divide(it)).collect()
}

/// The longest sentence of a context, in bytes. A longer one would not fit in front of a sentence.
const MAX_CONTEXT_BYTES: usize = 4096;

/// Returns `rounds` with the last `count` sentences before each sentence as its context. The text
/// `before` stands before each document.
fn in_context(rounds: Rounds, count: usize, before: &str, pair: &LanguagePair) -> Rounds {
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

/// Begins the next of `rounds`. All terms together may have `most` bytes.
fn next_round(rounds: Rounds, most: usize, cancel: &CancelWatch) -> Result<Round> {
    let round = rounds.advance(most, &|| cancel.unwind_if_cancelled());
    round.map_err(terms_too_long)
}

fn terms_too_long(error: TermsTooLong) -> ApiError {
    ApiError::bad(
        "glossary",
        error.to_string(),
        "send fewer sentences, or terms, at a time",
    )
}

/// Returns `sentence` with the terms that `glossaries` require in its translation. `left` is the
/// number of bytes that remain for terms.
///
/// # Errors
/// Returns an error if the terms are longer than `left`.
pub(crate) fn with_terms(
    sentence: Sentence,
    glossaries: &[Arc<Glossary>],
    left: &mut usize,
) -> Result<Sentence> {
    let sentence = sentence.with_terms_within(glossaries, left);
    sentence.map_err(terms_too_long)
}
