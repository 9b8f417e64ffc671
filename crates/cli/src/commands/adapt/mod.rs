//! `adapt`: a model for the user's own translation memory, which gets no worse elsewhere.

mod guard;
mod memory;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_data::corpus::{CorpusPaths, is_tsv, read_text};
use burnformer_data::{ParallelReader, Utf8Policy};
use burnformer_infer::Translator;
use burnformer_metrics::as_strs;
use burnformer_train::TrainError;
use clap::Parser;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::guard::{Comparison, check, sources, translations};
use self::memory::Memory;
use super::{at_least, model, train};
use crate::conversion::copy_files;
use crate::embedded;
use crate::output::{check_new, note, print, say};
use crate::translation_memory::Pair;

/// The general text that is measured and, if the model writes it, learned from.
const MOST_GENERAL: usize = 500;
const MOST_TRANSLATED: usize = 2000;
/// The card of an adapted model, in its directory.
const CARD: &str = "adaptation.json";

/// Arguments of `adapt`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// The model to adapt: a directory, or embedded:de-en or embedded:en-de inside the program
    #[arg(long, short, required = true, value_parser = model(), value_name = "DIR")]
    model: PathBuf,
    /// The memory: .po, .tsv or .csv files, or texts, of which two in a row are the
    /// sources and their translations. Untranslated and fuzzy messages do not count
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    memory: Vec<PathBuf>,
    /// The new model directory. It appears if the model is better on the part of the memory that is
    /// held out, and no worse on general text. A folder of its name with .work holds what is done
    /// so far; the same command goes on from there
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// General text, which the model must not unlearn: two files or a .tsv, or one text of the
    /// source language, which the model translates [default: of the models inside the program,
    /// their corpus; otherwise the sources of the memory]
    #[arg(long, num_args = 1..=2, value_name = "FILE")]
    general: Vec<PathBuf>,
    /// Number of pairs of general text for each pair of the memory
    #[arg(long, value_name = "N", default_value_t = 3.0)]
    mix: f64,
    /// Number of updates [default: by the size of the memory]
    #[arg(long, value_name = "N", value_parser = at_least(1))]
    updates: Option<usize>,
    /// The minutes that the updates may take
    #[arg(long, value_name = "M")]
    minutes: Option<f64>,
    /// The languages from which and into which the memory translates, such as `en de` [default:
    /// those in the name of the model]
    #[arg(long, num_args = 2, value_name = "LANGUAGE")]
    languages: Vec<String>,
}

/// `train` as a command line of its own.
#[derive(Parser)]
struct Training {
    #[command(flatten)]
    args: train::Args,
}

/// The files of a general text to learn from, and the pairs to measure with.
type General = (Vec<PathBuf>, Vec<Pair>);

/// Reads, measures, trains, measures again, and writes the model if it is better.
pub fn run(args: Args) -> Result<()> {
    check_new(&args.out)?;
    let old = Translator::load(&args.model, &Device::flex())?;
    let named = old.languages(None, None)?;
    let given = <[String; 2]>::try_from(args.languages.clone()).ok();
    let codes = given.as_ref().or(named.codes());
    let [from, to] = codes.map_or([None; 2], |[from, to]| [Some(&**from), Some(&**to)]);
    let memory = Memory::read(&args.memory, [from, to])?;
    note(&memory);
    let work = args.out.with_added_extension("work");
    let card = begin(&args, &memory, &work)?;
    let (general, held) = general(&args, &memory, &old, [from, to], &work)?;
    let texts = [("memory", &memory.held), ("general", &held)];
    let before = texts.map(|(_, text)| translations(&old, &sources(text)));
    drop(old);
    learn(&args, &memory, &general, &work)?;
    let new = Translator::load(work.join("run/last"), &Device::flex())?;
    let mut compared = Vec::new();
    for ((name, text), before) in texts.into_iter().zip(before) {
        let after = translations(&new, &sources(text))?;
        compared.push(Comparison::new(name, text, [before?, after])?);
    }
    let scores = format!("{}\n{}", compared[0], compared[1]);
    if let Err(reason) = check(&compared[0], &compared[1]) {
        say(scores);
        fs::remove_dir_all(&work).with_context(|| work.display().to_string())?;
        return Err(reason.context(format!("{}: is not written", args.out.display())));
    }
    print(scores)?;
    finish(&args, &memory, card, &compared, &work)
}

