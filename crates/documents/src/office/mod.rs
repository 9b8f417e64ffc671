//! Office documents: archives of XML files. Their paragraphs are translated in place.
//!
//! A paragraph becomes a paragraph of HTML. Its runs and links become elements; pictures, fields,
//! notes and everything else become points. The words of a bold run are therefore found in a
//! translation like the words of `<b>`. All bytes outside of translated paragraphs stay unchanged.

mod archive;
mod draft;
mod fields;
mod item;
mod kind;
mod paragraph;
mod parts;
mod styles;
mod writer;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Cursor, Write};

use burnformer_files::archive::{Price, open, price, unpack};
use zip::result::{ZipError, ZipResult};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use self::archive::{Archive, name};
pub use self::kind::OfficeKind;
use self::paragraph::{Paragraph, paragraphs};
use self::parts::Parts;
use self::styles::Styles;
use self::writer::Writer;
use crate::encoding::{BrokenFile, Charset, binary};
use crate::format::Format;
use crate::words::regex;

/// Limits on the bytes of XML and the number of files in a document.
const LIMIT: Price = Price {
    entries: 10_000,
    unpacked: 64 << 20,
};

/// An office document or electronic book.
#[derive(Clone, Debug)]
pub struct Office {
    archive: Vec<u8>,
    parts: Vec<Part>,
}

/// A file of the archive with text.
#[derive(Clone, Debug)]
struct Part {
    /// The index of the file in the archive.
    index: usize,
    xml: String,
    charset: Charset,
    paragraphs: Vec<Paragraph>,
}

impl Office {
    /// Returns the bytes of the archive and of its XML.
    pub(crate) fn size(&self) -> usize {
        self.archive.len() + self.parts.iter().map(|part| part.xml.len()).sum::<usize>()
    }

    /// Returns the cost of reading the document. Only its lists of files are unpacked.
    ///
    /// # Errors
    /// The errors of [`Office::read`] that the archive's directory reveals.
    pub(crate) fn price(bytes: &[u8], kind: OfficeKind) -> Result<Price, BrokenFile> {
        Ok(opened(bytes, kind)?.2)
    }

    /// Reads the bytes of a document.
    ///
    /// # Errors
    /// If the bytes are not an archive, are encrypted, would unpack to more than 64 MiB of XML,
    /// have more than 10,000 files or two that share bytes, or contain broken XML.
    pub fn read(archive: Vec<u8>, kind: OfficeKind) -> Result<Self, BrokenFile> {
        let (mut zip, files, _) = opened(&archive, kind)?;
        let mut parts = Vec::new();
        let mut styles = HashMap::new();
        for index in 0..zip.len() {
            let name = name(&zip, index).map_err(broken)?;
            if files.has_text(&name) {
                let file = zip.by_index(index).map_err(broken)?;
                let mut bytes = Vec::new();
                unpack(file, &mut bytes).map_err(broken)?;
                let part = Part::read(index, bytes, kind).map_err(|fault| in_file(&name, fault))?;
                if let Some(part) = part {
                    let shared = Styles::shared(&part.xml);
                    styles.extend(shared.map(|styles| (folder(&name).to_owned(), styles)));
                    parts.push((name, part));
                }
            }
        }
        let none = Styles::default();
        for (name, part) in &mut parts {
            let shared = styles.get(folder(name)).unwrap_or(&none);
            let found = paragraphs(&part.xml, kind, shared);
            part.paragraphs = found.map_err(|fault| in_file(name, fault))?;
        }
        let parts = parts.into_iter().map(|(_, part)| part).collect();
        Ok(Self { archive, parts })
    }

    /// Returns the paragraphs as one page of HTML.
    pub fn html(&self) -> String {
        let mut page = String::new();
        for paragraph in self.parts.iter().flat_map(|part| &part.paragraphs) {
            page.extend(["<p>", &paragraph.html, "</p>\n"]);
        }
        page
    }

