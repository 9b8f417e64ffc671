use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burnformer_files::user_cache;
use sha2::{Digest, Sha256};

use super::unpack;
use crate::output::note;

/// The language pairs of the embedded models, as `SOURCE-TARGET`.
pub const PAIRS: [&str; 2] = ["de-en", "en-de"];
/// The model of a command without `--model`.
pub const DEFAULT_MODEL: &str = "embedded:de-en";

/// The prefix of the names of embedded models. Other names are folders.
const PREFIX: &str = "embedded:";

/// A file of a model directory: its name and its bytes.
type ModelFile = (&'static str, &'static [u8]);

const MODELS: [[ModelFile; 6]; PAIRS.len()] =
    [burnformer_model_de_en::FILES, burnformer_model_en_de::FILES];

/// The model directory of `--model`: a folder, or `embedded:de-en` and `embedded:en-de`, which are
/// unpacked.
///
/// # Errors
/// Returns an error if the program contains no such model, or it cannot be unpacked.
pub fn model_dir(name: &Path) -> Result<PathBuf> {
    let Some(pair) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
        return Ok(name.to_owned());
    };
    let Some(index) = PAIRS.iter().position(|known| *known == pair) else {
        let names = PAIRS.map(|pair| format!("{PREFIX}{pair}")).join(" and ");
        bail!("the program contains no model {pair:?}, only {names}; otherwise name a folder");
    };
    unpacked(pair, &MODELS[index], &user_cache())
}

/// Returns whether `folder` belongs to an unpacked embedded model. Changes in such a folder are
/// lost.
pub fn is_unpacked(folder: &Path) -> bool {
    folder.starts_with(user_cache().join("models"))
}

/// Returns the folder of [`DEFAULT_MODEL`], and prints a note that this model is used.
///
/// # Errors
/// Returns an error if the model cannot be unpacked.
pub fn default_model() -> Result<PathBuf> {
    note(format_args!(
        "model: {DEFAULT_MODEL}, which learned short everyday sentences; --model names another"
    ));
    model_dir(Path::new(DEFAULT_MODEL))
}

/// The folder of the model in `cache`. Each version of the program has a separate folder.
fn unpacked(pair: &str, files: &[ModelFile], cache: &Path) -> Result<PathBuf> {
    let manifest = files
        .iter()
        .find(|(name, _)| *name == "manifest.json")
        .map(|(_, bytes)| bytes);
    let version = Sha256::digest(manifest.context("a model without a manifest")?);
    let folder = cache.join("models").join(format!("{pair}-{version:.8x}"));
    for (name, bytes) in files {
        let path = folder.join(name);
        unpack(&path, bytes).with_context(|| {
            format!(
                "{}: cannot be written; choose another folder with the environment variable \
                 XDG_CACHE_HOME, or name a model with --model",
                path.display()
            )
        })?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use burnformer_core::model_dir as dir;

    use super::*;

    #[test]
    fn every_model_is_whole_and_a_damaged_file_unpacked_again() {
        let cache = tempfile::tempdir().unwrap();
        for (pair, files) in PAIRS.iter().zip(&MODELS) {
            let folder = unpacked(pair, files, cache.path()).unwrap();
            dir::verify(&folder).unwrap();
            fs::write(folder.join("tokenizer.json"), "damaged").unwrap();
            assert_eq!(unpacked(pair, files, cache.path()).unwrap(), folder);
            dir::verify(&folder).unwrap();
            let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
            assert!(bytes <= 10_000_000, "{pair}: {bytes} bytes");
        }
    }

    #[test]
    fn folders_are_unchanged_and_unknown_names_are_errors() {
        assert_eq!(
            model_dir(Path::new("runs/mine")).unwrap(),
            Path::new("runs/mine")
        );
        let error = model_dir(Path::new("embedded:de-fr"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("de-fr") && error.contains("embedded:de-en"),
            "{error}"
        );
    }
}
