//! `adapt`: fine-tunes a model on the user's translation memory, and checks that it does not get
//! worse on general text.

mod args;
mod general;
mod guard;
mod learn;
mod split;
mod start;

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_infer::Translator;

pub use self::args::Args;
use self::general::{General, codes};
use self::guard::{
    Comparison, Reference, check, check_direction, named_languages, sources, table, translations,
};
use self::learn::learn;
use self::split::Split;
use self::start::{Folders, Start, finished};
use crate::new_model::in_work;
use crate::output::{note, print, say};

/// Reads the memory, scores the model, trains it, scores it again, and writes the new model if it
/// passes the checks.
///
/// # Errors
/// Returns an error if a text or the model cannot be read, training fails, or the new model does
/// not pass the checks.
pub fn run(args: Args) -> Result<()> {
    // Another process may be at work on this adaptation.
    let folders = Folders::lock(&args.out)?;
    adapt(&args, &folders).map_err(|error| in_work(error, &folders.work))
}

fn adapt(args: &Args, folders: &Folders) -> Result<()> {
    if let Some(card) = finished(args, folders)? {
        print(table(&card["scores"]))?;
        return folders.remove_work();
    }
    let start = Start::of(args, folders)?;
    let old = Translator::load(&start.model, &Device::flex())?;
    let languages = match &args.languages[..] {
        [from, into] => old.languages_of_pair(from, into),
        _ => old.languages(None, None),
    };
    let languages = languages.context("--languages")?;
    let split = Split::read(&args.memory, codes(&languages), |file| {
        start.role(&args.memory[file])
    })?;
    note(&split);
    let before = translations(&old, &languages, &sources(&split.held))?;
    check_direction(&old, &languages, &split.held, &before)?;
    let card = start.begin(args, &split)?;
    let base = match start.card {
        Some(_) => Translator::load(&start.base, &Device::flex())?,
        None => old,
    };
    let general = General::new(&args.general, &split, (&base, &languages), &folders.work)?;
    let general_before = translations(&base, &languages, &sources(&general.held))?;
    drop(base);
    learn(args, folders, &start, &split, &general, &languages)?;
    let new = Translator::load(folders.work.join("run/last"), &Device::flex())?;
    let after = translations(&new, &languages, &sources(&split.held))?;
    let held_out_comparison = Comparison::new("memory", &split.held, [before, after])?;
    let by_people = general.reference == Reference::People;
    let name = if by_people { "general" } else { "agreement" };
    let after = translations(&new, &languages, &sources(&general.held))?;
    let general_comparison = Comparison::new(name, &general.held, [general_before, after])?;
    let scores = [held_out_comparison, general_comparison];
    let score_table = table(&scores.iter().map(Comparison::to_json).collect());
    let falls = match check(&scores, general.reference) {
        Ok(falls) => falls,
        Err(reason) => {
            say(score_table);
            folders.remove_work()?;
            let state = if start.card.is_some() {
                "stays as it was"
            } else {
                "is not written"
            };
            return Err(reason.context(format!("{}: {state}", args.out.display())));
        }
    };
    print(score_table)?;
    falls.into_iter().for_each(say);
    start.finish(args, &split, card, &scores, named_languages(&languages))
}
