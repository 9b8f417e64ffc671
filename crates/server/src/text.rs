//! Translates texts of any length through the queue.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, Weak};

use burnformer_documents::{BrokenCatalogue, Document, Format, PendingSentence, Translated};
use burnformer_glossary::{Glossary, Term, longest, wanted};

use crate::api::Client;
use crate::api::error::{ApiError, Result};
use crate::compute::{Cancel, compute};
use crate::engine::{Candidate, Choice, Work};
use crate::language::LanguagePair;
use crate::lock::locked;
use crate::queue::Queue;

/// The parts that translate the sentences of a request: the queue of its model, and its glossaries.
pub(crate) struct Pipeline<'a> {
    client: &'a Client,
    pub pair: LanguagePair,
    pub choice: Choice,
    /// Prescribed translations of terms; earlier glossaries take precedence.
    pub glossaries: Vec<Arc<Glossary>>,
    /// The queue that the request had last. It keeps its model between its steps, or it would wait
    /// for the model at each.
    last: Mutex<Weak<Queue>>,
}

/// The translations of a text: the best, then the alternatives.
pub(crate) type Translations = Vec<String>;

/// The best translation of each text.
pub(crate) fn best(all: Vec<Translations>) -> Vec<String> {
    all.into_iter()
        .map(|mut ranked| ranked.swap_remove(0))
        .collect()
}

/// The documents of a request, and for each the part that is translated now.
type Round = (Vec<Document>, Vec<Vec<Work>>);

impl Client {
    /// Returns the best translation of one text.
    pub async fn translate_one(
        &self,
        text: String,
        pair: &[LanguagePair],
        format: Format,
        glossaries: Vec<Arc<Glossary>>,
    ) -> Result<String> {
        let choice = Choice {
            n_best: 1,
            ..Choice::default()
        };
        let all = self
            .translate(vec![text], pair, format, choice, glossaries)
            .await?;
        Ok(best(all).concat())
    }

    /// Translates each of `texts` by the pair with the same index, within the time limit, with the
    /// terms of `glossaries` and of the model. A text that is already in the target language stays
    /// unchanged.
    pub async fn translate(
        &self,
        texts: Vec<String>,
        pairs: &[LanguagePair],
        format: Format,
        choice: Choice,
        glossaries: Vec<Arc<Glossary>>,
    ) -> Result<Vec<Translations>> {
        let translated = async {
            let _permit = self
                .permit(texts.iter().map(String::as_str), choice.n_best.max(1))
                .await;
            let mut all: Vec<Translations> = texts.into_iter().map(|text| vec![text]).collect();
            let distinct: BTreeSet<&LanguagePair> = pairs.iter().collect();
            for pair in distinct
                .into_iter()
                .filter(|pair| pair.source != pair.target)
            {
                let indices = (0..all.len()).filter(|&index| pairs[index] == *pair);
                let (indices, texts): (Vec<usize>, Vec<String>) =
                    indices.map(|index| (index, all[index].concat())).unzip();
                let pipeline = self.pipeline(pair, choice, glossaries.clone()).await?;
                let found = pipeline.translate(texts, format).await?;
                indices
                    .into_iter()
                    .zip(found)
                    .for_each(|(index, found)| all[index] = found);
            }
            Ok(all)
        };
        self.in_time(translated).await
    }

    /// Combines the queue of the model for `pair`, the search settings `choice` and the glossaries.
    /// The glossaries of the request take precedence over the glossary of the model.
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
        let (pair, last) = (pair.clone(), Mutex::default());
        let pipeline = Pipeline {
            client: self,
            pair,
            choice,
            glossaries,
            last,
        };
        pipeline.queue().await?;
        Ok(pipeline)
    }
}

