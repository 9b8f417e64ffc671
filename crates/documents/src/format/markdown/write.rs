//! Writes a translated block as Markdown with the intended structure.

use burnformer_text::visible_but;
use pulldown_cmark::{Event, Parser as Events, Tag};

use super::options::options;
use super::parser::without_marks;
use super::read::read_again;
use crate::alignment::Alignment;
use crate::block::{Block, Kind};
use crate::escape::{Escape, Level, Markdown};
use crate::render::{Layout, render};

/// Maximum number of bytes in the marks that begin lines of HTML, as a multiple of the bytes of the
/// block and its translation.
const MAX_MARKS: usize = 4;

/// Returns the translated block with as little escaping as possible. Read again, it must have the
/// same text and markup. Returns `None` if it cannot be written like that.
pub(in crate::format) fn finish(
    block: &Block,
    layout: &Layout,
    markdown: &Markdown,
    breaks: &[usize],
) -> Option<String> {
    let tags = with_html_tags(block);
    let ways = [
        (block, Level::Bare, breaks),
        (block, Level::Light, breaks),
        (block, Level::Full, breaks),
        (&tags, Level::Full, breaks),
        (&tags, Level::Full, &[]),
    ];
    let with_escape = |(block, level, breaks)| {
        (
            block,
            Escape::Markdown(Markdown {
                level,
                ..markdown.clone()
            }),
            breaks,
        )
    };
    let (block, escape, breaks) = ways
        .into_iter()
        .map(with_escape)
        .find(|(block, escape, breaks)| reads_as_meant(block, layout, escape, breaks))?;
    Some(
        render(block, layout, &escape, breaks)
            .text
            .trim_matches(is_space)
            .into(),
    )
}

/// Writes emphasis as HTML where asterisks do not work: beside letters, between punctuation.
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

fn reads_as_meant(block: &Block, layout: &Layout, escape: &Escape, breaks: &[usize]) -> bool {
    let Escape::Markdown(Markdown {
        position,
        references,
        ..
    }) = escape
    else {
        return false;
    };
    let (before, newline, after) = position.around();
    let written = render(&with_newline(block, newline), layout, escape, breaks);
    let page = format!("{before}{}{after}\n", written.text.trim_matches(is_space));
    let blocks = read_again(&page, references);
    let [found] = blocks.as_slice() else {
        return false;
    };
    let is_same = matches!(&found.escape, Escape::Markdown(found) if found.position == *position);
    let around = page[..found.source.start].trim_end() == before.trim_end()
        && page[found.source.end..].trim_end() == after;
    let shown = |outline: &str| visible_but(outline, char::is_control).into_owned();
    is_same && around && shown(&outline(found)) == shown(&written.outline)
}

/// Returns `html` for use within Markdown. An empty line would end it, so none is written unless
/// `source` has some. Each line begins with the marks in `newline`, which are spaces until then.
/// Returns `source` if the result would not be the same block of HTML.
pub(in crate::format) fn html_lines(html: &str, source: &str, newline: &str) -> String {
    // In a list, an empty line of the source may have no marks.
    if html.matches('\n').count() * newline.len() > MAX_MARKS * (html.len() + source.len()) {
        return source.into();
    }
    let has_empty = source
        .trim()
        .lines()
        .any(|line: &str| line.chars().all(|c| c.is_whitespace() || c == '>'));
    let mut lines = html.split('\n');
    let mut out = lines.next().unwrap_or_default().to_string();
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_none() || has_empty || !line.trim().is_empty() {
            let marks = line.len() - line.trim_start_matches(' ').len();
            out.extend([newline, &line[marks.min(newline.len() - 1)..]]);
        }
    }
    let before = blocks(source);
    let holds = before.first() != Some(&true) || before == blocks(&out);
    if holds { out } else { source.into() }
}

/// For each block of `text`, and for a paragraph after it, whether it is HTML.
fn blocks(text: &str) -> Vec<bool> {
    Events::new_ext(&format!("{text}\n\nx"), options())
        .filter_map(|event: Event<'_>| match event {
            Event::Start(tag @ (Tag::HtmlBlock | Tag::Paragraph)) => Some(tag == Tag::HtmlBlock),
            _ => None,
        })
        .collect()
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace()
}

/// Replaces line breaks, and the quotation marks and indentation after them, by `newline`.
fn with_newline(block: &Block, newline: &str) -> Block {
    let mut block = block.clone();
    block.lines.newline = newline.into();
    let lines = |raw: &mut String| {
        if raw.contains('\n') {
            *raw = without_marks(raw, newline);
        }
    };
    for node in &mut block.nodes {
        match &mut node.kind {
            Kind::Point { raw, .. } | Kind::Atom { raw } => lines(raw),
            Kind::Element { close, .. } => lines(close),
        }
    }
    block
}

/// Returns the markup and text of a block after reading.
fn outline(block: &Block) -> String {
    let mut alignment = Alignment::default();
    alignment.target += &block.text;
    let spans = block.nodes.iter().map(|node| node.range.clone()).collect();
    let atoms = block
        .atoms
        .iter()
        .map(|atom| atom.range.clone())
        .enumerate()
        .collect();
    render(
        block,
        &Layout {
            alignment,
            spans,
            atoms,
        },
        &Escape::Plain,
        &[],
    )
    .outline
}
