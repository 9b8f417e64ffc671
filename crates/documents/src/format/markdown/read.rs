//! Markdown: text as `pulldown-cmark` finds it; everything else stays byte for byte.

use std::sync::Arc;

use pulldown_cmark::{BrokenLink, CowStr, Event, LinkType, Options, Parser as Events, Tag, TagEnd};

use super::extensions::{Extended, extended};
use super::options::options;
use super::parser::Parser;
use crate::block::Block;
use crate::builder::{Builder, Space};
use crate::escape::{Escape, References};
use crate::format::html::attributes::is_prose;
use crate::words::{Span, has_letters, moved};

pub(in crate::format) fn parse(text: &str) -> Vec<Block> {
    let extended = extended(text);
    let events = Events::new_ext(&extended.text, options());
    let labels = events
        .reference_definitions()
        .iter()
        .map(|(label, _)| folded(label))
        .collect();
    let notes = text.lines().any(|line| {
        line.trim_start_matches(|c: char| c.is_whitespace() || c == '>')
            .starts_with("[^")
    });
    let references = Arc::new(References { labels, notes });
    let parser = Parser::new(text, &extended, references);
    let mut blocks = parser.read(events.into_offset_iter());
    for title in &extended.titles {
        blocks.extend(parts_of(text, title));
    }
    blocks.sort_by_key(|block| block.source.start);
    blocks
}

/// Returns the blocks of `text[range]`, which is read on its own.
fn parts_of(text: &str, range: &Span) -> impl Iterator<Item = Block> {
    let start = range.start;
    parse(&text[range.clone()])
        .into_iter()
        .map(move |block| Block {
            source: moved(&block.source, 0, start),
            ..block
        })
}

/// Returns the alternative texts of images in `text`, except where they name a definition, and the
/// texts of inline notes.
pub(in crate::format) fn texts(text: &str) -> Vec<(Span, Block)> {
    let extended = extended(text);
    let mut all = alternatives(text, &extended);
    for note in &extended.notes {
        let mut blocks = parts_of(text, note);
        let first = blocks.next().filter(|block| block.source == *note);
        all.extend(
            first
                .filter(|_| blocks.next().is_none())
                .map(|block| (note.clone(), block)),
        );
    }
    all.sort_by_key(|(range, _)| range.start);
    all
}

/// Returns the alternative texts of images in `text`.
fn alternatives(text: &str, extended: &Extended<'_>) -> Vec<(Span, Block)> {
    let mut all = Vec::new();
    let mut image = None;
    for (event, range) in Events::new_ext(&extended.text, options()).into_offset_iter() {
        match (event, &mut image) {
            (Event::Start(Tag::Image { link_type, .. }), _) => {
                let is_free = matches!(link_type, LinkType::Inline | LinkType::Reference);
                let start = range.start + 2;
                image = is_free.then(|| (start..start, Builder::new(Space::Keep)));
            }
            (Event::Text(part), Some((alt, builder))) => {
                alt.end = range.end;
                builder.text(&part);
            }
            (Event::End(TagEnd::Image), _) => all.extend(image.take()),
            _ => image = None,
        }
    }
    all.retain(|(alt, _)| text[alt.end..].starts_with(']') && is_prose(&text[alt.clone()]));
    let blocks = all
        .into_iter()
        .map(|(alt, builder)| (alt, builder.finish(Escape::Alternative)));
    blocks
        .filter(|(_, block)| has_letters(&block.text))
        .collect()
}

/// Checks that `text` has the blocks of `source`. The error is the position in `text` where the
/// first different block begins.
pub(in crate::format) fn has_shape_of(source: &str, text: &str) -> Result<(), usize> {
    use Tag::{Emphasis, Image, Link, Strikethrough, Strong};
    let [source, text] = [source, text].map(extended);
    let [mut old, mut new] = [&source.text, &text.text].map(|text| {
        Events::new_ext(text, options())
            .into_offset_iter()
            .filter_map(|(event, range): (Event<'_>, Span)| match event {
                Event::Start(Emphasis | Image { .. } | Link { .. } | Strikethrough | Strong) => {
                    None
                }
                Event::Start(tag) => Some((format!("{tag:?}"), range.start)),
                Event::Rule => Some(("rule".into(), range.start)),
                _ => None,
            })
    });
    loop {
        match (old.next(), new.next()) {
            (None, None) => return Ok(()),
            (Some((old, _)), Some((new, _))) if old == new => {}
            (_, other) => return Err(other.map_or(text.text.len(), |(_, at)| at)),
        }
    }
}

/// Reads a written block again with the definitions of its document. Blocks without letters are
/// included.
pub(super) fn read_again(text: &str, references: &Arc<References>) -> Vec<Block> {
    // These need no definitions.
    let notes = if references.notes {
        Options::ENABLE_OLD_FOOTNOTES
    } else {
        Options::empty()
    };
    let extended = extended(text);
    let events = Events::new_with_broken_link_callback(
        &extended.text,
        options() | notes,
        Some(|link: BrokenLink<'_>| {
            references
                .labels
                .contains(&folded(&link.reference))
                .then(|| (CowStr::from(""), CowStr::from("")))
        }),
    );
    let parser = Parser::new(text, &extended, Arc::clone(references)).with_all_blocks();
    parser.read(events.into_offset_iter())
}

/// Case-folds a label.
fn folded(label: &str) -> String {
    label.to_lowercase().to_uppercase().to_lowercase()
}
