//! Elements of HTML in a paragraph whose content stays as it is.

use std::collections::HashMap;
use std::ops::Range;

use pulldown_cmark::{Event, TagEnd};

use crate::format::html;

/// An element whose end is looked for.
struct Open {
    name: String,
    start: usize,
    /// How many elements of Markdown are around it, and how many of its name are in it.
    depth: usize,
    nested: usize,
}

/// The ends of such elements by their starts. An element whose tags are in two blocks, or that crosses emphasis, is none.
pub(super) fn elements(events: &[(Event<'_>, Range<usize>)]) -> HashMap<usize, usize> {
    let mut all = HashMap::new();
    let mut open: Option<Open> = None;
    let mut depth = 0;
    for (event, range) in events {
        match event {
            Event::Start(tag) if is_inline(&tag.to_end()) => depth += 1,
            Event::End(tag) if is_inline(tag) => {
                depth -= 1;
                open = open.filter(|open| open.depth <= depth);
            }
            Event::InlineHtml(raw) => match (html::inline_role(raw), &mut open) {
                (Some((name, true, true)), None) => {
                    open = Some(Open { name, start: range.start, depth, nested: 0 });
                }
                (Some((name, begins, _)), Some(known)) if name == known.name => {
                    match (begins, known.nested) {
                        (true, _) => known.nested += 1,
                        (false, 0) if known.depth == depth => {
                            all.insert(known.start, range.end);
                            open = None;
                        }
                        (false, 0) => open = None,
                        (false, _) => known.nested -= 1,
                    }
                }
                _ => {}
            },
            Event::Start(_) | Event::End(_) | Event::Rule | Event::HardBreak | Event::Html(_) => {
                open = None
            }
            _ => {}
        }
    }
    all
}

fn is_inline(tag: &TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Link | TagEnd::Image
    )
}
