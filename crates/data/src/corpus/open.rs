//! Opens a file with or without compression. Compression is recognised by the first bytes, not by
//! the name.
//!
//! Some texts can be read only once: standard input, pipes, and the files under `/dev/fd` that a
//! shell provides.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use super::compressed::{GzipReader, ZstdReader};
use super::error::{Result, TextError};
use super::is_standard_input;

/// The magic numbers of gzip and zstd: the first bytes of a compressed text.
pub const COMPRESSED: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];
const BUFFER_BYTES: usize = 1 << 16;

/// An open text, and whether it is decompressed while it is read.
pub(super) struct OpenText {
    pub reader: Box<dyn BufRead + Send>,
    pub compressed: bool,
}

/// Opens `path`, or standard input for `-`.
pub(super) fn open(path: &Path) -> Result<OpenText> {
    if is_standard_input(path) {
        return decompress(path, Box::new(io::stdin()));
    }
    // Windows does not even open a directory.
    if path.is_dir() {
        let cause = io::Error::new(io::ErrorKind::IsADirectory, "it is a directory");
        return Err(open_error(path, cause));
    }
    let file = File::open(path).map_err(|cause| open_error(path, cause))?;
    decompress(path, Box::new(file))
}

/// Opens `path` (`-` is standard input) and returns a reader of its decompressed bytes.
///
/// # Errors
/// Returns an error if the file is missing or unreadable.
pub fn open_bytes(path: &Path) -> Result<Box<dyn BufRead + Send>> {
    Ok(open(path)?.reader)
}

/// Wraps `raw` in the decoder for its first bytes.
pub(super) fn decompress(path: &Path, mut raw: Box<dyn Read + Send>) -> Result<OpenText> {
    let head = read_head(&mut raw).map_err(|cause| TextError::Unreadable(path.into(), cause))?;
    let [gzip, zstd] = COMPRESSED.map(|magic| head.starts_with(magic));
    check_name(path, &head, gzip, zstd)?;
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(raw));
    let reader: Box<dyn BufRead + Send> = if gzip {
        Box::new(BufReader::with_capacity(
            BUFFER_BYTES,
            GzipReader::new(whole),
        ))
    } else if zstd {
        Box::new(BufReader::with_capacity(
            BUFFER_BYTES,
            ZstdReader::new(whole),
        ))
    } else {
        Box::new(whole)
    };
    Ok(OpenText {
        reader,
        compressed: gzip || zstd,
    })
}

/// Reads from `raw` until plain text can be told from compressed text, and waits for no more: a
/// program that writes a short line and waits for the answer must get it.
fn read_head(raw: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    while may_be_compressed(&head) {
        match raw.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => head.extend_from_slice(&buffer[..read]),
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(head)
}

/// Returns whether `head` is the beginning of a magic number and too short to decide.
fn may_be_compressed(head: &[u8]) -> bool {
    COMPRESSED
        .iter()
        .any(|magic| head.len() < magic.len() && magic.starts_with(head))
}

/// Refuses a name that ends in `.gz` or `.zst` if the content is not compressed. An empty file has
/// an error of its own.
fn check_name(path: &Path, head: &[u8], gzip: bool, zstd: bool) -> Result<()> {
    let extension = path
        .extension()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let expected = match extension {
        "gz" if !gzip => "gzip",
        "zst" if !zstd => "zstd",
        _ => return Ok(()),
    };
    if head.is_empty() {
        return Err(TextError::Empty(path.into()));
    }
    Err(TextError::NotCompressed(path.into(), expected))
}

/// Refuses text that begins like UTF-16 or UTF-32.
pub(super) fn check_encoding(path: &Path, first: &[u8]) -> Result<()> {
    let first = &first[..first.len().min(BUFFER_BYTES)];
    let line = first
        .split_inclusive(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let encoding = [first, line]
        .into_iter()
        .find_map(wide_encoding)
        .or_else(|| of_ideographs(first));
    encoding.map_or(Ok(()), |encoding| {
        Err(TextError::Wide(path.into(), encoding))
    })
}

/// Returns the name that `iconv` has for the encoding of a text that begins with `first`, if its
/// units are wider than a byte. The signs are a byte-order mark, or zero bytes, which text in UTF-8
/// or in an 8-bit encoding does not have.
fn wide_encoding(first: &[u8]) -> Option<&'static str> {
    if [b"\xff\xfe", b"\xfe\xff"]
        .iter()
        .any(|mark| first.starts_with(*mark))
    {
        return Some("utf-16");
    }
    let units = first.as_chunks::<4>().0;
    let has_units = units.len() > 2;
    if has_units && units.iter().all(|unit| unit[3] == 0 && unit[2] <= 0x10) {
        return Some("utf-32le");
    }
    if has_units && units.iter().all(|unit| unit[0] == 0 && unit[1] <= 0x10) {
        return Some("utf-32be");
    }
    // The upper bytes of most scripts are small. In Han, kana and Hangul they are not, and such
    // text is not UTF-8.
    let is_alternate = [0, 1]
        .iter()
        .any(|&start| every_second(first, start).all(|byte| byte <= b' '));
    // A few bytes with a zero are a fault of another kind.
    if first.len() < 6 || !is_alternate {
        return None;
    }
    let zeros = [0, 1].map(|start| every_second(first, start).filter(|&byte| byte == 0).count());
    match zeros[0].cmp(&zeros[1]) {
        Ordering::Less => Some("utf-16le"),
        Ordering::Greater => Some("utf-16be"),
        Ordering::Equal => None,
    }
}

/// Returns every second byte of `bytes`, from `start` on.
fn every_second(bytes: &[u8], start: usize) -> impl Iterator<Item = u8> {
    bytes.iter().copied().skip(start).step_by(2)
}

/// Like [`wide_encoding`], for text in Chinese, Japanese or Korean: both bytes of its units take
/// most values. The text is therefore not UTF-8, has control characters, which text in an 8-bit
/// encoding does not have, and all its units are letters or marks in one order of the bytes.
fn of_ideographs(first: &[u8]) -> Option<&'static str> {
    let first = &first[..first.len() / 2 * 2];
    let has_control = first
        .iter()
        .any(|&byte| byte < b' ' && !matches!(byte, b'\t' | b'\n' | 0xc | b'\r'));
    let is_utf8 = std::str::from_utf8(first).is_ok();
    if first.len() < 6 || is_utf8 || !has_control {
        return None;
    }
    let little = count_blanks(first, u16::from_le_bytes);
    let big = count_blanks(first, u16::from_be_bytes);
    match little.cmp(&big) {
        Ordering::Greater => Some("utf-16le"),
        Ordering::Less => Some("utf-16be"),
        Ordering::Equal => None,
    }
}

