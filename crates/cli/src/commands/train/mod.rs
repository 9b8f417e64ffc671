mod args;
mod dry_run;
mod folder;
mod progress;
mod test;

use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Result;
use burnformer_train::config::MixedText;
use burnformer_train::{
    Corpora, Learner, RunDir, RunMode, StartModel, StopReason, TrainConfig, Workers, cache_folder,
    follow,
};

use self::dry_run::{DryRun, estimated, fitted};
use self::progress::progress;
use crate::configuration::{resolve, set_texts};
use crate::device::{check_trained_model, guarded};
use crate::embedded;
use crate::files_in_use::FilesInUse;
use crate::memory::{Remedy, with_remedy};
use crate::mpi;
use crate::output::{note, note_terminal, say, verbosity, wrong_usage};
use crate::signals::Signals;
use crate::texts::Unnamed;
pub use args::Args;

/// Trains, scores the test text with the best model, and prints the next commands.
pub fn run(args: Args) -> Result<()> {
    let Some(model) = learn(args)? else {
        return Ok(());
    };
    note(format_args!(
        "to go on: burnformer translate --model {} --input FILE",
        model.display()
    ));
    Ok(())
}

/// Trains, then scores the test text. Returns the best model of the run, if this process has one.
///
/// # Errors
/// Returns the errors of the run, or [`Stopped`](crate::output::Stopped) if a signal ended it.
pub fn learn(args: Args) -> Result<Option<PathBuf>> {
    burnformer_core::allocator::share_freed_memory();
    let folder = run_folder(&args)?;
    let file = configuration_file(&args, &folder);
    let mut config = configuration(&args, file.as_deref(), &folder)?;
    let unnamed = Unnamed::take(&mut config.data)?;
    let start = StartModel::of_run(&config, args.run_to_go_on(&folder))?;
    let dry_run = args
        .dry_run
        .then(|| DryRun::new(&config, start.as_ref()))
        .transpose()?;
    if let Some(dry_run) = dry_run.as_ref().filter(|_| unnamed.has_pipe()) {
        say("dry run: text that comes through a pipe is not read, so nothing is measured");
        return dry_run.print(&config, None);
    }
    let signals = Signals::watch(if mpi::launched() > 1 {
        "finishing this update and saving; if the launcher kills the processes before that, --resume continues \
         from the last checkpoint"
    } else {
        "finishing this update and saving; once more to stop at once"
    })?;
    let ranks = if dry_run.is_some() {
        None
    } else {
        mpi::ranks()?
    };
    let follows = ranks.as_ref().filter(|ranks| ranks.rank().number > 0);
    let mode = args.mode();
    if let Some(ranks) = follows {
        // Process 0 prepares the texts first. The others find them in the cache.
        ranks.broadcast(&mut Vec::new());
    } else {
        RunDir::check(&folder, mode)?;
    }
    let devices = args.device.open()?;
    let cache = cache_folder(&config);
    note_terminal(
        [&args.train, &args.valid, &args.test]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path),
    );
    let read = unnamed.read(&cache)?;
    let beside = file.as_deref().and_then(Path::parent).unwrap_or(&folder);
    let texts = read.locate(&config.data, beside, &cache)?;
    FilesInUse::default()
        .reads(texts.paths())
        .writes(RunDir::written_files(&folder))
        .check()?;
    if let Some(ranks) = follows {
        let corpora = Corpora::prepare_for(&config, start, texts, &mut |_| ())?;
        return signals
            .run_interruptible(|_| {
                guarded("", || Ok(follow(Rc::clone(ranks), &corpora, &devices)?))
            })
            .map(|()| None);
    }
    texts.check(&folder, mode)?;
    let test = test::read(&config, &texts.test).map_err(|error| read.explain(error))?;
    let workers = Workers {
        devices: &devices,
        ranks: ranks.clone(),
    };
    let corpora = Corpora::prepare_for(&config, start, texts, &mut progress(verbosity()));
    let corpora = corpora.map_err(|error| read.explain(error))?;
    let cached = if corpora.reused {
        " (from the cache)"
    } else {
        ""
    };
    note(format_args!("{}{cached}", corpora.report));
    if let Some(ranks) = &ranks {
        ranks.broadcast(&mut Vec::new());
    } else if mode == RunMode::New {
        config = fitted(&config, &corpora, &devices)?;
    }
    check_trained_model(&devices, &corpora.model_config(&config)?)?;
    if let Some(dry_run) = dry_run {
        return dry_run.print(&config, Some(estimated(&config, &corpora, &devices)?));
    }
    // Once started, the run has its own copy of the texts.
    let started = || drop(read);
    let learned = with_remedy(Remedy::Budget, || {
        train(&config, &corpora, &folder, mode, workers, &signals, started)
    });
    if test.is_empty() || (learned.is_err() && !test::is_missing(&learned, &folder)) {
        learned?;
    } else {
        signals.stop_at_once("stopped before the test text was scored; --resume does that");
        test::score(&config, &test, &folder, &devices[0])?;
    }
    Ok(Some(folder.join("best")))
}

