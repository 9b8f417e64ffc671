//! A text of any length through the queue.

use burnformer_documents::{Document, Format, Sentence, Translated};

use burnformer_glossary::{Glossary, wanted};

use crate::cache::Cache;
use crate::engine::{Candidate, Choice, Work};
use crate::metrics::Metrics;
use crate::queue::{Queue, QueueError};

/// What the sentences of a request go through.
pub(crate) struct Path<'a> {
    pub queue: &'a Queue,
    pub cache: &'a Cache,
    pub metrics: &'a Metrics,
    pub choice: Choice,
    /// What tells this model's sentences from another's in the cache.
    pub pair: &'a str,
    /// Prescribed translations of terms, the first glossary before the others.
    pub glossaries: &'a [&'a Glossary],
}

/// The translations of a text: the best, then the alternatives.
pub(crate) type Translations = Vec<String>;

impl Path<'_> {
    /// Translates `text` whole: the best translation and up to `choice.n_best − 1` others.
    ///
    /// An alternative takes for every sentence its next best translation, or the best where there are no more.
    ///
    /// # Errors
    /// [`QueueError`].
    pub async fn translate(
        &self,
        text: &str,
        format: Format,
        language: &str,
    ) -> Result<Translations, QueueError> {
        let parsed = self.parse(text, format, language).await;
        // What a document asks for in its second round depends on its translations of the first.
        let first = self.sentences(self.work(&parsed.pending())).await?;
        let mut documents = vec![parsed; self.choice.n_best.max(1)];
        for (rank, document) in documents.iter_mut().enumerate() {
            document.accept(ranked(&first, rank));
            self.rest(document, rank).await?;
        }
        let mut texts: Translations = Vec::with_capacity(documents.len());
        for text in documents.into_iter().map(Document::finish) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        Ok(texts)
    }

    /// What is to be done for `sentences`.
    fn work(&self, sentences: &[Sentence]) -> Vec<Work> {
        let work = |Sentence { text, links }: &Sentence| Work {
            text: text.clone(),
            prefix: String::new(),
            terms: wanted(self.glossaries, text),
            links: *links,
        };
        sentences.iter().map(work).collect()
    }

    /// Translates what is pending of `document` still.
    async fn rest(&self, document: &mut Document, rank: usize) -> Result<(), QueueError> {
        loop {
            let pending = document.pending();
            if pending.is_empty() {
                return Ok(());
            }
            let candidates = self.sentences(self.work(&pending)).await?;
            document.accept(ranked(&candidates, rank));
        }
    }

    /// The candidates of each sentence, from the cache or the queue.
    ///
    /// # Errors
    /// [`QueueError`].
    pub async fn sentences(&self, all: Vec<Work>) -> Result<Vec<Vec<Candidate>>, QueueError> {
        let mut answers: Vec<Option<Vec<Candidate>>> =
            all.iter().map(|work| self.cache.get(self.pair, work, self.choice)).collect();
        let missing: Vec<usize> =
            (0..all.len()).filter(|&place| answers[place].is_none()).collect();
        self.metrics.cached(all.len() - missing.len());
        let asked: Vec<Work> = missing.iter().map(|&place| all[place].clone()).collect();
        let found = self.queue.translate(asked.clone(), self.choice).await?;
        for ((place, work), candidates) in missing.into_iter().zip(asked).zip(found) {
            self.cache.put(self.pair, work, self.choice, &candidates);
            answers[place] = Some(candidates);
        }
        Ok(answers.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Cuts `text` into sentences, away from the threads that answer requests.
    async fn parse(&self, text: &str, format: Format, language: &str) -> Document {
        let engine = self.queue.engine().clone();
        let (text, language) = (text.to_owned(), language.to_owned());
        let parse = move || {
            Document::parse(&text, format, Some(&language), &|sentence| engine.fits(sentence))
        };
        tokio::task::spawn_blocking(parse).await.expect("a text is cut without a panic")
    }
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