impl Pipeline<'_> {
    /// Returns the queue of the model, which is loaded again if it was unloaded in favour of
    /// another.
    ///
    /// # Errors
    /// Returns [`ApiError`] if there is no such model, or if it cannot be loaded.
    pub async fn queue(&self) -> Result<Arc<Queue>> {
        if let Some(queue) = locked(&self.last)
            .upgrade()
            .filter(|queue| !queue.is_unloaded())
        {
            return Ok(queue);
        }
        let pair = &self.pair;
        let message = || format!("no model translates {pair}");
        let none = || ApiError::bad("target", message(), "a pair of /languages");
        let queue = self.client.models.queue(pair).await.ok_or_else(none)?;
        let queue = queue.map_err(|_| ApiError::not_loaded(pair))?;
        *locked(&self.last) = Arc::downgrade(&queue);
        Ok(queue)
    }

    /// Returns for each of `texts` the best translation and up to `choice.n_best − 1` alternatives.
    ///
    /// An alternative consists of the next best translation of every sentence, or the best one
    /// where there are no more. The sentences of all texts wait together, so that a request of many
    /// texts has one turn in the queue.
    ///
    /// # Errors
    /// Returns an [`ApiError`] if a text is a broken catalogue, if the terms of its sentences are
    /// too long, or if the queue or the model fails.
    pub async fn translate(&self, texts: Vec<String>, format: Format) -> Result<Vec<Translations>> {
        let LanguagePair {
            source: from,
            target: into,
        } = self.pair.clone();
        let (ranks, most) = (self.choice.n_best.max(1), self.client.limits.characters);
        let size = texts.iter().map(String::len).sum();
        let engine = self.queue().await?.engine().clone();
        let glossaries = self.glossaries.clone();
        let writing = engine.writing();
        let parse = move |cancel: &Cancel| {
            let fits = |sentence: &str| {
                cancel.unwind_if_cancelled();
                engine.fits(sentence)
            };
            let broken =
                |cause: BrokenCatalogue| ApiError::bad("text", cause.to_string(), "a whole file");
            let parse = |text: &String| {
                let document =
                    Document::try_parse(text, format, [Some(&from), Some(&into)], &[], &fits);
                let document = document.map_err(broken)?.with_writing(writing);
                Ok(document.with_memory(&|segment| engine.remembered(segment)))
            };
            let documents = texts.iter().map(parse).collect::<Result<_>>()?;
            round(documents, &glossaries, most, cancel)
        };
        let (mut documents, mut work) = compute(&self.client.sender, size, parse).await??;
        // After the first round there is a document for each rank. What it asks for in its second
        // round depends on its translations of the first.
        let mut copies = ranks;
        loop {
            let found = self.rounds(&work).await?;
            let glossaries = self.glossaries.clone();
            let take = move |cancel: &Cancel| {
                let mut all = Vec::with_capacity(documents.len() * copies);
                for (document, found) in documents.into_iter().zip(found) {
                    for _ in 0..copies {
                        cancel.unwind_if_cancelled();
                        let mut document = document.clone();
                        document.accept(ranked(&found, all.len() % ranks));
                        all.push(document);
                    }
                }
                round(all, &glossaries, most * ranks, cancel)
            };
            (documents, work) = compute(&self.client.sender, size * ranks, take).await??;
            copies = 1;
            if work.iter().all(Vec::is_empty) {
                break;
            }
        }
        Ok(compute(&self.client.sender, size * ranks, move |_| {
            finished(documents, ranks)
        })
        .await?)
    }

    /// The candidates for each sentence of each document.
    async fn rounds(&self, work: &[Vec<Work>]) -> Result<Vec<Vec<Vec<Candidate>>>> {
        let mut all = self.sentences(work.concat()).await?.into_iter();
        Ok(work
            .iter()
            .map(|work| all.by_ref().take(work.len()).collect())
            .collect())
    }

    /// Returns the candidates of each sentence, from the cache or the queue. Equal sentences are
    /// translated once.
    ///
    /// # Errors
    /// Returns an [`ApiError`] if the model cannot be loaded, or if the queue or the model fails.
    pub async fn sentences(&self, all: Vec<Work>) -> Result<Vec<Vec<Candidate>>> {
        let (cache, pair) = (&self.client.cache, self.pair.to_string());
        let last: HashMap<&Work, usize> = all.iter().zip(0..).collect();
        let known = last
            .keys()
            .map(|&work| Some((work, cache.get(&pair, work, self.choice)?)));
        let mut found: HashMap<&Work, Vec<Candidate>> = known.flatten().collect();
        let cached = all.iter().filter(|work| found.contains_key(work)).count();
        self.client.metrics.cached.inc_by(cached as u64);
        while found.len() < last.len() {
            let queue = self.queue().await?;
            let is_asked =
                |(work, index): &(&Work, usize)| last[work] == *index && !found.contains_key(work);
            let asked: Vec<&Work> = all
                .iter()
                .zip(0..)
                .filter(is_asked)
                .map(|it| it.0)
                .collect();
            let work = asked.iter().copied().cloned().collect();
            let answers = queue
                .translate(&self.client.sender, work, self.choice)
                .await?;
            let unloaded = queue.is_unloaded();
            let done = |candidates: &[Candidate]| !unloaded || !candidates.is_empty();
            for (work, candidates) in asked.into_iter().zip(answers).filter(|it| done(&it.1)) {
                cache.put(&pair, work.clone(), self.choice, &candidates);
                found.insert(work, candidates);
            }
        }
        let candidates = |(work, index)| match last[work] == index {
            true => found.remove(work),
            false => found.get(work).cloned(),
        };
        Ok(all
            .iter()
            .zip(0..)
            .map(candidates)
            .map(Option::unwrap_or_default)
            .collect())
    }
}

