//! The training of an adaptation.

use std::ffi::OsString;

use anyhow::Result;
use burnformer_infer::Languages;
use burnformer_train::TrainError;
use clap::Parser;
use serde_json::Value;

use super::args::Args;
use super::general::General;
use super::guard::named_languages;
use super::split::{Split, write};
use super::start::{Folders, Start};
use crate::commands::train;

/// `train` as a command line.
#[derive(Parser)]
struct Training {
    #[command(flatten)]
    args: train::Args,
}

/// Trains, or resumes training, in the working folder.
pub(super) fn learn(
    args: &Args,
    folders: &Folders,
    start: &Start,
    split: &Split,
    general: &General,
    languages: &Languages,
) -> Result<()> {
    let text = folders.work.join("memory.tsv");
    let run = folders.work.join("run");
    write(&text, &split.train)?;
    let mut line: Vec<OsString> = vec!["train".into(), "--from".into(), (&start.model).into()];
    line.extend(["--train".into(), text.into(), "--mix".into()]);
    line.extend(general.learned.iter().map(OsString::from));
    line.extend([
        args.mix.to_string().into(),
        "--out".into(),
        run.clone().into(),
    ]);
    if let Some(codes) = named_languages(languages) {
        line.push("--languages".into());
        line.extend(codes.iter().map(OsString::from));
    }
    let updates = split.updates(args.updates, start.least_updates());
    let mut settings = vec![
        format!("training.max_updates={updates}"),
        format!("schedule.warmup={}", (updates / 10).clamp(1, 50)),
        format!("training.max_minutes={:?}", args.minutes.unwrap_or(0.0)),
        format!("checkpoints.every={}", (updates / 5).clamp(20, 200)),
    ];
    settings.extend(SETTINGS.map(String::from));
    settings.extend(of_model(&start.config()));
    line.extend(
        settings
            .into_iter()
            .flat_map(|set| ["--set".into(), set.into()]),
    );
    line.extend(run.join("config.toml").exists().then(|| "--resume".into()));
    let mut training = Training::try_parse_from(line)?.args;
    training.device = args.device.clone();
    let learned = train::learn(training).map(drop);
    learned.or_else(|error| match error.downcast_ref() {
        Some(TrainError::NothingToDo { .. }) => Ok(()),
        _ => Err(error),
    })
}

/// The settings of every adaptation: no validation, a learning rate that falls to zero, and small
/// updates. 2,000 updates of 512 tokens teach more than 1,000 of 2,048 in the same time.
const SETTINGS: [&str; 5] = [
    "training.budget=512",
    "schedule.shape=constant",
    "schedule.cooldown=1",
    "validation.every=0",
    "checkpoints.average=0",
];

/// The settings that depend on the model's configuration. Wide models take smaller steps. An
/// imported model may be a student that learned without dropout and label smoothing: its perplexity
/// on its own translations is 63 with them and 1.6 without.
fn of_model(config: &Value) -> Vec<String> {
    let width = config["model"]["d_model"].as_f64().unwrap_or(512.0);
    let is_imported = !config["model"]["conventions"].is_null();
    let rate = if is_imported { 1e-4 } else { 5e-4 };
    let mut settings = vec![format!(
        "schedule.peak={:?}",
        rate * (256.0 / width).min(2.0).powi(2)
    )];
    settings.extend(
        OF_STUDENT
            .iter()
            .filter(|_| is_imported)
            .map(ToString::to_string),
    );
    settings
}

/// The settings of an imported model.
const OF_STUDENT: [&str; 3] = [
    "optimizer.algorithm=adam",
    "model.dropout=0",
    "training.label_smoothing=0",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_of_another_program_learns_without_dropout_in_small_steps() {
        let settings = of_model(&json!({"model": {"d_model": 256}}));
        assert_eq!(settings, ["schedule.peak=0.0005"]);
        let conventions = json!({"decoder_start": "zero"});
        let other = of_model(&json!({"model": {"d_model": 512, "conventions": conventions}}));
        assert_eq!(other[0], "schedule.peak=2.5e-5");
        assert!(other.contains(&"model.dropout=0".into()), "{other:?}");
    }
}
