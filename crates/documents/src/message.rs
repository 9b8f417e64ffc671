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
use crate::words::{Span, overlaps, regex};

/// Messages in messages deeper than this stay unchanged.
pub(crate) const DEEPEST: usize = 8;

/// An apostrophe and a quoted text, whose signs mean nothing. Around messages, an apostrophe that
/// closes no quotation is one of the language; in an arm, there is the number of a plural, too.
static KEPT: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    [r"''|'[{}][^']*(?:''[^']*)*'", r"''|#|'[{}#|][^']*(?:''[^']*)*'?"].map(regex)
});

/// Adds a part of a text.
type Add<'a> = &'a dyn Fn(&mut Builder, &str);

/// Gives the atoms of `block`, which is `depth` messages deep, that are messages their arms.
pub(crate) fn find_arms(block: &mut Block, target: Option<&Categories>, depth: usize) {
    let target = target.filter(|_| depth < MULTIPLIED);
    for atom in block.atoms.iter_mut().filter(|atom| atom.node.is_none()) {
        let text = &block.text[atom.range.clone()];
        let plurals = Vec::from_iter(Plural::of_message(text));
        let into = |target| adapted(text, &plurals, target);
        atom.message = target.map_or_else(|| text.to_owned(), into);
        let message = &*atom.message;
        // An offset makes another number of it.
        let plural = plurals.first().filter(|_| !message.contains("offset"));
        let sample = |name| target?.sample(name, plural?.is_ordinal);
        let arm = |[name, range]: [Span; 2]| {
            (range.clone(), body(&message[range], Some(sample(&message[name]))))
        };
        atom.arms = arms(message).into_iter().map(arm).collect();
    }
}

/// The plurals and selects of ICU.
pub(crate) fn messages(text: &str) -> Vec<Span> {
    if !["plural", "select"].iter().any(|kind| text.contains(kind)) {
        return Vec::new();
    }
    let all = parts(text).into_iter().map(|part| part.range);
    all.filter(|range| !arms(&text[range.clone()]).is_empty()).collect()
}

/// The block of `text`: that of an `arm` of a message, whose number is shown to the model as a
/// number if one is known; else a text around messages.
pub(crate) fn body(text: &str, arm: Option<Option<&str>>) -> Block {
    let is_arm = arm.is_some();
    let sample = arm.flatten().filter(|_| !text.contains(char::is_numeric));
    // The spaces around an element are one to the model, which cannot tell on whose side it stood.
    let space = if TAG.is_match(text) { Space::Collapse } else { Space::Keep };
    let (mut builder, mut at) = (Builder::new(space), 0);
    let plain = |builder: &mut Builder, text: &str| builder.text(&text.replace("''", "'"));
    let kept = |builder: &mut Builder, raw: &str| {
        builder.atom(sample.filter(|_| raw == "#").unwrap_or(raw), raw);
    };
    let tag = |builder: &mut Builder, raw: &str| tagged(raw, builder, Builder::text);
    let message = |builder: &mut Builder, raw: &str| builder.text(raw);
    let braces = parts(text).into_iter().map(|part| part.range);
    let braces = braces.filter(|range| text[range.clone()].starts_with('{'));
    let around = if is_arm { Vec::new() } else { messages(text) };
    let all = KEPT[usize::from(is_arm)].find_iter(text).map(|found| found.range());
    let all = all.filter(|range| &text[range.clone()] != "''" && !overlaps(&around, range));
    let add: [Add<'_>; 3] = [&kept, &tag, &message];
    let mut spans: Vec<_> = all.map(|range| (range, add[0])).collect();
    spans.extend(TAG.find_iter(text).map(|found| (found.range(), add[1])));
    spans.extend(braces.map(|range| (range, add[2])));
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
    builder.finish(Escape::Message { doubles: text.contains("''"), is_arm })
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
