//! Decodes files to text, and encodes translations in the same encoding.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::sync::LazyLock;

use burnformer_text::apply_edits;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use encoding_rs_io::DecodeReaderBytesBuilder;
use regex::bytes::Regex;

use crate::escape::by_number;
use crate::format::Format;

/// A page declares its encoding within this number of bytes, by the HTML standard.
const HEAD_BYTES: usize = 1024;
/// Minimum number of letters to guess an encoding.
const MIN_LETTERS: usize = 8;

/// Remedies for PO and XML.
const PO_REMEDY: &str = "name its encoding in its header (Content-Type: text/plain; charset=…), or \
    `msgconv -t UTF-8 -o NEW OLD` converts it";
const XML_REMEDY: &str = "name its encoding in its first line (<?xml version=\"1.0\" \
    encoding=\"…\"?>), or `xmllint --encode UTF-8 OLD` converts it";

/// Signatures of binary files, with what each file is and what to do.
const BINARY_FORMATS: &str = include_str!("binary.tsv");

/// The encoding declarations of PO, XML and HTML.
static NAMES: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    let name = r#"=\s*["']?\s*([\w.:+-]+)"#;
    let names = [
        r#"(?i)content-type:[^"\n]*charset"#,
        r"^\s*<\?xml[^>]*encoding",
        "(?i)<meta[^>]*charset",
    ];
    names.map(|before| Regex::new(&format!("(?-u){before}{name}")).expect("it is tested"))
});

/// Why a file cannot be read, as a sentence with a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BrokenFile(pub(crate) String);

/// The characters that an encoding can represent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Range {
    Ascii,
    /// ISO 8859: 0x80 to 0x9f are control characters.
    Iso,
    All,
}

/// The encoding of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charset {
    encoding: &'static Encoding,
    range: Range,
    format: Format,
}

impl Charset {
    /// Returns the encoding of a file that begins with `bytes`. The first of these applies: the
    /// byte-order mark, the declared encoding, UTF-8 if the bytes are valid UTF-8, ISO 8859-1 for
    /// Java properties, a guess from the bytes.
    fn of(bytes: &[u8], format: Format) -> Result<Self, String> {
        let of = |encoding| Self {
            encoding,
            range: Range::All,
            format,
        };
        match bytes {
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] | [1..=255, 0, 0, 0, ..] => {
                return Err("the text is UTF-32; convert it: iconv -f UTF-32 -t UTF-8".into());
            }
            [0xff, 0xfe, ..] | [1..=255, 0, 1..=255, 0, ..] => return Ok(of(UTF_16LE)),
            [0xfe, 0xff, ..] | [0, 1..=255, 0, 1..=255, ..] => return Ok(of(UTF_16BE)),
            [0xef, 0xbb, 0xbf, ..] => return Ok(of(UTF_8)),
            _ => {}
        }
        let find = |kind: usize, bytes| Some(NAMES[kind].captures(bytes)?.get(1)?.as_bytes());
        let name = match format {
            Format::Po => find(0, bytes),
            _ if is_xml(format) => find(1, bytes),
            Format::Html => {
                find(1, bytes).or_else(|| find(2, &bytes[..bytes.len().min(HEAD_BYTES)]))
            }
            _ => None,
        };
        if let Some(name) = name {
            return Self::named(&String::from_utf8_lossy(name), bytes, format);
        }
        Ok(match format {
            _ if str::from_utf8(bytes).is_ok() || is_damaged(bytes) => of(UTF_8),
            Format::Properties => Self {
                range: iso(bytes),
                ..of(WINDOWS_1252)
            },
            _ if format.is_catalogue() => of(UTF_8),
            _ => of(guess(bytes).unwrap_or(UTF_8)),
        })
    }

    /// Returns the encoding `name` of a file with these `bytes`.
    fn named(name: &str, bytes: &[u8], format: Format) -> Result<Self, String> {
        let lower = name.to_ascii_lowercase();
        // gettext templates contain the placeholder CHARSET.
        let is_ascii = ["charset", "ascii", "us-ascii"].contains(&&*lower);
        let label = if is_ascii { "utf-8" } else { &lower };
        let find = |label: &str| Encoding::for_label_no_replacement(label.as_bytes());
        let encoding = find(label).or_else(|| find(&label.replace("cp", "windows-")));
        let encoding = encoding.ok_or_else(|| {
            format!(
                "the file is in {name}, which is not known; {}",
                remedy(format)
            )
        })?;
        let range = match ["iso", "latin", "l1", "tis"]
            .iter()
            .any(|it| lower.starts_with(it))
        {
            _ if is_ascii && bytes.is_ascii() => Range::Ascii,
            true if encoding.is_single_byte() => iso(bytes),
            _ => Range::All,
        };
        // Some programs declare "UTF-16" wrongly: the declaration itself was readable as bytes.
        let is_wide = encoding == UTF_16LE || encoding == UTF_16BE;
        Ok(Self {
            encoding: if is_wide { UTF_8 } else { encoding },
            range,
            format,
        })
    }

    /// Decodes `bytes`, a file of this `format`, and returns its text and encoding.
    ///
    /// # Errors
    /// If the bytes are not valid in their encoding, or encoding the text would not restore them.
    pub(crate) fn decode(bytes: &[u8], format: Format) -> Result<(String, Self), BrokenFile> {
        if let Some(fault) = binary(bytes) {
            return Err(BrokenFile(fault.into()));
        }
        let charset = Self::of(bytes, format).map_err(BrokenFile)?;
        let text = |bytes| charset.encoding.decode_without_bom_handling(bytes).0;
        let whole = text(bytes);
        let name = charset.name();
        let back = charset.encoded(&whole);
        if *back == *bytes {
            return Ok((whole.into_owned(), charset));
        }
        let at = 1 + back
            .iter()
            .zip(bytes)
            .take_while(|(back, byte)| back == byte)
            .count();
        let line = 1 + text(&bytes[..at - 1]).matches('\n').count();
        let fault = format!("line {line}: the bytes from byte {at} of the file are not {name}");
        Err(BrokenFile(format!("{fault}; {}", remedy(format))))
    }

    /// Returns the encoding's name.
    pub(crate) fn name(self) -> &'static str {
        match self.range {
            Range::Iso if self.encoding == WINDOWS_1252 => "ISO-8859-1",
            _ => self.encoding.name(),
        }
    }

    /// Encodes `text`. A character that the encoding lacks becomes a numeric reference if the
    /// format has them. Otherwise the file becomes UTF-8, declared in the PO header or by a
    /// byte-order mark.
    pub(crate) fn encode(self, text: String) -> Vec<u8> {
        let lacking = |&c: &char| !c.is_ascii() && self.lacks(c);
        let lacking: HashSet<char> = text.chars().filter(lacking).collect();
        let is_xml = self.format == Format::Html || is_xml(self.format);
        let name = NAMES[0]
            .captures(text.as_bytes())
            .and_then(|found| Some(found.get(1)?.range()));
        match name {
            _ if lacking.is_empty() => return self.encoded(&text).into_owned(),
            Some(name) if self.format == Format::Po => {
                return apply_edits(&text, &[(name, "UTF-8".into())]).into_bytes();
            }
            _ if is_xml || self.format == Format::Properties => {}
            _ => return ["\u{feff}", &text].concat().into_bytes(),
        }
        let number = |c: char| {
            if is_xml {
                format!("&#{};", u32::from(c))
            } else {
                by_number(c)
            }
        };
        let spellings = text.chars().map(|c| {
            if lacking.contains(&c) {
                number(c)
            } else {
                c.into()
            }
        });
        self.encoded(&spellings.collect::<String>()).into_owned()
    }

    fn lacks(self, c: char) -> bool {
        let text = c.to_string();
        let (bytes, _, lacks) = self.encoding.encode(&text);
        let is_control = self.range == Range::Iso && matches!(*bytes, [0x80..=0x9f]);
        lacks || is_control || self.range == Range::Ascii
    }

    /// Encodes `text`; every character must exist in this encoding.
    fn encoded(self, text: &str) -> Cow<'_, [u8]> {
        let units = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect();
        match self.encoding {
            it if it == UTF_16LE => Cow::Owned(units(u16::to_le_bytes)),
            it if it == UTF_16BE => Cow::Owned(units(u16::to_be_bytes)),
            it => it.encode(text).0,
        }
    }
}

