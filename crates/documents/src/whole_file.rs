//! Whole files of any format: reads the text to translate, and writes the file with its
//! translation.

use crate::encoding::{Charset, binary};
use crate::format::untranslated;
use crate::{BrokenFile, Cost, Format, Office, OfficeKind};

/// Extensions of files that are not read, one a line: the extension, what the file is, and a
/// remedy.
const UNREAD: &str = include_str!("unread.tsv");

/// A file to translate. It holds the text of the file as a [`Format`].
#[derive(Clone, Debug)]
pub struct WholeFile {
    /// The text to translate.
    pub text: String,
    /// The format of the text.
    pub format: Format,
    /// The Office document that `text` was extracted from as HTML; `None` for text formats.
    office: Option<Office>,
    /// The encoding of a text file; `None` for an Office document or text in memory.
    charset: Option<Charset>,
}

impl WholeFile {
    /// The number of bytes at the beginning of a file by which [`binary`](Self::binary) knows it.
    pub const HEAD_BYTES: u64 = 16;

    /// Reads `bytes`. `kind` is the name of a [`Format`], or a file extension without its dot.
    ///
    /// # Errors
    /// If the format is unknown, or the file is broken.
    pub fn read(bytes: Vec<u8>, kind: &str) -> Result<Self, BrokenFile> {
        if let Some(kind) = OfficeKind::from_extension(kind) {
            let office = Office::read(bytes, kind)?;
            let text = office.html();
            let office = Some(office);
            return Ok(Self {
                text,
                format: Format::Html,
                office,
                charset: None,
            });
        }
        let (text, charset) = Charset::decode(&bytes, format(kind)?)?;
        Ok(Self {
            charset: Some(charset),
            ..Self::of_text(text, kind)?
        })
    }

    /// Returns the cost of reading `bytes`, before anything is unpacked or decoded. `kind` is as in
    /// [`read`](Self::read).
    ///
    /// # Errors
    /// If the format is unknown, or if an archive is broken, has two files that share bytes, has
    /// more than 10,000 files, or would unpack to more than 64 MiB of XML.
    pub fn cost(bytes: &[u8], kind: &str) -> Result<Cost, BrokenFile> {
        match OfficeKind::from_extension(kind) {
            Some(kind) => Ok(Cost::of_office(Office::price(bytes, kind)?, kind)),
            None => format(kind).map(|_| Cost::of_text(bytes.len())),
        }
    }

    /// Creates a file from `text`; `kind` is as in [`read`](Self::read).
    ///
    /// # Errors
    /// If there is no text format of this name.
    pub fn of_text(text: String, kind: &str) -> Result<Self, BrokenFile> {
        Ok(Self {
            text,
            format: format(kind)?,
            office: None,
            charset: None,
        })
    }

    /// Returns the encoding's name; `None` for UTF-8, an Office document, or text in memory.
    pub fn encoding(&self) -> Option<&'static str> {
        self.charset
            .map(Charset::name)
            .filter(|name| *name != "UTF-8")
    }

    /// Returns what in the file has words and stays in the source language, such as `names of
    /// sheets`; empty if nothing does.
    pub fn untranslated(&self) -> String {
        let all: Vec<&str> = match &self.office {
            Some(office) => office.untranslated().collect(),
            None if self.format == Format::Html => untranslated(&self.text),
            None => Vec::new(),
        };
        all.join(", ")
    }

    /// Returns the number of bytes held in memory. An Office document takes more than its
    /// compressed file.
    pub fn size(&self) -> usize {
        self.text.len() + self.office.as_ref().map_or(0, Office::size)
    }

    /// Returns the bytes of the file, in its encoding, with `translated` in place of its text.
    /// `languages` are the source and target language; an Office document then names the target.
    pub fn write(&self, translated: String, languages: [Option<&str>; 2]) -> Vec<u8> {
        match (&self.office, self.charset) {
            (Some(office), _) => office.write(&translated, languages),
            (None, Some(charset)) => charset.encode(translated),
            (None, None) => translated.into_bytes(),
        }
    }

    /// Returns what files with this extension (in any case, without its dot) are and a remedy, if
    /// they are known and cannot be read. They must not be translated line by line: their syntax
    /// would be translated as well.
    pub fn unread(extension: &str) -> Option<&'static str> {
        let rows = UNREAD.lines().filter_map(|line| line.split_once('\t'));
        let mut matching_rows = rows.filter(|(name, _)| extension.eq_ignore_ascii_case(name));
        matching_rows.next().map(|(_, remedy)| remedy)
    }

    /// Returns what a file that begins with `head` is and a remedy, if it is known and not a text.
    pub fn binary(head: &[u8]) -> Option<&'static str> {
        binary(head)
    }

    /// Iterates over the extensions of all supported files, without their dots.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        let texts = Format::extensions().map(|(extension, _)| extension);
        texts.chain(OfficeKind::extensions())
    }
}

