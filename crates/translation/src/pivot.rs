//! Translation through a third language by two models: German to English to French.
//!
//! A sentence passes both models as plain text, so that its document keeps its markup once. Terms of
//! a glossary stay in their spelling in the middle, where the second model finds them. Numbers,
//! placeholders and addresses are kept by each model.

use std::ops::Range;

use burnformer_documents::Link;
use burnformer_terminology::Term;

use crate::rounds::Sentence;

/// Sentences on their way through two models: from the source language into the language between,
/// and from there into the target language.
pub struct Pivot {
    sentences: Vec<Sentence>,
    /// The translation of each sentence that the memory has.
    remembered: Vec<Option<String>>,
}

impl Pivot {
    /// Begins with `sentences`, each with its terms. `memory` is the translation memory from the
    /// source into the target language: a sentence that it has needs no model. It is not asked for a
    /// sentence with a forced prefix.
    pub fn new(sentences: Vec<Sentence>, memory: impl Fn(&str) -> Option<String>) -> Self {
        let remembered = |sentence: &Sentence| {
            let may_be_asked = sentence.prefix.is_empty();
            may_be_asked.then(|| memory(&sentence.text)).flatten()
        };
        let remembered = sentences.iter().map(remembered).collect();
        Self {
            sentences,
            remembered,
        }
    }

    /// The sentences that the models have to translate.
    pub fn unknown(&self) -> impl Iterator<Item = &Sentence> {
        let sentences = self.sentences.iter().zip(&self.remembered);
        let unknown = sentences.filter(|(_, remembered)| remembered.is_none());
        unknown.map(|(sentence, _)| sentence)
    }

    /// Returns the [`unknown`](Self::unknown) sentences for the first model. `can_write` returns
    /// whether it can write the translations of a term.
    pub fn into_middle(&self, can_write: impl Fn(&Term) -> bool) -> Vec<Sentence> {
        let first = self.unknown().map(|it| into_middle(it, &can_write));
        first.collect()
    }

    /// Returns the [`unknown`](Self::unknown) sentences for the second model. `middle` are their
    /// best translations by the first.
    pub fn out_of_middle<'m>(&self, middle: impl IntoIterator<Item = &'m str>) -> Vec<Sentence> {
        let pairs = self.unknown().zip(middle);
        let second = pairs.map(|(sentence, middle)| out_of_middle(sentence, middle));
        second.collect()
    }

    /// Returns a result for each sentence: for the [`unknown`](Self::unknown) sentences the results
    /// `translated`, and for each other sentence `known` of it and its translation in the memory.
    ///
    /// # Panics
    /// Panics if there are fewer of `translated` than unknown sentences.
    pub fn joined<T>(
        self,
        translated: impl IntoIterator<Item = T>,
        known: impl Fn(&Sentence, String) -> T,
    ) -> Vec<T> {
        let mut translated = translated.into_iter();
        let sentences = self.sentences.iter().zip(self.remembered);
        let results = sentences.map(|(sentence, remembered)| match remembered {
            Some(text) => known(sentence, text),
            None => translated.next().expect("a result for each sentence"),
        });
        results.collect()
    }
}

/// Returns `sentence` for the first model. Its translation keeps the source text of each term that
/// this model can write.
fn into_middle(sentence: &Sentence, can_write: impl Fn(&Term) -> bool) -> Sentence {
    let mut terms = Vec::with_capacity(sentence.terms.len());
    for term in &sentence.terms {
        let kept = Term {
            source: term.source.clone(),
            targets: vec![term.source.clone()],
        };
        if can_write(&kept) {
            terms.push(kept);
        }
    }
    Sentence {
        text: sentence.text.clone(),
        prefix: String::new(),
        terms,
        links: sentence.links,
        context: Vec::new(),
    }
}

