//! Data diversification (Nguyen et al., 2020): models that translate the training text before the run begins.
//!
//! All of it lies in the folder `diversification` of the run:
//!
//! | entry | holds |
//! |---|---|
//! | `config.toml` | the configuration of the run, with which `--resume` goes on before the run itself has begun |
//! | `train.source`, `train.target`, `valid.source`, `valid.target` | the texts, one sentence per line |
//! | `forward-1/`, `backward-1/` … | the runs of the models |
//! | `forward-1.tsv`, `backward-1.tsv` … | what they make of the training text, `source<TAB>target` |

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, Error, Result, bail};
use burnformer_data::ParallelReader;
use burnformer_infer::Translator;
use burnformer_train::config::{Direction, MixedText, corpus_paths};
use burnformer_train::report::Verbosity;
use burnformer_train::{Corpora, RunDir, RunMode, TextName, Texts, TrainConfig};

use super::{Trainer, progress};
use crate::commands::distill::{CHUNK, Distillation, one_column, whole_sentences};
use crate::output::say;

const FOLDER: &str = "diversification";

/// The configuration of a run in `folder` that was stopped while its models for diversification were at work.
pub(super) fn unfinished(folder: &Path) -> Option<PathBuf> {
    let kept = folder.join(FOLDER).join("config.toml");
    (kept.exists() && !folder.join("config.toml").exists()).then_some(kept)
}

/// What the models of a run's diversification have in common.
pub(super) struct Diversification<'a> {
    /// The folder of the run.
    pub(super) folder: &'a Path,
    pub(super) trainer: &'a Trainer<'a>,
}

impl Diversification<'_> {
    /// Trains the models that `config` asks for, lets them translate, and adds their texts to `config` and `texts`. A
    /// configuration that names such texts already, as that of a run that has begun does, stays as it is.
    ///
    /// # Errors
    /// Those of training and translating; if the folder belongs to another configuration.
    pub(super) fn run(&self, config: &mut TrainConfig, texts: &mut Texts) -> Result<()> {
        let models = config.diversification.models;
        if models == 0 || names_its_texts(config) {
            return Ok(());
        }
        self.claim(config)?;
        let sides =
            |part: &str| ["source", "target"].map(|side| self.path(&format!("{part}.{side}")));
        let train = sides("train");
        write_sides(config, "data.train", &texts.train, &train)?;
        let valid = (!texts.valid.is_empty()).then(|| sides("valid"));
        if let Some(valid) = &valid {
            write_sides(config, "data.valid", &texts.valid, valid)?;
        }
        let pairs = lines(&train[0])?.max(1) as f64;
        for number in 0..models {
            for direction in Direction::BOTH {
                let name = format!("{}-{}", direction.name(), number + 1);
                let own = config.of_diversifier(direction, number, train.clone(), valid.clone())?;
                let text = self.path(&format!("{name}.tsv"));
                if !text.exists() {
                    self.train(&own, &name)?;
                    self.translate(&own, direction, &name, &text)?;
                }
                let entry = TextName::OfRun(Path::new(FOLDER).join(format!("{name}.tsv")));
                // Each pair counts as much as one of the corpus.
                let weight = lines(&text)? as f64 / pairs;
                config.data.mix.push(MixedText { train: vec![entry.to_entry()], weight });
                texts.mix.push(vec![text]);
            }
        }
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(FOLDER).join(name)
    }

    fn say(&self, message: fmt::Arguments) {
        if self.trainer.verbosity == Verbosity::Normal {
            say(message);
        }
    }

    /// Writes the configuration into the folder, or checks that it is the one for which the folder was made.
    fn claim(&self, config: &TrainConfig) -> Result<()> {
        let path = self.path("config.toml");
        if path.exists() {
            let folder = self.path("");
            let kept = TrainConfig::resolve(None, Some(&path), &[])?;
            if kept != *config {
                bail!(
                    "{}: holds the work of another configuration; go on with that (--resume alone), remove the \
                     folder, or name another --out",
                    folder.display()
                );
            }
            return Ok(());
        }
        fs::create_dir_all(self.path("")).with_context(|| unwritable(&path))?;
        burnformer_files::write(&path, config.to_toml().as_bytes())
            .with_context(|| unwritable(&path))
    }

    /// Trains the model `name`, or goes on with that.
    fn train(&self, config: &TrainConfig, name: &str) -> Result<()> {
        let folder = self.path(name);
        if folder.join("finished.json").exists() {
            return Ok(());
        }
        self.say(format_args!("diversification: training {name}"));
        let mode = match folder.join("config.toml").exists() {
            true => RunMode::Resume,
            false => RunMode::New,
        };
        RunDir::check(&folder, mode)?;
        let texts = Texts::files(&config.data);
        let corpora = Corpora::prepare(config, texts, &mut progress(self.trainer.verbosity))?;
        self.trainer.learn(config, &corpora, &folder, mode, || {})
    }

    /// Writes the translations by the model `name`, each beside its original, to `text`.
    fn translate(
        &self,
        config: &TrainConfig,
        direction: Direction,
        name: &str,
        text: &Path,
    ) -> Result<()> {
        self.say(format_args!("diversification: {name} translates the training text"));
        let translator = Translator::load(self.path(name).join("best"), &self.trainer.devices[0])?;
        let pairs = match direction {
            Direction::Forward => text.to_path_buf(),
            Direction::Backward => self.path(&format!("{name}.pairs")),
        };
        let work = Distillation {
            options: whole_sentences(&translator),
            translator,
            source: config.data.train[0].clone(),
            reference: None,
            out: pairs.clone(),
            chunk: CHUNK,
        };
        self.trainer.signals.patiently(|interrupted| {
            work.run(name, || {
                let stopped = interrupted.load(Ordering::SeqCst);
                if stopped { Err(self.trainer.signals.stopped().into()) } else { Ok(()) }
            })
        })?;
        if direction == Direction::Backward {
            swap_columns(&pairs, text)?;
            fs::remove_file(&pairs).with_context(|| unwritable(&pairs))?;
        }
        Ok(())
    }
}

