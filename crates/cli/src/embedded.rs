//! The corpus inside the binary: Tatoeba German–English (see `assets/corpus`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burnformer_train::config::DataSettings;
use sha2::{Digest, Sha256};

macro_rules! files {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!("../../../assets/corpus/tatoeba-de-en/", $name)) as &[u8])),*]
    };
}

const FILES: [(&str, &[u8]); 6] = files!(
    "train.de.zst",
    "train.en.zst",
    "valid.de.zst",
    "valid.en.zst",
    "test.de.zst",
    "test.en.zst"
);

/// The three parts of the corpus as files: German (source), English (target).
pub struct EmbeddedCorpus {
    /// Text to learn from.
    pub train: Vec<PathBuf>,
    /// Text to validate on.
    pub valid: Vec<PathBuf>,
    /// Text to test on.
    pub test: Vec<PathBuf>,
}

/// Names the corpus, unpacked into `cache`, where `data` names no training text; its other parts too where
/// those are missing.
///
/// # Errors
/// As [`unpack`].
pub fn fill(data: &mut DataSettings, cache: &Path) -> Result<()> {
    if !data.train.is_empty() {
        return Ok(());
    }
    let corpus = unpack(cache)?;
    data.train = corpus.train;
    for (key, own) in [(&mut data.valid, corpus.valid), (&mut data.test, corpus.test)] {
        if key.is_empty() {
            *key = own;
        }
    }
    Ok(())
}

/// Unpacks the corpus into `cache`, or finds it there.
///
/// # Errors
/// If a file cannot be written.
pub fn unpack(cache: &Path) -> Result<EmbeddedCorpus> {
    let folder = cache.join("corpus").join("tatoeba-de-en");
    fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    for (name, bytes) in FILES {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|found| Sha256::digest(found) == Sha256::digest(bytes)) {
            continue;
        }
        let partial = folder.join(format!("{name}.{}.partial", std::process::id()));
        let write = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, &path));
        write.with_context(|| format!("{}", path.display()))?;
    }
    let pair = |part: &str| ["de", "en"].map(|l| folder.join(format!("{part}.{l}.zst"))).to_vec();
    Ok(EmbeddedCorpus { train: pair("train"), valid: pair("valid"), test: pair("test") })
}
