//! Opens a file with or without compression. Compression is recognised by the first bytes, not by
//! the name.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use super::compressed::{GzipReader, ZstdReader};
use super::is_standard_input;
use crate::error::{DataError, Result};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER: usize = 1 << 16;

/// An open text, and whether it is decompressed while it is read.
pub(super) struct Opened {
    pub reader: Box<dyn BufRead + Send>,
    pub compressed: bool,
}

/// Opens `path`, or standard input for `-`.
pub(super) fn open(path: &Path) -> Result<Opened> {
    if is_standard_input(path) {
        return decompress(path, Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|cause| open_error(path, cause))?;
    if file.metadata().is_ok_and(|meta| meta.is_dir()) {
        let cause = io::Error::new(io::ErrorKind::IsADirectory, "it is a directory");
        return Err(open_error(path, cause));
    }
    decompress(path, Box::new(file))
}

/// The whole of `path` (`-` is standard input), decompressed, with every character as it is. Bytes
/// that are not UTF-8 become U+FFFD. Returns whether there were any.
///
/// # Errors
/// The file is missing or unreadable, or its compression is damaged.
pub fn read_text(path: &Path) -> Result<(String, bool)> {
    let mut bytes = Vec::new();
    let read = open(path)?.reader.read_to_end(&mut bytes);
    read.map_err(|cause| DataError::Unreadable(path.into(), cause))?;
    check_encoding(path, &bytes)?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    })
}

/// The bytes of a text of any size, decompressed.
///
/// # Errors
/// The errors of [`read_text`].
pub fn open_text(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    let mut reader = open(path)?.reader;
    let first = reader.fill_buf();
    let first = first.map_err(|cause| DataError::Unreadable(path.into(), cause))?;
    check_encoding(path, first)?;
    Ok(reader)
}

/// Wraps `raw` in the decoder for its first bytes.
pub(super) fn decompress(path: &Path, mut raw: Box<dyn Read + Send>) -> Result<Opened> {
    let head = read_head(&mut raw).map_err(|cause| DataError::Unreadable(path.into(), cause))?;
    let (gzip, zstd) = (head.starts_with(&GZIP), head.starts_with(&ZSTD));
    check_name(path, &head, gzip, zstd)?;
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(head).chain(raw));
    let reader: Box<dyn BufRead + Send> = if gzip {
        Box::new(BufReader::with_capacity(BUFFER, GzipReader::new(whole)))
    } else if zstd {
        Box::new(BufReader::with_capacity(BUFFER, ZstdReader::new(whole)))
    } else {
        Box::new(whole)
    };
    Ok(Opened { reader, compressed: gzip || zstd })
}

