//! Splits the texts of documents into sentences.

use std::ops::Range;

use super::{BYTE_ORDER_MARK, Document, Fits};
use crate::block::{Block, State};
use crate::message;
use crate::placeables::find_atoms;
use crate::plurals::Categories;
use crate::split::{Splitting, split};
use crate::words::{overlaps, trim};

impl Document {
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

    /// The places of the sentences in a plain text that is divided, in bytes and in order. A
    /// paragraph with an ICU message is one place.
    pub fn sentence_places(&self) -> Vec<Range<usize>> {
        let mark_len = if self.byte_order_mark {
            BYTE_ORDER_MARK.len_utf8()
        } else {
            0
        };
        let mut places = Vec::new();
        for block in &self.blocks {
            let start = mark_len + block.source.start;
            let source = &self.source[block.source.clone()];
            let ranges: Vec<Range<usize>> = if source == block.text {
                block.segments.iter().map(|it| it.range.clone()).collect()
            } else {
                Vec::from([trim(source, 0..source.len())])
            };
            let ranges = ranges.into_iter().filter(|range| !range.is_empty());
            places.extend(ranges.map(|range| start + range.start..start + range.end));
        }
        places
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
