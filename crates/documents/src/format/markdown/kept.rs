//! HTML elements in a paragraph that stay unchanged.

use std::collections::HashMap;

use pulldown_cmark::{Event, TagEnd};

use crate::format::html;
use crate::words::Span;

/// Maps the start of each such element to its end. An element that spans two blocks or crosses
/// emphasis does not count.
pub(super) fn elements(events: &[(Event<'_>, Span)]) -> HashMap<usize, usize> {
    let mut all = HashMap::new();
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
                (Some((name, true, true)), None) => open = Some((name, range.start, depth, 0)),
                (Some((name, true, _)), Some(open)) if name == open.0 => open.3 += 1,
                (Some((name, false, _)), Some(known)) if name == known.0 => match known.3 {
                    0 => {
                        all.extend((known.2 == depth).then_some((known.1, range.end)));
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

fn is_inline(tag: TagEnd) -> bool {
    use TagEnd::{Emphasis, Image, Link, Strikethrough, Strong};
    matches!(tag, Emphasis | Image | Link | Strikethrough | Strong)
}
