//! The kinds of Office documents, and the element names in their XML.

use crate::format::is_block;

/// A kind of Office document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OfficeKind {
    /// Word: body text, headers, footers, notes and comments.
    Docx,
    /// PowerPoint: slides, their notes and diagrams.
    Pptx,
    /// Excel: texts of cells, comments and drawings.
    Xlsx,
    /// OpenDocument: texts, presentations and spreadsheets.
    OpenDocument,
    /// EPUB: electronic books.
    Epub,
}

/// The kinds in order, one a line, in tab-separated columns: the name, file extensions, the start
/// of a file name that every such archive contains, file names with text for readers (a number may
/// follow, then `.xml`) or a book's types of such files, the names of paragraphs, the names of a
/// run, its properties and its text, and the names that content types have for programs.
const TABLE: &str = include_str!("kinds.tsv");

/// What relationships and content types call the files with text of Word, PowerPoint and Excel, and
/// files that declare the language of others.
pub(super) const READ: &str = "officeDocument main header footer footnotes endnotes comments styles \
    settings glossaryDocument glossary chart chartEx chartex chartUserShapes chartshapes \
    core-properties slide notesSlide notesMaster slideMaster slideLayout handoutMaster diagramData \
    diagramDrawing sharedStrings worksheet chartsheet dialogsheet table pivotCacheDefinition \
    threadedComment threadedcomments drawing";

/// Likewise, the files with texts that are not read.
pub(super) const LEFT: &str = "package oleObject aFChunk pivotCacheDefinition";

/// Elements that stay unchanged and are not part of a sentence: formulas, phonetic guides, and the
/// numbers of charts.
pub(super) const HIDDEN: &str = "rPh m:oMath text:note-citation text:ruby-text dc:creator dc:date \
    c:numCache c:numLit cx:numDim";

/// Fields, whose texts are computed. A field is a unit of its sentence. Most are OpenDocument's.
pub(super) const UNITS: &str = "a:fld text:author-initials text:author-name text:bibliography-mark \
    text:bookmark-ref text:chapter text:character-count text:conditional-text text:creation-date \
    text:creation-time text:creator text:database-display text:database-name text:database-row-number \
    text:date text:dde-connection text:description text:editing-cycles text:editing-duration \
    text:execute-macro text:expression text:file-name text:hidden-text text:image-count \
    text:initial-creator text:keywords text:measure text:meta-field text:modification-date \
    text:modification-time text:note-ref text:object-count text:page-continuation text:page-count \
    text:page-number text:page-variable-get text:paragraph-count text:placeholder text:print-date \
    text:print-time text:printed-by text:reference-ref text:script text:sender-city \
    text:sender-company text:sender-country text:sender-email text:sender-fax text:sender-firstname \
    text:sender-initials text:sender-lastname text:sender-phone-private text:sender-phone-work \
    text:sender-position text:sender-postal-code text:sender-state-or-province text:sender-street \
    text:sender-title text:sequence text:sequence-ref text:sheet-name text:subject text:table-count \
    text:table-formula text:template-name text:text-input text:time text:title text:user-defined \
    text:user-field-get text:user-field-input text:variable-get text:variable-input \
    text:variable-set text:word-count presentation:date-time presentation:footer presentation:header";

/// Elements that are a line break or a tab.
pub(super) const BREAKS: &str = "w:br w:tab w:cr a:br text:line-break text:tab text:s br";

/// Position markers that translation invalidates.
pub(super) const VOID: &str = "w:proofErr w:lastRenderedPageBreak text:soft-page-break";

/// Returns whether `name` is one of `names`.
pub(super) fn has(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|known| known == name)
}

impl OfficeKind {
    const ALL: [Self; 5] = [
        Self::Docx,
        Self::Pptx,
        Self::Xlsx,
        Self::OpenDocument,
        Self::Epub,
    ];

    /// Returns the entry of this kind in a column of [`TABLE`].
    pub(super) fn entry(self, column: usize) -> &'static str {
        let line = TABLE.lines().nth(self as usize);
        line.and_then(|line| line.split('\t').nth(column))
            .unwrap_or_default()
    }

    /// Iterates over all file extensions, without their dots.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        Self::ALL
            .into_iter()
            .flat_map(|kind| kind.entry(1).split(' '))
    }

    /// Returns the kind of files with this extension, without its dot, in any case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|kind| has(kind.entry(1), &extension))
    }

    /// Returns whether the archive's file `name` contains text for readers, or declares its
    /// language, by its name. An object inside an OpenDocument file is a document in a folder.
    pub(super) fn has_text(self, name: &str) -> bool {
        let name = match self {
            Self::OpenDocument => name.rsplit('/').next().unwrap_or_default(),
            _ => name,
        };
        let (stem, end) = name.rsplit_once('.').unwrap_or_default();
        match self {
            Self::Epub => has("xhtml html htm opf ncx", end),
            _ => {
                end == "xml"
                    && has(
                        self.entry(3),
                        stem.trim_end_matches(|c: char| c.is_ascii_digit()),
                    )
            }
        }
    }

    /// Returns whether the element `name` is a paragraph. Books follow the rules of HTML.
    pub(super) fn is_paragraph(self, name: &str) -> bool {
        has(self.entry(4), name) || self == Self::Epub && is_block(name)
    }

    /// Returns the names of a run, its properties and its text in an element; `None` where text
    /// stands directly in paragraphs.
    pub(super) fn run(self, name: &str) -> Option<[&'static str; 3]> {
        let names = match name.split_once(':') {
            Some(("a", _)) => "a:r a:rPr a:t",
            Some(("dc" | "cp" | "c" | "cx" | "p" | "tc", _)) => "",
            _ => self.entry(5),
        };
        names.split(' ').collect::<Vec<_>>().try_into().ok()
    }
}
