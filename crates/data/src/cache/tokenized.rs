//! A tokenised corpus, mapped from its cache file or held in memory.

use std::fs::File;
use std::path::Path;

use memmap2::Mmap;
use sha2::{Digest, Sha256};

use super::header::{HEADER_BYTES, Header};
use crate::clean::CleaningReport;
use crate::corpus::open_error;
use crate::error::{DataError, Result};
use crate::hash::{Key, hex, key_of};

/// Pairs of token ids, without special tokens.
///
/// A mapped corpus costs no memory of its own: the system keeps what is read of it, and drops that under pressure. The
/// file must not be changed while it is open; nothing in this crate ever writes to a finished cache file.
pub struct TokenizedCorpus {
    tokens: Tokens,
    pairs: usize,
    report: CleaningReport,
}

enum Tokens {
    Mapped { map: Mmap, header: Header },
    Owned { ids: Vec<u32>, starts: Vec<u64> },
}

impl TokenizedCorpus {
    /// Opens and verifies the cache file at `path`.
    ///
    /// # Errors
    /// [`DataError::NotFound`] if there is none, [`DataError::DamagedCache`] if it is not exactly what was written for `key`.
    pub(crate) fn open(path: &Path, key: &Key) -> Result<Self> {
        let damaged = |message: String| DataError::DamagedCache { path: path.into(), message };
        let file = File::open(path).map_err(|cause| open_error(path, cause))?;
        // SAFETY: finished cache files are only ever replaced by a rename, which leaves this mapping's file as it is.
        let map = unsafe { Mmap::map(&file) }.map_err(|cause| open_error(path, cause))?;
        let header = verify(&map, key).map_err(damaged)?;
        let report = serde_json::from_slice(&map[header.report_at()..])
            .map_err(|error| damaged(error.to_string()))?;
        Ok(Self { pairs: header.pairs as usize, tokens: Tokens::Mapped { map, header }, report })
    }

    /// A corpus in memory, for tests and small sets; ids without special tokens.
    pub fn from_pairs<S: AsRef<[u32]>, T: AsRef<[u32]>>(pairs: &[(S, T)]) -> Self {
        let (mut ids, mut starts) = (Vec::new(), vec![0]);
        for (source, target) in pairs {
            for side in [source.as_ref(), target.as_ref()] {
                ids.extend_from_slice(side);
                starts.push(ids.len() as u64);
            }
        }
        let count = pairs.len() as u64;
        let report = CleaningReport { read: count, kept: count, ..Default::default() };
        Self { tokens: Tokens::Owned { ids, starts }, pairs: pairs.len(), report }
    }

    /// Pairs.
    pub fn len(&self) -> usize {
        self.pairs
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.pairs == 0
    }

    /// Ids of pair `i`: source and target, without special tokens.
    ///
    /// # Panics
    /// If `i` is not below [`TokenizedCorpus::len`].
    pub fn pair(&self, i: usize) -> (Vec<u32>, Vec<u32>) {
        (self.sentence(2 * i), self.sentence(2 * i + 1))
    }

    /// Source tokens of pair `i`, without `</s>`.
    ///
    /// # Panics
    /// As [`TokenizedCorpus::pair`].
    pub fn source_len(&self, i: usize) -> usize {
        self.start(2 * i + 1) - self.start(2 * i)
    }

    /// Target tokens of pair `i`, without `</s>`.
    ///
    /// # Panics
    /// As [`TokenizedCorpus::pair`].
    pub fn target_len(&self, i: usize) -> usize {
        self.start(2 * i + 2) - self.start(2 * i + 1)
    }

    /// Tokens of both sides, without special tokens.
    pub fn tokens(&self) -> usize {
        self.start(2 * self.pairs)
    }

