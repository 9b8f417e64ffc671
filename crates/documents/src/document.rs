//! A document that is parsed, translated in at most two rounds, and written.

use burnformer_text::{Grammar, Writing, apply_edits, is_invisible};

use crate::accelerator::{self, Accelerator};
use crate::block::{Block, State};
use crate::catalogue::{self, BrokenCatalogue, Catalogue, Context, Message, MessageState, Slot};
use crate::escape::ATTRIBUTE;
use crate::format::{Attribute, Format, finish_block, has_choices_of, in_language};
use crate::message;
use crate::placeables::{find_atoms, order_of_arguments};
use crate::plurals::Categories;
use crate::sentences::{Next, accept, clean, layout, sentences};
use crate::split::{Splitting, split};
use crate::words::{Mark, Span, has_letters, mark, overlaps};
use crate::{PendingSentence, Translated};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Maximum number of times that the blocks of a written document are compared with its source.
const MAX_REPAIRS: usize = 8;

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

/// A message of a catalogue and its text.
#[derive(Clone, Debug)]
struct Entry {
    slot: Slot,
    context: Context,
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

    /// Returns the indices of the text's arguments in the order of its translation; `None` if some may
    /// be in tags.
    fn order_of_arguments(&self) -> Option<Vec<usize>> {
        if !self.attributes.is_empty() {
            return None;
        }
        let mut order = Vec::new();
        for block in &self.blocks {
            let before = order.len();
            let own = order_of_arguments(block).into_iter();
            order.extend(own.map(|index| before + index));
        }
        Some(order)
    }

    /// Returns the translated document. Pending sentences stay untranslated.
    pub fn finish(mut self) -> String {
        self.text_blocks_mut().for_each(write_messages);
        let languages = self.languages.take();
        let declared = languages.clone().filter(|_| !self.is_unchanged());
        let out = if self.messages.is_empty() {
            self.written_blocks()
        } else {
            self.written_catalogue(languages)
        };
        let out = if self.attributes.is_empty() {
            out
        } else {
            out.split(ATTRIBUTE)
                .map(|part| self.attribute(part).unwrap_or_else(|| part.into()))
                .collect()
        };
        let out = match declared {
            Some([from, into]) if self.format == Format::Html => in_language(&out, &from, &into),
            _ => out,
        };
        self.byte_order_mark
            .then_some(BYTE_ORDER_MARK)
            .into_iter()
            .chain(out.chars())
            .collect()
    }

    /// Returns the translation of the attribute with this number.
    fn attribute(&self, number: &str) -> Option<String> {
        let (source, block) = self.attributes.get(number.parse::<usize>().ok()?)?;
        Some(written(block, source))
    }

    /// Returns the catalogue with its messages translated. A catalogue that names its own language
    /// names the second of `languages`, which may be known only since the text was divided.
    fn written_catalogue(&mut self, languages: Option<[String; 2]>) -> String {
        // An empty translation would say that the message is not translated.
        let is_bilingual = self.format.has_translations();
        let mut written = Vec::with_capacity(self.messages.len());
        for mut entry in std::mem::take(&mut self.messages) {
            entry.text.text_blocks_mut().for_each(write_messages);
            let text = &entry.text;
            let has_changed = !text.is_unchanged() || is_bilingual && text.is_translated();
            written.push((entry.slot.clone(), entry.written(), has_changed));
        }
        let out = catalogue::write(&self.source, written);
        match languages {
            Some([from, into]) if self.format.names_its_language() => {
                catalogue::in_language(&out, self.format, [Some(&from), Some(&into)])
            }
            _ => out,
        }
    }

    /// Returns the document with its blocks translated. A block keeps its source if its translation
    /// would change the document's blocks. For example, a line directly after a table or a
    /// definition can become a part of it.
    fn written_blocks(&self) -> String {
        let mut parts: Vec<(Span, String)> = self
            .blocks
            .iter()
            .map(|block: &Block| {
                let range = block.source.clone();
                let text = written(block, &self.source[range.clone()]);
                (range, text)
            })
            .collect();
        for _ in 0..MAX_REPAIRS {
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
                .for_each(|(range, part)| *part = self.source[range.clone()].into());
        }
        apply_edits(&self.source, &parts)
    }
}

/// Returns `block` as the document writes it, or `source` if it does not change.
fn written(block: &Block, source: &str) -> String {
    if block.is_unchanged() {
        source.into()
    } else {
        finish_block(block, &layout(block), source)
    }
}

