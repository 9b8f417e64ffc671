//! `adapt`: fine-tunes a model on the user's translation memory, and checks that it does not get
//! worse on general text.

mod args;
mod general;
mod guard;
mod learn;
mod memory;
mod start;

use std::fs;

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_infer::Translator;

pub use self::args::Args;
use self::general::General;
use self::guard::{Comparison, Reference, check, check_direction, sources, translations};
use self::learn::learn;
use self::memory::Memory;
use self::start::Start;
use crate::output::{note, print, say};
use crate::translation_memory::Pair;

/// Reads the memory, scores the model, trains it, scores it again, and writes the new model if it
/// passes the checks.
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
    let by_people = general.reference == Reference::People;
    let name = if by_people { "general" } else { "agreement" };
    let scores = [
        compare("memory", &memory.held, before)?,
        compare(name, &general.held, general_before)?,
    ];
    let table = format!("{}\n{}", scores[0], scores[1]);
    if let Err(reason) = check(&scores, general.reference) {
        say(table);
        let work = &start.work;
        fs::remove_dir_all(work).with_context(|| work.display().to_string())?;
        let state = if start.card.is_some() {
            "stays as it was"
        } else {
            "is not written"
        };
        return Err(reason.context(format!("{}: {state}", args.out.display())));
    }
    print(table)?;
    start.finish(&args, &memory, card, &scores)
}
