//! Normalisation: from a text to the text that is segmented into pieces.

use std::sync::Arc;

use crate::charsmap::Charsmap;
use crate::proto::NormalizerSpec;
use crate::trie::Trie;

/// The character that stands for a space in pieces.
pub const SPACE: &str = "\u{2581}";
/// The character that stands for a byte that is not part of a character.
pub const REPLACEMENT: &str = "\u{fffd}";
/// Largest number of user-defined symbols that the C++ library considers at one position, the
/// shortest first.
pub const MAX_SYMBOLS: usize = 64;

/// The position of the added space, which makes the first or last word like any other word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DummySpace {
    /// No space is added.
    None,
    /// Before the text.
    Prefix,
    /// After the text.
    Suffix,
}

/// The rules of normalisation of a model.
#[derive(Clone, Debug)]
pub struct Normalizer {
    charsmap: Option<Charsmap>,
    /// Texts that no rule may change.
    symbols: Arc<Trie>,
    dummy: DummySpace,
    /// If true, spaces at both ends are removed and adjacent spaces become one.
    pub removes_extra_spaces: bool,
    /// The text that replaces a space.
    space: &'static str,
}

impl Normalizer {
    /// Creates the rules of `spec` with the table of replacements `charsmap`.
    pub fn new(
        spec: &NormalizerSpec,
        charsmap: Option<Charsmap>,
        symbols: Arc<Trie>,
        space_is_suffix: bool,
    ) -> Self {
        let dummy = match (spec.add_dummy_prefix(), space_is_suffix) {
            (false, _) => DummySpace::None,
            (true, false) => DummySpace::Prefix,
            (true, true) => DummySpace::Suffix,
        };
        Self {
            charsmap,
            symbols,
            dummy,
            removes_extra_spaces: spec.remove_extra_whitespaces(),
            space: if spec.escape_whitespaces() {
                SPACE
            } else {
                " "
            },
        }
    }

    /// Returns whether a space is added at either end.
    pub fn adds_space(&self) -> bool {
        self.dummy != DummySpace::None
    }

    /// Normalises `text`.
    pub fn normalize(&self, text: &str) -> String {
        let rest = self.without_leading_spaces(text.as_bytes());
        if rest.is_empty() {
            return String::new();
        }
        let mut out = Vec::with_capacity(rest.len() + rest.len() / 2 + SPACE.len());
        if self.dummy == DummySpace::Prefix {
            out.extend(self.space.as_bytes());
        }
        self.replace(rest, &mut out);
        if self.removes_extra_spaces {
            while out.ends_with(self.space.as_bytes()) {
                out.truncate(out.len() - self.space.len());
            }
        }
        if self.dummy == DummySpace::Suffix {
            out.extend(self.space.as_bytes());
        }
        // Symbols, replacements and characters are UTF-8; this is only a conversion.
        String::from_utf8(out)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
    }

    /// Returns the rest of `rest` after the prefixes that become one space each.
    fn without_leading_spaces<'a>(&self, mut rest: &'a [u8]) -> &'a [u8] {
        while self.removes_extra_spaces && !rest.is_empty() {
            let (replaced, length) = self.replace_prefix(rest);
            if replaced != b" " {
                break;
            }
            rest = &rest[length..];
        }
        rest
    }

    fn replace(&self, mut rest: &[u8], out: &mut Vec<u8>) {
        let mut after_space = self.removes_extra_spaces;
        while !rest.is_empty() {
            let (mut replaced, length) = self.replace_prefix(rest);
            while after_space && replaced.first() == Some(&b' ') {
                replaced = &replaced[1..];
            }
            if let Some(last) = replaced.last() {
                self.append(replaced, out);
                after_space = self.removes_extra_spaces && *last == b' ';
            }
            rest = &rest[length..];
        }
    }

    #[inline]
    fn append(&self, replaced: &[u8], out: &mut Vec<u8>) {
        for &byte in replaced {
            match byte {
                b' ' => out.extend(self.space.as_bytes()),
                byte => out.push(byte),
            }
        }
    }

    /// Returns the normalised form of the start of `rest`, and the length of that start.
    #[inline]
    fn replace_prefix<'a>(&'a self, rest: &'a [u8]) -> (&'a [u8], usize) {
        if let Some(length) = self.symbols.longest_prefix(rest, MAX_SYMBOLS) {
            return (&rest[..length], length);
        }
        let found = self
            .charsmap
            .as_ref()
            .and_then(|map| map.longest_match(rest));
        if let Some((replacement, length)) = found {
            return (replacement.as_bytes(), length);
        }
        match char_len(rest) {
            Some(length) => (&rest[..length], length),
            // A rule ended inside a character.
            None => (REPLACEMENT.as_bytes(), 1),
        }
    }
}

/// Returns the length of the character at the start of `bytes`; `None` if they begin inside a
/// character.
#[inline]
fn char_len(bytes: &[u8]) -> Option<usize> {
    let length = match bytes[0] {
        0..0x80 => 1,
        0x80..0xc0 => return None,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
    };
    (length <= bytes.len()).then_some(length)
}