    /// SHA-256, in hexadecimal digits, of the tokens, their order and the cleaning report: equal for equal text under equal
    /// settings and tokenisers. A mapped corpus knows it already.
    pub fn hash(&self) -> String {
        match &self.tokens {
            Tokens::Mapped { header, .. } => hex(&header.body_hash),
            Tokens::Owned { ids, starts } => {
                hex(&key_of(&[bytemuck::cast_slice(ids), bytemuck::cast_slice(starts)]))
            }
        }
    }

    /// What cleaning dropped on the way here.
    pub fn report(&self) -> &CleaningReport {
        &self.report
    }

    fn starts(&self) -> &[u64] {
        match &self.tokens {
            Tokens::Mapped { map, header } => {
                bytemuck::cast_slice(&map[header.offsets_at()..header.report_at()])
            }
            Tokens::Owned { starts, .. } => starts,
        }
    }

    fn start(&self, sentence: usize) -> usize {
        self.starts()[sentence] as usize
    }

    fn sentence(&self, sentence: usize) -> Vec<u32> {
        let (start, end) = (self.start(sentence), self.start(sentence + 1));
        match &self.tokens {
            Tokens::Owned { ids, .. } => ids[start..end].to_vec(),
            Tokens::Mapped { map, header } => {
                let width = header.width as usize;
                let bytes = &map[HEADER_BYTES + start * width..HEADER_BYTES + end * width];
                match width {
                    2 => {
                        bytemuck::cast_slice(bytes).iter().map(|&id: &u16| u32::from(id)).collect()
                    }
                    _ => bytemuck::cast_slice(bytes).to_vec(),
                }
            }
        }
    }
}

/// Checks header, size and checksum of a whole cache file.
fn verify(map: &[u8], key: &Key) -> Result<Header, String> {
    let header = Header::parse(map, key)?;
    if map.len() != header.file_bytes() {
        return Err(format!("{} bytes instead of {}", map.len(), header.file_bytes()));
    }
    let hash: Key = Sha256::digest(&map[HEADER_BYTES..]).into();
    if hash != header.body_hash {
        return Err("the checksum does not fit".to_owned());
    }
    let starts: &[u64] = bytemuck::cast_slice(&map[header.offsets_at()..header.report_at()]);
    if !starts.is_sorted() || starts.last() != Some(&header.tokens) {
        return Err("the sentences' places are out of order".to_owned());
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(content: &[u8]) -> DataError {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        TokenizedCorpus::open(file.path(), &[7; 32]).err().expect("an error")
    }

    #[test]
    fn what_is_no_cache_is_damaged_and_says_so() {
        for content in [&b""[..], b"short", &[0; 500]] {
            let error = error(content);
            assert!(matches!(error, DataError::DamagedCache { .. }), "{error:?}");
            assert!(error.to_string().contains("delete it and it is built again"));
        }
    }

    #[test]
    fn a_cache_of_other_text_is_not_taken() {
        let header = Header::new(2, 0, 0, 2, [8; 32], [0; 32]);
        let message = error(bytemuck::bytes_of(&header)).to_string();
        assert!(message.contains("other text or with other settings"), "{message}");
    }

    #[test]
    fn a_corpus_in_memory_gives_back_its_pairs() {
        let corpus = TokenizedCorpus::from_pairs(&[(vec![4, 5], vec![6]), (vec![], vec![7, 8])]);
        assert_eq!(corpus.pair(1), (vec![], vec![7, 8]));
        assert_eq!((corpus.source_len(0), corpus.target_len(0)), (2, 1));
        assert_eq!((corpus.len(), corpus.tokens()), (2, 5));
    }

    #[test]
    fn the_hash_tells_corpora_apart() {
        let hash = |pairs: &[(Vec<u32>, Vec<u32>)]| TokenizedCorpus::from_pairs(pairs).hash();
        let one = hash(&[(vec![4, 5], vec![6])]);
        assert_eq!(one, hash(&[(vec![4, 5], vec![6])]));
        assert_ne!(one, hash(&[(vec![4], vec![5, 6])]));
    }
}
