//! Fields of Word, also in documents of LibreOffice: a code (`PAGE`, `MERGEFIELD Name`) and the
//! result that readers see. The beginning, separator and end of a field are points between runs,
//! which must stay in this order.

use super::item::{Item, Mark, shown};
use crate::words::Span;
use crate::xml::local;

/// Fields with a result for readers, which is translated. The results of others are computed.
const TRANSLATED_FIELDS: [&str; 4] = ["HYPERLINK", "TOC", "TOA", "INDEX"];

/// Returns whether the result of a field with this code is translated.
pub(super) fn is_translated(code: &str) -> bool {
    let name = code.split_whitespace().next().unwrap_or_default();
    TRANSLATED_FIELDS.contains(&&*name.to_ascii_uppercase())
}

/// Returns whether the point `raw` belongs to a field.
pub(super) fn is_field_part(raw: &str) -> bool {
    let name = name(raw);
    matches!(name, "fldChar" | "instrText") || name.starts_with("fieldmark-")
}

/// Returns the name of the element `raw` without its prefix.
fn name(raw: &str) -> &str {
    let end = raw.find(|c: char| c.is_whitespace() || c == '>' || c == '/');
    local(raw[..end.unwrap_or(raw.len())].trim_start_matches('<'))
}

/// An open field.
struct Field {
    /// Its first item, and the place of this item in the result.
    first: usize,
    at: usize,
    code: String,
    /// The mark of its result; `None` before the separator.
    mark: Option<usize>,
}

/// An element of the paragraph, or the paragraph itself.
struct Container {
    /// Its first item, and the place of this item in the result.
    first: usize,
    at: usize,
    fields: Vec<Field>,
    /// The marks of fields that end in it and begin before it.
    ends: Vec<usize>,
}

/// Replaces each field by a unit, or by an element around its result. A field that only begins or
/// ends here is an element up to the edge of its container, so its parts keep their order.
pub(super) struct Grouping<'a> {
    xml: &'a str,
    items: &'a [Item],
    marks: &'a mut Vec<Mark>,
    out: Vec<Item>,
    open: Vec<Container>,
}

impl<'a> Grouping<'a> {
    pub(super) fn new(xml: &'a str, items: &'a [Item], marks: &'a mut Vec<Mark>) -> Self {
        Self {
            xml,
            items,
            marks,
            out: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Returns the items with fields as units and elements.
    pub(super) fn group(mut self) -> Vec<Item> {
        self.begin(0);
        for (index, item) in self.items.iter().enumerate() {
            match item {
                Item::Open(mark) if self.is_element(*mark) => {
                    self.out.push(item.clone());
                    self.begin(index + 1);
                }
                Item::Close(mark) if self.is_element(*mark) => {
                    self.end(index);
                    self.out.push(item.clone());
                }
                Item::Point(mark, _) => self.point(index, *mark),
                _ => self.out.push(item.clone()),
            }
        }
        self.end(self.items.len());
        self.out
    }

    fn is_element(&self, mark: usize) -> bool {
        matches!(
            self.marks[mark],
            Mark::Element { .. } | Mark::Alternatives { .. }
        )
    }

    /// Begins a container at item `first`.
    fn begin(&mut self, first: usize) {
        self.open.push(Container {
            first,
            at: self.out.len(),
            fields: Vec::new(),
            ends: Vec::new(),
        });
    }

    /// Ends a container before item `index`, and the fields that begin in it.
    fn end(&mut self, index: usize) {
        let Some(container) = self.open.pop() else {
            return;
        };
        for field in container.fields.into_iter().rev() {
            match field.mark {
                Some(mark) => self.out.push(Item::Close(mark)),
                None => self.unit(field.at, field.first..index, String::new()),
            }
        }
        let opens = container.ends.into_iter().rev().map(Item::Open);
        self.out.splice(container.at..container.at, opens);
    }

    /// Adds the point `mark`, item `index`.
    fn point(&mut self, index: usize, mark: usize) {
        let Mark::Point { range, .. } = &self.marks[mark] else {
            return;
        };
        let raw = &self.xml[range.clone()];
        let Some(container) = self.open.last_mut() else {
            return;
        };
        if let Some(kind) = field_character(raw) {
            match kind {
                "begin" => container.fields.push(Field {
                    first: index,
                    at: self.out.len(),
                    code: String::new(),
                    mark: None,
                }),
                "separate" => return self.separate(index),
                _ => return self.finish(index),
            }
        } else if let Some(field) = container.fields.last_mut().filter(|it| it.mark.is_none()) {
            field.code += code(raw);
        }
        self.out.push(self.items[index].clone());
    }

    /// Begins the result of a field behind its separator, item `index`.
    fn separate(&mut self, index: usize) {
        let Some(container) = self.open.last_mut() else {
            return;
        };
        let next = self.marks.len();
        let unresolved = container.fields.last_mut().filter(|it| it.mark.is_none());
        let (first, at) = match unresolved {
            Some(field) => {
                field.mark = Some(next);
                (field.first, field.at)
            }
            None => {
                let (first, at) = (container.first, container.at);
                container.fields.push(Field {
                    first,
                    at,
                    code: "TOC".into(),
                    mark: Some(next),
                });
                (first, at)
            }
        };
        self.out.truncate(at);
        self.out.push(Item::Open(next));
        let close = 0..0;
        self.marks.push(Mark::Field {
            open: first..index + 1,
            close,
        });
    }

    /// Ends a field at item `index`.
    fn finish(&mut self, index: usize) {
        let Some(container) = self.open.last_mut() else {
            return;
        };
        let end = index..index + 1;
        let Some(field) = container.fields.pop() else {
            let mark = self.marks.len();
            self.marks.push(Mark::Field {
                open: 0..0,
                close: end,
            });
            container.ends.push(mark);
            return self.out.push(Item::Close(mark));
        };
        match field.mark {
            Some(mark) if is_translated(&field.code) => {
                if let Mark::Field { close, .. } = &mut self.marks[mark] {
                    *close = end;
                }
                self.out.push(Item::Close(mark));
            }
            mark => {
                let result = mark.map_or(self.out.len(), |_| field.at);
                let text = shown(self.xml, &self.out[result..]);
                self.unit(field.at, field.first..end.end, text);
            }
        }
    }

    /// Replaces the result from `at` by a unit of `items` that shows `text`.
    fn unit(&mut self, at: usize, items: Span, text: String) {
        self.out.truncate(at);
        self.out.push(Item::Unit(self.marks.len(), text));
        let close = 0..0;
        self.marks.push(Mark::Field { open: items, close });
    }
}

/// Returns the type of the field character `raw`: its beginning, separator or end.
fn field_character(raw: &str) -> Option<&str> {
    for (name, kind) in [
        ("start", "begin"),
        ("separator", "separate"),
        ("end", "end"),
    ] {
        let tag = self::name(raw).strip_prefix("fieldmark-");
        if tag == Some(name) {
            return Some(kind);
        }
    }
    let (_, value) = raw
        .split_once("fldCharType=")
        .filter(|_| name(raw) == "fldChar")?;
    value.get(1..)?.split(['"', '\'']).next()
}

/// Returns the text of the part `raw` of a field's code.
fn code(raw: &str) -> &str {
    let inside = raw.split_once('>').filter(|_| name(raw) == "instrText");
    inside.map_or("", |(_, text)| text.split('<').next().unwrap_or_default())
}
