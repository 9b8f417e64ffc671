use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burnformer_files::user_cache;
use burnformer_tatoeba_de_en::FILES;
use burnformer_train::TextName;
use burnformer_train::config::DataSettings;

use super::unpack;

const CORPUS: &str = "tatoeba-de-en";

/// Sets the embedded corpus if `data` names no training text, and its validation and test text if
/// they are missing.
pub fn fill(data: &mut DataSettings) {
    if !(data.train.is_empty() && data.pairs.is_empty()) {
        return;
    }
    let texts = [
        (&mut data.train, "train"),
        (&mut data.valid, "valid"),
        (&mut data.test, "test"),
    ];
    for (text, part) in texts {
        if text.is_empty() {
            *text = ["de", "en"]
                .map(|side| TextName::Embedded(format!("{CORPUS}/{part}.{side}")).to_entry())
                .to_vec();
        }
    }
}

/// The names of all embedded texts in the form that a configuration uses.
pub fn entries() -> Vec<String> {
    FILES
        .iter()
        .map(|(name, _)| TextName::Embedded(format!("{CORPUS}/{name}")).to_entry())
        .map(|entry| entry.display().to_string())
        .collect()
}

/// The file of the embedded text `name` in `cache`, unpacked if it is missing; `None` if there is
/// no such text.
///
/// # Errors
/// Returns an error if the file cannot be written.
pub fn find(name: &str, cache: &Path) -> Result<Option<PathBuf>> {
    let within = name
        .strip_prefix(CORPUS)
        .and_then(|rest| rest.strip_prefix('/'));
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

/// The file `name`: a path, or an embedded text such as `embedded:tatoeba-de-en/train.de`, which is
/// unpacked.
///
/// # Errors
/// Returns an error if the program contains no such text, or it cannot be unpacked.
pub fn text_file(name: &Path) -> Result<PathBuf> {
    let TextName::Embedded(text) = TextName::parse("a text", name)? else {
        return Ok(name.to_owned());
    };
    find(&text, &user_cache())?
        .with_context(|| format!("the texts in this program are {}", entries().join(", ")))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_text_that_is_named_is_found_and_a_damaged_one_unpacked_again() {
        let cache = tempfile::tempdir().unwrap();
        let find = |entry: &str| {
            let name = TextName::parse("data.train", Path::new(entry)).unwrap();
            let TextName::Embedded(name) = name else {
                panic!("{name:?}")
            };
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
    fn the_embedded_corpus_is_the_default() {
        let mut data = DataSettings {
            valid: vec!["named.tsv".into()],
            ..DataSettings::default()
        };
        fill(&mut data);
        assert_eq!(data.train[0], Path::new("embedded:tatoeba-de-en/train.de"));
        assert_eq!(data.valid, [Path::new("named.tsv")]);
        assert_eq!(data.test[1], Path::new("embedded:tatoeba-de-en/test.en"));
        let mut named = DataSettings {
            train: vec!["named.tsv".into()],
            ..DataSettings::default()
        };
        fill(&mut named);
        assert!(
            named.valid.is_empty() && named.test.is_empty(),
            "another corpus's texts would not fit"
        );
    }
}
