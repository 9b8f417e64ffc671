use std::path::Path;

use burn::tensor::Device;
use burnformer_core::{Model, Precision};
use burnformer_data::Tokenizers;
use burnformer_kernels::{is_bfloat16_fast_on, is_fused_on};
use burnformer_text::counted;

use super::Learner;
use super::checkpoints::Checkpoints;
use super::clock::Clock;
use super::pending::PendingUpdates;
use super::processes::{Message, send};
use super::setup::Setup;
use super::validate::{early_validation_after, metric};
use crate::advice::{Diagnostics, pair_sizes, text_check};
use crate::config::{CheckpointSettings, EarlyStoppingMetric, START, TrainConfig};
use crate::error::Result;
use crate::report::{Pace, Reporter, Verbosity};
use crate::run::{
    BestModel, Corpora, Origin, RunDir, RunMode, RunState, Start, special_ids, write_file,
};
use crate::update::{Recipe, Updater, Workers, WorkersError};
use crate::validation::Validator;

impl Learner {
    /// Starts a run in `folder`, or resumes the run there from its newest undamaged checkpoint. The
    /// batches of an update are shared by the devices of this process and of the processes that
    /// [`follow`](crate::follow) it. The first device holds the weights and validates. A new run
    /// rounds `training.accumulate` up to a multiple of the devices; a resumed run keeps it,
    /// because its result depends on it. The batch with the largest memory use is tried before
    /// anything is written. The model may be of any architecture ([`Corpora::model`]).
    ///
    /// # Errors
    /// Returns an error if a device does not compute in `training.precision`, the folder is in use,
    /// the configuration is invalid, the data cannot be batched, or the memory does not suffice. A
    /// resumed run also fails if the folder is empty, if its run has ended or has another corpus,
    /// tokeniser or configuration, or if an update has fewer batches than devices.
    ///
    /// # Panics
    /// Panics if there is no device.
    pub fn new<'a>(
        mut config: TrainConfig,
        corpora: &Corpora,
        folder: &Path,
        mode: RunMode,
        verbosity: Verbosity,
        workers: impl Into<Workers<'a>>,
    ) -> Result<Self> {
        config.validate()?;
        let workers = workers.into();
        let device = &workers.devices[0];
        let precision = config.training.precision.on(device);
        config.training.precision = precision.into();
        let shared_out = share_out(&mut config.training.accumulate, workers.count(), mode)?;
        let mut setup = Setup::new(config, corpora, workers.clone())?;
        let special = special_ids(setup.first.config.as_ref());
        let generation = setup.first.generation.clone();
        let validator = Validator::new(&setup.config, corpora, special, generation)?;
        let checkpoints = Checkpoints {
            run: RunDir::open(folder, mode)?,
            origin: Origin::of(corpora),
        };
        let mut start = checkpoints.start(&setup, mode)?;
        setup.try_worst_batch(&start.model)?;
        fill_folder(&checkpoints.run, &mut setup, corpora, mode)?;
        let resumed = (mode == RunMode::Resume).then_some(&start);
        let reporter = reporter(&setup.config, &checkpoints.run, verbosity, resumed)?;
        let mut notes = std::mem::take(&mut start.notes);
        notes.extend(shared_out);
        notes.extend(faster_precision(precision, device));
        notes.extend(kept_for_the_average(&setup.config.checkpoints));
        notes.extend(left_out_of_validation(corpora));
        notes.extend(validator.as_ref().and_then(Validator::announcement));
        if mode == RunMode::New {
            notes.extend(text_warnings(corpora, &setup, &start.model)?);
        }
        let begin = Message::Begin {
            config: setup.config.clone(),
            origin: checkpoints.origin.clone(),
        };
        send(&setup.replicas, &begin);
        let tokenizers = corpora.tokenizers.clone();
        let mut learner =
            Self::assemble(setup, checkpoints, validator, tokenizers, start, reporter)?;
        learner.announce(notes)?;
        Ok(learner)
    }

    /// The learner at `start`, before its first update.
    fn assemble(
        setup: Setup,
        checkpoints: Checkpoints,
        validator: Option<Validator>,
        tokenizers: Tokenizers,
        start: Start,
        reporter: Reporter,
    ) -> Result<Self> {
        let Start {
            model,
            optimizer,
            state,
            ..
        } = start;
        let config = &setup.config;
        let run = &checkpoints.run;
        let device = setup.replicas.first();
        let recipe = Recipe::new(config);
        let target_vocab = setup.first.config.tokens().target_vocab;
        let metric = metric(validator.as_ref(), config);
        Ok(Self {
            updater: Updater::new(optimizer, recipe, state.loss_scale, device),
            diagnostics: Diagnostics::new(config.schedule.warmup, target_vocab),
            best_on_disk: best_on_disk(metric, run, &state),
            early_validation_after: early_validation_after(config, run),
            clock: Clock::new(state.seconds),
            pending: PendingUpdates::default(),
            batches_per_epoch: setup.sampler.batches_in(config.training.seed, 0)? as usize,
            tokenizers,
            model: Some(model),
            state,
            reporter,
            validator,
            checkpoints,
            setup,
        })
    }

    fn announce(&mut self, notes: Vec<String>) -> Result<()> {
        let sampler = &self.setup.sampler;
        let at = self.state.sampler;
        let pairs = sampler.corpus().len();
        let over = sampler.over_budget();
        let batches = sampler.batches_in(at.seed, at.epoch)?;
        let padding = sampler.window(at.seed, at.epoch, 0)?.padding_share();
        self.reporter.note(&format!(
            "model: {:.1}M parameters | corpus: {}, {over} over the budget | epoch: {}, {:.1}% padding",
            self.setup.first.config.parameter_count() as f64 / 1e6,
            counted(pairs, "pair"),
            counted(batches, "batch"),
            100.0 * padding,
        ))?;
        if self.setup.first.start.is_some() {
            self.reporter.note(&format!(
                "weights and tokenisers: from {}, kept in start/",
                self.setup.config.training.from.display()
            ))?;
        }
        if let Some(bytes) = self.setup.memory_limit.resident() {
            let [rows, source, target] = self.setup.worst_shape;
            self.reporter.note(&format!(
                "memory: {:.2} GB after the worst batch ({rows} sentences of {source} and {target} tokens)",
                bytes as f64 / 1e9
            ))?;
        }
        if let Some(usage) = self.device().clone().inner().memory_pool_usage() {
            let [used, reserved] =
                [usage.bytes_in_use, usage.bytes_reserved].map(|b| b as f64 / 1e9);
            self.reporter.note(&format!(
                "memory of the device: {reserved:.2} GB reserved by then, {used:.2} GB of it in use"
            ))?;
        }
        notes.iter().try_for_each(|note| self.reporter.note(note))?;
        if self.state.step > 0 {
            self.reporter.note(&self.restored())?;
        }
        Ok(())
    }

    /// The restored state, in words.
    fn restored(&self) -> String {
        let state = &self.state;
        let best = state
            .validation
            .best_model
            .map_or("none yet".into(), |best| best.to_string());
        let waited = state.validation.early_stopping.waited;
        format!(
            "resumed after update {}: parameters, {} steps of the optimiser, seed {}, epoch {}, batch {} next, \
             learning rate {:.3e}, best model: {best}, {waited} validations without improvement, {} tokens in {:.0} s",
            state.step,
            state.optimizer_steps,
            self.setup.config.training.seed,
            state.sampler.epoch + 1,
            state.sampler.next_batch + 1,
            self.rate(state.step + 1),
            state.tokens,
            state.seconds,
        )
    }
}

