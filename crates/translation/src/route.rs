//! The way of a sentence from its language into another: one model, or two with a language between.

use std::slice::from_ref;

use burnformer_documents::Translated;
use burnformer_infer::{
    Cancel, InferError, Term, TextContext, TextRequest, TranslateOptions, Translation, Translator,
};
use burnformer_text::Writing;

use crate::pivot::{into_middle, out_of_middle, through_links};
use crate::rounds::Sentence;

type Result<T> = std::result::Result<T, InferError>;

/// A translator with its options.
#[derive(Clone, Copy)]
pub struct Leg<'a> {
    /// The translator.
    pub translator: &'a Translator,
    /// Its options.
    pub options: &'a TranslateOptions,
}

/// One translator, or two of which the second translates what the first returns.
///
/// The glossary and the memory are those in the options of [`first`](Self::first). They translate
/// from its source language into the target language of the last translator.
#[derive(Clone, Copy)]
pub struct Route<'a> {
    /// The translator of the source.
    pub first: Leg<'a>,
    /// The translator of the first one's translations, if there is a language between.
    pub second: Option<Leg<'a>>,
    /// The sentences before each document; `None` translates each sentence alone. Only a single translator
    /// that was trained with context reads them and the sentences before a sentence.
    pub before: Option<&'a [String]>,
}

impl<'a> Route<'a> {
    /// The route of a single translator.
    pub fn direct(translator: &'a Translator, options: &'a TranslateOptions) -> Self {
        let first = Leg {
            translator,
            options,
        };
        Self {
            first,
            second: None,
            before: Some(&[]),
        }
    }

    /// The codes of the source language and of the last target language, where they are known.
    pub fn languages(&self) -> [Option<&'a str>; 2] {
        let last = self.second.unwrap_or(self.first);
        let target = last.options.languages.codes().map(|codes| &*codes[1]);
        [self.first.options.languages.source(), target]
    }

    /// Returns whether `sentence` fits into each model without being cut. Its translation into the
    /// language between is taken to be about as long.
    pub fn fits(&self, sentence: &str) -> bool {
        let fits = |leg: &Leg| leg.translator.fits(sentence, leg.options);
        fits(&self.first) && self.second.as_ref().is_none_or(fits)
    }

    /// The number format for amounts that are put back into a document.
    pub fn writing(&self) -> Option<Writing> {
        match self.languages() {
            [Some(from), Some(into)] => Writing::between(from, into),
            _ => None,
        }
    }

    /// Translates `sentences`, with links where they ask for them. After `cancel`, no further sentence
    /// is translated, and the result must not be used.
    ///
    /// # Errors
    /// Returns the errors of [`Translator::translate`] and [`Translator::links`].
    pub fn translate(&self, sentences: &[Sentence], cancel: &Cancel) -> Result<Vec<Translated>> {
        let Asked { requests, middle } = self.requests(sentences, cancel)?;
        let requests = self.in_context(requests, sentences);
        let last = self.last();
        let mut all = Vec::with_capacity(sentences.len());
        let found = last.translate(requests)?;
        for ((sentence, middle), Translation { text, .. }) in
            sentences.iter().zip(&middle).zip(found)
        {
            let links = match middle {
                _ if !sentence.links || cancel.is_cancelled() => Vec::new(),
                None => last
                    .translator
                    .links(&sentence.text, &text, &last.options.languages)?,
                Some(middle) => {
                    let languages = &last.options.languages;
                    let links = last.translator.links(&middle.text, &text, languages)?;
                    through_links(&middle.links, links)
                }
            };
            all.push(Translated { text, links });
        }
        Ok(all)
    }

    /// `requests` in the contexts of `sentences`. Two models in a row translate sentences alone.
    fn in_context(
        &self,
        mut requests: Vec<TextRequest>,
        sentences: &[Sentence],
    ) -> Vec<TextRequest> {
        if self.second.is_none() {
            for (request, sentence) in requests.iter_mut().zip(sentences) {
                let context = sentence.context.iter().map(|before| &**before);
                request.context = TextContext::of_sources(context);
            }
        }
        requests
    }

    /// The number of previous sentences in the context of a sentence.
    pub fn context(&self) -> usize {
        if self.second.is_some() || self.before.is_none() {
            return 0;
        }
        self.first.translator.context().map_or(0, |it| it.source)
    }

