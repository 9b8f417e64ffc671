//! The table of replacements that the trainer compiles into a model: a double-array trie over bytes
//! (Darts-clone). Its values are offsets in a list of texts.

use crate::error::CharsmapProblem;

/// Largest number of matches that the C++ library considers, the shortest first.
const MAX_MATCHES: usize = 32;
/// The number of bytes in a block of 256 units.
const BLOCK_BYTES: usize = 1024;

/// A `precompiled_charsmap` with validated indices.
#[derive(Clone, Debug)]
pub struct Charsmap {
    units: Vec<u32>,
    /// The replacements, each followed by a NUL.
    texts: String,
}

/// Returns the offset of a unit's children from the unit itself.
fn offset(unit: u32) -> usize {
    (unit as usize >> 10) << ((unit & 1 << 9) >> 6)
}

/// Returns the byte that leads to a unit. For a leaf, this is not a byte.
fn label(unit: u32) -> u32 {
    unit & (1 << 31 | 0xff)
}

fn is_leaf(unit: u32) -> bool {
    label(unit) > 0xff
}

/// Returns the offset of the replacement of a leaf.
fn value(leaf: u32) -> usize {
    (leaf & !(1 << 31)) as usize
}

fn has_leaf(unit: u32) -> bool {
    unit & 1 << 8 != 0
}

impl Charsmap {
    /// Reads the size of the trie in bytes, the trie, and the replacements.
    ///
    /// # Errors
    /// Returns an error if `bytes` end too early, or an index leads out of them.
    pub fn parse(bytes: &[u8]) -> Result<Self, CharsmapProblem> {
        let (size, rest) = bytes
            .split_first_chunk()
            .ok_or(CharsmapProblem::Truncated)?;
        let size = u32::from_le_bytes(*size) as usize;
        if size == 0 || !size.is_multiple_of(BLOCK_BYTES) {
            return Err(CharsmapProblem::TrieSize(size));
        }
        let (units, texts) = rest
            .split_at_checked(size)
            .ok_or(CharsmapProblem::Truncated)?;
        let texts = std::str::from_utf8(texts).map_err(|_| CharsmapProblem::Replacements)?;
        if !texts.ends_with('\0') {
            return Err(CharsmapProblem::Replacements);
        }
        let units = units
            .as_chunks()
            .0
            .iter()
            .map(|unit| u32::from_le_bytes(*unit))
            .collect();
        let map = Self {
            units,
            texts: texts.to_owned(),
        };
        if let Some(unit) = (0..map.units.len()).find(|&unit| !map.is_valid(unit)) {
            return Err(CharsmapProblem::Unit(unit));
        }
        Ok(map)
    }

    /// Returns whether a unit points inside of the table.
    fn is_valid(&self, index: usize) -> bool {
        let unit = self.units[index];
        if index == 0 && (label(unit) != 0 || has_leaf(unit) || offset(unit) == 0) {
            return false;
        }
        if index > 0 && is_leaf(unit) {
            return value(unit) < self.texts.len() && self.texts.is_char_boundary(value(unit));
        }
        let children = index ^ offset(unit);
        children | 0xff < self.units.len() && (!has_leaf(unit) || is_leaf(self.units[children]))
    }

    /// Returns the replacement for the longest prefix of `input` in the table, and the length of
    /// this prefix.
    #[inline]
    pub fn longest_match(&self, input: &[u8]) -> Option<(&str, usize)> {
        let mut longest = None;
        let mut matches = 0;
        let mut index = offset(self.units[0]);
        for (at, &byte) in input.iter().enumerate() {
            index ^= usize::from(byte);
            let unit = *self.units.get(index)?;
            if label(unit) != u32::from(byte) {
                break;
            }
            index ^= offset(unit);
            if has_leaf(unit) {
                longest = Some((value(self.units[index]), at + 1));
                matches += 1;
                if matches == MAX_MATCHES {
                    break;
                }
            }
        }
        let (start, length) = longest?;
        Some((self.text(start)?, length))
    }

    /// Returns the replacement that begins at this offset.
    fn text(&self, start: usize) -> Option<&str> {
        self.texts[start..].split('\0').next()
    }

