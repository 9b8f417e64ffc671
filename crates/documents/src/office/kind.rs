//! The kinds of documents, and the names that their XML has for the parts of a text.

/// The kinds of office documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OfficeKind {
    /// Word: the text, headers, footers, notes and comments.
    Docx,
    /// PowerPoint: slides, their notes and diagrams.
    Pptx,
    /// Excel: the texts of cells, comments and drawings.
    Xlsx,
    /// OpenDocument: texts, presentations and tables.
    OpenDocument,
    /// Electronic books.
    Epub,
}

/// The beginnings of the names of the files with text for readers. A number may follow, then
/// `.xml`.
const DOCX: &str =
    "word/document word/header word/footer word/footnotes word/endnotes word/comments";
const PPTX: &str = "ppt/slides/slide ppt/notesSlides/notesSlide ppt/diagrams/data";
const XLSX: &str = "xl/sharedStrings xl/comments xl/worksheets/sheet xl/drawings/drawing";

/// The paragraphs of a book.
const BLOCKS: &str = "p h1 h2 h3 h4 h5 h6 li dt dd td th caption figcaption blockquote title div";

/// Elements whose text stays: what programs compute, formulas, code and the sounds of characters.
const KEPT: &str = "a:fld rPh m:oMath text:note-citation text:page-number text:page-count text:date text:time \
    text:sequence text:author-name text:ruby-text dc:creator dc:date svg:title svg:desc code kbd samp script style math";

fn has(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known == name)
}

impl OfficeKind {
    /// The extensions of files.
    pub const EXTENSIONS: [&str; 7] = ["docx", "pptx", "xlsx", "odt", "odp", "ods", "epub"];

    /// The kind of files with this extension, without its dot, in any case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        Some(match &*extension.to_ascii_lowercase() {
            "docx" => Self::Docx,
            "pptx" => Self::Pptx,
            "xlsx" => Self::Xlsx,
            "odt" | "odp" | "ods" => Self::OpenDocument,
            "epub" => Self::Epub,
            _ => return None,
        })
    }

    /// The name of the kind, and the file that every archive of it has.
    pub(super) fn main(self) -> (&'static str, &'static str) {
        match self {
            Self::Docx => ("Word", "word/document.xml"),
            Self::Pptx => ("PowerPoint", "ppt/presentation.xml"),
            Self::Xlsx => ("Excel", "xl/workbook.xml"),
            Self::OpenDocument => ("OpenDocument", "content.xml"),
            Self::Epub => ("EPUB", "META-INF/container.xml"),
        }
    }

    /// Returns whether the file `name` of an archive has text for readers.
    pub(super) fn has_text(self, name: &str) -> bool {
        let digits = |c: char| c.is_ascii_digit();
        let begins = |names| {
            name.strip_suffix(".xml").is_some_and(|name| has(names, name.trim_end_matches(digits)))
        };
        match self {
            Self::Docx => begins(DOCX),
            Self::Pptx => begins(PPTX),
            Self::Xlsx => begins(XLSX),
            Self::OpenDocument => begins("content styles"),
            Self::Epub => name.rsplit('.').next().is_some_and(|end| has("xhtml html htm", end)),
        }
    }

    /// Returns whether the element `name` is a paragraph.
    pub(super) fn is_paragraph(self, name: &str) -> bool {
        let names = match self {
            Self::Docx => "w:p",
            Self::Pptx => "a:p",
            Self::Xlsx => "si is text a:p",
            Self::OpenDocument => "text:p text:h",
            Self::Epub => BLOCKS,
        };
        has(names, name)
    }

    /// The names of a run, its properties and its text where text has runs; else text stands
    /// directly in paragraphs.
    pub(super) fn run(self, name: &str) -> Option<[&'static str; 3]> {
        match self {
            _ if name.starts_with("a:") => Some(["a:r", "a:rPr", "a:t"]),
            Self::Docx => Some(["w:r", "w:rPr", "w:t"]),
            Self::Xlsx => Some(["r", "rPr", "t"]),
            _ => None,
        }
    }
}

/// Returns whether the element `name` and its text stay as they are.
pub(super) fn is_kept(name: &str) -> bool {
    has(KEPT, name)
}

/// Returns whether the element `name` breaks a line or is a tabulator.
pub(super) fn breaks(name: &str) -> bool {
    has("w:br w:tab w:cr a:br text:line-break text:tab br", name)
}

/// Returns whether the element `name` marks a position that a translation makes void.
pub(super) fn is_void(name: &str) -> bool {
    has("w:proofErr w:lastRenderedPageBreak text:soft-page-break", name)
}
