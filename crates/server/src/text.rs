//! Texts of any length through the queue.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use burnformer_documents::{Document, Format, PendingSentence, Translated};
use burnformer_glossary::{Glossary, Wanted, longest, wanted};

use crate::api::error::ApiError;
use crate::api::{Service, Shared};
use crate::compute::compute;
use crate::engine::{Candidate, Choice, Work};
use crate::language::LanguagePair;
use crate::lock::locked;
use crate::queue::Queue;

/// What the sentences of a request go through.
pub(crate) struct Path {
    pub service: Shared,
    pub pair: LanguagePair,
    pub choice: Choice,
    /// The queue of the model, which is not unloaded for a while as long as somebody has it.
    held: Mutex<Option<Arc<Queue>>>,
    /// Prescribed translations of terms, the first glossary before the others.
    pub glossaries: Vec<Arc<Glossary>>,
}

/// The translations of a text: the best, then the alternatives.
pub(crate) type Translations = Vec<String>;

/// The best translation of each text.
pub(crate) fn best(all: Vec<Translations>) -> Vec<String> {
    all.into_iter().map(|mut ranked| ranked.swap_remove(0)).collect()
}

/// The documents of a request, and for each the part that is translated now.
type Round = (Vec<Document>, Vec<Vec<Work>>);

impl Service {
    /// Translates `texts`, each whole, by the pair of the same place, within the time that the
    /// limits allow, with the terms of `glossary` and of the model's own. A text whose language is
    /// the target stays as it is.
    pub async fn translate(
        self: &Arc<Self>,
        texts: Vec<String>,
        pairs: &[LanguagePair],
        format: Format,
        choice: Choice,
        glossary: Arc<Glossary>,
    ) -> Result<Vec<Translations>, ApiError> {
        let translated = async {
            let mut all: Vec<Translations> = texts.into_iter().map(|text| vec![text]).collect();
            let distinct: BTreeSet<&LanguagePair> = pairs.iter().collect();
            for pair in distinct.into_iter().filter(|pair| pair.source != pair.target) {
                let places = (0..all.len()).filter(|&place| pairs[place] == *pair);
                let (places, texts): (Vec<usize>, Vec<String>) =
                    places.map(|place| (place, all[place].concat())).unzip();
                let path = self.path(pair, choice, glossary.clone()).await?;
                let found = path.translate(texts, format, pair.source.clone()).await?;
                places.into_iter().zip(found).for_each(|(place, found)| all[place] = found);
            }
            Ok(all)
        };
        self.in_time(translated).await
    }

    /// What the sentences of a request go through: the queue of the model for `pair`, searched by
    /// `choice`, with the glossary of the request before the one of the model.
    pub async fn path(
        self: &Arc<Self>,
        pair: &LanguagePair,
        choice: Choice,
        own: Arc<Glossary>,
    ) -> Result<Path, ApiError> {
        let glossaries = [own].into_iter().chain(self.models.glossary(pair)).collect();
        let (service, pair, held) = (self.clone(), pair.clone(), Mutex::default());
        let path = Path { service, pair, choice, held, glossaries };
        path.queue().await?;
        Ok(path)
    }
}

impl Path {
    /// The queue of the model, which is loaded again if it was unloaded for another one.
    ///
    /// # Errors
    /// [`ApiError`] if there is no such model, or if it cannot be loaded.
    pub async fn queue(&self) -> Result<Arc<Queue>, ApiError> {
        let held = locked(&self.held).take().filter(|queue| !queue.is_unloaded());
        if let Some(queue) = held {
            return Ok(locked(&self.held).insert(queue).clone());
        }
        let pair = &self.pair;
        let message = || format!("no model translates {pair}");
        let none = || ApiError::bad("target", message(), "a pair of /languages");
        let queue = self.service.models.queue(pair).await.ok_or_else(none)?;
        let queue = queue.map_err(|_| ApiError::not_loaded(pair))?;
        Ok(locked(&self.held).insert(queue).clone())
    }

