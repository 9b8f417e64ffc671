//! Reads documents, catalogues and messages.

use burnformer_text::{Grammar, is_invisible};

use super::{BYTE_ORDER_MARK, Document, Entry, Fits};
use crate::accelerator;
use crate::catalogue::{self, BrokenCatalogue, Catalogue, Message, MessageState};
use crate::format::{Format, ParsedText, TextLayout, has_choices_of};
use crate::plurals::Categories;
use crate::split::Splitting;
use crate::words::{Mark, has_letters, mark};

impl Document {
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

    /// Reads a text of a request: plain text, or HTML in which line breaks are a part of the text
    /// unless `splitting` says that they are spaces. The texts of catalogues are read like this.
    pub fn read_text(text: &str, format: Format, splitting: Splitting) -> Self {
        let layout = TextLayout {
            splitting,
            has_lines: splitting == Splitting::Lines,
        };
        Self::of_parts(text.into(), format, layout, Vec::new())
    }

    fn with_messages(text: String, format: Format, messages: Vec<Entry>) -> Self {
        Self::of_parts(text, format, TextLayout::default(), messages)
    }

    fn of_parts(text: String, format: Format, layout: TextLayout, messages: Vec<Entry>) -> Self {
        let ParsedText {
            text: source,
            mark,
            attributes,
            mut blocks,
        } = format.parse(&text, layout);
        drop(text);
        // Most messages have one block.
        blocks.shrink_to_fit();
        Self {
            source,
            blocks,
            attributes,
            attribute_mark: mark,
            messages,
            format,
            splitting: layout.splitting,
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
        let given = rest.unwrap_or(text);
        // A header or plural forms that were filled in move the lines. An error names the line of
        // the file as it was given.
        let document = self.filled(given, format).map_err(|moved| {
            let error = Catalogue::read_into(given, format, self.languages).err();
            error.unwrap_or(moved)
        })?;
        Ok(Document {
            byte_order_mark: rest.is_some(),
            ..document
        })
    }

    /// Reads `text` with the target language in its header and the target's plural forms.
    fn filled(&self, text: &str, format: Format) -> Result<Document, BrokenCatalogue> {
        let source = catalogue::in_language(text, format, self.languages);
        let source = match &self.target {
            Some(target) => catalogue::with_categories(&source, format, target)?,
            None => source,
        };
        let is_pending =
            |state: &_| *state == MessageState::Untranslated || self.more.contains(state);
        let messages = Catalogue::read_into(&source, format, self.languages)?.messages;
        let messages = messages.into_iter().filter(|it| is_pending(&it.state));
        Ok(Document::with_messages(
            source,
            format,
            messages.map(|message| entry(message, format)).collect(),
        ))
    }
}

/// Reads the text of `message`, of a catalogue in `format`.
fn entry(message: Message, format: Format) -> Entry {
    let Message {
        slot,
        context,
        source,
        ..
    } = message;
    let own = match format {
        Format::Notebook => Format::Markdown,
        _ if slot.is_markup() => Format::Html,
        _ => catalogue::format_of(&source),
    };
    let grammar = slot.grammar(&source);
    let shown = grammar.shown(&source);
    let taken = accelerator::taken(&shown, slot.accelerators(), slot.is_markup());
    let (label, accelerator) = taken.unzip();
    let is_compared =
        accelerator.is_some() || grammar != Grammar::default() || !has_choices_of(&source, "");
    let shown = label.unwrap_or_else(|| shown.into_owned());
    let layout = TextLayout {
        splitting: slot.splitting(),
        has_lines: true,
    };
    let text = Document::of_parts(shown, own, layout, Vec::new());
    // The other formats have names there: paths of keys, identifiers, the source itself.
    let note = match format {
        Format::Po => context.note(),
        Format::Qt if context.has_group() => context.note(),
        _ => None,
    };
    Entry {
        text: Document {
            grammar: grammar.for_message(&source),
            ..text
        },
        note,
        slot,
        context,
        original: is_compared.then(|| source.into()),
        accelerator,
    }
}

fn is_terminal(c: char) -> bool {
    mark(c) == Mark::Terminal
}
