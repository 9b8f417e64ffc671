//! Translates texts of any length through the queue.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use burnformer_documents::{BrokenCatalogue, Document, Format, Splitting, Translated};
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
use crate::sender::Permit;

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
    keeps_formatting: bool,
}

/// The translations of a text: the best, then the alternatives.
pub(crate) type Translations = Vec<String>;

/// The best translation of each text.
pub(crate) fn best(all: Vec<Translations>) -> Vec<String> {
    all.into_iter()
        .map(|mut ranked| ranked.swap_remove(0))
        .collect()
}

/// The documents of a request after a round.
enum Round {
    /// The documents, and the pending sentences of each.
    Pending(Rounds, Vec<Vec<Sentence>>),
    /// Nothing is pending: the translations.
    Finished(Vec<Translations>),
}

/// The texts of a request, parsed but not yet split into sentences, with a permit for the work on
/// them.
pub(crate) struct ReadTexts {
    pub texts: Arc<Vec<ReadText>>,
    pub format: Format,
    /// If true, the translation of a sentence begins and ends like the sentence.
    pub keeps_formatting: bool,
    _permit: Permit,
}

/// How the texts of a request are read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub format: Format,
    /// Where the texts are divided; `None` for whole documents.
    pub splitting: Option<Splitting>,
}

impl From<Format> for Reading {
    fn from(format: Format) -> Self {
        Self {
            format,
            splitting: None,
        }
    }
}

impl Reading {
    /// Parses `text` for a translation into `target`.
    ///
    /// # Errors
    /// Returns an error if the text is a broken catalogue.
    fn document(self, text: &str, target: Option<&str>) -> Result<Document, BrokenCatalogue> {
        match self.splitting {
            Some(splitting) => Ok(Document::read_text(text, self.format, splitting)),
            None => Document::read(text, self.format, target, &[]),
        }
    }
}

impl Reading {
    /// Parses `texts` as [`document`](Self::document) does.
    fn texts(
        self,
        texts: Vec<String>,
        target: Option<&str>,
        cancel: &Cancel,
    ) -> Result<Vec<ReadText>> {
        let mut read = Vec::with_capacity(texts.len());
        for text in texts {
            cancel.unwind_if_cancelled();
            let document = self.document(&text, target).map_err(|cause| {
                ApiError::bad(
                    "text",
                    cause.to_string(),
                    "send the text of a whole document",
                )
            })?;
            read.push(ReadText { text, document });
        }
        Ok(read)
    }
}

/// A text and its parsed document.
#[derive(Clone)]
pub(crate) struct ReadText {
    pub text: String,
    pub document: Document,
}

impl ReadTexts {
    /// The price of one step of work on all texts.
    pub fn price(&self) -> Price {
        Price::of_text(self.texts.iter().map(|read| read.text.len()).sum())
    }
}

impl Client {
    /// Parses `texts` for a translation into `target`. The `permit` is held as long as the texts.
    ///
    /// # Errors
    /// Returns an error if a text is a broken catalogue.
    pub async fn read(
        &self,
        texts: Vec<String>,
        reading: impl Into<Reading>,
        target: Option<&str>,
        permit: Permit,
    ) -> Result<ReadTexts> {
        let reading = reading.into();
        let format = reading.format;
        let price = texts
            .iter()
            .map(|text| Price::of_document(text, format))
            .sum();
        let target = target.map(String::from);
        let texts = compute(&self.sender, price, move |cancel| {
            reading.texts(texts, target.as_deref(), cancel)
        })
        .await??;
        Ok(ReadTexts {
            texts: Arc::new(texts),
            format,
            keeps_formatting: false,
            _permit: permit,
        })
    }

    /// Translates each text by the language pair with the same index, within the time limit, with
    /// the terms of `glossaries` and of the model. A text that is already in the target language
    /// stays unchanged.
    pub async fn translate(
        &self,
        read: ReadTexts,
        pairs: &[LanguagePair],
        choice: Choice,
        glossaries: Vec<Arc<Glossary>>,
    ) -> Result<Vec<Translations>> {
        let ReadTexts {
            texts,
            keeps_formatting,
            _permit,
            ..
        } = read;
        let translated = async {
            let mut all = Vec::new();
            let mut documents = Vec::new();
            for read in Arc::unwrap_or_clone(texts) {
                all.push(vec![read.text]);
                documents.push(read.document);
            }
            let distinct: BTreeSet<&LanguagePair> = pairs.iter().collect();
            for pair in distinct
                .into_iter()
                .filter(|pair| pair.source != pair.target)
            {
                let indices: Vec<usize> = (0..all.len())
                    .filter(|&index| pairs[index] == *pair)
                    .collect();
                let of_pair = indices
                    .iter()
                    .map(|&index| std::mem::take(&mut documents[index]))
                    .collect();
                let size = indices.iter().map(|&index| all[index][0].len()).sum();
                let mut pipeline = self.pipeline(pair, choice, glossaries.clone()).await?;
                pipeline.keeps_formatting = keeps_formatting;
                let found = pipeline.translate(of_pair, size).await?;
                for (index, found) in indices.into_iter().zip(found) {
                    all[index] = found;
                }
            }
            Ok(all)
        };
        self.in_time(translated).await
    }

    /// Translates a single text by the first of `pairs`.
    pub async fn translate_one(
        &self,
        read: ReadTexts,
        pairs: &[LanguagePair],
        glossaries: Vec<Arc<Glossary>>,
    ) -> Result<String> {
        let choice = Choice {
            n_best: 1,
            ..Choice::default()
        };
        let all = self.translate(read, pairs, choice, glossaries).await?;
        Ok(best(all).concat())
    }

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
