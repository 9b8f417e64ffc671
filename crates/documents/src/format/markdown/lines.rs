//! Whole lines of Markdown that CommonMark does not know.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::words::{Span, covered, has_letters, regex, trim};

/// A text with hidden lines.
pub(super) struct Lines<'a> {
    pub(super) text: Cow<'a, str>,
    /// The texts in hidden lines.
    pub(super) titles: Vec<Span>,
}

/// A line that begins or ends a container: `:::`, and a name, attributes and a title.
static CONTAINER: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^[ \t>]*:{3,}[ \t]*(?:\{[^{}]*\}|[\w.+-]+(?:\[([^\[\]]*)\])?)?(?:\{[^{}]*\})?[ \t]*(.*?)[ \t]*:*\s*$",
    )
});
/// A line before the indented text of an admonition or a tab: `!!! note "Title"`.
static ADMONITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^([ \t]*)(?:!!!|\?\?\?\+?)[ \t]+[\w-]+(?:[ \t]+[\w-]+)*(?:[ \t]+"(.*)")?\s*$|^([ \t]*)===[!+]*[ \t]+"(.*)"\s*$"#,
    )
});
/// The definition of an abbreviation.
static ABBREVIATION: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[ \t]*\*\[[^\[\]]+\]:[ \t]*(.*?)\s*$"));
/// The beginning of MDX's statements, which end at an empty line.
static STATEMENT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^(?:import[ \t]+(?:[\w*{}$ \t,]+[ \t]from[ \t]+)?['"][^'"]+['"];?\s*$|import[ \t]*\{\s*$|export[ \t]+(?:(?:const|let|var|async|function|class)[ \t]|default[ \t]*(?:function|class|async|[({\[]|[\w$.]+;?\s*$)|[{*]))"#,
    )
});
/// A line of template tags, attributes, a table of contents or a TeX command.
static ALONE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^[ \t>]*(?:(?:\{%.*%\}|\{\{[<%].*[>%]\}\}|\{:[^{}]*\}|\{[#.][^{}]*\}|\{/\*.*\*/\})|\[TOC\]|\[\[_?[Tt][Oo][Cc]_?\]\]|\\(?:newpage|pagebreak|clearpage|tableofcontents|maketitle|appendix)(?:\[[^\[\]]*\])?)[ \t]*\s*$",
    )
});
/// The beginning of a LaTeX environment, or of a formula on lines of its own.
static ENVIRONMENT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^[ \t>]*(?:\\begin\{([A-Za-z]+\*?)\}|(\\\[)\s*$)"));
/// The beginning of a JSX tag.
static JSX: LazyLock<Regex> = LazyLock::new(|| regex(r"^[ \t]*<[A-Z][\w.]*(?:[\s/>]|$)"));
/// The fence of a block of code.
static FENCE: LazyLock<Regex> = LazyLock::new(|| regex(r"^[ \t>]*(?:(`{3,})[^`]*$|(~{3,}))"));

/// Signs without which a text has none of these lines.
const SIGNS: [&str; 13] = [
    ":::", "!!!", "???", "=== \"", "*[", "import", "export", "{%", "{{", "{:", "\\", "[", "{",
];

/// Returns `text` with its lines that CommonMark does not know hidden by spaces.
pub(super) fn hidden(text: &str) -> Lines<'_> {
    let mut reader = Reader {
        text,
        lines: ranges(text),
        ..Reader::default()
    };
    if SIGNS.iter().any(|sign| text.contains(sign)) {
        let mut line = 0;
        while line < reader.lines.len() {
            line = reader.line(line);
        }
    }
    let text = if reader.hidden.is_empty() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(reader.written())
    };
    Lines {
        text,
        titles: reader.titles,
    }
}

/// Returns the end of the JSX tag or comment in braces with which `text` begins; `None` if it is
/// not closed.
fn end_of_tag(text: &str) -> Option<usize> {
    let is_comment = text.trim_start().starts_with('{');
    let closing = if is_comment { '}' } else { '>' };
    let mut depth = 0usize;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => continue,
            (None, '"' | '\'' | '`') if !is_comment => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 && quote.is_none() && c == closing {
            return Some(at + 1);
        }
    }
    None
}

/// Returns the ranges of the lines of `text`, without their ends.
fn ranges(text: &str) -> Vec<Span> {
    let mut at = 0;
    text.split_inclusive('\n')
        .map(|line| {
            let start = at;
            at += line.len();
            start..start + line.trim_end_matches(['\n', '\r']).len()
        })
        .collect()
}

#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    lines: Vec<Span>,
    /// The ranges to hide, sorted.
    hidden: Vec<Span>,
    /// The offsets of list marks in place of the signs of admonitions, and whether an empty line
    /// follows.
    items: Vec<(usize, bool)>,
    titles: Vec<Span>,
    /// The fence of the open block of code.
    fence: Option<String>,
    /// Environments without an end in the rest of the file.
    unclosed: HashSet<String>,
    /// The line behind the last JSX tag that was looked at.
    behind_tag: usize,
}

