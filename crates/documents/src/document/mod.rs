//! A document that is parsed, translated in at most two rounds, and written.

mod divide;
mod read;
mod write;

use std::sync::Arc;

use burnformer_text::{Grammar, Writing};

use crate::accelerator::Accelerator;
use crate::block::Block;
use crate::catalogue::{self, Context, Slot};
use crate::format::{Attribute, Format};
use crate::sentences::{Next, accept, alone, clean, sentences};
use crate::split::Splitting;
use crate::{PendingSentence, Place, Translated};

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
    /// Texts of tags and images. In the source, their numbers stand in their places.
    attributes: Vec<Attribute>,
    /// The character before and after the number of an attribute.
    attribute_mark: char,
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

/// A message of a catalogue and its text.
#[derive(Clone, Debug)]
struct Entry {
    slot: Slot,
    context: Context,
    /// The context, if it is a text and no name.
    note: Option<Arc<str>>,
    text: Document,
    /// The source as the file has it, if its translation is compared with it.
    original: Option<Box<str>>,
    accelerator: Option<Accelerator>,
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

    /// Fills the messages of a catalogue with the texts that `translation` returns for their source
    /// and context (PO's `msgctxt`, a key, or an XLIFF unit's name), except plurals. Filled
    /// messages are no longer pending. A message with XLIFF's or TMX's own tags is passed with
    /// them, and is filled only with a text that has the same tags.
    pub fn with_known_translations(
        mut self,
        translation: &dyn Fn(&str, &str) -> Option<Remembered>,
    ) -> Self {
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
        let attributes = self.attributes.iter();
        let attributes = attributes.flat_map(|(_, block)| alone(sentences(block)));
        let mut texts: Vec<PendingSentence> = self.blocks.iter().flat_map(sentences).collect();
        let first = texts.iter_mut().find(|it| it.place == Place::Next);
        if let Some(first) = first {
            first.place = Place::First;
        }
        let messages = self.messages.iter().flat_map(Entry::pending);
        attributes.chain(texts).chain(messages).collect()
    }

    /// Accepts the translations of [`Document::pending`], in the same order.
    ///
    /// # Panics
    ///
    /// Panics if the number of translations differs from the number of pending sentences.
    pub fn accept(&mut self, translations: Vec<Translated>) {
        let count = translations.len();
        let mut used = 0;
        let mut translations = translations.into_iter();
        self.accept_from(&mut || {
            used += 1;
            translations.next().map(clean)
        });
        assert_eq!(
            count, used,
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

impl Entry {
    /// Returns the sentences of the message to translate now.
    fn pending(&self) -> Vec<PendingSentence> {
        let mut sentences = self.text.pending();
        let first = sentences.iter_mut().find(|it| it.place == Place::First);
        if let Some(first) = first {
            first.note = self.note.clone();
        }
        sentences
    }

    /// Fills the message with the text of a memory, if it has one.
    fn remember(&mut self, translation: &dyn Fn(&str, &str) -> Option<Remembered>) {
        if !self.text.attributes.is_empty() {
            return;
        }
        let source = self.original.as_deref().unwrap_or(&self.text.source);
        let found = translation(source, &self.context.to_string());
        let is_usable =
            |it: &Remembered| !self.slot.has_tags() || catalogue::has_tags_of(source, &it.text);
        let Some(Remembered { text, is_sure }) = found.filter(is_usable) else {
            return;
        };
        // gettext requires the source's line breaks at both ends.
        let source = source.replacen(source.trim(), text.trim(), 1);
        self.text = Document {
            source,
            is_answer: true,
            ..Document::default()
        };
        if is_sure {
            self.slot.accept();
        }
    }
}