    /// Returns the document with the paragraphs of `html`, the translation of [`Office::html`].
    /// `languages` are the source and target language. The target replaces the source wherever the
    /// document declares its language.
    ///
    /// # Panics
    /// If `html` lacks a paragraph of the page.
    pub fn write(&self, html: &str, languages: [Option<&str>; 2]) -> Vec<u8> {
        let mut lines = html.split_terminator("</p>\n");
        let mut translated = |_: &Paragraph| {
            let line = lines.next().and_then(|line| line.strip_prefix("<p>"));
            line.expect("the page has the paragraphs of the document")
        };
        let write = |part: &Part| {
            let lines: Vec<&str> = part.paragraphs.iter().map(&mut translated).collect();
            let Part {
                xml, paragraphs, ..
            } = part;
            let writer = Writer {
                xml,
                paragraphs,
                translated: &lines,
            };
            let mut text = String::new();
            writer.range(0..xml.len(), &mut text);
            text
        };
        let texts: Vec<String> = self.parts.iter().map(write).collect();
        if self
            .parts
            .iter()
            .zip(&texts)
            .all(|(part, text)| part.xml == *text)
        {
            return self.archive.clone();
        }
        let changed = |(part, text): (&Part, String)| {
            let text = in_language(text, languages);
            (text != part.xml).then(|| (part.index, part.charset.encode(text)))
        };
        let mut changes = self.parts.iter().zip(texts).filter_map(changed).peekable();
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let mut archive = ZipArchive::new(Cursor::new(&self.archive)).expect("it was read before");
        for index in 0..archive.len() {
            let file = archive.by_index_raw(index).expect("it was read before");
            let change = changes.next_if(|(changed, _)| *changed == index);
            let done = match (change, file.name().map(|name| name.into_owned())) {
                (Some((_, bytes)), Ok(name)) => {
                    let options = SimpleFileOptions::default()
                        .compression_method(CompressionMethod::Deflated)
                        .last_modified_time(file.last_modified().unwrap_or_default());
                    let done = zip.start_file(name, options);
                    done.and_then(|()| zip.write_all(&bytes).map_err(Into::into))
                }
                _ => zip.raw_copy_file(file),
            };
            done.expect("memory takes what is written");
        }
        zip.finish()
            .expect("memory takes what is written")
            .into_inner()
    }
}

impl Part {
    /// Reads `bytes`, file `index`, without its paragraphs; `None` if its texts are in another file.
    fn read(index: usize, bytes: Vec<u8>, kind: OfficeKind) -> Result<Option<Self>, String> {
        let (xml, charset) = Charset::decode(&bytes, Format::Android)
            .map_err(|_| "the text may be encrypted; save it without a password".to_string())?;
        drop(bytes);
        if kind != OfficeKind::Epub && xml.contains("<!DOCTYPE") {
            return Err(
                "the file defines entities, which no office program writes; save the document again"
                    .into(),
            );
        }
        if kind == OfficeKind::Xlsx && is_sheet_without_text(&xml) {
            return Ok(None);
        }
        Ok(Some(Self {
            index,
            xml,
            charset,
            paragraphs: Vec::new(),
        }))
    }
}

/// Returns whether a file of Excel is a sheet with all its texts in another file.
fn is_sheet_without_text(xml: &str) -> bool {
    let has = |name: &str| xml.contains(&format!("<{name}")) || xml.contains(&format!("<x:{name}"));
    has("worksheet") && !has("is")
}

/// Opens the archive `bytes` and returns it with its files that have text, and its price.
fn opened(bytes: &[u8], kind: OfficeKind) -> Result<(Archive<'_>, Parts, Price), BrokenFile> {
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

/// Replaces the first of `languages` by the second where tags and a book's list of files declare
/// it.
fn in_language(xml: String, languages: [Option<&str>; 2]) -> String {
    let [Some(from), Some(into)] = languages else {
        return xml;
    };
    let (from, _) = from.split_once(['-', '_']).unwrap_or((from, ""));
    let (language, region) = into.split_once(['-', '_']).unwrap_or((into, ""));
    let region = if region.len() == 2 { region } else { "none" };
    let whole = [
        r"<[^<>]*\sxml:lang=.",
        r"<[^<>]*\slang=.",
        r"<w:lang\s[^<>]*w:val=.",
        "<dc:language[^<>]*>",
    ]
    .map(|name| {
        (
            name,
            r#"(?:[-_]\w+)*(["'<])"#,
            format!("${{1}}{into}${{2}}"),
        )
    });
    let odf = r#"(["']\sfo:country=["'])\w*"#;
    let odf = (
        r"<[^<>]*\sfo:language=.",
        odf,
        format!("${{1}}{language}${{2}}{region}"),
    );
    whole
        .into_iter()
        .chain([odf])
        .fold(xml, |xml, (before, after, new)| {
            let named = regex(&format!("(?i)({before}){}{after}", regex::escape(from)));
            named.replace_all(&xml, new).into_owned()
        })
}
