//! HTML elements and note marks in a paragraph that stay unchanged.

use std::collections::HashMap;

use pulldown_cmark::{Event, LinkType, Tag, TagEnd};

use crate::format::html;
use crate::words::Span;

/// Maps the start of each such element or note mark to its end. An element that spans two blocks
/// or crosses emphasis does not count.
pub(super) fn elements(text: &str, events: &[(Event<'_>, Span)]) -> HashMap<usize, usize> {
    let mut all = notes(events);
    let mut depth = 0;
    // The element being closed: its name, its start, the depth there, and the number of open
    // elements of the same name inside it.
    let mut open: Option<(String, usize, usize, usize)> = None;
    for (event, range) in events {
        match event {
            Event::Start(tag) if is_inline(tag.to_end()) => depth += 1,
            Event::End(tag) if is_inline(*tag) => {
                depth -= 1;
                open = open.filter(|open| open.2 <= depth);
            }
            Event::InlineHtml(raw) => match (html::inline_role(raw), &mut open) {
                (Some((name, true, is_kept)), None) if is_kept || html::may_be_note(&name) => {
                    open = Some((name, range.start, depth, 0));
                }
                (Some((name, true, _)), Some(open)) if name == open.0 => open.3 += 1,
                (Some((name, false, _)), Some(known)) if name == known.0 => match known.3 {
                    0 => {
                        let is_kept = known.2 == depth
                            && html::is_note_or_kept(&known.0, &text[known.1..range.end]);
                        all.extend(is_kept.then_some((known.1, range.end)));
                        open = None;
                    }
                    _ => known.3 -= 1,
                },
                _ => {}
            },
            Event::Start(_) | Event::End(_) | Event::Rule | Event::HardBreak | Event::Html(_) => {
                open = None;
            }
            _ => {}
        }
    }
    all
}

/// Maps the start of each link that is a note mark, such as `[[1]](#note)`, to its end.
fn notes(events: &[(Event<'_>, Span)]) -> HashMap<usize, usize> {
    let mut all = HashMap::new();
    let mut link: Option<(usize, String)> = None;
    for (event, range) in events {
        match (event, &mut link) {
            (Event::Start(Tag::Link { link_type, .. }), _) => {
                let is_inline = *link_type == LinkType::Inline;
                link = is_inline.then(|| (range.start, String::new()));
            }
            (Event::Text(part), Some((_, content))) => content.push_str(part),
            (Event::End(TagEnd::Link), Some((start, content))) => {
                all.extend(html::is_note("a", content).then_some((*start, range.end)));
                link = None;
            }
            _ => link = None,
        }
    }
    all
}

fn is_inline(tag: TagEnd) -> bool {
    use TagEnd::{Emphasis, Image, Link, Strikethrough, Strong};
    matches!(tag, Emphasis | Image | Link | Strikethrough | Strong)
}