    /// The last translator.
    pub fn last(&self) -> Leg<'a> {
        self.second.unwrap_or(self.first)
    }

    /// Returns `sentences` as requests to the last translator, with their terms of the glossary. If
    /// there are two, the first one translates them. A sentence without a prefix that the
    /// memory has needs neither.
    ///
    /// # Errors
    /// Returns the errors of [`Translator::requests`] and, from the first of two, of
    /// [`Translator::translate`].
    pub fn requests(&self, sentences: &[Sentence], cancel: &Cancel) -> Result<Asked> {
        let Some(second) = self.second else {
            return Ok(Asked {
                requests: self.first.requests(sentences, cancel)?,
                middle: vec![None; sentences.len()],
            });
        };
        let options = self.first.options;
        let known: Vec<Option<String>> = sentences
            .iter()
            .map(|sentence| options.remembered(&sentence.text))
            .zip(sentences)
            .map(|(known, sentence)| known.filter(|_| sentence.prefix.is_empty()))
            .collect();
        let pairs = sentences.iter().zip(&known);
        let unknown = pairs.filter(|(_, known)| known.is_none());
        let unknown = self.with_terms(unknown.map(|(sentence, _)| sentence));
        let translated = self.halfway(&unknown, cancel)?;
        let pairs = unknown.iter().zip(&translated);
        let asked: Vec<Sentence> = pairs
            .map(|(sentence, middle)| out_of_middle(sentence, &middle.text))
            .collect();
        let mut asked = second.requests(&asked, cancel)?.into_iter();
        let mut translated = translated.into_iter();
        let mut all = Asked::default();
        for (sentence, known) in sentences.iter().zip(known) {
            match known {
                Some(text) => {
                    all.requests.push(TextRequest::known(&sentence.text, text));
                    all.middle.push(None);
                }
                None => {
                    all.requests.extend(asked.next());
                    all.middle.push(translated.next());
                }
            }
        }
        Ok(all)
    }

    /// Returns `sentences` with their terms of the glossary.
    fn with_terms<'s>(&self, sentences: impl Iterator<Item = &'s Sentence>) -> Vec<Sentence> {
        let glossary = self.first.options.glossary.as_ref();
        let glossaries = glossary.map(from_ref).unwrap_or_default();
        let with_terms = |sentence: &Sentence| sentence.clone().with_terms(glossaries);
        sentences.map(with_terms).collect()
    }

    /// Translates `sentences` by the first of two translators. Their terms stay as they are.
    fn halfway(&self, sentences: &[Sentence], cancel: &Cancel) -> Result<Vec<Translated>> {
        let translator = self.first.translator;
        let can_write = |term: &Term| translator.terms(from_ref(term), &[]).is_ok();
        let asked: Vec<Sentence> = sentences
            .iter()
            .map(|sentence| into_middle(sentence, can_write))
            .collect();
        let options = TranslateOptions {
            glossary: None,
            memory: None,
            ..self.first.options.clone()
        };
        Route::direct(translator, &options).translate(&asked, cancel)
    }
}

/// Requests to the last translator of a route.
#[derive(Debug, Default)]
pub struct Asked {
    /// A request for each sentence.
    pub requests: Vec<TextRequest>,
    /// The translation of each sentence by the first of two translators; `None` for a single one,
    /// and for an answer of the memory.
    pub middle: Vec<Option<Translated>>,
}

impl Leg<'_> {
    /// Translates `requests`. A model that reads previous translations reads those of the requests before
    /// a request, if these are its context.
    fn translate(&self, mut requests: Vec<TextRequest>) -> Result<Vec<Translation>> {
        let reads_targets = self.translator.context().is_some_and(|it| it.target > 0);
        if !reads_targets {
            return self.translator.translate_requests(requests, self.options);
        }
        let follows = |pair: &[TextRequest]| pair[1].context.sources.last() == Some(&pair[0].text);
        let mut begins = vec![true; requests.len()];
        for (begins, pair) in begins.iter_mut().skip(1).zip(requests.windows(2)) {
            *begins = !follows(pair);
        }
        let history = TextContext::default();
        self.translator
            .translate_documents(&mut requests, &begins, &history, self.options)
    }

    /// Returns `sentences` as requests with their prefixes and terms, or the terms of the options.
    fn requests(&self, sentences: &[Sentence], cancel: &Cancel) -> Result<Vec<TextRequest>> {
        let texts: Vec<&str> = sentences
            .iter()
            .map(|sentence| sentence.text.as_str())
            .collect();
        let target = &self.translator.tokenizers().target;
        let mut requests = self.translator.requests(&texts, self.options)?;
        for (request, sentence) in requests.iter_mut().zip(sentences) {
            if !sentence.terms.is_empty() {
                let ids = std::mem::take(&mut request.search.source);
                let terms = sentence.terms.clone();
                *request = self.translator.request(&sentence.text, ids, terms)?;
            }
            request.search.prefix = target.encode(&sentence.prefix);
            request.search.cancel = cancel.clone();
        }
        Ok(requests)
    }
}
