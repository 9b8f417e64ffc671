//! Reads the files of an archive.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Cursor;

use burnformer_files::archive::{Price, open, price, unpack};
use zip::result::{ZipError, ZipResult};

use super::archive::{Archive, name};
use super::item::Paragraph;
use super::kind::OfficeKind;
use super::named;
use super::paragraph::paragraphs;
use super::parts::Parts;
use super::styles::Styles;
use super::tree::Shared;
use crate::encoding::{BrokenFile, Charset, binary};
use crate::format::{Format, untranslated};

/// Limits on the bytes of XML and the number of files in a document.
const LIMIT: Price = Price {
    entries: 10_000,
    unpacked: 64 << 20,
};

/// A file of the archive with text.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// The index of the file in the archive.
    pub(super) index: usize,
    pub(super) xml: String,
    pub(super) charset: Charset,
    pub(super) paragraphs: Vec<Paragraph>,
}

/// Reads the files of a document.
pub(super) struct Reader {
    kind: OfficeKind,
    /// The styles of a folder's files.
    styles: HashMap<String, Styles>,
    /// Texts of cells that formulas and tables name.
    named: HashSet<String>,
    /// The kinds of texts that stay in the source language.
    untranslated: BTreeSet<&'static str>,
}

impl Reader {
    pub(super) fn new(kind: OfficeKind) -> Self {
        Self {
            kind,
            styles: HashMap::new(),
            named: HashSet::new(),
            untranslated: BTreeSet::new(),
        }
    }

    /// Returns the files of `archive` with text, and the kinds of texts that stay.
    ///
    /// # Errors
    /// The errors of [`Office::read`](super::Office::read).
    pub(super) fn read(
        mut self,
        archive: &[u8],
    ) -> Result<(Vec<Part>, BTreeSet<&'static str>), BrokenFile> {
        let (mut zip, files, _) = opened(archive, self.kind)?;
        let mut parts = Vec::new();
        for index in 0..zip.len() {
            let name = name(&zip, index).map_err(broken)?;
            self.untranslated.extend(files.left(&name).map(title_of));
            if !files.has_text(&name) {
                continue;
            }
            let file = zip.by_index(index).map_err(broken)?;
            let mut bytes = Vec::new();
            unpack(file, &mut bytes).map_err(broken)?;
            if files.is_picture(&name) {
                self.untranslated
                    .extend(untranslated(&String::from_utf8_lossy(&bytes)));
                continue;
            }
            let part =
                Part::read(index, bytes, self.kind).map_err(|fault| in_file(&name, fault))?;
            self.look(&name, &part.xml);
            if self.kind != OfficeKind::Xlsx || !is_without_text(&part.xml) {
                parts.push((name, part));
            }
        }
        let none = Styles::default();
        for (name, part) in &mut parts {
            let shared = Shared {
                styles: self.styles.get(folder(name)).unwrap_or(&none),
                named: &self.named,
            };
            let paragraphs = paragraphs(&part.xml, self.kind, &shared);
            part.paragraphs = paragraphs.map_err(|fault| in_file(name, fault))?;
        }
        let parts = parts.into_iter().map(|(_, part)| part).collect();
        Ok((parts, self.untranslated))
    }

    /// Keeps what other files need of the file `name` with the text `xml`, and what stays of it.
    fn look(&mut self, name: &str, xml: &str) {
        match self.kind {
            OfficeKind::Xlsx => {
                named::add(xml, &mut self.named);
                let formulas = named::has_words(xml).then_some("texts in formulas");
                let sheets = named::has_sheet_names(xml).then_some("names of sheets");
                let names = named::has_names(xml).then_some("names of columns and filters");
                self.untranslated
                    .extend([formulas, sheets, names].into_iter().flatten());
            }
            OfficeKind::Epub => self.untranslated.extend(untranslated(xml)),
            _ => {
                let styles = Styles::shared(xml);
                let styles = styles.map(|styles| (folder(name).to_owned(), styles));
                self.styles.extend(styles);
            }
        }
    }
}

/// Returns a title for what a relationship or a list of files calls a file.
fn title_of(role: &str) -> &'static str {
    match role {
        "package" | "oleObject" => "embedded documents",
        "aFChunk" => "imported documents",
        _ => "tables that Excel computes",
    }
}

impl Part {
    /// Reads `bytes`, file `index`, without its paragraphs.
    fn read(index: usize, bytes: Vec<u8>, kind: OfficeKind) -> Result<Self, String> {
        let (xml, charset) = Charset::decode(&bytes, Format::Android)
            .map_err(|_| "the text may be encrypted; save it without a password".to_string())?;
        drop(bytes);
        if kind != OfficeKind::Epub && xml.contains("<!ENTITY") {
            return Err(
                "the file defines entities, which no office program writes; save the document again"
                    .into(),
            );
        }
        Ok(Self {
            index,
            xml,
            charset,
            paragraphs: Vec::new(),
        })
    }
}

/// Returns whether a file of a workbook has no text: a sheet with all its texts in another file, or
/// the cache of a pivot table.
fn is_without_text(xml: &str) -> bool {
    let texts = ["is", "headerFooter", "dataValidation", "hyperlink"];
    has_element(xml, "pivotCacheDefinition")
        || has_element(xml, "worksheet") && !texts.iter().any(|name| has_element(xml, name))
}

/// Returns whether `xml` has an element with a local name that begins with `name`.
fn has_element(xml: &str, name: &str) -> bool {
    xml.contains(&format!("<{name}")) || xml.contains(&format!(":{name}"))
}

/// Opens the archive `bytes` and returns it with its files that have text, and its price.
pub(super) fn opened(
    bytes: &[u8],
    kind: OfficeKind,
) -> Result<(Archive<'_>, Parts, Price), BrokenFile> {
    if let Some(fault) = binary(bytes).filter(|_| !bytes.starts_with(b"PK")) {
        return Err(BrokenFile(fault.into()));
    }
    let mut zip = open(Cursor::new(bytes)).map_err(broken)?;
    let parts = Parts::of(&mut zip, kind);
    let [program, main] = [0, 2].map(|column| kind.entry(column));
    if !parts.has_main
        && !zip
            .file_names()
            .any(|name: ZipResult<_>| name.is_ok_and(|name: Cow<'_, str>| name.starts_with(main)))
    {
        let fault = format!("the archive is no {program} document; rename it by what it is");
        return Err(BrokenFile(fault));
    }
    let price = price(&zip, |name| parts.has_text(name)).map_err(broken)?;
    if price.is_within(LIMIT) {
        return Ok((zip, parts, price));
    }
    let fault = if price.entries > LIMIT.entries {
        "the document has more than the 10,000 files allowed; divide it"
    } else {
        "the document unpacks to more than the 64 MiB allowed; divide it"
    };
    Err(BrokenFile(fault.into()))
}

/// Returns the folder of the file `name`.
fn folder(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Creates the error for a fault of the file `name`.
fn in_file(name: &str, fault: String) -> BrokenFile {
    BrokenFile(format!("{name}: {fault}"))
}

fn broken(error: ZipError) -> BrokenFile {
    let remedy = "open it in its program and save it again";
    BrokenFile(format!(
        "the document is no whole archive ({error}); {remedy}"
    ))
}
