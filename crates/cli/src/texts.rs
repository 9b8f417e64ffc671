//! The texts of a command. Maps their names in the configuration to files.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Error, Result, anyhow, bail};
use burnformer_data::corpus::{
    COMPRESSED, MAX_LINE_BYTES, is_pipe, is_standard_input, repeated_pipe,
};
use burnformer_data::{DataError, TextError};
use burnformer_documents::WholeFile;
use burnformer_files::{Readers, Temporary, remove_leftovers};
use burnformer_train::config::DataSettings;
use burnformer_train::{TextName, Texts, TrainError};

use crate::embedded;
use crate::output::{say, unwritable};

/// The default number of lines that are read and written together. Batches are sentences of similar
/// length from one such chunk, and memory stays bounded.
pub const CHUNK_LINES: usize = 2048;

/// Returns up to `count` of the next `items`, none at the end, and the error after them, if any.
pub fn next_chunk<T, E: Into<Error>>(
    items: &mut impl Iterator<Item = Result<T, E>>,
    count: usize,
) -> (Vec<T>, Option<Error>) {
    let mut failure = None;
    let items = items.take(count).map_while(|item| {
        item.map_err(&mut |error: E| failure = Some(error.into()))
            .ok()
    });
    let items = items.collect();
    (items, failure)
}

/// Reads the document `path` in the format `kind`, and says its encoding if it is not UTF-8.
///
/// # Errors
/// Returns an error if the file cannot be read or is broken.
pub fn read_document(path: &Path, kind: &str) -> Result<WholeFile> {
    let file = burnformer_translation::read(path, kind)?;
    if let Some(encoding) = file.encoding() {
        say(format_args!(
            "{}: is not UTF-8 but {encoding}",
            path.display()
        ));
    }
    Ok(file)
}

/// Refuses a pipe that is named twice, because it can be read only once.
///
/// # Errors
/// Returns [`TextError::PipeTwice`] for the first pipe that is named again.
pub fn check_pipes<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), TextError> {
    repeated_pipe(paths).map_or(Ok(()), |path: &Path| Err(TextError::PipeTwice(path.into())))
}

/// Texts that a configuration cannot name: standard input, pipes, and files with names that are not
/// Unicode. The run keeps copies of them.
pub struct Unnamed(Vec<Source>);

/// The source of each such text, and the path of its copy in the run's folder.
#[derive(Clone)]
struct Source {
    from: PathBuf,
    copy: PathBuf,
}

impl Unnamed {
    /// Gives the unnamed texts of `data` names in the run's folder, such as `run:corpus/train.tsv`.
    /// Nothing is read yet.
    ///
    /// # Errors
    /// Returns an error if one pipe is given for several texts.
    pub fn take(data: &mut DataSettings) -> Result<Self> {
        let all = data.texts();
        let all = all
            .iter()
            .flat_map(|(_, paths)| paths.iter().map(PathBuf::as_path));
        check_pipes(all)?;
        let mut unnamed = Vec::new();
        let mut mixed_texts = 0;
        for (index, (key, paths)) in data.texts_mut().into_iter().enumerate() {
            // There may be several texts of one key.
            let part = match key.strip_prefix("data.").unwrap_or(key) {
                "mix" => {
                    mixed_texts += 1;
                    format!("mix-{mixed_texts}")
                }
                part if part.contains('.') => format!("{}-{index}", part.replace('.', "-")),
                part => part.to_string(),
            };
            let sides: &[&str] = if paths.len() == 1 {
                &["tsv"]
            } else {
                &["source", "target"]
            };
            for (path, side) in paths.iter_mut().zip(sides) {
                let is_named = matches!(TextName::parse(key, path)?, TextName::File(_));
                if is_named && (path.to_str().is_none() || is_pipe(path)) {
                    // With `/` on every system, because the run may move to another.
                    let copy = PathBuf::from(format!("corpus/{part}.{side}"));
                    let from = std::mem::replace(path, TextName::OfRun(copy.clone()).to_entry());
                    unnamed.push(Source { from, copy });
                }
            }
        }
        Ok(Self(unnamed))
    }

    /// Returns whether any of the texts comes through a pipe, and so can be read only once.
    pub fn has_pipe(&self) -> bool {
        self.0.iter().any(|source| is_pipe(&source.from))
    }