/// Trains in `folder` until the run ends, and calls `started` once it has started.
///
/// # Errors
/// Returns the errors of the run, or [`Stopped`](crate::output::Stopped) if a signal ended it.
fn train(
    config: &TrainConfig,
    corpora: &Corpora,
    folder: &Path,
    mode: RunMode,
    workers: Workers,
    signals: &Signals,
    started: impl FnOnce(),
) -> Result<()> {
    note(format_args!("run: {}", folder.display()));
    let outcome = signals.run_interruptible(|interrupted| {
        guarded(&advice(config, folder), || {
            let config = config.clone();
            let learner = Learner::new(config, corpora, folder, mode, verbosity(), workers)?;
            started();
            Ok(learner.train_killable(interrupted, |killable| {
                if killable {
                    signals.stop_at_once("stopped; --resume makes the rest of the run's end")
                } else {
                    signals.stop_gracefully()
                }
            })?)
        })
    });
    match outcome?.reason {
        StopReason::Interrupted => {
            note(format_args!(
                "to go on: burnformer train {}",
                resume(folder)
            ));
            Err(signals.stopped().into())
        }
        _ => Ok(()),
    }
}

/// The options that resume the run in `folder`.
fn resume(folder: &Path) -> String {
    format!("--out {} --resume", folder.display())
}

/// The remedy if the device fails while the run in `folder` trains.
fn advice(config: &TrainConfig, folder: &Path) -> String {
    format!(
        "{} continues from the last checkpoint, if there is one; if the memory of the device was full, start \
         a new run with --set training.budget={} and twice the training.accumulate, whose updates are of the same size",
        resume(folder),
        config.training.budget / 2
    )
}

/// The folder `--out`, otherwise a folder under `runs` with the name of the preset or the
/// configuration file.
fn run_folder(args: &Args) -> Result<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let stem = args
        .config
        .as_ref()
        .and_then(|path| path.file_stem()?.to_str());
    folder::choose(
        Path::new("runs"),
        args.preset.as_deref().or(stem),
        args.mode(),
    )
}

/// The configuration file: the value of `--config`, otherwise the file of the resumed run.
fn configuration_file(args: &Args, folder: &Path) -> Option<PathBuf> {
    let of_run = || Some(folder.join("config.toml")).filter(|path| path.exists());
    args.config
        .clone()
        .or_else(|| args.run_to_go_on(folder).and_then(|_| of_run()))
}

/// The settings of `file`, overridden by the command line. The default text is the embedded corpus.
fn configuration(args: &Args, file: Option<&Path>, folder: &Path) -> Result<TrainConfig> {
    let memory = args
        .max_memory
        .map(|gb| format!("training.max_memory={gb:?}"));
    // A JSON string is also a TOML string.
    let text = |dir: &PathBuf| serde_json::to_string(&dir.display().to_string());
    let from = args
        .from
        .as_ref()
        .map(text)
        .transpose()?
        .map(|dir| format!("training.from={dir}"));
    let minutes = args
        .minutes
        .map(|minutes| format!("training.max_minutes={minutes:?}"));
    let given = [memory, minutes, from].into_iter().flatten();
    let settings: Vec<String> = args.set.iter().cloned().chain(given).collect();
    let run = args.run_to_go_on(folder);
    let mut config = resolve(args.preset.as_deref(), file, &settings, run)?;
    let given = [
        ("--train", &args.train),
        ("--valid", &args.valid),
        ("--test", &args.test),
    ];
    set_texts(&mut config.data, given)?;
    if !args.mix.is_empty() {
        // Each text is followed by its weight.
        let texts = args.mix.split_inclusive(|value| weight_in(value).is_some());
        config.data.mix = texts.map(mixed_text).collect::<Result<_>>()?;
    }
    embedded::fill(&mut config.data);
    Ok(config)
}

/// One or two texts and their weight.
fn mixed_text(values: &[PathBuf]) -> Result<MixedText> {
    let (last, train) = values.split_last().expect("no part of a split is empty");
    let weight = weight_in(last)
        .filter(|_| matches!(train.len(), 1 | 2))
        .ok_or_else(|| {
            wrong_usage(format_args!(
                "--mix … {}: give two files or one TSV file, and then a weight above 0, such as 2",
                last.display()
            ))
        })?;
    Ok(MixedText {
        train: train.to_vec(),
        weight,
    })
}

/// `value` as a weight, if it is one.
fn weight_in(value: &Path) -> Option<f64> {
    let weight = value.to_str()?.parse().ok();
    weight.filter(|weight: &f64| weight.is_finite() && *weight > 0.0)
}
