//! A translated block as Markdown that reads as it is meant.

use pulldown_cmark::{Event, Options, Parser as Events, Tag};

use crate::block::{Block, Kind};
use crate::escape::{Escape, Level, Markdown, Position};
use crate::render::{Layout, render};

/// The Markdown that is read and written.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
}

/// The translated block, escaped as little as possible: read again, it must be the same text with the same markup.
pub(in crate::format) fn finish(
    block: &Block,
    layout: &Layout,
    light: Markdown,
    breaks: &[usize],
) -> String {
    let full = Markdown { level: Level::Full, ..light };
    let tags = with_html_tags(block);
    let ways = [(block, light), (block, full), (&tags, full)];
    let fits =
        |(block, escape): &&(&Block, Markdown)| reads_as_meant(block, layout, *escape, breaks);
    let (block, escape) = ways.iter().find(fits).unwrap_or(&ways[2]);
    render(block, layout, &Escape::Markdown(*escape), breaks)
}

/// Emphasis as HTML, for places where asterisks are none: beside letters, between punctuation.
fn with_html_tags(block: &Block) -> Block {
    let mut block = block.clone();
    for node in &mut block.nodes {
        if let Kind::Element { open, close, .. } = &mut node.kind {
            let name = match open.as_str() {
                "*" | "_" => "em",
                "**" | "__" => "strong",
                "~" | "~~" => "del",
                _ => continue,
            };
            (*open, *close) = (format!("<{name}>"), format!("</{name}>"));
        }
    }
    block
}

/// Takes the place of text that is not read again.
const PLACEHOLDER: char = '\u{e000}';

fn reads_as_meant(block: &Block, layout: &Layout, escape: Markdown, breaks: &[usize]) -> bool {
    let mut plain = block.clone();
    plain.lines.newline = "\n".into();
    for node in &mut plain.nodes {
        match &mut node.kind {
            Kind::Point { raw, .. } | Kind::Atom { raw } => *raw = PLACEHOLDER.into(),
            Kind::Element { open, close, close_if_changed } if open == "[" => {
                (*close, *close_if_changed) = ("](x)".into(), None);
            }
            Kind::Element { .. } => {}
        }
    }
    let written = render(&plain, layout, &Escape::Markdown(escape), breaks);
    let (line, headings) = match escape.place {
        Position::Paragraph => (written, 0),
        // Only at the beginning of a paragraph can a number begin a list.
        Position::Heading | Position::TableCell => (format!("# {written}"), 1),
    };
    let (text, elements) = read(&line);
    let links = |kind: &Kind| matches!(kind, Kind::Element { open, .. } if !open.starts_with('<'));
    let expected = plain.nodes.iter().filter(|node| links(&node.kind)).count();
    // Asterisks around nothing are text, or belong to the next ones.
    let empty = plain.nodes.iter().zip(&layout.places).any(|(node, place)| {
        place.is_empty()
            && matches!(&node.kind, Kind::Element { open, .. } if "*_~".contains(&open[..1]))
    });
    !empty && elements == expected + headings && text == words(&meant(block, layout))
}

/// The translation without the atoms that are written in another way.
fn meant(block: &Block, layout: &Layout) -> String {
    let mut target = layout.alignment.target.clone();
    for (atom, place) in layout.atoms.iter().rev() {
        if block.atoms[*atom].node.is_some() {
            target.replace_range(place.clone(), " ");
        }
    }
    target
}

/// `text` without white space and placeholders.
fn words(text: &str) -> String {
    text.chars().filter(|&c| !c.is_whitespace() && c != PLACEHOLDER).collect()
}

/// The text of a piece of Markdown and the number of its elements; a list, a heading and the like count too.
fn read(markdown: &str) -> (String, usize) {
    let mut text = String::new();
    let mut elements = 0;
    for event in Events::new_ext(markdown, options()) {
        match event {
            Event::Text(part) => text.push_str(&part),
            Event::Start(Tag::Paragraph)
            | Event::End(_)
            | Event::InlineHtml(_)
            | Event::SoftBreak => {}
            _ => elements += 1,
        }
    }
    (words(&text), elements)
}