/// Makes the folder `work`, or keeps it if it is that of the same command, and returns the card of
/// the model so far.
fn begin(args: &Args, memory: &Memory, work: &Path) -> Result<Value> {
    let hash = |path: &PathBuf| -> Result<Value> {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        Ok(
            json!({ "file": path.display().to_string(), "sha256": format!("{:x}", Sha256::digest(bytes)) }),
        )
    };
    let hashes = |paths: &[PathBuf]| paths.iter().map(hash).collect::<Result<Vec<_>>>();
    let card = json!({
        "model": hash(&args.model.join("manifest.json"))?, "memory": hashes(&args.memory)?,
        "general": hashes(&args.general)?, "mix": args.mix, "updates": updates(args, memory),
        "pairs": { "learned": memory.train.len(), "held_out": memory.held.len(), "by": memory.division },
    });
    let (path, text) = (work.join(CARD), serde_json::to_string_pretty(&card)?);
    if !fs::read_to_string(&path).is_ok_and(|known| known == text) {
        if path.exists() {
            fs::remove_dir_all(work).with_context(|| work.display().to_string())?;
        }
        check_new(work)?;
        fs::create_dir_all(work).with_context(|| work.display().to_string())?;
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(card)
}

/// Forty pairs of the memory are in an update; each is learned about 48 times.
fn updates(args: &Args, memory: &Memory) -> usize {
    args.updates.unwrap_or((memory.train.len() * 48 / 40).clamp(300, 3000))
}

/// The general text of the model: that of the command line, the corpus inside the program, or
/// translations by the `old` model.
fn general(
    args: &Args,
    memory: &Memory,
    old: &Translator,
    languages: [Option<&str>; 2],
    work: &Path,
) -> Result<General> {
    let corpus = |part: &str| {
        languages.map(|it| format!("embedded:tatoeba-de-en/{part}.{}", it.unwrap_or_default()))
    };
    if args.general.is_empty() && embedded::is_unpacked(&args.model) {
        let test = corpus("test").map(|name| embedded::text_file(Path::new(&name)));
        let [source, target] = test;
        let held = pairs(&CorpusPaths::pair(&source?, &target?))?;
        let held = held.into_iter().take(MOST_GENERAL).collect();
        return Ok((corpus("train").map(PathBuf::from).to_vec(), held));
    }
    let mut held = match &args.general[..] {
        [source, target] => pairs(&CorpusPaths::pair(source, target))?,
        [table] if is_tsv(table) => pairs(&CorpusPaths::tsv(table))?,
        texts => self_translated(old, texts, memory)?,
    };
    let rest = held.split_off((held.len() / 5).min(MOST_GENERAL));
    let path = work.join("general.tsv");
    write(&path, &rest)?;
    Ok((vec![path], held))
}

/// Translations by the model itself, of a text or of the sources of the memory.
fn self_translated(old: &Translator, texts: &[PathBuf], memory: &Memory) -> Result<Vec<Pair>> {
    let sources: Vec<String> = match texts {
        [text] => read_text(text)?.0.lines().map(String::from).collect(),
        _ => memory.train.iter().map(|[source, _]| source.clone()).collect(),
    };
    let sources = as_strs(&sources);
    let sources = &sources[..sources.len().min(MOST_TRANSLATED)];
    note(format_args!("general text: translating {} sentences by the model itself", sources.len()));
    let found = translations(old, sources)?;
    let pairs = sources.iter().zip(found).map(|(source, target)| [source.to_string(), target]);
    Ok(pairs.filter(|[_, target]| !target.trim().is_empty()).collect())
}

fn pairs(paths: &CorpusPaths) -> Result<Vec<Pair>> {
    let pairs = ParallelReader::open(paths, Utf8Policy::Error)?;
    Ok(pairs.map(|pair| pair.map(|pair| [pair.source, pair.target])).collect::<Result<_, _>>()?)
}

fn write(path: &Path, pairs: &[Pair]) -> Result<()> {
    let line = |[source, target]: &Pair| {
        let [source, target] = [source, target].map(|side| side.replace('\t', " "));
        format!("{source}\t{target}\n")
    };
    fs::write(path, pairs.iter().map(line).collect::<String>())
        .with_context(|| path.display().to_string())
}

/// Trains, or goes on, in `work`.
fn learn(args: &Args, memory: &Memory, general: &[PathBuf], work: &Path) -> Result<()> {
    let (text, run) = (work.join("memory.tsv"), work.join("run"));
    write(&text, &memory.train)?;
    let mut line: Vec<OsString> = vec!["train".into(), "--from".into(), (&args.model).into()];
    line.extend(["--train".into(), text.into(), "--mix".into()]);
    line.extend(general.iter().map(OsString::from));
    line.extend([args.mix.to_string().into(), "--out".into(), run.clone().into()]);
    let mut settings = vec![
        format!("training.max_updates={}", updates(args, memory)),
        format!("schedule.warmup={}", (updates(args, memory) / 10).clamp(1, 50)),
        format!("training.max_minutes={:?}", args.minutes.unwrap_or(0.0)),
        format!("schedule.peak={:?}", peak(&args.model)?),
    ];
    settings.extend(SETTINGS.map(String::from));
    line.extend(settings.into_iter().flat_map(|set| ["--set".into(), set.into()]));
    line.extend(run.join("config.toml").exists().then(|| "--resume".into()));
    let learned = train::learn(Training::try_parse_from(line)?.args).map(drop);
    learned.or_else(|error| match error.downcast_ref() {
        Some(TrainError::NothingToDo { .. }) => Ok(()),
        _ => Err(error),
    })
}

/// The settings of every adaptation: no validation, and a learning rate that falls to zero.
const SETTINGS: [&str; 5] = [
    "schedule.shape=constant",
    "schedule.cooldown=1",
    "validation.every=0",
    "checkpoints.every=200",
    "checkpoints.average=0",
];

/// The highest learning rate: wide models take smaller steps.
fn peak(model: &Path) -> Result<f64> {
    let text = fs::read(model.join("config.json")).with_context(|| model.display().to_string())?;
    let config: Value = serde_json::from_slice(&text)?;
    let width = config["model"]["d_model"].as_f64().unwrap_or(512.0);
    Ok(5e-4 * (256.0 / width).min(2.0).powi(2))
}

/// Writes the new model with its card and its terms, and removes `work`.
fn finish(
    args: &Args,
    memory: &Memory,
    mut card: Value,
    scores: &[Comparison],
    work: &Path,
) -> Result<()> {
    let done = work.join("model");
    let name = |path: &Path| path.display().to_string();
    fs::create_dir_all(&done).with_context(|| name(&done))?;
    copy_files(&work.join("run/last"), &done, &["manifest.json"])?;
    card["scores"] = scores.iter().map(Comparison::to_json).collect();
    let before = fs::read(args.model.join(CARD)).ok();
    card["before"] = before.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    fs::write(done.join(CARD), serde_json::to_string_pretty(&card)?)
        .with_context(|| name(&done))?;
    if !memory.terms.is_empty() {
        write(&done.join("terms.tsv"), &memory.terms)?;
        note(format_args!(
            "{}: {} terms that the memory always translates alike; `translate --glossary` takes them",
            name(&args.out.join("terms.tsv")),
            memory.terms.len()
        ));
    }
    model_dir::seal(&done)?;
    fs::rename(&done, &args.out).with_context(|| name(&args.out))?;
    fs::remove_dir_all(work).with_context(|| name(work))?;
    note(format_args!("to go on: burnformer translate --model {} --input FILE", name(&args.out)));
    Ok(())
}
