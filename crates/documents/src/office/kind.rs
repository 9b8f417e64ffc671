//! The kinds of Office documents, and the element names in their XML.

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
/// follow, then `.xml`), the names of paragraphs, and the names of a run, its properties and its
/// text.
const TABLE: &str = include_str!("kinds.tsv");

/// Elements that stay unchanged: computed text, formulas, code and phonetic guides.
pub(super) const KEPT: &str = "a:fld rPh m:oMath text:note-citation text:page-number text:page-count text:date text:time \
    text:sequence text:author-name text:ruby-text dc:creator dc:date svg:title svg:desc code kbd samp script style math";

/// Elements that are a line break or a tab.
pub(super) const BREAKS: &str = "w:br w:tab w:cr a:br text:line-break text:tab br";

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
    /// language.
    pub(super) fn has_text(self, name: &str) -> bool {
        let (stem, end) = name.rsplit_once('.').unwrap_or_default();
        match self {
            Self::Epub => has("xhtml html htm opf", end),
            _ => {
                end == "xml"
                    && has(
                        self.entry(3),
                        stem.trim_end_matches(|c: char| c.is_ascii_digit()),
                    )
            }
        }
    }

    /// Returns whether the element `name` is a paragraph.
    pub(super) fn is_paragraph(self, name: &str) -> bool {
        has(self.entry(4), name)
    }

    /// Returns the names of a run, its properties and its text; `None` where text stands directly
    /// in paragraphs.
    pub(super) fn run(self, name: &str) -> Option<[&'static str; 3]> {
        let names = if name.starts_with("a:") {
            "a:r a:rPr a:t"
        } else {
            self.entry(5)
        };
        names.split(' ').collect::<Vec<_>>().try_into().ok()
    }
}
