//! A corpus and two models inside the binary, unpacked into the user's cache at their first use.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, Result, bail};
use burnformer_tatoeba_de_en::FILES;
use burnformer_train::config::DataSettings;
use burnformer_train::{TextName, user_cache};
use sha2::{Digest, Sha256};

use crate::output::note;

/// Writes `bytes` to `path` unless they are there already.
fn unpack(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    fs::create_dir_all(burnformer_files::folder_of(path))?;
    burnformer_files::write_shared(path, bytes)
}

/// The pairs of languages of the models, from one and into the other.
pub const PAIRS: [&str; 2] = ["de-en", "en-de"];
/// The model of a command that names none.
pub const DEFAULT_MODEL: &str = "embedded:de-en";

/// The prefix of the name of a model inside the binary; other names are folders.
const PREFIX: &str = "embedded:";

/// A file of a model directory: its name and its bytes.
type ModelFile = (&'static str, &'static [u8]);

const MODELS: [[ModelFile; 6]; PAIRS.len()] =
    [burnformer_model_de_en::FILES, burnformer_model_en_de::FILES];

/// The model directory that `--model` names: a folder, or `embedded:de-en` and `embedded:en-de`,
/// which are unpacked.
///
/// # Errors
/// If the program contains no such model, or it cannot be unpacked.
pub fn model_dir(name: &Path) -> Result<PathBuf> {
    let Some(pair) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else {
        return Ok(name.to_owned());
    };
    let Some(place) = PAIRS.iter().position(|known| *known == pair) else {
        let known = PAIRS.map(|pair| format!("{PREFIX}{pair}")).join(" and ");
        bail!("the program contains no model {pair:?}, only {known}; otherwise name a folder");
    };
    unpacked(pair, &MODELS[place], &user_cache())
}

/// Returns whether `folder` is one into which a model inside the binary is unpacked. Changes in it
/// do not last.
pub fn is_unpacked(folder: &Path) -> bool {
    folder.starts_with(user_cache().join("models"))
}

/// The folder of the model of a command that names none, and says which it is.
///
/// # Errors
/// If it cannot be unpacked.
pub fn default_model() -> Result<PathBuf> {
    note(format_args!(
        "model: {DEFAULT_MODEL}, which learned short everyday sentences; --model names another"
    ));
    model_dir(Path::new(DEFAULT_MODEL))
}

/// The folder of the model in `cache`. Another version of the program has another folder.
fn unpacked(pair: &str, files: &[ModelFile], cache: &Path) -> Result<PathBuf> {
    let manifest = files.iter().find(|(name, _)| *name == "manifest.json").map(|(_, bytes)| bytes);
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

const CORPUS: &str = "tatoeba-de-en";

/// Names the embedded corpus if `data` names no training text, and also its validation and test
/// text if they are missing.
pub fn fill(data: &mut DataSettings) {
    if !data.train.is_empty() {
        return;
    }
    for ((_, names), part) in data.texts_mut().into_iter().zip(["train", "valid", "test"]) {
        if names.is_empty() {
            let entry = |side| TextName::Embedded(format!("{CORPUS}/{part}.{side}")).to_entry();
            *names = ["de", "en"].map(entry).to_vec();
        }
    }
}

/// The names of all embedded texts in the form that a configuration uses.
pub fn entries() -> Vec<String> {
    let entry = |name: &str| TextName::Embedded(format!("{CORPUS}/{name}")).to_entry();
    FILES.iter().map(|(name, _)| entry(name).display().to_string()).collect()
}

/// The file of the embedded text `name` in `cache`, where it is unpacked if it is missing. `None`
/// if there is no such text.
///
/// # Errors
/// If the file cannot be written.
pub fn find(name: &str, cache: &Path) -> Result<Option<PathBuf>> {
    let within = name.strip_prefix(CORPUS).and_then(|rest| rest.strip_prefix('/'));
    let Some((name, bytes)) = FILES.iter().find(|(known, _)| Some(*known) == within) else {
        return Ok(None);
    };
    let folder = cache.join("corpus").join(CORPUS);
    let path = folder.join(format!("{name}.zst"));
    unpack(&path, bytes).with_context(|| {
        format!(
            "{}: cannot be written; choose another folder with --set data.cache=FOLDER",
            path.display()
        )
    })?;
    Ok(Some(path))
}

/// The file that `name` names: a path, or an embedded text such as
/// `embedded:tatoeba-de-en/train.de`, which is unpacked.
///
/// # Errors
/// If the program contains no such text, or it cannot be unpacked.
pub fn text_file(name: &Path) -> Result<PathBuf> {
    let TextName::Embedded(text) = TextName::parse("a text", name)? else {
        return Ok(name.to_owned());
    };
    let known = || format!("the texts in this program are {}", entries().join(", "));
    find(&text, &user_cache())?.with_context(known)
}

#[cfg(test)]
mod tests {
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
    fn a_folder_is_itself_and_an_unknown_name_an_error() {
        assert_eq!(model_dir(Path::new("runs/mine")).unwrap(), Path::new("runs/mine"));
        let error = model_dir(Path::new("embedded:de-fr")).unwrap_err().to_string();
        assert!(error.contains("de-fr") && error.contains("embedded:de-en"), "{error}");
    }

    #[test]
    fn every_text_that_is_named_is_found_and_a_damaged_one_unpacked_again() {
        let cache = tempfile::tempdir().unwrap();
        let find = |entry: &str| {
            let name = TextName::parse("data.train", Path::new(entry)).unwrap();
            let TextName::Embedded(name) = name else { panic!("{name:?}") };
            super::find(&name, cache.path()).unwrap()
        };
        assert_eq!(entries().len(), 6);
        for entry in entries() {
            let path = find(&entry).expect(&entry);
            let whole = fs::read(&path).unwrap();
            fs::write(&path, "damaged").unwrap();
            assert_eq!(find(&entry), Some(path.clone()));
            assert_eq!(fs::read(&path).unwrap(), whole);
        }
        assert_eq!(find("embedded:tatoeba-de-en/train.fr"), None);
        assert_eq!(find("embedded:train.de"), None);
    }

    #[test]
    fn the_corpus_stands_in_for_what_is_not_named() {
        let mut data = DataSettings { valid: vec!["own.tsv".into()], ..DataSettings::default() };
        fill(&mut data);
        assert_eq!(data.train[0], Path::new("embedded:tatoeba-de-en/train.de"));
        assert_eq!(data.valid, [Path::new("own.tsv")]);
        assert_eq!(data.test[1], Path::new("embedded:tatoeba-de-en/test.en"));
        let mut own = DataSettings { train: vec!["own.tsv".into()], ..DataSettings::default() };
        fill(&mut own);
        assert!(
            own.valid.is_empty() && own.test.is_empty(),
            "another corpus's texts would not fit"
        );
    }
}