impl Reader<'_> {
    /// Reads line `number`, and returns the next line to read.
    fn line(&mut self, number: usize) -> usize {
        let range = self.lines[number].clone();
        let line = &self.text[range.clone()];
        if self.is_code(line) {
            return number + 1;
        }
        let last = self.last_hidden(number, line);
        if let Some(last) = last {
            self.hide(number..last + 1);
            return last + 1;
        }
        if let Some(found) = CONTAINER.captures(line) {
            let title = found.get(1).filter(|it| !it.is_empty()).or(found.get(2));
            self.add_title(range.start, title);
            self.hide(number..number + 1);
        } else if let Some(found) = ABBREVIATION.captures(line) {
            self.add_title(range.start, found.get(1));
            self.hide(number..number + 1);
        } else if let Some(found) = ADMONITION.captures(line) {
            let indent = found.get(1).or(found.get(3)).map_or(0, |it| it.len());
            if self.is_indented_after(number, indent) {
                self.add_title(range.start, found.get(2).or(found.get(4)));
                let is_empty = self.is_empty(number + 1);
                self.items.push((range.start + indent, is_empty));
                self.hide(number..number + 1);
            }
        }
        number + 1
    }

    /// Returns whether `line` is in a block of code, or its fence.
    fn is_code(&mut self, line: &str) -> bool {
        let fence = FENCE.captures(line);
        let fence = fence.and_then(|found| found.get(1).or(found.get(2)));
        let fence = fence.map(|fence| fence.as_str().to_owned());
        match (&self.fence, fence) {
            (None, None) => false,
            (None, fence) => {
                self.fence = fence;
                true
            }
            (Some(open), Some(fence)) if fence.starts_with(&**open) => {
                self.fence = None;
                true
            }
            (Some(_), _) => true,
        }
    }

    /// Returns the last of the lines without text of their own that begin at `number`; `None` if
    /// this line has text.
    fn last_hidden(&mut self, number: usize, line: &str) -> Option<usize> {
        if ALONE.is_match(line) {
            return Some(number);
        }
        let starts_paragraph = number == 0 || self.is_empty(number - 1);
        if STATEMENT.is_match(line) {
            let is_statement = starts_paragraph || self.is_hidden(number - 1);
            return is_statement.then(|| self.last_of_paragraph(number));
        }
        if let Some(found) = ENVIRONMENT.captures(line) {
            let end = match found.get(1) {
                Some(name) => format!("\\end{{{}}}", name.as_str()),
                None => "\\]".to_owned(),
            };
            return self.last_of_environment(number, end);
        }
        let may_be_tag = JSX.is_match(line) || line.trim_start().starts_with("{/*");
        if may_be_tag && number >= self.behind_tag {
            return self.last_of_tag(number);
        }
        None
    }

    /// Returns the first line from `number` on that has `end`.
    fn last_of_environment(&mut self, number: usize, end: String) -> Option<usize> {
        if self.unclosed.contains(&end) {
            return None;
        }
        let mut rest = number..self.lines.len();
        let last = rest.find(|&it| self.text[self.lines[it].clone()].contains(&end));
        if last.is_none() {
            self.unclosed.insert(end);
        }
        last
    }

    /// Returns the last line of the JSX tag or comment that begins at line `number`. Tags without
    /// braces are HTML, and text behind a tag is translated.
    fn last_of_tag(&mut self, number: usize) -> Option<usize> {
        let last = self.last_of_paragraph(number);
        let text = &self.text[self.lines[number].start..self.lines[last].end];
        let end = end_of_tag(text);
        let lines = text[..end.unwrap_or(text.len())].matches('\n').count();
        self.behind_tag = number + lines + 1;
        let end = end?;
        let has_braces = text[..end].contains('{');
        let rest = text[end..].lines().next().unwrap_or_default();
        (has_braces && rest.trim().is_empty()).then_some(number + lines)
    }

    fn is_empty(&self, number: usize) -> bool {
        self.text[self.lines[number].clone()].trim().is_empty()
    }

    fn is_hidden(&self, number: usize) -> bool {
        let last = self.hidden.last();
        last.is_some_and(|last| last.end == self.lines[number].end)
    }

    /// Returns the last line before an empty one, from `number` on.
    fn last_of_paragraph(&self, number: usize) -> usize {
        let mut rest = number + 1..self.lines.len();
        rest.find(|&it| self.is_empty(it))
            .unwrap_or(self.lines.len())
            - 1
    }

    /// Returns whether the next line with text is indented more than `indent`.
    fn is_indented_after(&self, number: usize, indent: usize) -> bool {
        let next = (number + 1..self.lines.len()).find(|&it| !self.is_empty(it));
        next.is_some_and(|next| {
            let line = &self.text[self.lines[next].clone()];
            let space = &line[..line.len() - line.trim_start().len()];
            space.len() >= indent + 4 || space[indent.min(space.len())..].contains('\t')
        })
    }

    fn add_title(&mut self, start: usize, title: Option<regex::Match<'_>>) {
        let Some(title) = title else { return };
        let range = trim(self.text, start + title.start()..start + title.end());
        if has_letters(&self.text[range.clone()]) {
            self.titles.push(range);
        }
    }

    /// Hides the lines `numbers`, except for marks of quotations before them.
    fn hide(&mut self, numbers: Span) {
        for line in &self.lines[numbers] {
            let text = &self.text[line.clone()];
            let marks = text.len() - text.trim_start_matches([' ', '\t', '>']).len();
            self.hidden.push(line.start + marks..line.end);
        }
    }

    /// Returns the text with spaces in place of what is hidden.
    fn written(&self) -> String {
        let out = covered(self.text, self.hidden.iter(), " ");
        let mut bytes = out.into_bytes();
        for &(item, is_empty) in &self.items {
            bytes[item] = b'-';
            // An item that begins with an empty line has no further lines.
            if is_empty {
                bytes[item + 2] = b',';
            }
        }
        String::from_utf8(bytes).expect("spaces and ASCII signs in place of whole lines")
    }
}
