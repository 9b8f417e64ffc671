//! `adapt`: a model for the user's own translation memory, which gets no worse elsewhere.

mod general;
mod guard;
mod learn;
mod memory;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_infer::Translator;
use clap::builder::TypedValueParser;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::general::General;
use self::guard::{Comparison, check, check_direction, sources, translations};
use self::learn::{learn, updates};
use self::memory::{Memory, Role};
use super::{at_least, model};
use crate::conversion::copy_files;
use crate::output::{check_new, note, print, say};
use crate::translation_memory::Pair;

/// The card of an adapted model, in its directory.
const CARD: &str = "adaptation.json";

/// Arguments of `adapt`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// The model to adapt: a directory, or embedded:de-en or embedded:en-de inside the program
    #[arg(long, short, required = true, value_parser = model(), value_name = "DIR")]
    model: PathBuf,
    /// The memory: .po, .xlf, .tmx, .tsv or .csv files, or texts, of which two in a row are the
    /// sources and their translations. Untranslated and fuzzy messages do not count
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    memory: Vec<PathBuf>,
    /// The new model directory. It appears if the model is better on the part of the memory that is
    /// held out, and no worse on general text. If it is an adaptation of the same model already, it
    /// is adapted further, and replaced by what is better. A folder of its name with .work holds
    /// what is done so far; the same command goes on from there
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// General text, which the model must not unlearn: two files or a .tsv, or one text of the
    /// source language, which the model translates [default: from or into German and English the
    /// corpus inside the program; otherwise the sources of the memory]
    #[arg(long, num_args = 1..=2, value_name = "FILE")]
    general: Vec<PathBuf>,
    /// Number of pairs of general text for each pair of the memory
    #[arg(long, value_name = "N", default_value_t = 3.0, value_parser = positive())]
    mix: f64,
    /// Number of updates [default: by the size of the memory]
    #[arg(long, value_name = "N", value_parser = at_least(1))]
    updates: Option<usize>,
    /// The minutes that the updates may take
    #[arg(long, value_name = "M", value_parser = positive())]
    minutes: Option<f64>,
    /// The languages from which and into which the memory translates, such as `en de` [default:
    /// those in the name of the model]
    #[arg(long, num_args = 2, value_name = "LANGUAGE")]
    languages: Vec<String>,
}

/// Parses a number above 0 that is not infinite.
fn positive() -> impl TypedValueParser<Value = f64> {
    clap::builder::StringValueParser::new().try_map(|text| {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        number.ok_or("a number above 0 is needed, such as 10")
    })
}

/// The models that an adaptation begins with, and its folder.
struct Start {
    /// The model whose general text must not become worse.
    base: PathBuf,
    /// The model that learns: the base, or what was made of it before.
    model: PathBuf,
    /// The card of the model that learns, if it was adapted before.
    card: Option<Value>,
    /// The folder of what is done so far.
    work: PathBuf,
}

/// Reads, measures, trains, measures again, and writes the model if it is better.
pub fn run(args: Args) -> Result<()> {
    let start = Start::of(&args)?;
    let old = Translator::load(&start.model, &Device::flex())?;
    let named = old.languages(None, None)?;
    let given = <[String; 2]>::try_from(args.languages.clone()).ok();
    let codes = given.as_ref().or(named.codes());
    let languages = codes.map_or([None; 2], |[from, to]| [Some(&**from), Some(&**to)]);
    let role = |file: usize| start.role(&args.memory[file]);
    let memory = Memory::read(&args.memory, languages, role)?;
    note(&memory);
    let before = translations(&old, &sources(&memory.held))?;
    check_direction(&old, &memory.held, &before)?;
    let card = start.begin(&args, &memory)?;
    let base = match start.card {
        Some(_) => Translator::load(&start.base, &Device::flex())?,
        None => old,
    };
    let general = General::new(&args.general, &memory, &base, languages, &start.work)?;
    let general_before = translations(&base, &sources(&general.held))?;
    drop(base);
    learn(&args, &start, &memory, &general)?;
    let new = Translator::load(start.work.join("run/last"), &Device::flex())?;
    let compare = |name, text: &[Pair], before| {
        Comparison::new(name, text, [before, translations(&new, &sources(text))?])
    };
    let scores = [
        compare("memory", &memory.held, before)?,
        compare("general", &general.held, general_before)?,
    ];
    let table = format!("{}\n{}", scores[0], scores[1]);
    if let Err(reason) = check(&scores, general.reference) {
        say(table);
        let work = &start.work;
        fs::remove_dir_all(work).with_context(|| work.display().to_string())?;
        let state = if start.card.is_some() { "stays as it was" } else { "is not written" };
        return Err(reason.context(format!("{}: {state}", args.out.display())));
    }
    print(table)?;
    start.finish(&args, &memory, card, &scores)
}

/// The JSON of the file `path`, if it is there and whole.
fn read_json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Each of `paths` with its hash.
fn hashes(paths: &[PathBuf]) -> Result<Value> {
    let hash = |path: &PathBuf| -> Result<Value> {
        let name = path.display().to_string();
        let bytes = fs::read(path).with_context(|| name.clone())?;
        Ok(json!({ "file": name, "sha256": format!("{:x}", Sha256::digest(bytes)) }))
    };
    paths.iter().map(hash).collect()
}