/// Writes the texts from pipes, the configuration and the model to start from into the folder of
/// `run`.
fn fill_folder(run: &RunDir, setup: &mut Setup, corpora: &Corpora, mode: RunMode) -> Result<()> {
    corpora.texts.keep(run.path(), mode)?;
    write_file(&run.config(), setup.config.to_toml().as_bytes())?;
    if let Some(start) = &mut setup.first.start {
        start.keep(&run.model(START))?;
    }
    Ok(())
}

/// Warnings about the texts of a new run.
fn text_warnings(corpora: &Corpora, setup: &Setup, model: &Model) -> Result<Vec<String>> {
    let texts = &corpora.texts;
    let utf8 = setup.config.data.utf8;
    // An estimate of the run may have checked the texts already.
    let found = corpora
        .warnings
        .get_or_init(|| text_check::warnings(texts, &corpora.samples, utf8));
    let mut found = found.clone();
    found.extend(text_check::unknown(
        &corpora.train,
        &corpora.tokenizers,
        texts,
        utf8,
    )?);
    found.extend(text_check::divided_tag(&corpora.tokenizers, texts, utf8));
    found.extend(pair_sizes::warnings(&corpora.train, &setup.config.data));
    let is_named = !setup.config.data.trained_directions().is_empty();
    if setup.first.start.is_some() && !is_named {
        let special = special_ids(setup.first.config.as_ref());
        let device = setup.replicas.first();
        let tokenizers = &corpora.tokenizers;
        found.extend(text_check::other_direction(
            model, texts, utf8, tokenizers, special, device,
        ));
    }
    Ok(found)
}

