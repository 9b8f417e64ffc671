//! Jupyter's notebooks: their Markdown cells.

use super::message::{BrokenCatalogue, Message, Result};
use super::spelling::Spelling;
use crate::json_tree::{Value, value};

/// Reads the Markdown cells of a notebook. Version 3 has them in worksheets.
pub(super) fn read(text: &str) -> Result<Vec<Message>> {
    let root = value(text)?;
    let Some(version) = root.get("nbformat") else {
        let fault = "the file is no notebook: it has no `nbformat`; name its format with --format";
        return Err(BrokenCatalogue::at(text, 0, fault));
    };
    // The lines of older ones have no line ends.
    if matches!(&text[version.range.clone()], "1" | "2") {
        let fault = "the notebook is of version 1 or 2 of its format; \
                     `python -c \"import nbformat; nbformat.write(nbformat.read('OLD', 4), 'NEW')\"` converts it";
        return Err(BrokenCatalogue::at(text, version.range.start, fault));
    }
    let sheets = root.get("worksheets").into_iter();
    let sheets = sheets.flat_map(|sheets| &sheets.children).chain([&root]);
    let cells = sheets.filter_map(|sheet| sheet.get("cells"));
    let cells = cells.flat_map(|cells| &cells.children).zip(1..);
    let file = File {
        text,
        is_ascii: text.is_ascii() && text.contains("\\u"),
    };
    Ok(cells
        .filter_map(|(cell, number)| file.cell(cell, number))
        .collect())
}

struct File<'a> {
    text: &'a str,
    is_ascii: bool,
}

impl File<'_> {
    /// Returns the text of a Markdown cell. It is a string, or a list of its lines.
    fn cell(&self, cell: &Value, number: usize) -> Option<Message> {
        let kind = cell.get("cell_type")?.string(self.text)?;
        let source = cell.get("source").filter(|_| kind == "markdown")?;
        let named = cell.get("id").and_then(|id| id.string(self.text));
        let context = named.unwrap_or(number.to_string());
        let is_list = self.text[source.range.clone()].starts_with('[');
        let Some(first) = source.children.first().filter(|_| is_list) else {
            let string = source.string(self.text)?;
            let spelling = Spelling::Json(self.is_ascii);
            return Some(Message::text(context, source.inner(), string, spelling));
        };
        let last = source.children.last().unwrap_or(first);
        let lines = source.children.iter().map(|line| line.string(self.text));
        let lines: String = lines.collect::<Option<_>>()?;
        let spelling = Spelling::JsonLines {
            is_ascii: self.is_ascii,
            separator: self.separator(source, first),
        };
        let range = first.range.start..last.range.end;
        Some(Message::text(context, range, lines, spelling))
    }

    /// Returns the text between two lines of the list `source` with the line `first`.
    fn separator(&self, source: &Value, first: &Value) -> String {
        match source.children.get(1) {
            Some(second) => self.text[first.range.end..second.range.start].into(),
            None => [",", &self.text[source.range.start + 1..first.range.start]].concat(),
        }
    }
}
