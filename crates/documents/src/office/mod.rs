//! Office documents: archives of XML files. Their paragraphs are translated in place.
//!
//! A paragraph becomes a paragraph of HTML. Its runs and links become elements; pictures, fields,
//! notes and everything else become points. The words of a bold run are therefore found in a
//! translation like the words of `<b>`. All bytes outside of translated paragraphs stay unchanged.

mod archive;
mod draft;
mod fields;
mod header;
mod item;
mod kind;
mod named;
mod names;
mod paragraph;
mod parts;
mod read;
mod styles;
mod tree;
mod values;
mod verbatim;
mod writer;

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

use burnformer_files::archive::Price;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use self::item::Paragraph;
pub use self::kind::OfficeKind;
use self::read::{Part, Reader, opened};
use self::writer::Writer;
use crate::encoding::BrokenFile;
use crate::format::in_language as page_in_language;
use crate::language::Renaming;

/// An office document or electronic book.
#[derive(Clone, Debug)]
pub struct Office {
    archive: Vec<u8>,
    parts: Vec<Part>,
    /// The kinds of texts that stay in the source language.
    untranslated: BTreeSet<&'static str>,
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
        let (parts, untranslated) = Reader::new(kind).read(&archive)?;
        Ok(Self {
            archive,
            parts,
            untranslated,
        })
    }

    /// Iterates over the kinds of texts in the document that stay in the source language, such as
    /// `names of sheets`.
    pub fn untranslated(&self) -> impl Iterator<Item = &'static str> {
        self.untranslated.iter().copied()
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
    /// Panics if `html` lacks a paragraph of the page.
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

/// Replaces the first of `languages` by the second where `xml`, a file of the document, declares
/// it.
fn in_language(xml: String, languages: [Option<&str>; 2]) -> String {
    match languages {
        [Some(from), Some(into)] if xml.contains("<html") => page_in_language(&xml, from, into),
        [Some(from), Some(into)] => Renaming::new(from, into).of_xml(&xml),
        _ => xml,
    }
}