/// The record of the model in `best/`; `None` for a run at its beginning, which always replaces
/// it.
fn best_on_disk(metric: EarlyStoppingMetric, run: &RunDir, state: &RunState) -> Option<BestModel> {
    let is_resumed = state.step > 0;
    is_resumed
        .then(|| BestModel::read(&run.model("best"), metric))
        .flatten()
}

/// A note if another precision than `precision` is faster on `device`, a CPU.
fn faster_precision(precision: Precision, device: &Device) -> Option<String> {
    let fastest = if is_bfloat16_fast_on(device) {
        Precision::BFloat16
    } else {
        Precision::Float32
    };
    (is_fused_on(device) && fastest != precision).then(|| {
        format!(
            "precision: {precision}; this processor multiplies faster in {fastest} \
             (training.precision = \"{fastest}\")"
        )
    })
}

/// Divides the `accumulate` batches of an update among `devices` devices, and returns a note if
/// there are several. A new run rounds the batches up to a multiple of the devices; a resumed run
/// keeps their number, because its result depends on it.
fn share_out(accumulate: &mut usize, devices: usize, mode: RunMode) -> Result<Option<String>> {
    let given = *accumulate;
    if mode == RunMode::Resume && devices > given {
        return Err(WorkersError::TooManyDevices {
            devices,
            batches: given,
        }
        .into());
    }
    if mode == RunMode::New {
        *accumulate = given.next_multiple_of(devices.max(1));
    }
    let instead = if *accumulate == given {
        String::new()
    } else {
        format!(" instead of {given}, so that each device has as many")
    };
    let note = format!("{devices} devices: an update is {accumulate} batches{instead}");
    Ok((devices > 1).then_some(note))
}

/// A note if the average needs more checkpoints than `checkpoints.keep`.
fn kept_for_the_average(settings: &CheckpointSettings) -> Option<String> {
    let keep = settings.keep;
    let kept = settings.kept();
    (kept > keep).then(|| {
        format!(
            "checkpoints.keep is {keep}, but checkpoints.average takes the last {kept} at the end: {kept} are kept"
        )
    })
}

/// A note if some of the validation texts is too long for the model.
fn left_out_of_validation(corpora: &Corpora) -> Option<String> {
    let reports = corpora
        .valid
        .iter()
        .map(|text| text.corpus.report().clone());
    let report = reports.reduce(|a, b| a + b)?;
    let longest = corpora.longest_validated;
    (report.dropped() > 0).then(|| {
        format!(
            "validation text: {report}; pairs of more than {longest} tokens per side are left out of loss, perplexity \
             and BLEU alike"
        )
    })
}

fn reporter(
    config: &TrainConfig,
    run: &RunDir,
    verbosity: Verbosity,
    resumed: Option<&Start>,
) -> Result<Reporter> {
    let updates = config.training.max_updates;
    let minutes = config.training.max_minutes;
    let max_seconds = (minutes > 0.0).then_some(60.0 * minutes);
    let pace = Pace::new(Some(updates).filter(|&most| most > 0), max_seconds);
    let resume = resumed.map(|start| start.state.reported());
    Reporter::create(run.path(), verbosity, pace, resume)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_run_rounds_batches_up_to_the_devices_and_a_resumed_run_keeps_them() {
        for (given, devices, mode, expected) in [
            (1, 1, RunMode::New, 1),
            (1, 4, RunMode::New, 4),
            (5, 2, RunMode::New, 6),
            (4, 2, RunMode::New, 4),
            (5, 2, RunMode::Resume, 5),
        ] {
            let mut accumulate = given;
            let note = share_out(&mut accumulate, devices, mode).unwrap();
            assert_eq!(accumulate, expected);
            assert_eq!(note.is_some(), devices > 1);
            let says = note.is_some_and(|note| note.contains(&format!("instead of {given}")));
            assert_eq!(says, given != expected);
        }
    }

    fn note(keep: usize, average: usize) -> Option<String> {
        kept_for_the_average(&CheckpointSettings {
            every: 10,
            keep,
            average,
        })
    }

    #[test]
    fn a_note_says_that_the_average_needs_more_checkpoints() {
        assert_eq!(
            [note(5, 5), note(0, 5), note(1, 0), note(1, 1)],
            [None, None, None, None]
        );
        let said = note(2, 5).unwrap();
        assert!(
            said.contains("checkpoints.keep is 2") && said.ends_with("5 are kept"),
            "{said}"
        );
    }

    #[test]
    fn a_resumed_run_refuses_more_devices_than_batches() {
        let error = share_out(&mut 2, 3, RunMode::Resume)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("3 devices") && error.contains("name at most 2 with --device"),
            "{error}"
        );
    }
}