/// Reads from `raw` until plain text can be told from compressed text, and waits for no more: a
/// program that writes a short line and waits for the answer must get it.
fn read_head(raw: &mut dyn Read) -> io::Result<Vec<u8>> {
    let is_undecided = |head: &[u8]| {
        [&GZIP[..], &ZSTD].iter().any(|magic| head.len() < magic.len() && magic.starts_with(head))
    };
    let (mut head, mut buffer) = (Vec::new(), vec![0; BUFFER]);
    while is_undecided(&head) {
        match raw.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => head.extend_from_slice(&buffer[..read]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(head)
}

/// A name that ends in `.gz` or `.zst` is an error if the content is not compressed, unless the
/// file is empty.
fn check_name(path: &Path, head: &[u8], gzip: bool, zstd: bool) -> Result<()> {
    let extension = path.extension().and_then(|name| name.to_str()).unwrap_or_default();
    let expected = match extension {
        "gz" if !gzip => "gzip",
        "zst" if !zstd => "zstd",
        _ => return Ok(()),
    };
    if head.is_empty() {
        return Err(DataError::Empty(path.into()));
    }
    Err(DataError::NotCompressed(path.into(), expected))
}

/// Refuses text whose first bytes are those of UTF-16 or UTF-32.
pub(super) fn check_encoding(path: &Path, first: &[u8]) -> Result<()> {
    let first = &first[..first.len().min(BUFFER)];
    let line = first.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
    let encoding =
        [first, line].into_iter().find_map(wide_encoding).or_else(|| of_ideographs(first));
    encoding.map_or(Ok(()), |encoding| Err(DataError::Wide(path.into(), encoding)))
}

/// The name that `iconv` has for the encoding of a text that begins with `first`, if its units are
/// wider than a byte. It shows by a byte-order mark, or by zero bytes, of which text in UTF-8 or an
/// 8-bit encoding has none.
fn wide_encoding(first: &[u8]) -> Option<&'static str> {
    if [b"\xff\xfe", b"\xfe\xff"].iter().any(|mark| first.starts_with(*mark)) {
        return Some("utf-16");
    }
    let units = first.as_chunks::<4>().0;
    let all = |is_wide: fn(&[u8; 4]) -> bool| units.len() > 2 && units.iter().all(is_wide);
    if all(|unit| unit[3] == 0 && unit[2] <= 0x10) {
        return Some("utf-32le");
    }
    if all(|unit| unit[0] == 0 && unit[1] <= 0x10) {
        return Some("utf-32be");
    }
    let count = |start: usize, is_counted: fn(u8) -> bool| {
        first.iter().skip(start).step_by(2).filter(|&&byte| is_counted(byte)).count()
    };
    let zeros = [0, 1].map(|start| count(start, |byte| byte == 0));
    // The upper bytes of most scripts are small; those of Han, kana and Hangul are not, and such
    // text is not UTF-8.
    let is_alternate = [0, 1].iter().any(|&start| count(start, |byte| byte > b' ') == 0);
    // A few bytes with a zero are a fault of another kind.
    if first.len() < 6 || !is_alternate {
        return None;
    }
    match zeros[0].cmp(&zeros[1]) {
        Ordering::Less => Some("utf-16le"),
        Ordering::Greater => Some("utf-16be"),
        Ordering::Equal => None,
    }
}

/// Like [`wide_encoding`], for text in Chinese, Japanese or Korean: both bytes of its units take
/// most values, so that it is not UTF-8 and has control characters, of which text in an 8-bit
/// encoding has none, and all units are letters or marks in one order of the bytes.
fn of_ideographs(first: &[u8]) -> Option<&'static str> {
    let first = &first[..first.len() / 2 * 2];
    let is_control = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | 0xc | b'\r');
    let is_utf8 = std::str::from_utf8(first).is_ok();
    if first.len() < 6 || is_utf8 || !first.iter().any(is_control) {
        return None;
    }
    let read = |unit: fn([u8; 2]) -> u16| {
        let units = first.as_chunks::<2>().0.iter().map(|bytes| unit(*bytes));
        let is_text = |c: char| match c {
            '\t' | '\n' | '\r' | ' '..='~' | '\u{2000}'..='\u{33ff}' | '\u{ff00}'..='\u{ffef}' => {
                true
            }
            '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{1f000}'.. => true,
            c => c < '\u{600}' && c.is_alphabetic(),
        };
        let is_blank = |c: &char| matches!(c, '\n' | ' ' | '\u{3000}'..='\u{3002}');
        let text = String::from_utf16(&units.collect::<Vec<_>>()).ok()?;
        text.chars().all(is_text).then(|| text.chars().filter(is_blank).count())
    };
    match (read(u16::from_le_bytes), read(u16::from_be_bytes)) {
        (None, None) => None,
        (little, big) if little > big => Some("utf-16le"),
        (little, big) if big > little => Some("utf-16be"),
        _ => None,
    }
}

/// The error for a failed `open`.
pub(crate) fn open_error(path: &Path, cause: io::Error) -> DataError {
    match cause.kind() {
        io::ErrorKind::NotFound => DataError::NotFound(path.into()),
        _ => DataError::Unreadable(path.into(), cause),
    }
}
