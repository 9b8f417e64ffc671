mod args;
mod dry_run;
mod folder;
mod plan;
mod progress;
mod test;

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Result;
use burn::tensor::Device;
use burnformer_train::{
    Corpora, Learner, Ranks, RunDir, RunMode, StopReason, Texts, TrainConfig, Workers,
    cache_folder, follow,
};

use self::dry_run::{estimated, fitted};
use self::plan::Plan;
use self::progress::progress;
use crate::allocator::{Remedy, with_remedy};
use crate::commands::note_translate;
use crate::device::{check_trained_model, guarded};
use crate::files_in_use::FilesInUse;
use crate::mpi;
use crate::output::{note, note_terminal, say, verbosity};
use crate::signals::Signals;
use crate::texts::ReadTexts;
pub use args::Args;

/// Trains, scores the test text with the best model, and prints the next commands.
///
/// # Errors
/// Returns the errors of [`learn`].
pub fn run(args: Args) -> Result<()> {
    if let Some(learned) = learn(args)? {
        note_translate(&learned.model, learned.languages);
    }
    Ok(())
}

/// A finished run.
pub struct Learned {
    /// The best model.
    model: PathBuf,
    /// The languages of the text (`data.languages`), if they were named.
    languages: Option<[String; 2]>,
}

/// Trains, then scores the test text. Returns the finished run, if this process has it.
///
/// # Errors
/// Returns the errors of the run, or [`Stopped`](crate::output::Stopped) if a signal ended it.
pub fn learn(args: Args) -> Result<Option<Learned>> {
    burnformer_core::allocator::share_freed_memory();
    let plan = Plan::of(&args)?;
    if let Some(dry_run) = plan.dry_run.as_ref().filter(|_| plan.unnamed.has_pipe()) {
        say("dry run: text that comes through a pipe is not read, so nothing is measured");
        dry_run.print(&plan.config, None)?;
        return Ok(None);
    }
    let signals = watch_signals()?;
    let ranks = if plan.dry_run.is_some() {
        None
    } else {
        mpi::ranks()?
    };
    let follows = ranks.as_ref().filter(|ranks| ranks.rank().number > 0);
    if let Some(ranks) = follows {
        // Process 0 prepares the texts first. The others find them in the cache.
        ranks.broadcast(&mut Vec::new());
    } else {
        RunDir::check(&plan.folder, plan.mode)?;
    }
    let devices = args.device.open()?;
    let cache = cache_folder(&plan.config);
    note_terminal(
        [&args.train, &args.valid, &args.test]
            .into_iter()
            .flatten()
            .map(PathBuf::as_path),
    );
    let read = plan.unnamed.read(&cache)?;
    let texts = read.locate(&plan.config.data, &plan.texts_folder, &cache)?;
    FilesInUse::default()
        .reads(texts.paths())
        .writes(RunDir::written_files(&plan.folder))
        .check()?;
    if let Some(ranks) = follows {
        let corpora = Corpora::prepare_for(&plan.config, plan.start, texts, &mut |_| ())?;
        follow_first(ranks, &corpora, &devices, &signals)?;
        return Ok(None);
    }
    lead(plan, read, texts, &devices, ranks, &signals)
}

/// Trains as process 0, the only one without MPI. Returns `None` after a dry run.
///
/// # Errors
/// Returns the errors of the run, or [`Stopped`](crate::output::Stopped) if a signal ended it.
fn lead(
    plan: Plan,
    read: ReadTexts,
    texts: Texts,
    devices: &[Device],
    ranks: Option<Rc<dyn Ranks>>,
    signals: &Signals,
) -> Result<Option<Learned>> {
    let Plan {
        folder,
        mode,
        mut config,
        start,
        dry_run,
        ..
    } = plan;
    texts.check(&folder, mode)?;
    let test = test::read(&config, &texts).map_err(|error| read.explain(error))?;
    let corpora = Corpora::prepare_for(&config, start, texts, &mut progress(verbosity()));
    let corpora = corpora.map_err(|error| read.explain(error))?;
    note_corpus(&corpora);
    if let Some(ranks) = &ranks {
        ranks.broadcast(&mut Vec::new());
    } else if mode == RunMode::New {
        config = fitted(&config, &corpora, devices)?;
    }
    check_trained_model(devices, &corpora.model_config(&config)?)?;
    if let Some(dry_run) = dry_run {
        dry_run.print(&config, Some(estimated(&config, &corpora, devices)?))?;
        return Ok(None);
    }
    let workers = Workers { devices, ranks };
    let learned = with_remedy(Remedy::Budget, || {
        // Once started, the run has its own copy of the texts.
        train(&config, &corpora, &folder, mode, workers, signals, || {
            drop(read)
        })
    });
    if test.is_empty() || (learned.is_err() && !test::is_missing(&learned, &folder)) {
        learned?;
    } else {
        signals.stop_at_once("stopped before the test text was scored; --resume does that");
        test::score(&config, &test, &folder, &devices[0])?;
    }
    Ok(Some(Learned {
        model: folder.join("best"),
        languages: config.data.named_languages(),
    }))
}

/// Makes the updates of the run of process 0 as one of its other processes, until the run ends.
///
/// # Errors
/// Returns the errors of the run, or [`Stopped`](crate::output::Stopped) if a signal ended it.
fn follow_first(
    ranks: &Rc<dyn Ranks>,
    corpora: &Corpora,
    devices: &[Device],
    signals: &Signals,
) -> Result<()> {
    signals.run_interruptible(|_| guarded("", || Ok(follow(Rc::clone(ranks), corpora, devices)?)))
}

/// Notes the size of the training text.
fn note_corpus(corpora: &Corpora) {
    let cached = if corpora.reused {
        " (from the cache)"
    } else {
        ""
    };
    note(format_args!("{}{cached}", corpora.report));
}

/// Saves at the first signal to stop.
fn watch_signals() -> io::Result<Signals> {
    Signals::watch(if mpi::launched() > 1 {
        "finishing this update and saving; if the launcher kills the processes before that, --resume continues \
         from the last checkpoint"
    } else {
        "finishing this update and saving; once more to stop at once"
    })
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
            Ok(learner.train_with(interrupted, |killable| {
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
            note(format_args!("next: burnformer train {}", resume(folder)));
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
