//! The white space of a string catalogue, and the places of new members.

use crate::json_tree::Value;
use crate::words::Span;

/// How the file writes its objects.
#[derive(Clone, Copy)]
pub(super) struct Layout<'a> {
    /// The line end; empty if the file has one line.
    newline: &'a str,
    /// The indentation of the members of the file.
    step: &'a str,
    /// The text between a key and its value.
    pub(super) colon: &'a str,
}

impl<'a> Layout<'a> {
    /// Returns the layout of the file `text` with the object `root` and its member `strings`.
    pub(super) fn of(text: &'a str, root: &Value, strings: &Value) -> Self {
        let first = root.children.first().map_or(0, |first| first.start);
        let space = &text[root.range.start + 1..first.max(root.range.start + 1)];
        let step = &space[space.rfind('\n').map_or(space.len(), |at| at + 1)..];
        let newline = match space {
            space if space.contains("\r\n") => "\r\n",
            space if space.contains('\n') => "\n",
            _ => "",
        };
        let between = &text[strings.start..strings.range.start];
        let colon = &between[between.rfind('"').map_or(0, |at| at + 1)..];
        Self {
            newline,
            step,
            colon,
        }
    }

    /// Returns a line end and the indentation of a value in `depth` others.
    pub(super) fn line(&self, depth: usize) -> String {
        if self.newline.is_empty() {
            String::new()
        } else {
            self.newline.to_owned() + &self.step.repeat(depth)
        }
    }

    /// Returns the number of objects around the members of `object`.
    pub(super) fn depth(&self, text: &str, object: &Value) -> usize {
        let before = &text[..object.start];
        let line = &before[before.rfind('\n').map_or(0, |at| at + 1)..];
        let width = line.len() - line.trim_start().len();
        width.checked_div(self.step.len()).unwrap_or_default()
    }

    /// Returns where the member `key` is inserted into `object`, at the indentation `depth`, and
    /// what is written before and after it. Members are in the order of their keys, as Xcode writes
    /// them.
    pub(super) fn place(&self, object: &Value, key: &str, depth: usize) -> (Span, [String; 2]) {
        let next = object.children.iter().find(|child| &*child.key > key);
        let line = self.line(depth);
        match (next, object.children.last()) {
            (Some(next), _) => (next.start..next.start, [String::new(), format!(",{line}")]),
            (None, Some(last)) => {
                let end = last.range.end;
                (end..end, [format!(",{line}"), String::new()])
            }
            (None, None) => (object.inner(), [line, self.line(depth - 1)]),
        }
    }
}