/// Whether the configuration learns from texts of a diversification already.
fn names_its_texts(config: &TrainConfig) -> bool {
    let mut mixed = config.data.mix.iter().flat_map(|text| &text.train);
    let of_run = |entry: &PathBuf| TextName::parse("data.mix", entry).ok();
    mixed.any(
        |entry| matches!(of_run(entry), Some(TextName::OfRun(path)) if path.starts_with(FOLDER)),
    )
}

/// Writes the two sides of a corpus as one file each, or checks that the files there are of this corpus.
fn write_sides(
    config: &TrainConfig,
    key: &'static str,
    corpus: &[PathBuf],
    sides: &[PathBuf; 2],
) -> Result<()> {
    for (which, side) in sides.iter().enumerate() {
        let pairs = ParallelReader::open(&corpus_paths(key, corpus)?, config.data.utf8)?;
        let pairs = pairs.filter(|pair| pair.as_ref().map_or(true, |pair| pair.valid));
        let sentences = pairs.map(|pair| {
            let pair = pair?;
            Ok(one_column([&pair.source, &pair.target][which]))
        });
        match side.exists() {
            true => check_lines(side, key, sentences)?,
            false => write_lines(side, sentences)?,
        }
    }
    Ok(())
}

/// Writes one sentence per line, all or none.
fn write_lines(path: &Path, sentences: impl Iterator<Item = Result<String>>) -> Result<()> {
    let mut failure = None;
    let written = burnformer_files::write_with(path, |file| {
        let mut file = BufWriter::new(file);
        for sentence in sentences {
            match sentence {
                Ok(sentence) => writeln!(file, "{sentence}")?,
                Err(error) => {
                    failure = Some(error);
                    return Err(io::Error::other("the text cannot be read"));
                }
            }
        }
        file.flush()
    });
    match failure {
        Some(error) => Err(error),
        None => written.with_context(|| unwritable(path)),
    }
}

/// Checks that the file holds these sentences.
fn check_lines(
    path: &Path,
    key: &str,
    mut sentences: impl Iterator<Item = Result<String>>,
) -> Result<()> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut lines = BufReader::new(file).lines();
    loop {
        let line = lines.next().transpose().with_context(|| path.display().to_string())?;
        match (line, sentences.next().transpose()?) {
            (None, None) => return Ok(()),
            (line, sentence) if line == sentence => {}
            _ => bail!(
                "{}: is not of the text that {key} names now; give that text again, or name another --out",
                path.display()
            ),
        }
    }
}

/// The number of lines of a file that is written here.
fn lines(path: &Path) -> Result<usize> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let mut lines = BufReader::new(file).split(b'\n');
    let count = lines.try_fold(0, |count, line| line.map(|_| count + 1));
    count.with_context(|| path.display().to_string())
}

/// Writes the lines `a<TAB>b` of `from` as `b<TAB>a` to `to`.
fn swap_columns(from: &Path, to: &Path) -> Result<()> {
    let lines = BufReader::new(File::open(from).with_context(|| from.display().to_string())?);
    let written = burnformer_files::write_with(to, |file| {
        let mut file = BufWriter::new(file);
        for line in lines.lines() {
            let line = line?;
            let (a, b) = line.split_once('\t').unwrap_or((&line, ""));
            writeln!(file, "{b}\t{a}")?;
        }
        file.flush()
    });
    written.map_err(Error::from).with_context(|| unwritable(to))
}

fn unwritable(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}
