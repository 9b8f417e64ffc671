//! Documents, divided into sentences for one model, or for two in a row.

use std::sync::Arc;

use burnformer_documents::{BrokenCatalogue, Document, Format, MessageState, Remembered};
use burnformer_terminology::Term;
use burnformer_text::Writing;

/// What the translation of documents asks of a model.
pub trait Model {
    /// Returns whether `sentence` fits into the model without being cut.
    fn fits(&self, sentence: &str) -> bool;

    /// The number of previous sentences in the context of a sentence; 0 for a model that translates
    /// sentences alone.
    fn context(&self) -> usize;

    /// Returns whether the model can write each translation of `term`.
    fn can_write(&self, term: &Term) -> bool;
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn fits(&self, sentence: &str) -> bool {
        (**self).fits(sentence)
    }

    fn context(&self) -> usize {
        (**self).context()
    }

    fn can_write(&self, term: &Term) -> bool {
        (**self).can_write(term)
    }
}

/// One model, or two of which the second translates what the first returns.
#[derive(Clone, Copy, Debug)]
pub struct Cascade<M> {
    /// The model of the source.
    pub first: M,
    /// The model of the first one's translations, if there is a language between.
    pub second: Option<M>,
}

impl<M: Model> Cascade<M> {
    /// Returns whether `sentence` fits into each model without being cut. Its translation into the
    /// language between is taken to be about as long.
    pub fn fits(&self, sentence: &str) -> bool {
        let fits = |model: &M| model.fits(sentence);
        fits(&self.first) && self.second.as_ref().is_none_or(fits)
    }

    /// The number of previous sentences in the context of a sentence. Two models in a row translate
    /// sentences alone.
    pub fn context(&self) -> usize {
        match self.second {
            None => self.first.context(),
            Some(_) => 0,
        }
    }
}

/// How documents are divided into sentences, and what is known of their translations.
pub struct Division<'a> {
    /// The source and the target language of the documents, where they are known.
    pub languages: [Option<&'a str>; 2],
    /// The language whose abbreviations end no sentence, if it is not the source language.
    pub abbreviations: Option<&'a str>,
    /// Returns whether a sentence fits into each model without being cut, as
    /// [`Cascade::fits`] does. Longer ones are cut at clauses.
    pub fits: &'a dyn Fn(&str) -> bool,
    /// The translation memory from the source into the target language: it takes a message and its
    /// context, as [`Document::with_known_translations`] does.
    pub memory: &'a dyn Fn(&str, &str) -> Option<Remembered>,
}

impl Division<'_> {
    /// Reads and divides a document. In a catalogue, messages without a translation and messages in
    /// the states `more` are translated.
    ///
    /// # Errors
    /// Returns an error if a catalogue is broken.
    pub fn read(
        &self,
        text: &str,
        format: Format,
        more: &[MessageState],
    ) -> Result<Document, BrokenCatalogue> {
        let document = Document::try_parse(text, format, self.splitting(), more, self.fits)?;
        Ok(self.completed(document))
    }

    /// Divides a document from [`Document::read`].
    pub fn divide(&self, mut document: Document) -> Document {
        document.divide(self.splitting(), self.fits);
        self.completed(document)
    }

    /// The languages for the division into sentences.
    fn splitting(&self) -> [Option<&str>; 2] {
        let [source, target] = self.languages;
        [self.abbreviations.or(source), target]
    }

    /// Returns `document` with its number format, and with what the memory has of it.
    fn completed(&self, document: Document) -> Document {
        let writing = match self.languages {
            [Some(from), Some(into)] => Writing::between(from, into),
            _ => None,
        };
        document
            .with_writing(writing)
            .with_known_translations(self.memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model of sentences up to this many bytes, with a context of this many sentences.
    struct Small(usize, usize);

    impl Model for Small {
        fn fits(&self, sentence: &str) -> bool {
            sentence.len() <= self.0
        }

        fn context(&self) -> usize {
            self.1
        }

        fn can_write(&self, _: &Term) -> bool {
            true
        }
    }

    #[test]
    fn a_sentence_fits_into_both_models_or_not_at_all() {
        let fits = |sizes: [usize; 2]| {
            let [first, second] = sizes.map(|size| Small(size, 0));
            let cascade = Cascade {
                first,
                second: Some(second),
            };
            cascade.fits("12345")
        };
        assert!(fits([5, 5]));
        assert!(!fits([4, 5]) && !fits([5, 4]));
    }

    #[test]
    fn two_models_in_a_row_have_no_context() {
        let second = [None, Some(Small(5, 2))];
        let [alone, in_a_row] = second.map(|second| {
            let first = Small(5, 2);
            Cascade { first, second }.context()
        });
        assert_eq!((alone, in_a_row), (2, 0));
    }
}
