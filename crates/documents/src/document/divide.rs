//! Splits the texts of documents into sentences.

use super::{Document, Fits};
use crate::block::{Block, State};
use crate::message;
use crate::placeables::find_atoms;
use crate::plurals::Categories;
use crate::split::{Splitting, split};
use crate::words::overlaps;

/// Splits documents of one language into sentences for a model.
pub(super) struct Divider<'a> {
    pub splitting: Splitting,
    pub language: Option<&'a str>,
    pub target: Option<&'a Categories>,
    pub fits: Fits<'a>,
}

impl Divider<'_> {
    /// Splits the texts of `document` and of its messages.
    pub fn document(&self, document: &mut Document) {
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
