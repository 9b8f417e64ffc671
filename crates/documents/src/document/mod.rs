//! A document that is parsed, translated in at most two rounds, and written.

mod divide;
mod entry;
mod read;
mod write;

use burnformer_text::{Grammar, Writing, is_invisible};

use self::divide::Divider;
use self::entry::Entry;
use self::read::Reader;
use crate::block::Block;
use crate::catalogue::{self, BrokenCatalogue, MessageState};
use crate::format::{Attribute, Format};
use crate::plurals::Categories;
use crate::sentences::{Next, accept, clean, sentences};
use crate::split::Splitting;
use crate::words::{Mark, has_letters, mark};
use crate::{PendingSentence, Translated};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns whether the model accepts a sentence whole.
type Fits<'a> = &'a dyn Fn(&str) -> bool;

/// A document and the translations it has so far.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Without its byte-order mark.
    source: String,
    byte_order_mark: bool,
    /// The texts to translate. All bytes between them stay unchanged.
    blocks: Vec<Block>,
    /// Texts of tags and images; [`ATTRIBUTE`] marks their places in the source.
    attributes: Vec<Attribute>,
    /// The messages of a catalogue that are translated, each as a document.
    messages: Vec<Entry>,
    format: Format,
    writing: Option<Writing>,
    /// If true, the text comes from a translation memory.
    is_answer: bool,
    splitting: Splitting,
    /// The source and target language, if both are known.
    languages: Option<[String; 2]>,
    /// The grammar of the placeholders in the text.
    grammar: Grammar,
}

/// A translation from a translation memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembered {
    /// The translation.
    pub text: String,
    /// If true, it is a translation of the same message. Otherwise PO marks it as fuzzy, as
    /// `msgmerge` does with the translation of a message in another context.
    pub is_sure: bool,
}

impl Document {
    /// Sets how amounts are written in translations. `None` keeps the spelling of the source.
    pub fn with_writing(mut self, writing: Option<Writing>) -> Self {
        self.messages
            .iter_mut()
            .for_each(|message| message.text.writing = writing);
        Self { writing, ..self }
    }

    /// Parses `text` and splits it into sentences.
    ///
    /// `language` is the language code of the text, such as `de` or `pt-BR`. It selects
    /// abbreviations; the default is English. `fits` returns whether the model accepts a sentence
    /// whole. Longer sentences are split at clauses (semicolons, colons, dashes, commas,
    /// conjunctions), else between words. Nothing is truncated.
    ///
    /// A catalogue yields the sentences of its untranslated messages. A broken catalogue stays
    /// unchanged.
    pub fn parse(text: &str, format: Format, language: Option<&str>, fits: Fits<'_>) -> Self {
        let parsed = Self::try_parse(text, format, [language, None], &[], fits);
        parsed.unwrap_or_else(|_| Self::with_messages(text.into(), format, Vec::new()))
    }

    /// Like [`parse`](Self::parse), but a broken catalogue is an error. `languages` are the source
    /// and target language. Plurals get the categories of the target language, or keep their own
    /// without one. In a catalogue, messages without a translation and messages in the states
    /// `more` are translated.
    ///
    /// # Errors
    /// See [`Catalogue::read`].
    pub fn try_parse(
        text: &str,
        format: Format,
        [language, target]: [Option<&str>; 2],
        more: &[MessageState],
        fits: Fits<'_>,
    ) -> Result<Self, BrokenCatalogue> {
        let mut document = Reader::new([language, target], more).document(text, format)?;
        document.divide([language, target], fits);
        Ok(document)
    }

    /// Reads the texts of a document without splitting them into sentences, so their language need
    /// not be known. [`divide`](Self::divide) completes [`try_parse`](Self::try_parse).
    ///
    /// # Errors
    /// See [`Catalogue::read`].
    pub fn read(
        text: &str,
        format: Format,
        target: Option<&str>,
        more: &[MessageState],
    ) -> Result<Self, BrokenCatalogue> {
        Reader::new([None, target], more).document(text, format)
    }

    /// Splits the texts of a document from [`read`](Self::read) into sentences. `languages` and
    /// `fits` are as in [`try_parse`](Self::try_parse).
    pub fn divide(&mut self, [language, target]: [Option<&str>; 2], fits: Fits<'_>) {
        self.languages = language
            .zip(target)
            .map(|(from, into)| [from.into(), into.into()]);
        let target = target.and_then(Categories::of);
        let divider = Divider {
            splitting: self.splitting,
            language,
            target: target.as_ref(),
            fits,
        };
        divider.document(self);
    }

