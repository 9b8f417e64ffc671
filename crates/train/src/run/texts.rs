//! The texts of a run, and their copies in its folder.
//!
//! `data.train`, `data.valid`, `data.test`, `data.mix` and `data.pairs` name texts in one of three
//! ways:
//!
//! | name | text |
//! |---|---|
//! | `embedded:tatoeba-de-en/train.de` | inside the program |
//! | `run:corpus/train.tsv` | in the folder of the configuration file: a copy of text from a pipe |
//! | any other | a file (write `./run:…` for a file with such a name) |
//!
//! The first two are independent of the machine and of the place of the run's folder.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::config::{ConfigFileError, DataSettings};
use crate::error::{Result, TrainError};
use crate::run::{RunError, RunMode};

const EMBEDDED: &str = "embedded:";
const OF_RUN: &str = "run:";

/// The name of a text in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextName {
    /// A text inside the program: `tatoeba-de-en/train.de`.
    Embedded(String),
    /// A text of a run: its path in the run's folder.
    OfRun(PathBuf),
    /// A file.
    File(PathBuf),
}

impl TextName {
    /// Parses `name`, an entry of the setting `key`.
    ///
    /// # Errors
    /// Returns [`ConfigFileError::Value`] for a path that leaves the run's folder.
    pub fn parse(key: &'static str, name: &Path) -> Result<Self, ConfigFileError> {
        let text = name.to_str().unwrap_or_default();
        if let Some(embedded) = text.strip_prefix(EMBEDDED) {
            return Ok(Self::Embedded(embedded.into()));
        }
        let Some(path) = text.strip_prefix(OF_RUN).map(Path::new) else {
            return Ok(Self::File(name.into()));
        };
        let is_within = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if path.as_os_str().is_empty() || !is_within {
            let remedy = "a path within the run's folder, such as run:corpus/train.tsv".into();
            return Err(ConfigFileError::Value {
                key,
                value: text.into(),
                remedy,
            });
        }
        Ok(Self::OfRun(path.into()))
    }

    /// The entry of this text in a configuration.
    pub fn to_entry(&self) -> PathBuf {
        match self {
            Self::Embedded(name) => format!("{EMBEDDED}{name}").into(),
            Self::OfRun(path) => format!("{OF_RUN}{}", path.display()).into(),
            Self::File(path) => path.clone(),
        }
    }
}

/// The files of a run's texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// The training text.
    pub train: Vec<PathBuf>,
    /// The validation text.
    pub valid: Vec<PathBuf>,
    /// The test text.
    pub test: Vec<PathBuf>,
    /// The further training texts of `data.mix`.
    pub mix: Vec<Vec<PathBuf>>,
    /// The texts of the pairs of `data.pairs`.
    pub pairs: Vec<PairTexts>,
    /// The texts that the run keeps: the file of each, and its path in the run's folder.
    kept: Vec<(PathBuf, PathBuf)>,
}

/// The files of a pair of languages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairTexts {
    /// The training text.
    pub train: Vec<PathBuf>,
    /// The validation text.
    pub valid: Vec<PathBuf>,
    /// The test text.
    pub test: Vec<PathBuf>,
}

impl Texts {
    /// Locates the texts of `data` with `find`.
    ///
    /// # Errors
    /// Returns [`TrainError::Config`] for an invalid name, and the errors of `find`.
    pub fn locate<E: From<ConfigFileError>>(
        data: &DataSettings,
        mut find: impl FnMut(&'static str, &TextName) -> Result<PathBuf, E>,
    ) -> Result<Self, E> {
        let mut data = data.clone();
        let mut kept = Vec::new();
        for (key, entries) in data.texts_mut() {
            for entry in entries {
                let name = TextName::parse(key, entry)?;
                *entry = find(key, &name)?;
                if let TextName::OfRun(name_in_run) = name {
                    kept.push((entry.clone(), name_in_run));
                }
            }
        }
        Ok(Self {
            kept,
            ..Self::files(&data)
        })
    }

    /// The training texts.
    pub(crate) fn training(&self) -> impl Iterator<Item = &Vec<PathBuf>> {
        let pair_texts = self.pairs.iter().map(|pair| &pair.train);
        let all = [&self.train].into_iter().chain(&self.mix);
        all.chain(pair_texts).filter(|paths| !paths.is_empty())
    }

    /// The paths of all texts.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let further = self.mix.iter().flatten();
        let pair_texts = self.pairs.iter();
        let pair_texts = pair_texts.flat_map(|pair| [&pair.train, &pair.valid, &pair.test]);
        let all = [&self.train, &self.valid, &self.test];
        all.into_iter()
            .flatten()
            .chain(further)
            .chain(pair_texts.flatten())
    }