impl Start {
    /// The start of the adaptation that `args` ask for.
    ///
    /// # Errors
    /// If `--out` is there and no adaptation of the model, or one to the same memory.
    fn of(args: &Args) -> Result<Self> {
        let (out, work) = (&args.out, args.out.with_added_extension("work"));
        let (base, old) = (args.model.clone(), work.join("old"));
        if !out.exists() && old.exists() {
            fs::rename(&old, out).with_context(|| old.display().to_string())?;
        }
        let Some(card) = read_json(&out.join(CARD)) else {
            check_new(out)?;
            return Ok(Self { model: base.clone(), base, card: None, work });
        };
        let name = out.display();
        ensure!(
            card["base"] == hashes(&[base.join("manifest.json")])?[0]["sha256"],
            "{name}: is an adaptation of another model than --model; choose another --out"
        );
        ensure!(
            card["memory"] != hashes(&args.memory)?,
            "{name}: exists already, and learned from this memory; name a longer one, or choose another --out"
        );
        note(format_args!("{name}: is adapted further"));
        Ok(Self { model: out.clone(), base, card: Some(card), work })
    }

    /// The role of the file `path` in the adaptation before.
    fn role(&self, path: &Path) -> Role {
        let name = path.display().to_string();
        let files = self.card.iter().flat_map(|card| card["memory"].as_array()).flatten();
        let is_held = self.card.iter().flat_map(|card| card["held_files"].as_array()).flatten();
        match () {
            () if is_held.into_iter().any(|held| *held == name) => Role::HeldOut,
            () if files.into_iter().any(|file| file["file"] == name) => Role::Learned,
            () => Role::New,
        }
    }

    /// Makes the folder of the work, or keeps it if it is that of the same command, and returns the
    /// card of the model so far.
    fn begin(&self, args: &Args, memory: &Memory) -> Result<Value> {
        let work = &self.work;
        let manifest = |model: &Path| {
            Ok::<_, anyhow::Error>(hashes(&[model.join("manifest.json")])?[0]["sha256"].take())
        };
        let held = memory.held_files.iter().map(|file| args.memory[*file].display().to_string());
        let card = json!({
            "base": manifest(&self.base)?, "model": manifest(&self.model)?,
            "memory": hashes(&args.memory)?, "general": hashes(&args.general)?,
            "mix": args.mix, "updates": updates(args, memory), "minutes": args.minutes,
            "pairs": { "learned": memory.train.len(), "held_out": memory.held.len(), "by": memory.division },
            "held_files": held.collect::<Vec<_>>(),
        });
        let path = work.join(CARD);
        if read_json(&path).as_ref() != Some(&card) {
            if path.exists() {
                fs::remove_dir_all(work).with_context(|| work.display().to_string())?;
            }
            check_new(work)?;
            fs::create_dir_all(work).with_context(|| work.display().to_string())?;
            fs::write(&path, serde_json::to_string_pretty(&card)?)
                .with_context(|| path.display().to_string())?;
        }
        Ok(card)
    }

    /// Writes the new model with its card and its terms, and removes the folder of the work.
    fn finish(
        &self,
        args: &Args,
        memory: &Memory,
        mut card: Value,
        scores: &[Comparison],
    ) -> Result<()> {
        let (out, done) = (&args.out, self.work.join("model"));
        let name = |path: &Path| path.display().to_string();
        fs::create_dir_all(&done).with_context(|| name(&done))?;
        copy_files(&self.work.join("run/last"), &done, &["manifest.json"])?;
        card["scores"] = scores.iter().map(Comparison::to_json).collect();
        card["before"] = self.card.clone().unwrap_or_default();
        fs::write(done.join(CARD), serde_json::to_string_pretty(&card)?)
            .with_context(|| name(&done))?;
        if !memory.terms.is_empty() {
            write(&done.join("terms.tsv"), &memory.terms)?;
            note(format_args!(
                "{}: {} terms that the memory always translates alike; `translate --glossary` takes them",
                name(&out.join("terms.tsv")),
                memory.terms.len()
            ));
        }
        model_dir::seal(&done)?;
        if self.card.is_some() {
            fs::rename(out, self.work.join("old")).with_context(|| name(out))?;
        }
        fs::rename(&done, out).with_context(|| name(out))?;
        fs::remove_dir_all(&self.work).with_context(|| name(&self.work))?;
        note(format_args!("to go on: burnformer translate --model {} --input FILE", name(out)));
        Ok(())
    }
}

fn write(path: &Path, pairs: &[Pair]) -> Result<()> {
    let line = |[source, target]: &Pair| {
        let [source, target] = [source, target].map(|side| side.replace(['\t', '\n', '\r'], " "));
        format!("{source}\t{target}\n")
    };
    fs::write(path, pairs.iter().map(line).collect::<String>())
        .with_context(|| path.display().to_string())
}
