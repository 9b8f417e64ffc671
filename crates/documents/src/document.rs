//! A document that is parsed, translated in at most two rounds, and written.

use burnformer_glossary::{Writing, apply_edits};
use burnformer_text::is_invisible;

use crate::block::{Block, Segment, State};
use crate::catalogue::{self, BrokenCatalogue, Catalogue, Message, MessageState, Slot};
use crate::escape::ATTRIBUTE;
use crate::format::{Attribute, Format, finish_block};
use crate::message;
use crate::placeables::find_atoms;
use crate::plurals::Categories;
use crate::sentences::{Next, accept, clean, layout, sentences};
use crate::split::split;
use crate::words::{Mark, Span, has_letters, mark, overlaps};
use crate::{PendingSentence, Translated};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The largest number of comparisons of the blocks of a document.
const MOST_REPAIRS: usize = 8;

/// Says whether a model takes a sentence whole.
type Fits<'a> = &'a dyn Fn(&str) -> bool;

/// A document with the translations that it has so far.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Without its byte-order mark.
    source: String,
    byte_order_mark: bool,
    /// The texts to translate. All bytes between them stay unchanged.
    blocks: Vec<Block>,
    /// Texts in tags and images, for which [`ATTRIBUTE`] stands in the source.
    attributes: Vec<Attribute>,
    /// The messages of a catalogue that are translated, as documents.
    messages: Vec<(Slot, Document)>,
    format: Format,
    writing: Option<Writing>,
    /// If true, its text is from a translation memory.
    is_answer: bool,
}

impl Document {
    /// Sets how amounts are written in translations; with `None`, they are written as in the
    /// source.
    pub fn with_writing(mut self, writing: Option<Writing>) -> Self {
        self.messages
            .iter_mut()
            .for_each(|(_, message)| message.writing = writing);
        Self { writing, ..self }
    }

    /// Divides `text` into sentences.
    ///
    /// `language` is the language of the text (`de`, `pt-BR`; English if it is not known);
    /// abbreviations depend on it. `fits` says whether the model takes a sentence whole. Longer
    /// ones are cut at clauses (semicolons, colons, dashes, commas, conjunctions), else between
    /// words, never shortened.
    ///
    /// A catalogue has the sentences of the messages that have no translation. A broken one stays
    /// unchanged.
    pub fn parse(text: &str, format: Format, language: Option<&str>, fits: Fits<'_>) -> Self {
        let parsed = Self::try_parse(text, format, [language, None], &[], fits);
        parsed.unwrap_or_else(|_| Self::with_messages(text.into(), format, Vec::new()))
    }

    /// Parses like [`parse`](Self::parse), but a broken catalogue is an error. `languages` are
    /// those of the source and of the translation. Plurals get the categories of the latter; if it
    /// is not given, they keep their own. Of a catalogue, the
    /// messages without a translation are translated, and those in the states `more`.
    ///
    /// # Errors
    /// The errors of [`Catalogue::read`].
    pub fn try_parse(
        text: &str,
        format: Format,
        [language, target]: [Option<&str>; 2],
        more: &[MessageState],
        fits: Fits<'_>,
    ) -> Result<Self, BrokenCatalogue> {
        let mut document = Self::read(text, format, target, more)?;
        document.divide([language, target], fits);
        Ok(document)
    }

    /// Reads the texts of a document without dividing them into sentences: their language need not
    /// be known. [`divide`](Self::divide) does the rest of [`try_parse`](Self::try_parse).
    ///
    /// # Errors
    /// The errors of [`Catalogue::read`].
    pub fn read(
        text: &str,
        format: Format,
        target: Option<&str>,
        more: &[MessageState],
    ) -> Result<Self, BrokenCatalogue> {
        let target = target.and_then(Categories::of);
        Reader { target, more }.document(text, format)
    }

    /// Divides the texts of a document that was [`read`](Self::read) into sentences. `languages`
    /// and `fits` are as in [`try_parse`](Self::try_parse).
    pub fn divide(&mut self, [language, target]: [Option<&str>; 2], fits: Fits<'_>) {
        let target = target.and_then(Categories::of);
        let divider = Divider {
            language,
            target: target.as_ref(),
            fits,
        };
        divider.document(self);
    }

