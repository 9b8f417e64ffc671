//! The binary lexical shortlists of Bergamot and Firefox, `lex.*.s2t.bin`: a header of six 64-bit
//! numbers, the 64-bit offset of each source token's translations, and the 32-bit translations.

use std::path::Path;

use burnformer_infer::shortlist::{Shortlist, Vocabularies};

use crate::cursor::number;
use crate::error::{InteropError, Result};

/// The first number of a file.
const MAGIC: u64 = 0xF11A_48D5_0134_17F5;
/// The length of the header in bytes: the magic number, the checksum, the numbers of frequent
/// tokens and of translations of a token, and the lengths of both tables.
const HEADER: usize = 6 * 8;
/// The number of bytes before the checked ones.
const UNCHECKED: usize = 2 * 8;

/// Returns whether `bytes` begin with the header of such a file.
pub(super) fn is_shortlist(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC.to_le_bytes())
}

/// The vocabularies of a model: one for both sides (a token can be its own translation), or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sides {
    Shared,
    Separate,
}

/// Reads `bytes`, the content of `path`, as a shortlist for vocabularies of `sizes`, which have
/// `padded` tokens in the model directory.
///
/// # Errors
/// Returns [`InteropError::Damaged`] if the header, the checksum or an id is wrong, or the table is
/// shorter than the source vocabulary.
pub(super) fn read(
    path: &Path,
    bytes: &[u8],
    sizes: [usize; 2],
    padded: usize,
    sides: Sides,
) -> Result<Shortlist> {
    let damaged = |what: &str| InteropError::damaged(path, what);
    if !is_shortlist(bytes) || bytes.len() < HEADER {
        return Err(damaged("it has no header of a binary shortlist"));
    }
    let header: Vec<u64> = numbers(&bytes[..HEADER]).collect();
    let [_, checksum, first, _, offsets, tokens] = header[..] else {
        unreachable!("six numbers")
    };
    if offsets == 0 || length(offsets, tokens) != Some(bytes.len()) {
        return Err(damaged("its header gives another size than the file has"));
    }
    if hash(&bytes[UNCHECKED..]) != checksum {
        return Err(damaged("its checksum is another than its header says"));
    }
    let (offsets, tokens) = bytes[HEADER..].split_at(offsets as usize * 8);
    let offsets: Vec<u64> = numbers(offsets).collect();
    let tokens: Vec<u32> = tokens
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let lists: Option<Vec<Vec<u32>>> = offsets
        .windows(2)
        .map(|ends| {
            let start = usize::try_from(ends[0]).unwrap_or(usize::MAX);
            let end = usize::try_from(ends[1]).unwrap_or(usize::MAX);
            tokens.get(start..end).map(<[u32]>::to_vec)
        })
        .collect();
    let mut lists = lists.ok_or_else(|| damaged("its tables do not fit together"))?;
    let [source_size, target_size] = sizes;
    if lists.len() < source_size {
        let count = lists.len();
        let what = format!("it has {count} source tokens, the vocabulary {source_size}");
        return Err(damaged(&what));
    }
    if let Some(id) = tokens.iter().find(|&&id| id as usize >= target_size) {
        let what = format!("it has the id {id}, the target vocabulary {target_size} tokens");
        return Err(damaged(&what));
    }
    lists.truncate(source_size);
    if sides == Sides::Shared {
        (0..).zip(&mut lists).for_each(|(id, list)| list.push(id));
    }
    // Marian's vocabularies begin with the most frequent tokens.
    let frequent = (0..first.min(target_size as u64) as u32).collect();
    Shortlist::new(Vocabularies::of_sizes([padded; 2]), frequent, lists)
        .map_err(|error| InteropError::damaged(path, error))
}

/// The size in bytes of a file with tables of these lengths.
fn length(offsets: u64, tokens: u64) -> Option<usize> {
    let bytes = offsets
        .checked_mul(8)?
        .checked_add(tokens.checked_mul(4)?)?;
    usize::try_from(bytes).ok()?.checked_add(HEADER)
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(number)
}

/// Marian's `hashMem`: Boost's `hash_combine` over whole 64-bit numbers.
fn hash(bytes: &[u8]) -> u64 {
    numbers(bytes).fold(0, |seed, number| {
        let mixed = number
            .wrapping_add(0x9e37_79b9)
            .wrapping_add(seed << 6)
            .wrapping_add(seed >> 2);
        seed ^ mixed
    })
}