    /// Reads the pipes into files in `cache`. All are read at the same time, because one process
    /// may write to several in turn. Leftovers of killed processes are removed.
    ///
    /// # Errors
    /// Returns an error if a pipe cannot be read, or a file cannot be written.
    pub fn read(&self, cache: &Path) -> Result<ReadTexts> {
        remove_leftovers(cache);
        let texts: Result<Vec<ReadText>> = thread::scope(|scope| {
            let readers: Vec<_> = self
                .0
                .iter()
                .map(|source| scope.spawn(|| read(source.clone(), cache)))
                .collect();
            readers
                .into_iter()
                .map(|reader: thread::ScopedJoinHandle<'_, _>| {
                    reader
                        .join()
                        .unwrap_or_else(|_| bail!("the thread that reads a pipe panicked"))
                })
                .collect()
        });
        texts.map(ReadTexts)
    }
}

/// Unnamed texts that can be read repeatedly, as long as this value lives.
#[derive(Default)]
pub struct ReadTexts(Vec<ReadText>);

struct ReadText {
    source: Source,
    /// The temporary file with the content of the pipe; `None` for a text that is a file.
    file: Option<Temporary>,
}

impl ReadText {
    fn path(&self) -> &Path {
        self.file
            .as_ref()
            .map_or(&self.source.from, Temporary::path)
    }
}

impl ReadTexts {
    /// Finds the files of the texts named in `data`. A run's copies are in its `folder`, unless
    /// these texts include the copy; embedded texts are unpacked into `cache`.
    ///
    /// # Errors
    /// Returns an error if a name does not name a text, or an embedded text cannot be unpacked.
    pub fn locate(&self, data: &DataSettings, folder: &Path, cache: &Path) -> Result<Texts> {
        Texts::locate(data, |key, name| match name {
            TextName::File(path) => Ok(path.clone()),
            TextName::OfRun(copy) => {
                let read = self.0.iter().find(|text| text.source.copy == *copy);
                Ok(read.map_or_else(|| folder.join(copy), |text| text.path().into()))
            }
            TextName::Embedded(text) => embedded::find(text, cache)?.ok_or_else(|| {
                let entry = name.to_entry();
                let entries = embedded::entries().join(", ");
                anyhow!(
                    "{key} is {}; the texts in this program are {entries}",
                    entry.display()
                )
            }),
        })
    }

    /// Replaces the paths of cached copies in `error` with the user's names of the texts.
    pub fn explain(&self, mut error: TrainError) -> TrainError {
        let TrainError::Data(DataError::Text(cause)) = &mut error else {
            return error;
        };
        for path in cause.texts_mut() {
            if let Some(text) = self.0.iter().find(|text| text.path() == path) {
                *path = shown(&text.source.from).into();
            }
        }
        error
    }
}

/// Returns the files of the texts named in `data`, for a command without a run. `dir` is the folder
/// of its configuration.
///
/// # Errors
/// Returns the errors of [`Unnamed::take`], [`Unnamed::read`] and [`ReadTexts::locate`].
pub fn of_command(data: &mut DataSettings, dir: &Path, cache: &Path) -> Result<(Texts, ReadTexts)> {
    let read = Unnamed::take(data)?.read(cache)?;
    let texts = read.locate(data, dir, cache)?;
    Ok((texts, read))
}

/// Reads the source into a file in `cache` if it is a pipe.
fn read(source: Source, cache: &Path) -> Result<ReadText> {
    let file = if is_pipe(&source.from) {
        Some(to_file(&source.from, cache)?)
    } else {
        None
    };
    Ok(ReadText { file, source })
}

/// Copies the pipe `from` into a private file in `folder`.
fn to_file(from: &Path, folder: &Path) -> Result<Temporary> {
    fs::create_dir_all(folder).with_context(|| unwritable(folder.display()))?;
    let mut file =
        Temporary::new(folder, Readers::Owner).with_context(|| unwritable(folder.display()))?;
    let mut input: Box<dyn Read> = if is_standard_input(from) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(from).map_err(|cause| unreadable(from, cause))?)
    };
    let mut buffer = vec![0; 1 << 16];
    let mut lines = 0;
    let mut has_lines = None;
    let mut length = 0;
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(file),
            Ok(count) => {
                let bytes = &buffer[..count];
                if *has_lines.get_or_insert_with(|| !is_compressed(bytes)) {
                    check_ends(from)?;
                    let last = bytes.iter().rposition(|byte| b"\r\n".contains(byte));
                    length = last.map_or(length + count, |last| count - last - 1);
                    lines += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
                    if length > MAX_LINE_BYTES {
                        let path = shown(from).into();
                        let line = lines + 1;
                        let limit = MAX_LINE_BYTES;
                        return Err(TextError::LineTooLong { path, line, limit }.into());
                    }
                }
                file.write_all(bytes)
                    .with_context(|| unwritable(folder.display()))?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(unreadable(from, cause).into()),
        }
    }
}

