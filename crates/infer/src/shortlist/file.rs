//! Shortlists in files: safetensors with three tensors of unsigned 32-bit integers and one entry of
//! metadata.
//!
//! | tensor | content |
//! |---|---|
//! | `frequent` | the frequent target tokens |
//! | `offsets` | `[source_vocab + 1]`: the start of each source token's translations in `tokens`, and the end of the last |
//! | `tokens` | the translations of one source token after the other |
//!
//! The entry `burnformer_shortlist` is JSON: the version, the vocabularies, and the SHA-256 of the
//! rest. It is the only entry, because several would be written in the random order of a hash map.

use std::collections::HashMap;
use std::path::Path;

use burnformer_files::{FileKind, read_whole};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::{Result, ShortlistError};
use super::list::{Shortlist, Vocabularies};

/// The name of the entry of metadata.
const ENTRY: &str = "burnformer_shortlist";
/// Version of the format that this crate writes and reads.
const VERSION: u64 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    version: u64,
    vocabularies: Vocabularies,
    sha256: String,
}

/// The version, present in every version of the format.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

impl Shortlist {
    /// Reads a file of [`save`](Self::save).
    ///
    /// # Errors
    /// Returns [`ShortlistError::Unreadable`] if the file cannot be read, and the errors of
    /// [`from_bytes`](Self::from_bytes).
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read_whole(path, FileKind::SHORTLIST)
            .map_err(|error| ShortlistError::Unreadable(path.into(), error.into_io()))?;
        Self::from_bytes(path, &bytes)
    }

    /// Parses the content of a file, called `path` in errors.
    ///
    /// # Errors
    /// Returns [`ShortlistError::Version`] for another version of the format, and
    /// [`ShortlistError::Damaged`] if the content is not a shortlist or its hash differs.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        let damaged = |what: String| ShortlistError::Damaged(path.into(), what);
        let (_, metadata) =
            SafeTensors::read_metadata(bytes).map_err(|error| damaged(error.to_string()))?;
        let entry = metadata.metadata().as_ref().and_then(|all| all.get(ENTRY));
        let entry = entry.ok_or_else(|| damaged(format!("no metadata {ENTRY}")))?;
        let Version { version } = serde_json::from_str(entry)
            .map_err(|error| damaged(format!("metadata {ENTRY}: {error}")))?;
        if version != VERSION {
            return Err(ShortlistError::Version(path.into(), version));
        }
        let Header {
            vocabularies,
            sha256,
            ..
        } = serde_json::from_str(entry)
            .map_err(|error| damaged(format!("metadata {ENTRY}: {error}")))?;
        let file = SafeTensors::deserialize(bytes).map_err(|error| damaged(error.to_string()))?;
        let shortlist = Self {
            vocabularies,
            frequent: numbers(&file, "frequent").map_err(damaged)?,
            offsets: numbers(&file, "offsets").map_err(damaged)?,
            tokens: numbers(&file, "tokens").map_err(damaged)?,
        };
        if shortlist.hash() != sha256 {
            return Err(damaged(
                "the content has another hash than the file says".into(),
            ));
        }
        shortlist.check().map_err(|what| damaged(what.into()))?;
        Ok(shortlist)
    }

    /// Writes the shortlist to the file `path`, completely or not at all.
    ///
    /// # Errors
    /// Returns [`ShortlistError::Unwritable`] if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        burnformer_files::write(path, &self.to_bytes())
            .map_err(|cause| ShortlistError::Unwritable(path.into(), cause))
    }

    /// The content of the file. It is a function of the shortlist alone.
    pub fn to_bytes(&self) -> Vec<u8> {
        let vocabularies = self.vocabularies.clone();
        let header = Header {
            version: VERSION,
            vocabularies,
            sha256: self.hash(),
        };
        let entry = serde_json::to_string(&header).expect("a header is plain data");
        let metadata = HashMap::from([(ENTRY.to_string(), entry)]);
        let tensors = self
            .tensors()
            .map(|(name, values)| (name, bytes_of(values)));
        let views = tensors.iter().map(|(name, bytes)| {
            let view = TensorView::new(Dtype::U32, vec![bytes.len() / 4], bytes);
            (*name, view.expect("four bytes for each number"))
        });
        safetensors::serialize(views, Some(metadata)).expect("three tensors and a short header")
    }

    fn tensors(&self) -> [(&'static str, &[u32]); 3] {
        [
            ("frequent", &self.frequent),
            ("offsets", &self.offsets),
            ("tokens", &self.tokens),
        ]
    }

    /// The SHA-256 of everything.
    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(serde_json::to_vec(&self.vocabularies).expect("vocabularies are plain data"));
        for (name, values) in self.tensors() {
            hash.update(format!("{name} {}", values.len()));
            hash.update(bytes_of(values));
        }
        format!("{:x}", hash.finalize())
    }

    /// Checks the content of a file with the right hash.
    fn check(&self) -> Result<(), &'static str> {
        let [source_vocab, target_vocab] = self.vocabularies.sizes;
        let ends =
            [self.offsets.first(), self.offsets.last()].map(|end| end.map(|&it| it as usize));
        if self.offsets.len().checked_sub(1) != Some(source_vocab)
            || ends != [Some(0), Some(self.tokens.len())]
            || !self.offsets.is_sorted()
        {
            return Err("its offsets do not fit the source vocabulary and the tokens");
        }
        let lists = self
            .offsets
            .windows(2)
            .map(|ends| &self.tokens[ends[0] as usize..ends[1] as usize]);
        if lists.chain([&self.frequent[..]]).all(|ids| {
            let last = ids.last().is_none_or(|&id| (id as usize) < target_vocab);
            last && ids.is_sorted_by(|a, b| a < b)
        }) {
            Ok(())
        } else {
            Err("its lists are not in order or have tokens outside the target vocabulary")
        }
    }
}