    fn with_messages(text: String, format: Format, messages: Vec<(Slot, Self)>) -> Self {
        let (source, attributes, mut blocks) = format.parse(&text);
        drop(text);
        // Most messages have one block.
        blocks.shrink_to_fit();
        Self {
            source,
            blocks,
            attributes,
            messages,
            format,
            ..Self::default()
        }
    }

    /// The text of a message of a catalogue, its source or its translation, as a document: HTML if
    /// it has tags, else plain text.
    pub fn message(text: &str, language: Option<&str>, fits: Fits<'_>) -> Self {
        Self::parse(text, catalogue::format_of(text), language, fits)
    }

    /// The sentences of the text of a message, without its markup.
    pub fn sentences(text: &str, language: Option<&str>) -> Vec<String> {
        let text = text.trim();
        let is_end = |c: char| mark(c) == Mark::Terminal;
        let is_mixed =
            |c: char| is_end(c) || c.is_control() || "<&{%@/_$#".contains(c) || is_invisible(c);
        if has_letters(text) && !text.trim_end_matches(is_end).contains(is_mixed) {
            return vec![text.into()];
        }
        let pending = Self::message(text, language, &|_| true).pending();
        pending.into_iter().map(|sentence| sentence.text).collect()
    }

    /// Translates the messages of a catalogue for which `translation` has a text, except for
    /// plurals. They are not pending then, and PO does not mark them as machine translations.
    pub fn with_memory(mut self, translation: &dyn Fn(&str) -> Option<String>) -> Self {
        // The forms of a plural are messages of one group beside each other.
        for group in self
            .messages
            .chunk_by_mut(|(one, _), (next, _)| one.group == next.group)
        {
            let [(slot, message)] = group else { continue };
            let source = message.source.as_str();
            if slot.has_tags() || !message.attributes.is_empty() {
                continue;
            }
            if let Some(text) = translation(source) {
                // gettext asks for the line breaks of the source at both ends.
                let source = source.replacen(source.trim(), text.trim(), 1);
                *message = Self {
                    source,
                    is_answer: true,
                    ..Self::default()
                };
                slot.accept();
            }
        }
        self
    }

    /// The blocks that are not those of its messages.
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

    /// Returns whether every sentence is its own translation.
    fn is_unchanged(&self) -> bool {
        !self.is_answer && self.text_blocks().all(Block::is_unchanged)
    }

    /// The sentences to translate now. Empty when the document is done, which is after at most two
    /// rounds.
    pub fn pending(&self) -> Vec<PendingSentence> {
        let messages = self
            .messages
            .iter()
            .flat_map(|(_, message)| message.pending());
        self.text_blocks()
            .flat_map(sentences)
            .chain(messages)
            .collect()
    }

    /// Takes the translations of the sentences of [`Document::pending`], in their order.
    ///
    /// # Panics
    ///
    /// If there are more or fewer translations than sentences.
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
            .for_each(|(_, message)| message.accept_from(next));
    }

    /// The translated document. Sentences that are still pending stay unchanged.
    pub fn finish(mut self) -> String {
        self.text_blocks_mut().for_each(write_messages);
        let out = if self.messages.is_empty() {
            self.written_blocks()
        } else {
            self.written_catalogue()
        };
        let value = |part: &str| {
            let (source, block) = self.attributes.get(part.parse::<usize>().ok()?)?;
            Some(written(block, source))
        };
        let out = if self.attributes.is_empty() {
            out
        } else {
            out.split(ATTRIBUTE)
                .map(|part| value(part).unwrap_or_else(|| part.into()))
                .collect()
        };
        self.byte_order_mark
            .then_some(BYTE_ORDER_MARK)
            .into_iter()
            .chain(out.chars())
            .collect()
    }

    /// The catalogue with the translations of its messages.
    fn written_catalogue(&mut self) -> String {
        let write = |(slot, mut message): (Slot, Self)| {
            message.text_blocks_mut().for_each(write_messages);
            let has_changed = !message.is_unchanged();
            (slot, message.finish(), has_changed)
        };
        let written = std::mem::take(&mut self.messages).into_iter().map(write);
        catalogue::write(&self.source, written.collect())
    }

    /// The document with the translations of its blocks. Puts the source back where a translation
    /// would make other blocks of the document: a line directly behind a table or a definition can
    /// become a part of it.
    fn written_blocks(&self) -> String {
        let text = |range: &Span| &self.source[range.clone()];
        let mut parts: Vec<(Span, String)> = self
            .blocks
            .iter()
            .map(|block: &Block| (block.source.clone(), written(block, text(&block.source))))
            .collect();
        for _ in 0..MOST_REPAIRS {
            let out = apply_edits(&self.source, &parts);
            let Err(at) = self.format.has_shape_of(&self.source, &out) else {
                return out;
            };
            let ends = parts.iter().scan((0, 0), |(last, end), (range, part)| {
                *end += range.start - *last + part.len();
                *last = range.end;
                Some(*end)
            });
            let next = ends.take_while(|&end| end <= at).count();
            let near = next.saturating_sub(1)..parts.len().min(next + 1);
            parts[near]
                .iter_mut()
                .for_each(|(range, part)| *part = text(range).into());
        }
        apply_edits(&self.source, &parts)
    }
}