/// Returns whether a file that begins with `bytes` is compressed.
fn is_compressed(bytes: &[u8]) -> bool {
    COMPRESSED.iter().any(|magic| bytes.starts_with(magic))
}

fn unreadable(from: &Path, cause: io::Error) -> TextError {
    TextError::Unreadable(shown(from).into(), cause)
}

/// Refuses a device such as `/dev/urandom`, because it never ends and would fill the disk. A
/// terminal ends.
///
/// # Errors
/// Returns an error for such a device.
#[cfg(unix)]
pub fn check_ends(from: &Path) -> Result<()> {
    use std::io::IsTerminal;
    use std::os::unix::fs::FileTypeExt;
    let path = if is_standard_input(from) {
        Path::new("/dev/stdin")
    } else {
        from
    };
    let is_device = fs::metadata(path).is_ok_and(|meta| meta.file_type().is_char_device());
    anyhow::ensure!(
        !is_device || File::open(path).is_ok_and(|file| file.is_terminal()),
        "{}: is a device, not a file or pipe; name a file or a pipe with text",
        shown(from)
    );
    Ok(())
}

/// Other systems have no such device files.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn check_ends(_: &Path) -> Result<()> {
    Ok(())
}

/// The name of the text at `path` in messages.
pub fn shown(path: &Path) -> String {
    if is_standard_input(path) {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn data(train: &[&Path]) -> DataSettings {
        let train = train.iter().map(PathBuf::from).collect();
        DataSettings {
            train,
            valid: vec!["embedded:a".into()],
            ..DataSettings::default()
        }
    }

    #[test]
    fn unnamed_texts_get_a_name_in_the_run() {
        let latin1 = PathBuf::from(std::ffi::OsString::from_vec(b"caf\xe9.en".to_vec()));
        let mut data = data(&[Path::new("-"), &latin1]);
        let unnamed = Unnamed::take(&mut data).unwrap();
        let names = ["run:corpus/train.source", "run:corpus/train.target"].map(PathBuf::from);
        assert_eq!(data.train, names);
        assert_eq!(data.valid, [Path::new("embedded:a")]);
        let from: Vec<_> = unnamed.0.iter().map(|source| source.from.clone()).collect();
        assert_eq!(from, [PathBuf::from("-"), latin1]);
    }

    #[test]
    fn pipes_become_private_files_that_are_removed() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let [a, b, cache] = ["a", "b", "cache"].map(|name| folder.path().join(name));
        for pipe in [&a, &b] {
            assert!(
                std::process::Command::new("mkfifo")
                    .arg(pipe)
                    .status()
                    .unwrap()
                    .success()
            );
        }
        let mut data = data(&[&a, &b]);
        data.valid.clear();
        let unnamed = Unnamed::take(&mut data).unwrap();
        let [to_a, to_b] =
            [a.clone(), b.clone()].map(|path| move || File::options().write(true).open(path));
        // Lines are written to both in turns: reading one to its end first would wait forever.
        let writer = thread::spawn(move || {
            let mut a = to_a().unwrap();
            let mut b = to_b().unwrap();
            for _ in 0..10_000 {
                a.write_all(b"eins zwei drei\n").unwrap();
                b.write_all(b"one two three\n").unwrap();
            }
        });
        let read = unnamed.read(&cache).unwrap();
        writer.join().unwrap();
        let texts = read.locate(&data, folder.path(), &cache).unwrap();
        for (path, line) in texts
            .train
            .iter()
            .zip(["eins zwei drei\n", "one two three\n"])
        {
            assert_eq!(fs::read_to_string(path).unwrap(), line.repeat(10_000));
            assert_eq!(
                fs::metadata(path).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        let explained = read.explain(line_counts(&texts.train[1], &texts.train[0]));
        assert_eq!(explained.to_string(), line_counts(&b, &a).to_string());
        drop(read);
        let left = fs::read_dir(&cache)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), [".burnformer.lock"]);
    }

    /// The error for the side `shorter`, which has fewer lines than the other.
    fn line_counts(shorter: &Path, longer: &Path) -> TrainError {
        TrainError::Data(DataError::Text(TextError::LineCountMismatch {
            shorter: shorter.into(),
            shorter_lines: 1,
            longer: longer.into(),
            longer_lines: 2,
        }))
    }
}
