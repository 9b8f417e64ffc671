//! ZIP archives whose files are stored without compression, which is how PyTorch and NumPy write weights.
//!
//! Nothing is decompressed: the content of each file is a part of the archive, so that memory is bounded by the
//! archive's size.

use std::collections::BTreeMap;
use std::ops::Range;

const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

/// Whether `bytes` begin with the header of a ZIP archive.
pub(crate) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(LOCAL) || bytes.starts_with(END)
}

/// The range of `bytes` that each file of the archive occupies.
///
/// # Errors
/// What is wrong with the archive.
pub(crate) fn entries(bytes: &[u8]) -> Result<BTreeMap<String, Range<usize>>, String> {
    let (count, directory) = directory(bytes)?;
    let mut place = directory;
    let mut found = BTreeMap::new();
    for _ in 0..count {
        let (name, range, next) = entry(bytes, place)?;
        if found.insert(name.clone(), range).is_some() {
            return Err(format!("the archive holds {name} twice"));
        }
        place = next;
    }
    disjoint(&found)?;
    Ok(found)
}

/// Returns an error if two files share bytes: many names of the same ones would be as many times as large in memory.
fn disjoint(files: &BTreeMap<String, Range<usize>>) -> Result<(), String> {
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by_key(|(_, range)| (range.start, range.end));
    match sorted.windows(2).find(|pair| pair[0].1.end > pair[1].1.start) {
        Some(pair) => Err(format!("{} and {} share bytes of the archive", pair[0].0, pair[1].0)),
        None => Ok(()),
    }
}

/// Largest archive that is written: its places have 32 bits, which every program reads.
pub(crate) const LARGEST: usize = u32::MAX as usize;

/// An archive of `files`, stored as they are, each with its name.
///
/// # Panics
/// If the archive is larger than [`LARGEST`].
pub(crate) fn write(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes) in files {
        let place = word(out.len());
        let head = head(bytes, name);
        out.extend([LOCAL, &head, name.as_bytes(), bytes].concat());
        // The version that wrote it; behind the head no comment, the first disk, no attributes.
        let entry = [ENTRY, &VERSION, &head, &[0; 10], &place, name.as_bytes()];
        directory.extend(entry.concat());
    }
    let (place, size) = (word(out.len()), word(directory.len()));
    let count = (files.len() as u16).to_le_bytes();
    out.extend(directory);
    out.extend([END, &[0; 4], &count, &count, &size, &place, &[0; 2]].concat());
    out
}

/// The version of the format that has all that is used here: 2.0.
const VERSION: [u8; 2] = [20, 0];

/// What an entry of the directory and the head of a file have in common: version, flags, method, date, checksum, sizes, and
/// the lengths of name and extension.
fn head(bytes: &[u8], name: &str) -> Vec<u8> {
    // The first day that the format knows, 1980-01-01, so that equal models are equal bytes.
    let date = [0, 0, 0x21, 0];
    let (crc, size) = (crc32fast::hash(bytes).to_le_bytes(), word(bytes.len()));
    let name = (name.len() as u16).to_le_bytes();
    [&VERSION[..], &[0; 4], &date, &crc, &size, &size, &name, &[0; 2]].concat()
}

/// A size or a place.
fn word(number: usize) -> [u8; 4] {
    u32::try_from(number).expect("an archive of less than 4 GiB").to_le_bytes()
}

fn cut() -> String {
    "the archive is cut short".into()
}