/// Returns the text format with this name or extension.
fn format(kind: &str) -> Result<Format, BrokenFile> {
    let format = kind.parse().ok().or_else(|| Format::from_extension(kind));
    format.ok_or_else(|| {
        if let Some(unread) = WholeFile::unread(kind) {
            return BrokenFile(format!(
                "`.{kind}` files are not read: the file is {unread}"
            ));
        }
        let known = WholeFile::extensions().collect::<Vec<_>>().join(", ");
        BrokenFile(format!(
            "no document format `{kind}`; a file extension is one of {known}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use isolang::Language;

    use super::*;

    #[test]
    fn a_text_is_read_by_the_name_of_its_format_or_by_its_extension() {
        for kind in ["markdown", "md", "MARKDOWN", "MD"] {
            let file = WholeFile::read(b"# a".to_vec(), kind).unwrap();
            assert_eq!(
                (&*file.text, file.format),
                ("# a", Format::Markdown),
                "{kind}"
            );
            assert_eq!(file.write("# b".into(), [None; 2]), b"# b");
        }
        for (bytes, kind, fault) in [
            ("\u{e4}", "txt", "not UTF-8"),
            ("", "docx", "no whole archive"),
        ] {
            let bytes: Vec<u8> = bytes.chars().map(|c| c as u8).collect();
            let error = WholeFile::read(bytes, kind).unwrap_err().to_string();
            assert!(error.contains(fault), "{error}");
        }
    }

    #[test]
    fn every_extension_is_known_and_no_other() {
        for extension in WholeFile::extensions() {
            let error = WholeFile::read(Vec::new(), extension).map(drop).err();
            assert!(error.is_none_or(|it| !it.to_string().contains("no document format")));
        }
        for kind in ["", "nosuch", ".txt", "dock"] {
            let message = WholeFile::read(Vec::new(), kind).unwrap_err().to_string();
            assert!(
                message.contains(kind) && message.contains("docx"),
                "{message}"
            );
        }
    }

    #[test]
    fn a_known_file_that_is_not_read_is_refused_with_a_remedy() {
        for (extension, remedy) in UNREAD.lines().filter_map(|line| line.split_once('\t')) {
            assert!(WholeFile::extensions().all(|known| known != extension));
            assert!(remedy.contains("; "), "{remedy}");
            let upper = extension.to_uppercase();
            let message = WholeFile::read(Vec::new(), &upper).unwrap_err().to_string();
            assert!(
                message.contains(remedy) && message.contains(&upper),
                "{message}"
            );
        }
    }

    /// The files of a corpus end in the codes of their languages. `mo` has not been one since 2008.
    #[test]
    fn the_code_of_a_language_is_no_extension_of_a_file_that_is_not_read() {
        let letters = || 'a'..='z';
        let pairs = letters().flat_map(|a| letters().map(move |b| String::from_iter([a, b])));
        for code in pairs.filter(|code| code != "mo") {
            if let Some(language) = Language::from_639_1(&code) {
                assert_eq!(WholeFile::unread(&code), None);
                assert_eq!(WholeFile::unread(language.to_639_3()), None);
            }
        }
    }
}