    /// Returns the largest ratio of the length of a replacement to the length of the replaced text;
    /// at least 1.
    pub fn growth(&self) -> f64 {
        let mut growth = 1.0_f64;
        let mut seen = vec![false; self.units.len()];
        let mut states = vec![offset(self.units[0])];
        // The shortest texts come first.
        for length in 1.. {
            states.retain(|&state| !std::mem::replace(&mut seen[state], true));
            let mut longer = Vec::new();
            for (&state, byte) in states
                .iter()
                .flat_map(|state| (1..=0xff).map(move |b| (state, b)))
            {
                let index = state ^ byte;
                let unit = self.units[index];
                if label(unit) != byte as u32 {
                    continue;
                }
                let below = index ^ offset(unit);
                if has_leaf(unit) {
                    let text = self.text(value(self.units[below])).unwrap_or_default();
                    growth = growth.max(text.len() as f64 / f64::from(length));
                }
                longer.push(below);
            }
            if longer.is_empty() {
                break;
            }
            states = longer;
        }
        growth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a trie of 512 units that replaces `a` by the text at `value`. The children of its
    /// root are at 256 ^ byte.
    fn replaces_a(value: u32) -> Vec<u32> {
        let mut units = vec![0; 512];
        units[0] = 256 << 10;
        // `a` is at 256 ^ 97, and its leaf at 256.
        let a = 256 | usize::from(b'a');
        units[a] = u32::from(b'a') | 1 << 8 | ((a as u32 ^ 256) << 10);
        units[256] = 1 << 31 | value;
        units
    }

    fn bytes(units: &[u32], texts: &[u8]) -> Vec<u8> {
        let mut bytes = (units.len() as u32 * 4).to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend(texts);
        bytes
    }

    #[test]
    fn a_text_is_replaced_by_the_text_of_its_leaf() {
        let map = Charsmap::parse(&bytes(&replaces_a(2), b"x\0yz\0")).unwrap();
        assert_eq!(map.longest_match(b"ab"), Some(("yz", 1)));
        assert_eq!(map.longest_match(b"ba"), None);
        assert_eq!(map.longest_match(b""), None);
    }

    #[test]
    fn growth_is_set_by_the_longest_replacement() {
        for (value, growth) in [(0, 3.0), (2, 1.0), (3, 1.0)] {
            let map = Charsmap::parse(&bytes(&replaces_a(value), b"xyz\0"));
            assert_eq!(map.unwrap().growth(), growth);
        }
    }

    #[test]
    fn a_table_that_points_outside_of_itself_is_refused() {
        let problem =
            |units: &[u32], texts: &[u8]| Charsmap::parse(&bytes(units, texts)).unwrap_err();
        let mut far = replaces_a(0);
        far[300] = 44 | 1 << 22;
        assert_eq!(problem(&far, b"x\0"), CharsmapProblem::Unit(300));
        assert_eq!(problem(&replaces_a(2), b"x\0"), CharsmapProblem::Unit(256));
        assert_eq!(
            problem(&replaces_a(1), "ä\0".as_bytes()),
            CharsmapProblem::Unit(256)
        );
        let mut no_leaf = replaces_a(0);
        no_leaf[256] = 0;
        assert_eq!(problem(&no_leaf, b"x\0"), CharsmapProblem::Unit(256 | 97));
        assert_eq!(problem(&[0; 256], b"x\0"), CharsmapProblem::Unit(0));
    }

    #[test]
    fn a_table_of_another_size_than_it_claims_is_refused() {
        let good = bytes(&replaces_a(0), b"x\0");
        assert_eq!(
            Charsmap::parse(&good[..3]).unwrap_err(),
            CharsmapProblem::Truncated
        );
        assert_eq!(
            Charsmap::parse(&good[..2000]).unwrap_err(),
            CharsmapProblem::Truncated
        );
        let sizes = [0, 1023, 2047].map(|size: u32| [&size.to_le_bytes(), &good[4..]].concat());
        for (bytes, size) in sizes.iter().zip([0, 1023, 2047]) {
            assert_eq!(
                Charsmap::parse(bytes).unwrap_err(),
                CharsmapProblem::TrieSize(size)
            );
        }
    }

    #[test]
    fn replacements_must_be_utf8_and_end_in_nul() {
        for texts in [&b""[..], b"x", b"\xff\0"] {
            let parsed = Charsmap::parse(&bytes(&replaces_a(0), texts));
            assert_eq!(parsed.unwrap_err(), CharsmapProblem::Replacements);
        }
    }
}
