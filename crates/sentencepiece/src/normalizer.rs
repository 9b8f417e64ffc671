//! From text as it comes to the text that is cut into pieces.

use std::sync::Arc;

use crate::charsmap::Charsmap;
use crate::proto::NormalizerSpec;
use crate::trie::Trie;

/// What stands for a space in pieces.
pub const SPACE: &str = "\u{2581}";
/// What stands for a byte that is no character.
pub const REPLACEMENT: &str = "\u{fffd}";
/// The C++ library looks at this many user-defined symbols, the shortest ones, at any one place.
pub const MOST_SYMBOLS: usize = 64;

/// Where the space is added that makes the first word look like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DummySpace {
    /// Nowhere.
    None,
    /// In front of the text.
    Prefix,
    /// Behind the text.
    Suffix,
}

/// A model's rules of normalisation.
#[derive(Clone, Debug)]
pub struct Normalizer {
    charsmap: Option<Charsmap>,
    /// Texts that no rule may change.
    symbols: Arc<Trie>,
    dummy: DummySpace,
    /// Whether spaces at the ends go, and runs of spaces become one.
    pub removes_extra_spaces: bool,
    /// What a space becomes.
    space: &'static str,
}

impl Normalizer {
    /// The rules of `spec`, of which `charsmap` is the table.
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
            space: if spec.escape_whitespaces() { SPACE } else { " " },
        }
    }

    /// Whether a space is added at either end.
    pub fn adds_space(&self) -> bool {
        self.dummy != DummySpace::None
    }

    /// `text`, normalised.
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
        // Symbols, replacements and characters are UTF-8, so that this is a conversion only.
        String::from_utf8(out)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
    }

    /// What is left of `rest` behind the prefixes that become one space each.
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

    /// What the start of `rest` becomes, and how long that start is.
    #[inline]
    fn replace_prefix<'a>(&'a self, rest: &'a [u8]) -> (&'a [u8], usize) {
        if let Some(length) = self.symbols.longest_prefix(rest, MOST_SYMBOLS) {
            return (&rest[..length], length);
        }
        let found = self.charsmap.as_ref().and_then(|map| map.longest_match(rest));
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

/// The length of the character at the start of `bytes`, unless they are inside one.
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