/// `documents` with the pending work of each, whose terms may have `most` characters together.
fn round(
    documents: Vec<Document>,
    glossaries: &[Arc<Glossary>],
    most: usize,
    cancel: &Cancel,
) -> Result<Round> {
    let mut left = most;
    let mut work = |PendingSentence { text, links }: PendingSentence| {
        cancel.unwind_if_cancelled();
        with_terms(
            Work {
                text,
                links,
                ..Work::default()
            },
            glossaries,
            &mut left,
        )
    };
    let pending = documents.iter().map(Document::pending);
    let all = pending.map(|sentences| sentences.into_iter().map(&mut work).collect());
    let all = all.collect::<Result<_, _>>()?;
    Ok((documents, all))
}

/// Returns `work` with the terms that `glossaries` require in its translation. `left` is the number
/// of characters that the terms may still have; it is limited because a short term can prescribe a
/// long translation in every sentence.
///
/// # Errors
/// Returns an error if the terms are longer than `left`.
pub(crate) fn with_terms(
    work: Work,
    glossaries: &[Arc<Glossary>],
    left: &mut usize,
) -> Result<Work> {
    let glossaries: Vec<&Glossary> = glossaries.iter().map(|glossary| &**glossary).collect();
    let terms = longest(wanted(&glossaries, &work.text));
    let needed = terms.iter().map(Term::size).sum();
    *left = left.checked_sub(needed).ok_or_else(|| {
        let message = "the terms in all sentences together are too long";
        ApiError::bad(
            "glossary",
            message,
            "send fewer sentences, or terms, at a time",
        )
    })?;
    Ok(Work { terms, ..work })
}

/// The translations in `documents`, which are `ranks` for each text, without duplicates.
fn finished(documents: Vec<Document>, ranks: usize) -> Vec<Translations> {
    let texts: Vec<String> = documents.into_iter().map(Document::finish).collect();
    let unlike = |texts: &[String]| {
        let is_new = |index: &usize| !texts[..*index].contains(&texts[*index]);
        (0..texts.len())
            .filter(is_new)
            .map(|index| texts[index].clone())
            .collect()
    };
    texts.chunks(ranks).map(unlike).collect()
}

/// The candidates of this rank, or the best where there are fewer.
fn ranked(candidates: &[Vec<Candidate>], rank: usize) -> Vec<Translated> {
    let translated = |candidates: &Vec<Candidate>| {
        let found = candidates
            .get(rank)
            .or(candidates.first())
            .cloned()
            .unwrap_or_default();
        Translated {
            text: found.text,
            links: found.links,
        }
    };
    candidates.iter().map(translated).collect()
}