/// Returns the number of spaces, line ends and full stops in `bytes` as UTF-16 with units read by
/// `unit`; `None` if the bytes are not text in this order.
fn count_blanks(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<usize> {
    let units = bytes.as_chunks::<2>().0.iter().map(|bytes| unit(*bytes));
    let text = String::from_utf16(&units.collect::<Vec<_>>()).ok()?;
    if !text.chars().all(is_letter_or_mark) {
        return None;
    }
    let blanks = text
        .chars()
        .filter(|c| matches!(c, '\n' | ' ' | '\u{3000}'..='\u{3002}'));
    Some(blanks.count())
}

/// Returns whether a character occurs in ordinary text of Chinese, Japanese, Korean or Europe.
fn is_letter_or_mark(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | ' '..='~' | '\u{2000}'..='\u{33ff}' | '\u{ff00}'..='\u{ffef}' => true,
        '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{1f000}'.. => true,
        c => c < '\u{600}' && c.is_alphabetic(),
    }
}

/// Returns the error for a failed `open`.
pub(crate) fn open_error(path: &Path, cause: io::Error) -> TextError {
    match cause.kind() {
        io::ErrorKind::NotFound => TextError::NotFound(path.into()),
        _ => TextError::Unreadable(path.into(), cause),
    }
}

/// Returns whether the text at `path` can be read only once, or its name means nothing to another
/// process: standard input (`-`), a pipe, a socket, a terminal, or an open file descriptor (such as
/// `/dev/fd/63` for `<(command)` in a shell).
pub fn is_pipe(path: &Path) -> bool {
    is_standard_input(path)
        || is_descriptor(path)
        || fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir())
}

/// Returns the first of `paths` that names the same pipe as an earlier path. Text that one reader
/// takes from a pipe cannot be read by another.
pub fn repeated_pipe<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Option<&'a Path> {
    let mut seen = Vec::new();
    paths.into_iter().filter(|path| is_pipe(path)).find(|path| {
        let pipe = Pipe::of(path);
        let repeated = seen.contains(&pipe);
        seen.push(pipe);
        repeated
    })
}

/// The identity of a pipe.
#[derive(PartialEq, Eq)]
enum Pipe {
    StandardInput,
    /// The system's numbers of a pipe, which are the same for all its names.
    Node(u64, u64),
    Named(PathBuf),
}

impl Pipe {
    fn of(path: &Path) -> Self {
        let input_names = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
        if input_names.iter().any(|name| path.as_os_str() == *name) {
            return Self::StandardInput;
        }
        node(path).map_or_else(
            || Self::Named(path.into()),
            |(device, number)| Self::Node(device, number),
        )
    }
}

/// Device and inode number of anything that is not a regular file. A regular file with two
/// descriptors can be read through each of them.
#[cfg(unix)]
fn node(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata(path).ok().filter(|meta| !meta.is_file())?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn node(_: &Path) -> Option<(u64, u64)> {
    None
}

/// Returns whether `path` is an open file of this process. Reading it may move the position of that
/// file.
fn is_descriptor(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd"];
    path == Path::new("/dev/stdin")
        || folders
            .iter()
            .any(|folder| path.parent() == Some(Path::new(folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_missing_paths_are_no_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        fs::write(&file, "a\n").unwrap();
        for path in [&file, folder.path(), Path::new("/no/such/file")] {
            assert!(!is_pipe(path), "{}", path.display());
        }
        assert_eq!(
            repeated_pipe([&*file, &*file]),
            None,
            "a file can be read again and again"
        );
    }

    #[test]
    fn standard_input_is_one_pipe_under_each_of_its_names() {
        for name in ["-", "/dev/stdin", "/dev/fd/0"].map(Path::new) {
            assert!(is_pipe(name), "{}", name.display());
            assert_eq!(
                repeated_pipe([Path::new("-"), Path::new("a"), name]),
                Some(name)
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_named_pipe_is_one_and_two_are_two() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, link] = ["a", "b", "link"].map(|name| folder.path().join(name));
        for path in [&a, &b] {
            assert!(
                std::process::Command::new("mkfifo")
                    .arg(path)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        std::os::unix::fs::symlink(&a, &link).unwrap();
        assert!([&a, &b, &link].into_iter().all(|path| is_pipe(path)));
        assert_eq!(repeated_pipe([&*a, &*b]), None);
        assert_eq!(repeated_pipe([&*a, &*b, &*link]), Some(&*link));
    }
}