    /// Translates `texts`, each whole: the best translation and up to `choice.n_best − 1` others.
    ///
    /// An alternative takes for every sentence its next best translation, or the best where there
    /// are no more. The sentences of all texts wait together, so that a request of many texts has
    /// one turn in the queue.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn translate(
        &self,
        texts: Vec<String>,
        format: Format,
        language: String,
    ) -> Result<Vec<Translations>, ApiError> {
        let (ranks, most) = (self.choice.n_best.max(1), self.service.limits.characters);
        let size = texts.iter().map(String::len).sum();
        let engine = self.queue().await?.engine().clone();
        let glossaries = self.glossaries.clone();
        let parse = move || {
            let fits = |sentence: &str| engine.fits(sentence);
            let parse = |text: &String| Document::parse(text, format, Some(&language), &fits);
            round(texts.iter().map(parse).collect(), &glossaries, most)
        };
        let (documents, work) = compute(size, parse).await??;
        // What a document asks for in its second round depends on its translations of the first.
        let found = self.rounds(&work).await?;
        let glossaries = self.glossaries.clone();
        let take = move || {
            let mut all = Vec::with_capacity(documents.len() * ranks);
            for (document, found) in documents.into_iter().zip(found) {
                for rank in 0..ranks {
                    let mut document = document.clone();
                    document.accept(ranked(&found, rank));
                    all.push(document);
                }
            }
            round(all, &glossaries, most * ranks)
        };
        let (mut documents, mut work) = compute(size * ranks, take).await??;
        while work.iter().any(|work| !work.is_empty()) {
            let found = self.rounds(&work).await?;
            let glossaries = self.glossaries.clone();
            let take = move || {
                for (place, (document, found)) in documents.iter_mut().zip(found).enumerate() {
                    document.accept(ranked(&found, place % ranks));
                }
                round(documents, &glossaries, most * ranks)
            };
            (documents, work) = compute(size * ranks, take).await??;
        }
        Ok(compute(size * ranks, move || finished(documents, ranks)).await?)
    }

    /// The candidates for each sentence of each document.
    async fn rounds(&self, work: &[Vec<Work>]) -> Result<Vec<Vec<Vec<Candidate>>>, ApiError> {
        let mut all = self.sentences(work.concat()).await?.into_iter();
        Ok(work.iter().map(|work| all.by_ref().take(work.len()).collect()).collect())
    }

    /// The candidates of each sentence, from the cache or the queue.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn sentences(&self, all: Vec<Work>) -> Result<Vec<Vec<Candidate>>, ApiError> {
        let (cache, pair) = (&self.service.cache, self.pair.to_string());
        let mut answers: Vec<Option<Vec<Candidate>>> =
            all.iter().map(|work| cache.get(&pair, work, self.choice)).collect();
        let mut missing: Vec<usize> =
            (0..all.len()).filter(|&place| answers[place].is_none()).collect();
        self.service.metrics.cached(all.len() - missing.len());
        while !missing.is_empty() {
            let queue = self.queue().await?;
            let asked: Vec<Work> = missing.iter().map(|&place| all[place].clone()).collect();
            let found = queue.translate(asked.clone(), self.choice).await?;
            let unloaded = queue.is_unloaded();
            let done = |candidates: &[Candidate]| !unloaded || !candidates.is_empty();
            let found = missing.iter().zip(asked).zip(found);
            for ((&place, work), candidates) in found.filter(|(_, candidates)| done(candidates)) {
                cache.put(&pair, work, self.choice, &candidates);
                answers[place] = Some(candidates);
            }
            missing.retain(|&place| answers[place].is_none());
        }
        Ok(answers.into_iter().map(Option::unwrap_or_default).collect())
    }
}

/// `documents` with the pending work of each, whose terms may have `most` characters together.
fn round(
    documents: Vec<Document>,
    glossaries: &[Arc<Glossary>],
    most: usize,
) -> Result<Round, ApiError> {
    let mut left = most;
    let mut work = |PendingSentence { text, links }: PendingSentence| {
        with_terms(Work { text, links, ..Work::default() }, glossaries, &mut left)
    };
    let pending = documents.iter().map(Document::pending);
    let all = pending.map(|sentences| sentences.into_iter().map(&mut work).collect());
    let all = all.collect::<Result<_, _>>()?;
    Ok((documents, all))
}

/// `work` with the terms that `glossaries` require in its translation. A term of few characters may
/// prescribe many, in each sentence again; `left` is how many characters there may be still.
///
/// # Errors
/// If there are more.
pub(crate) fn with_terms(
    work: Work,
    glossaries: &[Arc<Glossary>],
    left: &mut usize,
) -> Result<Work, ApiError> {
    let glossaries: Vec<&Glossary> = glossaries.iter().map(|glossary| &**glossary).collect();
    let terms = longest(wanted(&glossaries, &work.text));
    let needed = terms.iter().map(Wanted::size).sum();
    *left = left.checked_sub(needed).ok_or_else(|| {
        let message = "the terms in all sentences together are too long";
        ApiError::bad("glossary", message, "send fewer sentences, or terms, at a time")
    })?;
    Ok(Work { terms, ..work })
}

/// The texts of `documents`, of which each text has `ranks`, without those that are alike.
fn finished(documents: Vec<Document>, ranks: usize) -> Vec<Translations> {
    let mut documents = documents.into_iter().map(Document::finish).peekable();
    let mut all = Vec::new();
    while documents.peek().is_some() {
        let mut texts = Translations::with_capacity(ranks);
        for text in documents.by_ref().take(ranks) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        all.push(texts);
    }
    all
}

/// The candidates of this rank, or the best where there are fewer.
fn ranked(candidates: &[Vec<Candidate>], rank: usize) -> Vec<Translated> {
    let translated = |candidates: &Vec<Candidate>| match candidates.get(rank).or(candidates.first())
    {
        Some(Candidate { text, links, .. }) => {
            Translated { text: text.clone(), links: links.clone() }
        }
        None => Translated { text: String::new(), links: Vec::new() },
    };
    candidates.iter().map(translated).collect()
}
