//! The way of a sentence from its language into another: one model, or two with a language between.

use std::slice::from_ref;

use burnformer_documents::{Link, Translated};
use burnformer_infer::{
    Cancel, InferError, Term, TextContext, TextRequest, TranslateOptions, Translation, Translator,
};

use crate::division::{Cascade, Model};
use crate::pivot::{Pivot, through_links};
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

impl Model for Leg<'_> {
    fn fits(&self, sentence: &str) -> bool {
        self.translator.fits(sentence, self.options)
    }

    fn context(&self) -> usize {
        self.translator.context().map_or(0, |it| it.source)
    }

    fn can_write(&self, term: &Term) -> bool {
        self.translator.terms(from_ref(term), &[]).is_ok()
    }
}

/// One translator, or two in a row: the second translates what the first returns.
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

    /// The translators in a row.
    fn cascade(&self) -> Cascade<Leg<'a>> {
        let Self { first, second, .. } = *self;
        Cascade { first, second }
    }

    /// Returns whether `sentence` fits into each model without being cut.
    pub fn fits(&self, sentence: &str) -> bool {
        self.cascade().fits(sentence)
    }

    /// Translates `sentences`, with links where they ask for them. After `cancel`, no further sentence
    /// is translated, and the result must not be used.
    ///
    /// # Errors
    /// Returns the errors of [`Translator::translate`] and [`Translator::links`].
    pub fn translate(&self, sentences: &[Sentence], cancel: &Cancel) -> Result<Vec<Translated>> {
        let answers = self.answers(sentences, cancel)?.into_iter();
        Ok(answers.map(|answer| answer.translated).collect())
    }

    /// Like [`translate`](Self::translate), with the searches that were needed.
    fn answers(&self, sentences: &[Sentence], cancel: &Cancel) -> Result<Vec<Answer>> {
        let RouteRequests { requests, middle } = self.requests(sentences, cancel)?;
        let translations = self.last().translate(requests)?;
        let mut answers = Vec::with_capacity(sentences.len());
        for ((sentence, middle), translation) in sentences.iter().zip(&middle).zip(translations) {
            let text = translation.text;
            let links = if sentence.links && !cancel.is_cancelled() {
                self.links(sentence, middle.as_ref(), &text)?
            } else {
                Vec::new()
            };
            let best = translation.n_best.first();
            answers.push(Answer {
                translated: Translated { text, links },
                is_second: best.is_some_and(|best| best.hypothesis.is_second),
            });
        }
        Ok(answers)
    }

    /// The links between `sentence` and its translation `text`: through `middle`, if
    /// a translator has translated the sentence into the language between.
    fn links(&self, sentence: &Sentence, middle: Option<&Answer>, text: &str) -> Result<Vec<Link>> {
        let Leg {
            translator,
            options,
        } = self.last();
        let middle = middle.map(|middle| &middle.translated);
        let source = middle.map_or(&sentence.text, |middle| &middle.text);
        let links = translator.links(source, text, &options.languages)?;
        Ok(match middle {
            None => links,
            Some(middle) => through_links(&middle.links, links),
        })
    }

    /// The number of previous sentences in the context of a sentence.
    pub fn context(&self) -> usize {
        match self.before {
            None => 0,
            Some(_) => self.cascade().context(),
        }
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
    pub fn requests(&self, sentences: &[Sentence], cancel: &Cancel) -> Result<RouteRequests> {
        let Some(second) = self.second else {
            return Ok(RouteRequests {
                requests: self.first.requests(sentences, cancel)?,
                middle: vec![None; sentences.len()],
            });
        };
        let options = self.first.options;
        let pivot = Pivot::new(self.with_terms(sentences), |text| options.remembered(text));
        let middle = self.halfway(&pivot, cancel)?;
        let texts = middle.iter().map(|middle| &*middle.translated.text);
        let requests = second.requests(&pivot.out_of_middle(texts), cancel)?;
        let translated = requests.into_iter().zip(middle.into_iter().map(Some));
        let asked = pivot.joined(translated, |sentence, text| {
            (TextRequest::known(&sentence.text, text), None)
        });
        let (requests, middle) = asked.into_iter().unzip();
        Ok(RouteRequests { requests, middle })
    }

    /// Returns `sentences` with their terms of the glossary.
    fn with_terms(&self, sentences: &[Sentence]) -> Vec<Sentence> {
        let glossary = self.first.options.glossary.as_ref();
        let glossaries = glossary.map(from_ref).unwrap_or_default();
        let sentences = sentences.iter().cloned();
        sentences.map(|it| it.with_terms(glossaries)).collect()
    }

    /// Translates the sentences of `pivot` by the first of two translators. Their terms stay as they
    /// are.
    fn halfway(&self, pivot: &Pivot, cancel: &Cancel) -> Result<Vec<Answer>> {
        let sentences = pivot.into_middle(|term| self.first.can_write(term));
        let options = TranslateOptions {
            glossary: None,
            memory: None,
            ..self.first.options.clone()
        };
        Route::direct(self.first.translator, &options).answers(&sentences, cancel)
    }
}

/// Requests to the last translator of a route.
#[derive(Debug)]
pub struct RouteRequests {
    /// A request for each sentence.
    pub requests: Vec<TextRequest>,
    /// The translation of each sentence by the first of two translators; `None` for a single one,
    /// and for an answer of the memory.
    pub middle: Vec<Option<Answer>>,
}

/// The best translation of a sentence.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The translation.
    pub translated: Translated,
    /// Whether the sentence was searched for a second time
    /// ([`Hypothesis::is_second`](burnformer_infer::Hypothesis::is_second)).
    pub is_second: bool,
}

impl Sentence {
    /// Gives `request`, for the text of the sentence, its prefix and its context.
    pub fn complete(&self, request: &mut TextRequest, translator: &Translator) {
        request.search.prefix = translator.tokenizers().target.encode(&self.prefix);
        request.context = TextContext::of_sources(self.context.iter().map(|before| &**before));
    }
}

impl Leg<'_> {
    /// Translates `requests`. If the requests before a request are its context, a model that reads
    /// previous translations reads their translations.
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

    /// Returns `sentences` as requests with their prefixes, their contexts, and their terms or those of
    /// the options.
    fn requests(&self, sentences: &[Sentence], cancel: &Cancel) -> Result<Vec<TextRequest>> {
        let texts: Vec<&str> = sentences
            .iter()
            .map(|sentence| sentence.text.as_str())
            .collect();
        let mut requests = self.translator.requests(&texts, self.options)?;
        for (request, sentence) in requests.iter_mut().zip(sentences) {
            if !sentence.terms.is_empty() {
                let ids = std::mem::take(&mut request.search.source);
                let terms = sentence.terms.clone();
                *request = self.translator.request(&sentence.text, ids, terms)?;
            }
            sentence.complete(request, self.translator);
            request.search.cancel = cancel.clone();
        }
        Ok(requests)
    }
}
