//! ICU plurals and selects. Each arm is translated as a separate text, and the syntax stays.
//! Plurals get the arms of the target language.

use std::sync::LazyLock;

use burnformer_text::{apply_edits, arms, parts};
use regex::Regex;

use crate::block::{Atom, Block};
use crate::builder::{Builder, Space};
use crate::escape::Escape;
use crate::format::{TAG, tagged};
use crate::plurals::{Categories, MAX_MULTIPLIED_NESTING, Plural, adapted};
use crate::words::{Span, regex};

/// Maximum nesting of messages; deeper ones stay unchanged.
pub(crate) const MAX_DEPTH: usize = 8;

/// An escaped apostrophe or a quoted text, where characters have no special meaning. Around
/// messages, an apostrophe that closes no quotation belongs to the language. In an arm, `#` matches
/// as the number of a plural, too.
static KEPT: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [
        r"''|'[{}<>][^']*(?:''[^']*)*'",
        r"''|#|'[{}<>#|][^']*(?:''[^']*)*'?",
    ]
    .map(regex)
});

/// Finds the arms of the messages among the atoms of `block`. `depth` counts enclosing messages.
pub(crate) fn find_arms(block: &mut Block, target: Option<&Categories>, depth: usize) {
    let target = target.filter(|_| depth < MAX_MULTIPLIED_NESTING);
    for atom in block.atoms.iter_mut().filter(|atom| atom.node.is_none()) {
        let text = &block.text[atom.range.clone()];
        let plurals = Vec::from_iter(Plural::of_message(text));
        atom.message =
            target.map_or_else(|| text.to_owned(), |target| adapted(text, &plurals, target));
        let message = &*atom.message;
        // With an offset, `#` shows another number.
        let plural = plurals.first().filter(|_| !message.contains("offset"));
        let sample = |name| target?.sample(name, plural?.is_ordinal);
        atom.arms = arms(message)
            .into_iter()
            .map(|[name, range]: [Span; 2]| {
                (
                    range.clone(),
                    body(&message[range], Some(sample(&message[name]))),
                )
            })
            .collect();
    }
}

/// Returns the ranges of ICU plurals and selects.
pub(crate) fn messages(text: &str) -> Vec<Span> {
    if !["plural", "select"].iter().any(|kind| text.contains(kind)) {
        return Vec::new();
    }
    let all = parts(text).into_iter().map(|part| part.range);
    all.filter(|range| !arms(&text[range.clone()]).is_empty())
        .collect()
}

/// Replaces each character within `parts` by `x`.
pub(crate) fn masked(text: &str, parts: &[Span]) -> String {
    apply_edits(
        text,
        &parts
            .iter()
            .map(|part: &Span| (part.clone(), "x".repeat(part.len())))
            .collect::<Vec<_>>(),
    )
}

/// Returns the block for `text`: an arm of a message if `arm` is given, else a text around
/// messages. The model sees the arm's sample number, if known, in place of `#`.
pub(crate) fn body(text: &str, arm: Option<Option<&str>>) -> Block {
    let is_arm = arm.is_some();
    let sample = arm.flatten().filter(|_| !text.contains(char::is_numeric));
    // The model sees the spaces around an element as one. It cannot tell their sides apart.
    let space = if TAG.is_match(text) {
        Space::Collapse
    } else {
        Space::Keep
    };
    let mut builder = Builder::new(space);
    let mut at = 0;
    let braces = parts(text).into_iter().map(|part| part.range);
    let braces = braces.filter(|range| text[range.clone()].starts_with('{'));
    let around = if is_arm { Vec::new() } else { messages(text) };
    // An apostrophe inside a message quotes nothing after it.
    let masked = masked(text, &around);
    let kept_ranges = KEPT[usize::from(is_arm)]
        .find_iter(&masked)
        .map(|found| found.range());
    let kept_ranges = kept_ranges.filter(|range| &text[range.clone()] != "''");
    let tags = TAG.find_iter(text).map(|found| found.range());
    let mut spans: Vec<Span> = kept_ranges.chain(tags).chain(braces).collect();
    spans.sort_by_key(|range| range.start);
    for range in spans {
        if range.start < at {
            continue;
        }
        builder.text(&text[at..range.start].replace("''", "'"));
        at = range.end;
        match &text[range] {
            "#" => builder.atom(sample.unwrap_or("#"), "#"),
            raw if raw.starts_with(['#', '\'']) => builder.atom(raw, raw),
            // A message may contain tags.
            raw if raw.starts_with('{') && !raw.starts_with("{\\") => builder.text(raw),
            raw => tagged(raw, &mut builder, Builder::text),
        }
    }
    builder.text(&text[at..].replace("''", "'"));
    builder.finish(Escape::Message {
        doubles: text.contains("''"),
        is_arm,
    })
}

impl Atom {
    /// Returns the message with each arm written by `write`; `None` if no arm changes.
    pub(crate) fn written(&self, write: impl Fn(&Block, &str) -> String) -> Option<String> {
        let text = &*self.message;
        let out = apply_edits(
            text,
            &self
                .arms
                .iter()
                .map(|(range, arm): &(_, _)| (Span::clone(range), write(arm, &text[range.clone()])))
                .collect::<Vec<_>>(),
        );
        (out != text).then_some(out)
    }
}
