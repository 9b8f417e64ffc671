//! Writes translated documents.

use burnformer_text::apply_edits;

use super::{BYTE_ORDER_MARK, Document, Entry};
use crate::block::Block;
use crate::catalogue;
use crate::format::{Format, finish_block, has_choices_of, in_language};
use crate::placeables::order_of_arguments;
use crate::sentences::layout;
use crate::words::Span;

/// Maximum number of times that the blocks of a written document are compared with its source.
const MAX_REPAIRS: usize = 8;

impl Document {
    /// Returns the indices of the text's arguments in the order of its translation; `None` if some
    /// may be in tags.
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
            out.split(self.attribute_mark)
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
}

/// Writes the messages in `block` with changed arms.
fn write_messages(block: &mut Block) {
    block.arms_mut().for_each(write_messages);
    for atom in block.atoms.iter_mut().filter(|atom| !atom.arms.is_empty()) {
        atom.written = atom.written(written);
    }
}
