//! A localization that a string lacks: a copy of its source, with a slot for each text.

use std::sync::Arc;

use super::file::{File, TO_REVIEW, has_text, is_object};
use crate::catalogue::message::{Message, MessageState, Slot, is_language};
use crate::json_tree::Value;
use crate::words::Span;

/// Writes a localization.
pub(super) struct Copy<'a> {
    file: &'a File<'a>,
    key: &'a Arc<str>,
    /// The texts to translate, each with what is written before it.
    texts: Vec<Text>,
    /// What is written after the last text.
    end: String,
}

/// A text to translate.
struct Text {
    before: String,
    source: String,
    /// If true, it is one of several plural forms.
    is_plural: bool,
}

impl<'a> Copy<'a> {
    pub(super) fn new(file: &'a File<'a>, key: &'a Arc<str>) -> Self {
        Self {
            file,
            key,
            texts: Vec::new(),
            end: String::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.end += text;
    }

    /// Writes the key of the next value.
    pub(super) fn key(&mut self, key: &str) {
        let key = self.file.spelling.write(key);
        self.end += &format!("\"{key}\"{}", self.file.layout.colon);
    }

    /// Begins an object that is in `depth` others.
    pub(super) fn open(&mut self, depth: usize) {
        self.end += "{";
        self.end += &self.file.layout.line(depth + 1);
    }

    pub(super) fn close(&mut self, depth: usize) {
        self.end += &self.file.layout.line(depth);
        self.end += "}";
    }

    /// Writes a localization that is in `depth` objects: a copy of `source`, or else the text of
    /// the key. If `is_arm` is set, it is in a plural.
    pub(super) fn localization(&mut self, source: Option<&Value>, depth: usize, is_arm: bool) {
        if let Some(source) = source.filter(|source| has_text(source)) {
            return self.value(source, depth, is_arm);
        }
        let text = self.key.to_string();
        self.open(depth);
        self.key("stringUnit");
        self.unit(text, depth + 1, is_arm);
        self.close(depth);
    }

    fn value(&mut self, source: &Value, depth: usize, is_arm: bool) {
        let text = self.file.text;
        self.members(source, depth, |copy, child| {
            let unit = child.get("value").and_then(|value| value.string(text));
            match (&*child.key, unit) {
                ("stringUnit", Some(unit)) => copy.unit(unit, depth + 1, is_arm),
                ("substitutions", _) => copy.arms(child, depth + 1, is_arm),
                ("variations", _) => copy.members(child, depth + 1, |copy, kind| {
                    if kind.key == "plural" && !is_arm {
                        copy.plural(kind, depth + 2);
                    } else {
                        copy.arms(kind, depth + 2, is_arm);
                    }
                }),
                _ => copy.push(&text[child.range.clone()]),
            }
        });
    }

    fn arms(&mut self, arms: &Value, depth: usize, is_arm: bool) {
        self.members(arms, depth, |copy, arm| copy.value(arm, depth + 1, is_arm));
    }

    /// Writes `object`, which is in `depth` others, with the values that `write` writes. Another
    /// value is copied.
    fn members(&mut self, object: &Value, depth: usize, write: impl Fn(&mut Self, &Value)) {
        let text = self.file.text;
        if !is_object(text, object) {
            return self.push(&text[object.range.clone()]);
        }
        self.open(depth);
        for (index, child) in object.children.iter().enumerate() {
            self.next(index, depth + 1);
            self.key(&child.key);
            write(self, child);
        }
        self.close(depth);
    }

    /// Divides the member `index` from the one before it.
    fn next(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.end += ",";
            self.end += &self.file.layout.line(depth);
        }
    }

    /// Writes a text with its state.
    fn unit(&mut self, source: String, depth: usize, is_plural: bool) {
        self.open(depth);
        self.key("state");
        self.push(TO_REVIEW);
        self.next(1, depth + 1);
        self.key("value");
        self.push("\"");
        self.texts.push(Text {
            before: std::mem::take(&mut self.end),
            source,
            is_plural,
        });
        self.push("\"");
        self.close(depth);
    }

    /// Writes a plural with the categories of the target language.
    fn plural(&mut self, source: &Value, depth: usize) {
        let names = self.file.needed(source);
        self.open(depth);
        for (index, name) in names.iter().enumerate() {
            self.next(index, depth + 1);
            self.key(name);
            let arm = self.file.arm_for(source, name);
            self.localization(arm, depth + 1, true);
        }
        self.close(depth);
    }

    /// Returns the messages that together are written at `at`.
    pub(super) fn messages(self, at: Span) -> Vec<Message> {
        let has_words = self.texts.iter().any(|text| is_language(&text.source));
        let state = if has_words {
            MessageState::Untranslated
        } else {
            MessageState::Kept
        };
        let count = self.texts.len();
        let mut end = self.end;
        let mut messages = Vec::new();
        for (index, text) in self.texts.into_iter().enumerate() {
            let start = if index == 0 { at.start } else { at.end };
            let is_last = index + 1 == count;
            let after = if is_last {
                std::mem::take(&mut end)
            } else {
                String::new()
            };
            let slot = Slot {
                range: start..at.end,
                around: [text.before, after],
                spelling: self.file.spelling.clone(),
                marks: Vec::new(),
                group: at.start,
                is_plural: text.is_plural,
            };
            let texts = [text.source, String::new()];
            messages.push(self.file.message(self.key, texts, state, slot));
        }
        messages
    }
}
