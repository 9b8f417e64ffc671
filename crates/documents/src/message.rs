//! Plurals and selects of ICU: each arm is translated as a separate text, and the syntax stays.
//! Plurals have the arms of the target language.

use std::sync::LazyLock;

use burnformer_glossary::{arms, changed, parts};
use regex::Regex;

use crate::block::{Atom, Block};
use crate::builder::{Builder, Space};
use crate::escape::Escape;
use crate::format::{TAG, tagged};
use crate::plurals::{Categories, MULTIPLIED, Plural, adapted};
use crate::words::{Span, regex};

/// Messages in messages deeper than this stay unchanged.
pub(crate) const DEEPEST: usize = 8;

/// The number of a plural, and a quoted text, whose signs mean nothing.
static KEPT: LazyLock<Regex> = LazyLock::new(|| regex(r"#|'[{}#|][^']*(?:''[^']*)*'?"));

/// Gives the atoms of `block`, which is `depth` messages deep, that are messages their arms.
pub(crate) fn find_arms(block: &mut Block, target: Option<&Categories>, depth: usize) {
    let target = target.filter(|_| depth < MULTIPLIED);
    for atom in block.atoms.iter_mut().filter(|atom| atom.node.is_none()) {
        let text = &block.text[atom.range.clone()];
        let into = |(target, plural): (&Categories, _)| adapted(text, &[plural], target);
        atom.message = target.zip(Plural::of_message(text)).map_or_else(|| text.to_owned(), into);
        let all = arms(&atom.message).into_iter();
        atom.arms = all.map(|[_, range]| (range.clone(), arm(&atom.message[range]))).collect();
    }
}

fn arm(text: &str) -> Block {
    // The spaces around an element are one to the model, which cannot tell on whose side it stood.
    let space = if TAG.is_match(text) { Space::Collapse } else { Space::Keep };
    let (mut builder, mut at) = (Builder::new(space), 0);
    let plain = |builder: &mut Builder, text: &str| builder.text(&text.replace("''", "'"));
    let kept: fn(&mut Builder, &str) = |builder, raw| builder.atom(raw, raw);
    let tag: fn(&mut Builder, &str) = |builder, raw| tagged(raw, builder, Builder::text);
    let message: fn(&mut Builder, &str) = |builder, raw| builder.text(raw);
    let messages = parts(text).into_iter().map(|part| (part.range, message));
    let messages = messages.filter(|(range, _)| text[range.clone()].starts_with('{'));
    let mut spans: Vec<_> = KEPT.find_iter(text).map(|found| (found.range(), kept)).collect();
    spans.extend(TAG.find_iter(text).map(|found| (found.range(), tag)));
    spans.extend(messages);
    spans.sort_by_key(|(range, _)| range.start);
    for (range, add) in spans {
        if range.start < at {
            continue;
        }
        plain(&mut builder, &text[at..range.start]);
        at = range.end;
        add(&mut builder, &text[range]);
    }
    plain(&mut builder, &text[at..]);
    builder.finish(Escape::Message { doubles: text.contains("''") })
}

impl Atom {
    /// The message with its arms as `write` writes them; `None` if none of them changes.
    pub(crate) fn written(&self, write: impl Fn(&Block, &str) -> String) -> Option<String> {
        let text = &*self.message;
        let arm = |(range, arm): &(_, _)| (Span::clone(range), write(arm, &text[range.clone()]));
        let out = changed(text, &self.arms.iter().map(arm).collect::<Vec<_>>());
        (out != text).then_some(out)
    }
}
