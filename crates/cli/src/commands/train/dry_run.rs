//! `train --dry-run`: what a run would be, without one.

use std::path::Path;

use anyhow::Result;
use burnformer_core::TransformerConfig;
use burnformer_data::SpecialIds;
use burnformer_interop::Format;
use burnformer_train::{
    Corpora, Rehearsal, RunDir, RunMode, StartModel, TrainConfig, cache_folder,
};

use super::args::Args;
use super::progress::{announce_text, progress};
use super::size::{fitted, rehearse};
use super::test;
use crate::output::{self, say};
use crate::texts::Unnamed;

/// Prints the configuration, the size of the model, and what some updates on the texts tell of the
/// run: its time, its memory, and when the first score comes. Texts that come through a pipe are
/// not read, and then nothing is measured.
///
/// # Errors
/// The errors with which the run would not start.
pub(super) fn run(
    args: &Args,
    config: &mut TrainConfig,
    start: Option<StartModel>,
    unnamed: Unnamed,
    folder: &Path,
    file: Option<&Path>,
) -> Result<()> {
    let vocab = config.tokenizer.train.vocab_size;
    let shape = match &start {
        Some(start) => start.shape(&config.model),
        None => config.model.over([vocab; 2], SpecialIds::OURS),
    };
    shape.validate()?;
    let rehearsal = match unnamed.has_pipe() {
        true => {
            say("dry run: text that comes through a pipe is not read, so nothing is measured");
            None
        }
        false => Some(rehearsal(args, config, start, unnamed, folder, file)?),
    };
    output::print(config.to_toml())?;
    match rehearsal {
        Some(rehearsal) => print_measured(config, &rehearsal)?,
        None => output::print(format_args!("# parameters: {}", shape.parameter_count()))?,
    }
    match shape.downcast_ref() {
        Some(shape) => exports(shape),
        None => Ok(()),
    }
}

/// Prints which formats of other systems can carry a model of this shape, and why others cannot.
fn exports(shape: &TransformerConfig) -> Result<()> {
    let (can, cannot): (Vec<Format>, Vec<Format>) =
        Format::WRITTEN.into_iter().partition(|format| format.check(shape).is_ok());
    let can: Vec<&str> = can.into_iter().map(Format::name).collect();
    output::print(format_args!("# can be exported to: {}", can.join(", ")))?;
    for format in cannot {
        if let Err(error) = format.check(shape) {
            output::print(format_args!("# not to {format}: {error}"))?;
        }
    }
    Ok(())
}

/// Prepares the texts and chooses the size as the run would, and makes some updates in a folder
/// that is removed again.
fn rehearsal(
    args: &Args,
    config: &mut TrainConfig,
    start: Option<StartModel>,
    unnamed: Unnamed,
    folder: &Path,
    file: Option<&Path>,
) -> Result<Rehearsal> {
    RunDir::check(folder, args.mode())?;
    let devices = args.device.open()?;
    let cache = cache_folder(config);
    let read = unnamed.read(&cache)?;
    let beside = file.and_then(Path::parent).unwrap_or(folder);
    let texts = read.locate(&config.data, beside, &cache)?;
    test::read(config, &texts.test)?;
    let corpora = Corpora::prepare_for(config, start, texts, &mut progress(output::verbosity()))?;
    announce_text(&corpora);
    if args.mode() == RunMode::New {
        *config = fitted(config, &corpora, &devices)?;
    }
    rehearse(config, &corpora, &devices)
}

fn print_measured(config: &TrainConfig, rehearsal: &Rehearsal) -> Result<()> {
    let &Rehearsal { parameters, memory, measured, seconds, updates } = rehearsal;
    output::print(format_args!("# parameters: {parameters}"))?;
    if let Some(bytes) = memory {
        let gigabytes = bytes as f64 / 1e9;
        output::print(format_args!("# memory, with the worst batch: {gigabytes:.2} GB"))?;
    }
    output::print(format_args!(
        "# time: {}, the mean of {measured} updates being {seconds:.3} s; validations come on top",
        match updates.is_finite() {
            true => format!("about {} for {updates} updates", duration(updates * seconds)),
            false => "without end, since no limit is set".into(),
        }
    ))?;
    let every = config.validation.every as f64;
    let first = if every > 0.0 { every.min(updates) } else { updates };
    match !config.data.valid.is_empty() && first.is_finite() {
        true => output::print(format_args!(
            "# first score: after update {first}, about {}",
            duration(first * seconds)
        )),
        false => output::print("# first score: none, without a validation text (--valid)"),
    }
}

/// `seconds` in the unit that fits.
fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} seconds"),
        ..5400.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
}