/// Returns `sentence`, which the first model translated into `middle`, for the second model. A term
/// that is not in `middle` is left out.
fn out_of_middle(sentence: &Sentence, middle: &str) -> Sentence {
    let is_there = |term: &&Term| middle.contains(&*term.source);
    Sentence {
        text: middle.into(),
        prefix: sentence.prefix.clone(),
        terms: sentence.terms.iter().filter(is_there).cloned().collect(),
        links: sentence.links,
        context: Vec::new(),
    }
}

/// Returns the links `last`, which lead from the end to the middle, as links to the beginning, where
/// the links `first` lead.
pub fn through_links(first: &[Link], last: Vec<Link>) -> Vec<Link> {
    let links = last.into_iter().filter_map(|link| {
        let source = linked(first, &link.source)?;
        Some(Link { source, ..link })
    });
    links.collect()
}

/// Returns the part of the sentence that most of `range`, a part of the middle text, translates.
fn linked(links: &[Link], range: &Range<usize>) -> Option<Range<usize>> {
    let overlap = |link: &Link| {
        let end = link.target.end.min(range.end);
        end.saturating_sub(link.target.start.max(range.start))
    };
    let best = links.iter().max_by_key(|link| overlap(link))?;
    (overlap(best) > 0).then(|| best.source.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(source: [usize; 2], target: [usize; 2]) -> Link {
        Link {
            source: source[0]..source[1],
            target: target[0]..target[1],
        }
    }

    #[test]
    fn links_lead_through_the_middle() {
        // Das Haus – the house – la maison
        let first = [link([0, 3], [0, 3]), link([4, 8], [4, 9])];
        let last = vec![link([0, 3], [0, 2]), link([3, 9], [3, 9])];
        let found = through_links(&first, last);
        assert_eq!(found, [link([0, 3], [0, 2]), link([4, 8], [3, 9])]);
        // The space in the middle is linked to nothing.
        let unlinked = vec![link([3, 4], [0, 2])];
        assert_eq!(through_links(&first, unlinked), []);
    }

    #[test]
    fn terms_stay_as_they_are_in_the_middle() {
        let term = Term {
            source: "Haus".into(),
            targets: vec!["maison".into()],
        };
        let sentence = Sentence {
            text: "Das Haus".into(),
            prefix: "La".into(),
            terms: vec![term.clone()],
            links: true,
            context: vec!["Vorher.".into()],
        };
        let first = into_middle(&sentence, |_| true);
        assert_eq!(first.terms[0].targets, ["Haus"]);
        assert_eq!(first.prefix, "");
        assert!(
            first.context.is_empty(),
            "two models translate sentences alone"
        );
        assert_eq!(into_middle(&sentence, |_| false).terms, []);
        let second = out_of_middle(&sentence, "the Haus");
        assert_eq!((&*second.prefix, &second.terms[..]), ("La", &[term][..]));
        assert_eq!(out_of_middle(&sentence, "the house").terms, []);
    }

    #[test]
    fn a_sentence_in_the_memory_passes_no_model_unless_it_has_a_prefix() {
        let sentence = |text: &str, prefix: &str| Sentence {
            text: text.into(),
            prefix: prefix.into(),
            ..Sentence::default()
        };
        let sentences = vec![
            sentence("eins", ""),
            sentence("zwei", ""),
            sentence("zwei", "P"),
        ];
        let memory = |text: &str| (text == "zwei").then(|| "deux".to_owned());
        let pivot = Pivot::new(sentences, memory);
        let texts = |sentences: Vec<Sentence>| -> Vec<String> {
            sentences
                .into_iter()
                .map(|it| it.prefix + &it.text)
                .collect()
        };
        assert_eq!(texts(pivot.into_middle(|_| true)), ["eins", "zwei"]);
        assert_eq!(texts(pivot.out_of_middle(["one", "two"])), ["one", "Ptwo"]);
        let joined = pivot.joined(["un", "P deux"].map(String::from), |_, text| text);
        assert_eq!(joined, ["un", "deux", "P deux"]);
    }
}