impl Entry {
    /// Returns the translation of the message.
    fn written(self) -> String {
        let grammar = self.text.grammar;
        let is_answer = self.text.is_answer;
        let order = self.text.order_of_arguments();
        let text = self.text.finish();
        let Some(original) = self.original.filter(|_| !is_answer) else {
            return text;
        };
        let text = match self.accelerator {
            Some(accelerator) => accelerator.put(&text),
            None => text,
        };
        let text = grammar.written(&original, text, order.as_deref());
        if has_choices_of(&original, &text) {
            text
        } else {
            original.into()
        }
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

/// Reads documents and gives their plurals the categories of the target language.
struct Reader<'a> {
    /// The source and target language.
    languages: [Option<&'a str>; 2],
    target: Option<Categories>,
    more: &'a [MessageState],
}

impl<'a> Reader<'a> {
    fn new(languages: [Option<&'a str>; 2], more: &'a [MessageState]) -> Self {
        Self {
            languages,
            target: languages[1].and_then(Categories::of),
            more,
        }
    }

    fn document(&self, text: &str, format: Format) -> Result<Document, BrokenCatalogue> {
        let rest = text.strip_prefix(BYTE_ORDER_MARK);
        let source = catalogue::in_language(rest.unwrap_or(text), format, self.languages);
        let source = match &self.target {
            Some(target) => catalogue::with_categories(&source, format, target)?,
            None => source,
        };
        let is_pending =
            |state: &_| *state == MessageState::Untranslated || self.more.contains(state);
        let message = |it: Message| {
            let own = match format {
                Format::Notebook => Format::Markdown,
                _ if it.slot.is_markup() => Format::Html,
                _ => catalogue::format_of(&it.source),
            };
            let grammar = it.slot.grammar(&it.source);
            let signs = it.slot.accelerators();
            let shown = grammar.shown(&it.source);
            let (label, accelerator) =
                accelerator::taken(&shown, signs, it.slot.is_markup()).unzip();
            let is_compared = accelerator.is_some()
                || grammar != Grammar::default()
                || !has_choices_of(&it.source, "");
            let splitting = it.slot.splitting();
            let source = label.unwrap_or_else(|| shown.into_owned());
            let text = Document::of_parts(source, own, (splitting, true), Vec::new());
            Entry {
                text: Document {
                    grammar: grammar.for_message(&it.source),
                    ..text
                },
                slot: it.slot,
                context: it.context,
                original: is_compared.then(|| it.source.into()),
                accelerator,
            }
        };
        let messages = Catalogue::read_into(&source, format, self.languages)?.messages;
        let messages = messages.into_iter().filter(|it| is_pending(&it.state));
        let document = Document::with_messages(source, format, messages.map(message).collect());
        Ok(Document {
            byte_order_mark: rest.is_some(),
            ..document
        })
    }
}

/// Splits documents of one language into sentences for a model.
struct Divider<'a> {
    splitting: Splitting,
    language: Option<&'a str>,
    target: Option<&'a Categories>,
    fits: Fits<'a>,
}

impl Divider<'_> {
    fn document(&self, document: &mut Document) {
        document
            .messages
            .iter_mut()
            .for_each(|message| self.document(&mut message.text));
        let grammar = document.grammar;
        for block in document.text_blocks_mut() {
            block.grammar = grammar;
            self.prepare(block, 0);
        }
    }

    /// Splits `block` and the arms of its messages into sentences. `depth` counts enclosing
    /// messages.
    fn prepare(&self, block: &mut Block, depth: usize) {
        let borders = block.borders();
        let messages = find_atoms(&block.text, &borders, &mut block.atoms, block.grammar);
        if depth < message::MAX_DEPTH {
            message::find_arms(block, self.target, depth);
        }
        block
            .arms_mut()
            .for_each(|arm| self.prepare(arm, depth + 1));
        split(block, self.splitting, self.language, self.fits);
        // In a message with tags, text and syntax cannot be told apart.
        for segment in &mut block.segments {
            if overlaps(&messages, &segment.range) {
                segment.state = State::Kept;
            }
        }
    }
}

fn is_terminal(c: char) -> bool {
    mark(c) == Mark::Terminal
}

/// Writes the messages in `block` with changed arms.
fn write_messages(block: &mut Block) {
    block.arms_mut().for_each(write_messages);
    for atom in block.atoms.iter_mut().filter(|atom| !atom.arms.is_empty()) {
        atom.written = atom.written(written);
    }
}