fn bytes_of(values: &[u32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// The numbers of the tensor `name`.
fn numbers(file: &SafeTensors, name: &str) -> Result<Vec<u32>, String> {
    let view = file.tensor(name).map_err(|_| format!("no tensor {name}"))?;
    match (view.dtype(), view.shape()) {
        (Dtype::U32, [_]) => Ok(view
            .data()
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| u32::from_le_bytes(bytes))
            .collect()),
        (dtype, shape) => Err(format!(
            "tensor {name} is {dtype:?} {shape:?}, expected U32 [n]"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortlist() -> Shortlist {
        let tokenizers = Some(["a".to_string(), "b".to_string()]);
        let vocabularies = Vocabularies {
            sizes: [4, 300],
            tokenizers,
        };
        Shortlist::new(
            vocabularies,
            vec![7, 2],
            vec![vec![], vec![3, 256], vec![5]],
        )
        .unwrap()
    }

    fn parse(bytes: &[u8]) -> Result<Shortlist, ShortlistError> {
        Shortlist::from_bytes(Path::new("s.safetensors"), bytes)
    }

    /// A changed file with the right hash.
    fn sealed(change: impl FnOnce(&mut Shortlist)) -> Vec<u8> {
        let mut shortlist = shortlist();
        change(&mut shortlist);
        shortlist.to_bytes()
    }

    #[test]
    fn a_file_round_trips_with_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.safetensors");
        let saved = shortlist();
        saved.save(&path).unwrap();
        assert_eq!(Shortlist::load(&path).unwrap(), saved);
        assert_eq!(std::fs::read(&path).unwrap(), saved.to_bytes());
        let unnamed = Shortlist::new(Vocabularies::of_sizes([1, 1]), vec![], vec![]).unwrap();
        assert_eq!(parse(&unnamed.to_bytes()).unwrap(), unnamed);
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let good = shortlist().to_bytes();
        for index in 0..good.len() {
            assert!(parse(&good[..index]).is_err(), "cut to {index} bytes");
            let mut bytes = good.clone();
            bytes[index] ^= 1 << (index % 8);
            match parse(&bytes) {
                Err(error) => assert!(error.to_string().contains("s.safetensors"), "{error}"),
                // Another white space, or a change in an ignored name.
                Ok(same) => assert_eq!(same, shortlist(), "byte {index}"),
            }
        }
    }

    #[test]
    fn a_file_with_a_matching_hash_is_still_checked() {
        let refused = |change: fn(&mut Shortlist)| {
            let error = parse(&sealed(change)).unwrap_err();
            assert!(matches!(error, ShortlistError::Damaged(..)));
            assert!(
                error.to_string().contains("burnformer shortlist"),
                "{error}"
            );
        };
        refused(|it| it.offsets[1] = 9);
        refused(|it| it.offsets = vec![]);
        refused(|it| it.offsets[0] = 1);
        refused(|it| it.tokens[1] = 300);
        refused(|it| it.tokens.swap(0, 1));
        refused(|it| it.frequent = vec![2, 2]);
        refused(|it| it.vocabularies.sizes[0] = usize::MAX);
        refused(|it| it.tokens.push(1));
    }

    #[test]
    fn other_files_and_other_versions_are_refused_by_name() {
        let error = parse(b"\x08\0\0\0\0\0\0\0{}      ")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("s.safetensors: ") && error.contains("no metadata"),
            "{error}"
        );
        let good = shortlist().to_bytes();
        let at = good
            .windows(12)
            .position(|at| at == b"version\\\":1,")
            .unwrap();
        let mut newer = good.clone();
        newer[at + 10] = b'7';
        assert!(matches!(
            parse(&newer).unwrap_err(),
            ShortlistError::Version(_, 7)
        ));
        let error = Shortlist::load(Path::new("missing.safetensors")).unwrap_err();
        assert!(matches!(error, ShortlistError::Unreadable(..)));
        assert!(error.to_string().contains("missing.safetensors"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let error = shortlist()
            .save(&folder.path().join("no/such/folder"))
            .unwrap_err();
        assert!(matches!(error, ShortlistError::Unwritable(..)));
    }
}