/// The number of `width` bytes at `place`, little-endian.
fn number(bytes: &[u8], place: usize, width: usize) -> Result<u64, String> {
    let end = place.checked_add(width).ok_or_else(cut)?;
    let bytes = bytes.get(place..end).ok_or_else(cut)?;
    Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

fn size(bytes: &[u8], place: usize, width: usize) -> Result<usize, String> {
    usize::try_from(number(bytes, place, width)?).map_err(|_| cut())
}

fn expect(bytes: &[u8], place: usize, magic: &[u8]) -> Result<(), String> {
    match bytes.get(place..).is_some_and(|rest| rest.starts_with(magic)) {
        true => Ok(()),
        false => Err(cut()),
    }
}

/// The number of files and the offset at which their directory begins.
fn directory(bytes: &[u8]) -> Result<(u64, usize), String> {
    // A comment of up to 65,535 bytes may follow the end.
    let from = bytes.len().saturating_sub(22 + 0xffff);
    let ends = bytes[from..].windows(4).rposition(|window| window == END);
    let end = from + ends.ok_or_else(cut)?;
    let (count, place) = (number(bytes, end + 10, 2)?, number(bytes, end + 16, 4)?);
    number(bytes, end + 20, 2)?;
    if count != 0xffff && place != 0xffff_ffff {
        return Ok((count, place as usize));
    }
    let locator = end.checked_sub(20).ok_or_else(cut)?;
    expect(bytes, locator, LOCATOR_64)?;
    let end = size(bytes, locator + 8, 8)?;
    expect(bytes, end, END_64)?;
    Ok((number(bytes, end.saturating_add(32), 8)?, size(bytes, end.saturating_add(48), 8)?))
}

/// The name and the range of the file that the directory entry at `place` describes, and the offset of the next entry.
fn entry(bytes: &[u8], place: usize) -> Result<(String, Range<usize>, usize), String> {
    expect(bytes, place, ENTRY)?;
    let [method, name, extra, comment] =
        [10, 28, 30, 32].map(|field| size(bytes, place + field, 2));
    let (method, name, extra, comment) = (method?, name?, extra?, comment?);
    let (mut packed, mut local) = (size(bytes, place + 20, 4)?, size(bytes, place + 42, 4)?);
    let unpacked = size(bytes, place + 24, 4)?;
    let text = bytes.get(place + 46..place + 46 + name).ok_or_else(cut)?;
    let text = String::from_utf8_lossy(text).into_owned();
    if method != 0 {
        return Err(format!(
            "{text} is compressed; write the file anew with numpy.savez or torch.save, which do not compress"
        ));
    }
    let extras = place + 46 + name;
    if [packed, unpacked, local].contains(&0xffff_ffff) {
        let large = zip64(bytes, extras..extras + extra, unpacked, packed, local)?;
        (packed, local) = large;
    }
    expect(bytes, local, LOCAL)?;
    let begin = local + 30 + size(bytes, local + 26, 2)? + size(bytes, local + 28, 2)?;
    let end = begin.checked_add(packed).filter(|&end| end <= bytes.len()).ok_or_else(cut)?;
    Ok((text, begin..end, extras + extra + comment))
}

/// The packed size and the offset of a file, if one of them does not fit into 32 bits.
fn zip64(
    bytes: &[u8],
    extras: Range<usize>,
    unpacked: usize,
    packed: usize,
    local: usize,
) -> Result<(usize, usize), String> {
    let mut place = extras.start;
    while place + 4 <= extras.end {
        let (kind, len) = (number(bytes, place, 2)?, size(bytes, place + 2, 2)?);
        if kind == 1 {
            let mut field = place + 4;
            let mut large = |value: usize| match value {
                0xffff_ffff => {
                    field += 8;
                    size(bytes, field - 8, 8)
                }
                fits => Ok(fits),
            };
            large(unpacked)?;
            return Ok((large(packed)?, large(local)?));
        }
        place += 4 + len;
    }
    Err(cut())
}

#[cfg(test)]
/// The content of an archive of `files`, stored without compression. Each begins at a multiple of 64 bytes, as in the
/// archives of PyTorch and NumPy.
pub(crate) fn archive(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let local = bytes.len();
        let padding = (64 - (local + 30 + name.len() + 4) % 64) % 64 + 4;
        let mut shared = Vec::new();
        // Version 2.0, no flags, stored, midnight of 1 January 1980.
        for field in [20u16, 0, 0, 0, 0x21] {
            shared.extend(field.to_le_bytes());
        }
        let len = content.len() as u32;
        for field in [crc32(content), len, len] {
            shared.extend(field.to_le_bytes());
        }
        shared.extend((name.len() as u16).to_le_bytes());
        bytes.extend(LOCAL);
        bytes.extend(&shared);
        bytes.extend((padding as u16).to_le_bytes());
        bytes.extend(name.as_bytes());
        // An extra field that nobody reads.
        bytes.extend([0x42, 0x46]);
        bytes.extend((padding as u16 - 4).to_le_bytes());
        bytes.resize(bytes.len() + padding - 4, 0);
        bytes.extend(content);
        directory.extend(ENTRY);
        directory.extend(20u16.to_le_bytes());
        directory.extend(&shared);
        directory.extend([0; 12]);
        directory.extend((local as u32).to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let place = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(END);
    bytes.extend([0; 4]);
    for _ in 0..2 {
        bytes.extend((files.len() as u16).to_le_bytes());
    }
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(place.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

#[cfg(test)]
/// The checksum of ZIP (ISO 3309), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let table: Vec<u32> = (0..256u32)
        .map(|byte| {
            (0..8).fold(byte, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 })
        })
        .collect();
    let step = |crc: u32, &byte: &u8| table[((crc ^ u32::from(byte)) & 0xff) as usize] ^ crc >> 8;
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small archive would otherwise become as large in memory as it has names.
    #[test]
    fn names_that_share_bytes_are_refused() {
        let files = ["a.npy", "b.npy"].map(|name| (name.to_string(), vec![7; 400]));
        let mut bytes = write(&files);
        assert_eq!(entries(&bytes).unwrap().len(), 2);
        let second = bytes.windows(4).rposition(|window| window == ENTRY).unwrap();
        bytes[second + 42..second + 46].fill(0);
        let error = entries(&bytes).unwrap_err();
        assert!(error.contains("b.npy") && error.contains("share"), "{error}");
    }

    fn files() -> Vec<(String, Vec<u8>)> {
        vec![("a.npy".into(), vec![1, 2, 3]), ("folder/b".into(), vec![9; 100])]
    }

    #[test]
    fn what_was_archived_is_found_and_aligned() {
        let bytes = archive(&files());
        assert!(is_zip(&bytes));
        let found = entries(&bytes).unwrap();
        for (name, content) in files() {
            assert_eq!(bytes[found[&name].clone()], content[..], "{name}");
            assert_eq!(found[&name].start % 64, 0);
        }
    }

    /// The checksum that every description of CRC-32 gives for these digits.
    #[test]
    fn the_checksum_of_the_nine_digits_is_the_known_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn an_archive_cut_anywhere_or_with_a_false_place_is_refused() {
        let bytes = archive(&files());
        for len in 0..bytes.len() {
            assert!(entries(&bytes[..len]).is_err(), "{len}");
        }
        for place in 0..bytes.len() {
            let mut other = bytes.clone();
            other[place] ^= 0xff;
            let _ = entries(&other);
        }
    }

    #[test]
    fn compressed_files_are_refused_with_a_remedy() {
        let mut bytes = archive(&files());
        let entry = bytes.windows(4).position(|window| window == ENTRY).unwrap();
        bytes[entry + 10] = 8;
        assert!(entries(&bytes).unwrap_err().contains("numpy.savez"));
    }
}
