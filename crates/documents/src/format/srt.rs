//! SubRip and WebVTT: numbers and times stay unchanged, and every subtitle is a block.

use std::sync::LazyLock;

use regex::Regex;

use super::blocks::Blocks;
use super::html::{decode, entities as entities_of};
use super::speech;
use crate::block::{Block, Lines};
use crate::builder::{Builder, Space};
use crate::escape::{Entities, Escape};
use crate::words::{Span, moved, regex};

static TIMES: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[\s\p{Cf}]*(?:\d+:)?\d+:\d+(?:[.,]\d+)?\s*-->\s*\d+:\d+"));
/// Tags of HTML, WebVTT (`<c.red>`, `<00:01.000>`) and SSA. The second group is the name of an HTML
/// or WebVTT tag. MicroDVD's codes (`{y:i}`) are met in SubRip.
pub(crate) static TAG: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"<(/?)([A-Za-z][\w:-]*|\d+)(?:[\s.][^<>]*)?/?>|<\d[\d:.]*>|\{\\[^{}]*\}|\{[CcFfHoPSsYy]:[^{}\n]{1,60}\}",
    )
});
/// A line and its end, which may be a lone carriage return.
static LINE: LazyLock<Regex> = LazyLock::new(|| regex(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+"));
/// The dash before the words of a speaker.
static SPEAKER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:<[^<>]*>|\{\\[^{}]*\}|\p{Cf})*[-–—‐]\s*"));

/// Returns whether `line` is the times of a subtitle or the beginning of a WebVTT file.
pub(super) fn is_known(line: &str) -> bool {
    line.starts_with("WEBVTT") || TIMES.is_match(line)
}

pub(super) fn parse(text: &str) -> Vec<Block> {
    let lines: Vec<Span> = LINE.find_iter(text).map(|line| line.range()).collect();
    let times: Vec<bool> = lines
        .iter()
        .map(|line| TIMES.is_match(&text[line.clone()]))
        .collect();
    let is_time = |line: usize| times.get(line).is_some_and(|&is_time| is_time);
    let is_blank = |line: usize| text[lines[line].clone()].trim().is_empty();
    // In WebVTT, an empty line ends a cue, and notes and cue names follow. In SubRip, a subtitle
    // may contain an empty line.
    let webvtt = text.starts_with("WEBVTT");
    let escape = if webvtt {
        Escape::Cue(entities(text))
    } else {
        Escape::Srt
    };
    let is_text = |line: usize| {
        let number = text[lines[line].clone()]
            .trim()
            .bytes()
            .all(|c| c.is_ascii_digit());
        !(is_blank(line) || is_time(line) || number && is_time(line + 1))
    };
    let mut blocks = Blocks::default();
    let mut line = 0;
    let mut in_cue = false;
    while line < lines.len() {
        in_cue = is_time(line) || in_cue && !(webvtt && is_blank(line));
        let first = line;
        while in_cue && line < lines.len() && is_text(line) {
            line += 1;
        }
        if first < line {
            subtitle(text, &lines[first..line], &escape, &mut blocks);
        } else {
            line += 1;
        }
    }
    blocks.all
}

/// Returns how the WebVTT file `text` writes special characters.
fn entities(text: &str) -> Entities {
    let mut all = Vec::new();
    let mut at = 0;
    for tag in TAG.find_iter(text) {
        all.push(&text[at..tag.start()]);
        at = tag.end();
    }
    all.push(&text[at..]);
    // The arrows of times are no text.
    let texts = all.into_iter().flat_map(|text| text.split("-->"));
    entities_of(texts)
}

/// Returns the lines of a subtitle that belong together. In a dialogue, these are the lines of each
/// speaker.
pub(super) fn speeches<'a>(text: &str, lines: &'a [Span]) -> Vec<&'a [Span]> {
    let line = |number: usize| text[lines[number].clone()].trim_end();
    let speaks = |number: usize| SPEAKER.is_match(line(number));
    let several = (0..lines.len()).filter(|&number| speaks(number)).count() > 1;
    // A single dash may be punctuation within a sentence.
    let ends = |number: usize| !line(number).ends_with(|c: char| c.is_alphanumeric() || c == ',');
    let mut starts: Vec<usize> = (1..lines.len())
        .filter(|number: &usize| speaks(*number) && (several || ends(number - 1)))
        .collect();
    starts.insert(0, 0);
    starts.push(lines.len());
    let parts = starts.windows(2).map(|part| &lines[part[0]..part[1]]);
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns the length of the dash before a speaker's words, and of the tags before it.
pub(super) fn dash(line: &str) -> usize {
    SPEAKER.find(line).map_or(0, |found| found.end())
}

/// Adds the lines of one subtitle.
fn subtitle(text: &str, lines: &[Span], escape: &Escape, blocks: &mut Blocks) {
    for lines in speeches(text, lines) {
        let first = lines[0].start;
        let last = lines[lines.len() - 1].end;
        let end = first + text[first..last].trim_end().len();
        for part in speech::parts(&text[first..end]) {
            let source = moved(&part, 0, first);
            let inside = lines.iter().map(|line| {
                let start = line.start.max(source.start);
                start..line.end.min(source.end).max(start)
            });
            let lines: Vec<Span> = inside.filter(|line| !line.is_empty()).collect();
            if !lines.is_empty() {
                let block = block(text, &lines, escape);
                blocks.add(Block { source, ..block });
            }
        }
    }
}

fn block(text: &str, lines: &[Span], escape: &Escape) -> Block {
    let mut builder = Builder::new(Space::Keep);
    let mut breaks = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        if number > 0 {
            breaks.push(builder.line_break());
        }
        let line = if number + 1 == lines.len() {
            text[line.clone()].trim_end()
        } else {
            text[line.clone()].trim_end_matches(['\r', '\n'])
        };
        let dash = if number == 0 { dash(line) } else { 0 };
        tagged(&line[..dash], &mut builder, Builder::point);
        tagged(&line[dash..], &mut builder, |builder, text| match escape {
            Escape::Cue(_) => builder.text(&decode(text)),
            _ => builder.text(text),
        });
    }
    let first = &text[lines[0].clone()];
    let newline = first[first.trim_end_matches(['\r', '\n']).len()..].into();
    Block {
        lines: Lines { breaks, newline },
        ..builder.finish(escape.clone())
    }
}

/// Adds `line`: tags as markup, the rest by `other`.
pub(crate) fn tagged(line: &str, builder: &mut Builder, other: impl Fn(&mut Builder, &str)) {
    let mut at = 0;
    let rest = |builder: &mut Builder, text: &str| {
        if !text.is_empty() {
            other(builder, text);
        }
    };
    for found in TAG.captures_iter(line) {
        let whole = found.get(0).map_or(0..0, |tag| tag.range());
        rest(builder, &line[at..whole.start]);
        at = whole.end;
        let name = found.get(2).map(|name| name.as_str().to_ascii_lowercase());
        match name {
            Some(_) if found[0].ends_with("/>") => builder.point(&found[0]),
            Some(name) if found[1].is_empty() => builder.open(&name, &found[0]),
            Some(name) => builder.close(&name, &found[0], None),
            None => builder.point(&found[0]),
        }
    }
    rest(builder, &line[at..]);
}
