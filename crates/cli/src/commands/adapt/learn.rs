//! The training of an adaptation.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use burnformer_train::TrainError;
use clap::Parser;
use serde_json::Value;

use super::args::Args;
use super::general::General;
use super::memory::{Memory, write};
use super::start::Start;
use crate::commands::train;

/// `train` as a command line.
#[derive(Parser)]
struct Training {
    #[command(flatten)]
    args: train::Args,
}

/// Trains, or goes on, in the folder of the work.
pub(super) fn learn(args: &Args, start: &Start, memory: &Memory, general: &General) -> Result<()> {
    let (text, run) = (start.work.join("memory.tsv"), start.work.join("run"));
    write(&text, &memory.train)?;
    let mut line: Vec<OsString> = vec!["train".into(), "--from".into(), (&start.model).into()];
    line.extend(["--train".into(), text.into(), "--mix".into()]);
    line.extend(general.learned.iter().map(OsString::from));
    line.extend([args.mix.to_string().into(), "--out".into(), run.clone().into()]);
    let updates = memory.updates(args.updates);
    let mut settings = vec![
        format!("training.max_updates={updates}"),
        format!("schedule.warmup={}", (updates / 10).clamp(1, 50)),
        format!("training.max_minutes={:?}", args.minutes.unwrap_or(0.0)),
        format!("schedule.peak={:?}", peak(&start.model)?),
        format!("checkpoints.every={}", (updates / 5).clamp(20, 200)),
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

/// The settings of every adaptation: no validation, a learning rate that falls to zero, and small
/// updates: 2,000 of 512 tokens teach more than 1,000 of 2,048 in the same time.
const SETTINGS: [&str; 5] = [
    "training.budget=512",
    "schedule.shape=constant",
    "schedule.cooldown=1",
    "validation.every=0",
    "checkpoints.average=0",
];

/// The highest learning rate: wide models take smaller steps.
fn peak(model: &Path) -> Result<f64> {
    let text = fs::read(model.join("config.json")).with_context(|| model.display().to_string())?;
    let config: Value = serde_json::from_slice(&text)?;
    let width = config["model"]["d_model"].as_f64().unwrap_or(512.0);
    Ok(5e-4 * (256.0 / width).min(2.0).powi(2))
}
