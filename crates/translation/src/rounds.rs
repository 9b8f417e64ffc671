//! Documents on their way through a translator.

use std::sync::Arc;

use burnformer_documents::{Document, PendingSentence, Place, Translated};
use burnformer_terminology::{Glossary, Term, longest, wanted};

/// A sentence to translate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sentence {
    /// The text.
    pub text: String,
    /// The text that the translation must begin with; empty for none.
    pub prefix: String,
    /// The glossary terms in the sentence. The translation has to contain one of the accepted
    /// translations of each term as whole words.
    pub terms: Vec<Term>,
    /// If true, the document needs links between the translation and the sentence.
    pub links: bool,
    /// The sentences before it in its document, the oldest first. A model that was not trained with
    /// context ignores them.
    pub context: Vec<Arc<str>>,
}

impl Sentence {
    /// Returns the size of all texts in bytes.
    pub fn size(&self) -> usize {
        let context: usize = self.context.iter().map(|before| before.len()).sum();
        let terms: usize = self.terms.iter().map(Term::size).sum();
        self.text.len() + self.prefix.len() + context + terms
    }

    /// Returns the sentence with the terms of `glossaries`; earlier glossaries take precedence.
    pub fn with_terms(self, glossaries: &[Arc<Glossary>]) -> Self {
        let glossaries: Vec<&Glossary> = glossaries.iter().map(|glossary| &**glossary).collect();
        let terms = longest(wanted(&glossaries, &self.text));
        Self { terms, ..self }
    }

    /// Returns the size of its terms in bytes.
    pub fn size_of_terms(&self) -> usize {
        self.terms.iter().map(Term::size).sum()
    }
}

/// The terms of all sentences together are longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the terms in all sentences together are too long")]
pub struct TermsTooLong;

/// Documents, translated in rounds of sentences.
///
/// Each document has one translation, or several by rank: the second consists of the second best
/// translation of every sentence, or of the best one where there are no more. The sentences of a
/// later round depend on the translations of the first.
pub struct Rounds {
    documents: Vec<Document>,
    /// The number of translations per document.
    ranks: usize,
    /// If true, `documents` has a document for each rank.
    is_ranked: bool,
    glossaries: Vec<Arc<Glossary>>,
    /// The number of previous sentences in the context of a sentence.
    context: usize,
    /// The sentences before each document.
    before: Vec<Arc<str>>,
}

impl Rounds {
    /// Begins with `documents`, each to be translated `ranks` times, at least once. Earlier
    /// `glossaries` take precedence.
    pub fn new(documents: Vec<Document>, ranks: usize, glossaries: Vec<Arc<Glossary>>) -> Self {
        Self {
            documents,
            ranks: ranks.max(1),
            is_ranked: false,
            glossaries,
            context: 0,
            before: Vec::new(),
        }
    }

    /// Gives each sentence the `count` sentences before it as its context. Those of a document's first
    /// sentence are the last of `before`. A sentence that is translated again without its placeholders has no
    /// context.
    pub fn with_context(self, count: usize, before: Vec<Arc<str>>) -> Self {
        Self {
            context: count,
            before,
            ..self
        }
    }

    /// Returns the sentences to translate now, for each document. All are empty at the end.
    /// `check` is called between sentences, and may unwind.
    ///
    /// # Errors
    /// Returns an error if all terms together have more than `most_terms` bytes, as a short term
    /// can prescribe a long translation in every sentence.
    pub fn pending(
        &self,
        most_terms: usize,
        check: &dyn Fn(),
    ) -> Result<Vec<Vec<Sentence>>, TermsTooLong> {
        let mut left = most_terms;
        let mut all = Vec::with_capacity(self.documents.len());
        for document in &self.documents {
            let mut sentences = Vec::new();
            let mut before = Vec::new();
            for pending in document.pending() {
                check();
                let context = self.context_of(&pending, &mut before);
                let PendingSentence { text, links, .. } = pending;
                let sentence = Sentence {
                    text,
                    links,
                    context,
                    ..Sentence::default()
                };
                let sentence = sentence.with_terms(&self.glossaries);
                left = left
                    .checked_sub(sentence.size_of_terms())
                    .ok_or(TermsTooLong)?;
                sentences.push(sentence);
            }
            all.push(sentences);
        }
        Ok(all)
    }

    /// The context of `sentence`, behind the sentences `before` it in its document. The sentence is added
    /// to them.
    fn context_of(&self, sentence: &PendingSentence, before: &mut Vec<Arc<str>>) -> Vec<Arc<str>> {
        // Translations of the first round have changed what is pending.
        if self.context == 0 || self.is_ranked {
            return Vec::new();
        }
        let PendingSentence {
            text, place, note, ..
        } = sentence;
        match place {
            Place::Alone => return Vec::new(),
            Place::First => {
                before.clone_from(&self.before);
                before.extend(note.clone());
            }
            Place::Next => {}
        }
        let surplus = before.len().saturating_sub(self.context);
        before.drain(..surplus);
        let context = before.clone();
        before.push(text.as_str().into());
        context
    }

    /// Accepts the translations of the [`pending`](Self::pending) sentences, for each document and
    /// each of its sentences the best first. A sentence without a translation has an empty one.
    /// `check` is called between documents, and may unwind.
    ///
    /// # Panics
    /// Panics if the numbers differ from the pending ones.
    pub fn accept(&mut self, found: Vec<Vec<Vec<Translated>>>, check: &dyn Fn()) {
        assert_eq!(found.len(), self.documents.len(), "translated documents");
        let copies = if self.is_ranked { 1 } else { self.ranks };
        let mut all = Vec::with_capacity(self.documents.len() * copies);
        for (document, found) in std::mem::take(&mut self.documents).into_iter().zip(found) {
            for _ in 0..copies {
                check();
                let mut document = document.clone();
                document.accept(of_rank(&found, all.len() % self.ranks));
                all.push(document);
            }
        }
        self.documents = all;
        self.is_ranked = true;
    }

    /// Returns the translations of each document, by rank and without duplicates. `check` is called
    /// between documents, and may unwind.
    pub fn finish(self, check: &dyn Fn()) -> Vec<Vec<String>> {
        let ranks = if self.is_ranked { self.ranks } else { 1 };
        let mut texts = Vec::with_capacity(self.documents.len());
        for document in self.documents {
            check();
            texts.push(document.finish());
        }
        texts.chunks(ranks).map(distinct).collect()
    }
}

/// Returns the translation of this rank for each sentence, or the best one if there are fewer.
fn of_rank(found: &[Vec<Translated>], rank: usize) -> Vec<Translated> {
    found
        .iter()
        .map(|found| found.get(rank).or(found.first()).cloned())
        .map(Option::unwrap_or_default)
        .collect()
}

/// Returns `texts` without repetitions.
fn distinct(texts: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for text in texts {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    all
}
