//! The texts of a request.

use std::collections::BTreeSet;
use std::sync::Arc;

use burnformer_documents::{BrokenCatalogue, Document, Format, Splitting};
use burnformer_terminology::Glossary;

use crate::api::Client;
use crate::api::error::{ApiError, Result};
use crate::compute::{CancelWatch, Price, compute};
use crate::engine::Choice;
use crate::language::LanguagePair;
use crate::pipeline::Translations;
use crate::sender::Permit;

/// The best translation of each text.
pub(crate) fn best(all: Vec<Translations>) -> Vec<String> {
    all.into_iter()
        .map(|mut ranked| ranked.swap_remove(0))
        .collect()
}

/// The texts of a request, parsed but not yet split into sentences, with a permit for the work on
/// them.
pub(crate) struct ReadTexts {
    pub texts: Arc<Vec<ReadText>>,
    pub format: Format,
    /// If true, the translation of a sentence begins and ends like the sentence.
    pub keeps_formatting: bool,
    /// A text before each of the texts, for models that were trained with context.
    pub before: String,
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

    /// Parses `texts` as [`document`](Self::document) does.
    fn texts(
        self,
        texts: Vec<String>,
        target: Option<&str>,
        cancel: &CancelWatch,
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
            before: String::new(),
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
            before,
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
                pipeline.before.clone_from(&before);
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
        let choice = Choice::default();
        let all = self.translate(read, pairs, choice, glossaries).await?;
        Ok(best(all).concat())
    }
}
