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

    /// Returns the sentence with the terms of `glossaries`, as [`with_terms`](Self::with_terms)
    /// does. `left` is the number of bytes that remain for terms: it falls by the size of these.
    ///
    /// # Errors
    /// Returns an error if the terms are longer than `left`.
    pub fn with_terms_within(
        self,
        glossaries: &[Arc<Glossary>],
        left: &mut usize,
    ) -> Result<Self, TermsTooLong> {
        let sentence = self.with_terms(glossaries);
        let size = sentence.size_of_terms();
        *left = left.checked_sub(size).ok_or(TermsTooLong)?;
        Ok(sentence)
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
///
/// [`advance`](Self::advance) returns the pending sentences of all documents, and
/// [`PendingRound::accept`] takes their translations, until all documents are finished.
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

    /// Gives each sentence the `count` sentences before it as its context. The first sentence of a
    /// document gets the last of `before`. A sentence that is translated again without its
    /// placeholders has no context.
    pub fn with_context(self, count: usize, before: Vec<Arc<str>>) -> Self {
        Self {
            context: count,
            before,
            ..self
        }
    }

    /// Begins the next round: returns the sentences of all documents that are to be translated, or,
    /// if there are none, the finished documents. `check` is called between sentences and between
    /// documents, and may unwind.
    ///
    /// # Errors
    /// Returns an error if all terms together have more than `max_terms` bytes, as a short term can
    /// prescribe a long translation in every sentence.
    pub fn advance(self, max_terms: usize, check: &dyn Fn()) -> Result<Round, TermsTooLong> {
        let mut counts = Vec::with_capacity(self.documents.len());
        let mut sentences = Vec::new();
        let mut left = max_terms;
        for document in &self.documents {
            let of_others = sentences.len();
            self.pending(document, &mut left, check, &mut sentences)?;
            counts.push(sentences.len() - of_others);
        }
        if sentences.is_empty() {
            return Ok(Round::Finished(self.finish(check)));
        }
        Ok(Round::Pending(PendingRound {
            rounds: self,
            counts,
            sentences,
        }))
    }

    /// Adds the sentences of `document` that are to be translated to `sentences`. `left` is the
    /// number of bytes that remain for terms.
    fn pending(
        &self,
        document: &Document,
        left: &mut usize,
        check: &dyn Fn(),
        sentences: &mut Vec<Sentence>,
    ) -> Result<(), TermsTooLong> {
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
            sentences.push(sentence.with_terms_within(&self.glossaries, left)?);
        }
        Ok(())
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

    /// Accepts the translations of each sentence of each document.
    fn accept(&mut self, translations: Vec<Vec<Vec<Translated>>>, check: &dyn Fn()) {
        let copies = if self.is_ranked { 1 } else { self.ranks };
        let mut accepted = Vec::with_capacity(self.documents.len() * copies);
        let documents = std::mem::take(&mut self.documents);
        for (document, translations) in documents.into_iter().zip(translations) {
            for _ in 0..copies {
                check();
                let mut document = document.clone();
                document.accept(of_rank(&translations, accepted.len() % self.ranks));
                accepted.push(document);
            }
        }
        self.documents = accepted;
        self.is_ranked = true;
    }

    /// Returns the translations of each document, by rank and without duplicates.
    fn finish(self, check: &dyn Fn()) -> Vec<Vec<String>> {
        let ranks = if self.is_ranked { self.ranks } else { 1 };
        let mut texts = Vec::with_capacity(self.documents.len());
        for document in self.documents {
            check();
            texts.push(document.finish());
        }
        texts.chunks(ranks).map(distinct).collect()
    }
}

/// A round of [`Rounds`].
pub enum Round {
    /// Sentences are to be translated.
    Pending(PendingRound),
    /// Nothing is to be translated any more: the translations of each document, by rank and without
    /// duplicates.
    Finished(Vec<Vec<String>>),
}

/// Documents that wait for the translations of their sentences.
pub struct PendingRound {
    rounds: Rounds,
    /// The number of sentences of each document.
    counts: Vec<usize>,
    sentences: Vec<Sentence>,
}

impl PendingRound {
    /// The sentences of all documents.
    pub fn sentences(&self) -> &[Sentence] {
        &self.sentences
    }

    /// Accepts the translations of each of the [`sentences`](Self::sentences), the best first. A
    /// sentence without a translation has an empty one. `check` is called between documents, and may
    /// unwind.
    ///
    /// # Panics
    /// Panics if the numbers of translations and sentences differ.
    pub fn accept(self, translations: Vec<Vec<Translated>>, check: &dyn Fn()) -> Rounds {
        let Self {
            mut rounds,
            counts,
            sentences,
        } = self;
        assert_eq!(translations.len(), sentences.len(), "translated sentences");
        let mut translations = translations.into_iter();
        let of_documents = counts
            .into_iter()
            .map(|count| translations.by_ref().take(count).collect());
        let of_documents = of_documents.collect();
        rounds.accept(of_documents, check);
        rounds
    }
}

/// Returns the translation of this rank for each sentence, or the best one if there are fewer.
fn of_rank(translations: &[Vec<Translated>], rank: usize) -> Vec<Translated> {
    translations
        .iter()
        .map(|ranked| ranked.get(rank).or(ranked.first()).cloned())
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

#[cfg(test)]
mod tests {
    use burnformer_documents::Format;

    use super::*;

    fn text(text: &str) -> Document {
        Document::parse(text, Format::Text, None, &|_| true)
    }

    /// The translations of `sentence` by rank: the rank, and the sentence in capitals.
    fn ranked(sentence: &Sentence) -> Vec<Translated> {
        let ranks = (0..2).map(|rank| Translated {
            text: format!("{rank} {}", sentence.text.to_uppercase()),
            links: Vec::new(),
        });
        ranks.collect()
    }

    #[test]
    fn each_document_gets_the_translations_of_its_own_sentences() {
        let documents = ["One. Two.", "", "Three."].map(text).into();
        let mut rounds = Rounds::new(documents, 2, Vec::new());
        let finished = loop {
            match rounds.advance(usize::MAX, &|| ()).expect("no terms") {
                Round::Finished(translations) => break translations,
                Round::Pending(pending) => {
                    let translations = pending.sentences().iter().map(ranked).collect();
                    rounds = pending.accept(translations, &|| ());
                }
            }
        };
        let expected: [&[&str]; 3] = [
            &["0 ONE. 0 TWO.", "1 ONE. 1 TWO."],
            &[""],
            &["0 THREE.", "1 THREE."],
        ];
        assert_eq!(finished, expected);
    }

    #[test]
    fn the_terms_of_all_documents_share_one_limit() {
        let terms = [("Haus", "house"), ("Hof", "yard")];
        let terms = terms.map(|(source, target)| (source.to_owned(), target.to_owned()));
        let glossary = Arc::new(Glossary::from_pairs(terms).expect("terms"));
        let size = |texts: &[&str]| -> usize {
            let sentences = texts.iter().map(|&text| Sentence {
                text: text.into(),
                ..Sentence::default()
            });
            let sentences = sentences.map(|it| it.with_terms(std::slice::from_ref(&glossary)));
            sentences.map(|it| it.size_of_terms()).sum()
        };
        let texts = ["Das Haus.", "Der Hof."];
        let most = size(&texts);
        let advance = |most: usize| {
            let rounds = Rounds::new(texts.map(text).into(), 1, vec![glossary.clone()]);
            rounds.advance(most, &|| ()).map(|_| ())
        };
        assert_eq!(advance(most), Ok(()));
        assert_eq!(advance(most - 1), Err(TermsTooLong));
    }
}