/// Returns the characters of a file declared as ISO 8859; some are Windows code pages.
fn iso(bytes: &[u8]) -> Range {
    if bytes.iter().any(|byte| matches!(byte, 0x80..=0x9f)) {
        Range::All
    } else {
        Range::Iso
    }
}

/// Returns the message for a binary file.
pub(crate) fn binary(bytes: &[u8]) -> Option<&'static str> {
    let begins = |magic: &str| {
        let bytes = bytes.iter().map(|&byte| Some(byte)).chain([None]);
        magic
            .split(' ')
            .zip(bytes)
            .all(|(it, byte)| u8::from_str_radix(it, 16).ok() == byte)
    };
    let mut rows = BINARY_FORMATS
        .lines()
        .filter_map(|row| row.split_once('\t'));
    rows.find_map(|(magic, fault)| begins(magic).then_some(fault))
}

/// Returns whether `bytes` are UTF-8 with a few invalid bytes.
fn is_damaged(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let broken = text.matches('\u{fffd}').count();
    text.chars().filter(|c| !c.is_ascii()).count() >= 2 * broken
}

/// Guesses the encoding of a text that does not declare it; `None` if there is too little evidence.
fn guess(bytes: &[u8]) -> Option<&'static Encoding> {
    if bytes
        .iter()
        .filter(|byte: &&u8| byte.is_ascii_alphanumeric() || !byte.is_ascii())
        .count()
        < MIN_LETTERS
        || bytes
            .iter()
            .any(|byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace())
    {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    Some(detector.guess(None, Utf8Detection::Deny))
}

/// Returns how to get a file of this format in a known encoding.
fn remedy(format: Format) -> &'static str {
    match format {
        Format::Po => PO_REMEDY,
        _ if is_xml(format) => XML_REMEDY,
        _ => "`iconv -f ITS-ENCODING -t UTF-8 OLD > NEW` converts it",
    }
}

fn is_xml(format: Format) -> bool {
    use Format::{Android, Qt, Resx, StringsDict, Tmx, Xliff};
    matches!(format, Xliff | Tmx | Android | Qt | Resx | StringsDict)
}

/// Converts a TMX file to UTF-8, and returns whether it was in another encoding. In that case
/// invalid bytes become U+FFFD.
pub(crate) fn tmx_as_utf8(mut file: impl BufRead) -> Result<(impl BufRead, bool), String> {
    let first = file.fill_buf().map_err(|error| error.to_string())?;
    let encoding = Charset::of(first, Format::Tmx)?.encoding;
    let mut decoder = DecodeReaderBytesBuilder::new();
    decoder
        .encoding(Some(encoding).filter(|it| *it != UTF_8))
        .utf8_passthru(true);
    Ok((BufReader::new(decoder.build(file)), encoding != UTF_8))
}
