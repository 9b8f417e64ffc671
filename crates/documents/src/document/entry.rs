//! The messages of a catalogue, each with its text as a document.

use burnformer_text::Grammar;

use super::{Document, Remembered};
use crate::accelerator::{self, Accelerator};
use crate::catalogue::{self, Context, Message, Slot};
use crate::format::{Format, has_choices_of};

/// A message of a catalogue and its text.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub slot: Slot,
    context: Context,
    pub text: Document,
    /// The source as the file has it, if its translation is compared with it.
    original: Option<Box<str>>,
    accelerator: Option<Accelerator>,
}

impl Entry {
    /// Reads the text of `message`, of a catalogue in `format`.
    pub fn new(message: Message, format: Format) -> Self {
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
        let text = Document::of_parts(shown, own, (slot.splitting(), true), Vec::new());
        Self {
            text: Document {
                grammar: grammar.for_message(&source),
                ..text
            },
            slot,
            context,
            original: is_compared.then(|| source.into()),
            accelerator,
        }
    }

    /// Returns the translation of the message.
    pub fn written(self) -> String {
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
    pub fn remember(&mut self, translation: &dyn Fn(&str, &str) -> Option<Remembered>) {
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