    /// Returns the texts of `data`, which must all be files.
    pub fn files(data: &DataSettings) -> Self {
        let DataSettings {
            train,
            valid,
            test,
            mix,
            pairs,
            ..
        } = data.clone();
        let mix = mix.into_iter().map(|text| text.train).collect();
        let pairs = pairs.into_iter().map(|pair| PairTexts {
            train: pair.train,
            valid: pair.valid,
            test: pair.test,
        });
        Self {
            train,
            valid,
            test,
            mix,
            pairs: pairs.collect(),
            kept: Vec::new(),
        }
    }

    /// Checks that the copies of texts in a new run in the folder `run` overwrite no file.
    ///
    /// # Errors
    /// Returns [`RunError::FolderTaken`] if a file would be overwritten.
    pub fn check(&self, run: &Path, mode: RunMode) -> Result<()> {
        for (from, name_in_run) in &self.kept {
            let to = run.join(name_in_run);
            let is_taken = to.symlink_metadata().is_ok() && !is_same(from, &to);
            if is_taken && mode == RunMode::New {
                return Err(RunError::FolderTaken {
                    path: run.into(),
                    found: to,
                }
                .into());
            }
        }
        Ok(())
    }

    /// Copies the texts that the run keeps into its folder `run`, each completely or not at all.
    ///
    /// # Errors
    /// Returns the errors of [`check`](Self::check), and [`TrainError::Io`] if a text cannot be
    /// copied.
    pub(crate) fn keep(&self, run: &Path, mode: RunMode) -> Result<()> {
        self.check(run, mode)?;
        for (from, name_in_run) in &self.kept {
            let to = run.join(name_in_run);
            copy(from, &to).map_err(TrainError::io(&to))?;
        }
        Ok(())
    }
}

/// Returns whether both paths are the same file.
fn is_same(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}

/// Copies the file `from` to `to` with the permissions of a new file, unless they are the same
/// file.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if is_same(from, to) {
        return Ok(());
    }
    to.parent()
        .map_or(Ok(()), burnformer_files::create_folder)?;
    burnformer_files::write_with(to, |file| io::copy(&mut File::open(from)?, file).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<TextName, ConfigFileError> {
        TextName::parse("data.train", Path::new(name))
    }

    #[test]
    fn a_name_is_written_as_it_is_read() {
        for (entry, name) in [
            (
                "embedded:a/train.de",
                TextName::Embedded("a/train.de".into()),
            ),
            (
                "run:corpus/train.tsv",
                TextName::OfRun("corpus/train.tsv".into()),
            ),
            (
                "corpus/train.tsv",
                TextName::File("corpus/train.tsv".into()),
            ),
            ("./run:corpus", TextName::File("./run:corpus".into())),
        ] {
            assert_eq!(parse(entry).unwrap(), name);
            assert_eq!(name.to_entry(), Path::new(entry));
        }
    }

    #[test]
    fn a_text_of_the_run_lies_in_its_folder() {
        for outside in [
            "run:",
            "run:/etc/passwd",
            "run:../other/train.tsv",
            "run:corpus/../../x",
        ] {
            let message = parse(outside).unwrap_err().to_string();
            assert!(
                message.contains("data.train") && message.contains(outside),
                "{message}"
            );
        }
    }

    #[test]
    fn only_texts_of_the_run_are_copied_into_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("piped"), "text").unwrap();
        fs::write(path("file"), "other").unwrap();
        let data = DataSettings {
            train: vec!["run:corpus/train.tsv".into()],
            valid: vec![path("file")],
            ..DataSettings::default()
        };
        let texts = Texts::locate(&data, |_, name| match name {
            TextName::File(path) => Ok::<_, ConfigFileError>(path.clone()),
            _ => Ok(path("piped")),
        });
        let texts = texts.unwrap();
        assert_eq!(
            (&texts.train, &texts.valid),
            (&vec![path("piped")], &vec![path("file")])
        );
        texts.keep(&path("run"), RunMode::New).unwrap();
        assert_eq!(
            fs::read_to_string(path("run/corpus/train.tsv")).unwrap(),
            "text"
        );
        assert_eq!(fs::read_dir(path("run/corpus")).unwrap().count(), 1);
        // A resumed run reads its copies and does not change them.
        let copies = Texts::locate(&data, |_, _| {
            Ok::<_, ConfigFileError>(path("run/corpus/train.tsv"))
        });
        copies.unwrap().keep(&path("run"), RunMode::Resume).unwrap();
        assert_eq!(
            fs::read_to_string(path("run/corpus/train.tsv")).unwrap(),
            "text"
        );
        // A new run overwrites no text of the user; a resumed run may get its own copy.
        fs::write(path("piped"), "new").unwrap();
        let refused = texts.keep(&path("run"), RunMode::New);
        assert!(
            matches!(refused, Err(TrainError::Run(RunError::FolderTaken { .. }))),
            "{refused:?}"
        );
        assert_eq!(
            fs::read_to_string(path("run/corpus/train.tsv")).unwrap(),
            "text"
        );
        texts.keep(&path("run"), RunMode::Resume).unwrap();
        assert_eq!(
            fs::read_to_string(path("run/corpus/train.tsv")).unwrap(),
            "new"
        );
    }
}