    /// Reads a text of a request: plain text, or HTML in which line breaks are a part of the text
    /// unless `splitting` says that they are spaces. The texts of catalogues are read like this.
    pub fn read_text(text: &str, format: Format, splitting: Splitting) -> Self {
        let has_lines = splitting == Splitting::Lines;
        Self::of_parts(text.into(), format, (splitting, has_lines), Vec::new())
    }

    fn with_messages(text: String, format: Format, messages: Vec<Entry>) -> Self {
        Self::of_parts(text, format, (Splitting::default(), false), messages)
    }

    fn of_parts(
        text: String,
        format: Format,
        (splitting, has_lines): (Splitting, bool),
        messages: Vec<Entry>,
    ) -> Self {
        let (source, attributes, mut blocks) = format.parse(&text, splitting, has_lines);
        drop(text);
        // Most messages have one block.
        blocks.shrink_to_fit();
        Self {
            source,
            blocks,
            attributes,
            messages,
            format,
            splitting,
            ..Self::default()
        }
    }

    /// Parses the source or translation of a catalogue's message: as HTML if it has tags, else as
    /// plain text.
    pub fn message(text: &str, language: Option<&str>, fits: Fits<'_>) -> Self {
        let mut document = Self::read_text(text, catalogue::format_of(text), Splitting::default());
        document.divide([language, None], fits);
        document
    }

    /// Returns the sentences of a message without its markup.
    pub fn sentences(text: &str, language: Option<&str>) -> Vec<String> {
        let text = text.trim();
        let body = text.trim_end_matches(is_terminal);
        let is_mixed = body.contains(|c: char| {
            is_terminal(c) || c.is_control() || "<&{%@/_$#".contains(c) || is_invisible(c)
        });
        if has_letters(text) && !is_mixed {
            return vec![text.into()];
        }
        let pending = Self::message(text, language, &|_| true).pending();
        pending.into_iter().map(|sentence| sentence.text).collect()
    }

    /// Fills the messages of a catalogue with the texts that `translation` returns for their source
    /// and context (PO's `msgctxt`, a key, or an XLIFF unit's name), except plurals. Filled messages
    /// are no longer pending. A message with XLIFF's or TMX's own tags is passed with them, and is
    /// filled only with a text that has the same tags.
    pub fn with_memory(mut self, translation: &dyn Fn(&str, &str) -> Option<Remembered>) -> Self {
        for message in self.messages.iter_mut().filter(|it| !it.slot.is_plural) {
            message.remember(translation);
        }
        self
    }

    /// Iterates over the blocks of the document itself, without its messages.
    fn text_blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        self.attributes
            .iter_mut()
            .map(|(_, block)| block)
            .chain(&mut self.blocks)
    }

    fn text_blocks(&self) -> impl Iterator<Item = &Block> {
        self.attributes
            .iter()
            .map(|(_, block)| block)
            .chain(&self.blocks)
    }

    /// Returns whether every sentence equals its translation.
    fn is_unchanged(&self) -> bool {
        !self.is_answer && self.text_blocks().all(Block::is_unchanged)
    }

    /// Returns whether any sentence has a translation.
    fn is_translated(&self) -> bool {
        self.is_answer || self.text_blocks().any(Block::is_translated)
    }

    /// Returns the sentences to translate now. It is empty when the document is done, after at most
    /// two rounds.
    pub fn pending(&self) -> Vec<PendingSentence> {
        let messages = self
            .messages
            .iter()
            .flat_map(|message| message.text.pending());
        self.text_blocks()
            .flat_map(sentences)
            .chain(messages)
            .collect()
    }

    /// Accepts the translations of [`Document::pending`], in the same order.
    ///
    /// # Panics
    ///
    /// If the number of translations differs from the number of pending sentences.
    pub fn accept(&mut self, translations: Vec<Translated>) {
        let given = translations.len();
        let mut used = 0;
        let mut translations = translations.into_iter();
        self.accept_from(&mut || {
            used += 1;
            translations.next().map(clean)
        });
        assert_eq!(
            given, used,
            "translations given for {used} pending sentences"
        );
    }

    fn accept_from(&mut self, next: Next<'_>) {
        let writing = self.writing;
        self.text_blocks_mut()
            .for_each(|block| accept(block, next, writing));
        self.messages
            .iter_mut()
            .for_each(|message| message.text.accept_from(next));
    }
}

fn is_terminal(c: char) -> bool {
    mark(c) == Mark::Terminal
}