/// `block` in its document; `source`, which it is there, if it does not change.
fn written(block: &Block, source: &str) -> String {
    if block.is_unchanged() {
        source.into()
    } else {
        finish_block(block, &layout(block), source)
    }
}

/// Reads documents whose plurals get the categories of `target`.
struct Reader<'a> {
    target: Option<Categories>,
    more: &'a [MessageState],
}

impl Reader<'_> {
    fn document(&self, text: &str, format: Format) -> Result<Document, BrokenCatalogue> {
        let rest = text.strip_prefix(BYTE_ORDER_MARK);
        let source = match (rest.unwrap_or(text), &self.target) {
            (source, Some(target)) => catalogue::with_categories(source, format, target)?,
            (source, None) => source.into(),
        };
        let is_pending =
            |state: &_| *state == MessageState::Untranslated || self.more.contains(state);
        let message = |it: Message| {
            let is_html = it.slot.is_markup();
            let format = if is_html {
                Format::Html
            } else {
                catalogue::format_of(&it.source)
            };
            Ok((it.slot, self.document(&it.source, format)?))
        };
        let messages = Catalogue::read(&source, format, [None; 2])?
            .messages
            .into_iter();
        let messages = messages.filter(|it| is_pending(&it.state)).map(message);
        let document = Document::with_messages(source, format, messages.collect::<Result<_, _>>()?);
        Ok(Document {
            byte_order_mark: rest.is_some(),
            ..document
        })
    }
}

/// Divides documents of one language for a model.
struct Divider<'a> {
    language: Option<&'a str>,
    target: Option<&'a Categories>,
    fits: Fits<'a>,
}

impl Divider<'_> {
    fn document(&self, document: &mut Document) {
        document
            .messages
            .iter_mut()
            .for_each(|(_, message)| self.document(message));
        document
            .text_blocks_mut()
            .for_each(|block| self.prepare(block, 0));
    }

    /// Divides `block` and the arms of its messages into sentences; it is `depth` messages deep.
    fn prepare(&self, block: &mut Block, depth: usize) {
        let messages = find_atoms(&block.text, &block.borders(), &mut block.atoms);
        if depth < message::DEEPEST {
            message::find_arms(block, self.target, depth);
        }
        block
            .arms_mut()
            .for_each(|arm| self.prepare(arm, depth + 1));
        split(block, self.language, self.fits);
        // Nothing in a message with tags can be told from its syntax.
        let is_cut = |segment: &&mut Segment| overlaps(&messages, &segment.range);
        block
            .segments
            .iter_mut()
            .filter(is_cut)
            .for_each(|segment| segment.state = State::Kept);
    }
}

/// Writes the messages of `block` whose arms have changed.
fn write_messages(block: &mut Block) {
    block.arms_mut().for_each(write_messages);
    for atom in block.atoms.iter_mut().filter(|atom| !atom.arms.is_empty()) {
        atom.written = atom.written(written);
    }
}
