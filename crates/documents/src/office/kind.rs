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

/// The kinds in their order, a line each, with tabs between: the name, the extensions of files, the
/// beginning of a name that every archive has, the names of the files with text for readers (a
/// number may follow, then `.xml`), the names of paragraphs, and those of a run, its properties and
/// its text.
const TABLE: &str = include_str!("kinds.tsv");

/// Elements whose text stays: what programs compute, formulas, code and the sounds of characters.
pub(super) const KEPT: &str = "a:fld rPh m:oMath text:note-citation text:page-number text:page-count text:date text:time \
    text:sequence text:author-name text:ruby-text dc:creator dc:date svg:title svg:desc code kbd samp script style math";

/// Elements that break a line or are a tabulator.
pub(super) const BREAKS: &str = "w:br w:tab w:cr a:br text:line-break text:tab br";

/// Elements that mark a position that a translation makes void.
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

    /// The entry of this kind in a column of [`TABLE`].
    pub(super) fn entry(self, column: usize) -> &'static str {
        let line = TABLE.lines().nth(self as usize);
        line.and_then(|line| line.split('\t').nth(column))
            .unwrap_or_default()
    }

    /// The extensions of files, without their dots.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        Self::ALL
            .into_iter()
            .flat_map(|kind| kind.entry(1).split(' '))
    }

    /// The kind of files with this extension, without its dot, in any case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        let extension = extension.to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|kind| has(kind.entry(1), &extension))
    }

    /// Returns whether the file `name` of an archive has text for readers, or names its language.
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

    /// The names of a run, its properties and its text where text has runs; else text stands
    /// directly in paragraphs.
    pub(super) fn run(self, name: &str) -> Option<[&'static str; 3]> {
        let names = if name.starts_with("a:") {
            "a:r a:rPr a:t"
        } else {
            self.entry(5)
        };
        names.split(' ').collect::<Vec<_>>().try_into().ok()
    }
}
