//! A follower: a process that shares the updates of a run and leaves everything else to process 0.

use std::rc::Rc;

use burn::tensor::{Device, TensorData};
use burnformer_core::{Model, StateDict, named_parameters, with_parameters};
use burnformer_data::{PlannedUpdate, SamplerState, UpdateStream};

use super::Learner;
use super::message::Message;
use super::setup::{Setup, check_precision};
use crate::config::TrainConfig;
use crate::error::{Result, TrainError};
use crate::run::{Corpora, Origin, RunMode, Start};
use crate::update::{LossScale, Ranks, Recipe, Updater, Workers, WorkersError};

impl Learner {
    /// Sends `message` to all other processes.
    pub(super) fn send(&self, message: &Message) {
        let Some(ranks) = self.setup.replicas.ranks() else {
            return;
        };
        ranks.broadcast(&mut serde_json::to_vec(message).expect("a message is plain data"));
        if let Message::End = message {
            ranks.end();
        }
    }

    /// Sends the weights and moments to all other processes.
    pub(super) fn send_state(&self) {
        let Some(ranks) = self.setup.replicas.ranks() else {
            return;
        };
        let Updater {
            optimizer,
            loss_scale,
            ..
        } = &self.updater;
        self.send(&Message::Load {
            optimizer_steps: optimizer.steps(),
            loss_scale: *loss_scale,
        });
        for values in [named_parameters(self.model()), optimizer.named_moments()] {
            let bytes = values.values().flat_map(|value| value.bytes().iter());
            ranks.broadcast(&mut bytes.copied().collect());
        }
    }
}

/// `values`, replaced by the values of process 0.
fn received(ranks: &dyn Ranks, values: StateDict) -> StateDict {
    let mut bytes = Vec::new();
    ranks.broadcast(&mut bytes);
    let mut rest = &bytes[..];
    values
        .into_iter()
        .map(|(name, value)| {
            let (bytes, others) = rest.split_at(value.bytes().len());
            rest = others;
            let data =
                TensorData::from_bytes_vec(bytes.to_vec(), value.shape().clone(), value.dtype());
            (name, data)
        })
        .collect()
}

/// Shares the updates of the run of process 0 until it ends. `corpora` must come from the same texts
/// as in process 0. The configuration is received from process 0.
///
/// # Errors
/// Returns [`WorkersError::OtherTexts`] if the texts differ from process 0,
/// [`WorkersError::OtherProgram`] if process 0 runs another version, and the errors of
/// [`Learner::new`] for devices and configurations.
///
/// # Panics
/// Panics if the messages of process 0 are out of order.
pub fn follow(ranks: Rc<dyn Ranks>, corpora: &Corpora, devices: &[Device]) -> Result<()> {
    let Message::Begin { config, origin } = Message::receive(&*ranks)? else {
        panic!("the first message begins the run")
    };
    if Origin::of(corpora) != origin {
        return Err(WorkersError::OtherTexts(ranks.rank().number).into());
    }
    let config =
        toml::from_str(&config).map_err(|_| WorkersError::OtherProgram(ranks.rank().number))?;
    let mut follower = Follower::new(config, Rc::clone(&ranks), corpora, devices)?;
    loop {
        match Message::receive(&*ranks)? {
            Message::Begin { .. } => panic!("a run begins once"),
            Message::Load {
                optimizer_steps,
                loss_scale,
            } => {
                follower.load(&*ranks, optimizer_steps, loss_scale);
            }
            Message::Update { step, from, rate } => {
                follower.update(step, from, f64::from_bits(rate))?
            }
            Message::End => break,
        }
    }
    ranks.end();
    Ok(())
}

/// A process that shares the updates of process 0.
struct Follower {
    setup: Setup,
    updater: Updater,
    /// The model; `None` only during an update, which changes it in place.
    model: Option<Model>,
    /// The coming batches, and the position of the next batch.
    batches: Option<(UpdateStream, SamplerState)>,
}

impl Follower {
    /// Prepares a run in a temporary folder.
    fn new(
        config: TrainConfig,
        ranks: Rc<dyn Ranks>,
        corpora: &Corpora,
        devices: &[Device],
    ) -> Result<Self> {
        let precision = config.training.precision.number_type();
        devices
            .iter()
            .try_for_each(|device| check_precision(precision, device))?;
        let folder = tempfile::tempdir().map_err(TrainError::io(&std::env::temp_dir()))?;
        let workers = Workers {
            devices,
            ranks: Some(ranks),
        };
        let mut setup = Setup::new(config, corpora, folder.path(), RunMode::New, workers)?;
        // Only `Setup` needs the folder.
        drop(folder);
        let Start {
            model,
            optimizer,
            state,
            ..
        } = setup.fresh()?;
        setup.try_worst_batch(&model)?;
        let recipe = Recipe::new(&setup.config);
        let device = setup.replicas.first();
        let updater = Updater::new(optimizer, recipe, state.loss_scale, device);
        Ok(Self {
            setup,
            updater,
            model: Some(model),
            batches: None,
        })
    }

    fn load(&mut self, ranks: &dyn Ranks, optimizer_steps: u64, loss_scale: Option<LossScale>) {
        let model = self
            .model
            .take()
            .expect("the model is away only during an update");
        let weights = received(ranks, named_parameters(&model));
        let model = with_parameters(model, weights).expect("all processes have the same model");
        let optimizer = &self.updater.optimizer;
        let device = self.setup.replicas.first();
        let moments = received(ranks, optimizer.named_moments());
        let restored = optimizer.clone().restore(optimizer_steps, moments, device);
        self.updater.optimizer = restored.expect("all processes have the same optimiser");
        self.updater.loss_scale = loss_scale;
        self.model = Some(model);
    }

    fn update(&mut self, step: u64, from: SamplerState, rate: f64) -> Result<()> {
        let planned = self.planned(from)?;
        let model = self
            .model
            .take()
            .expect("the model is away only during an update");
        let (model, pending, _) =
            self.updater
                .update(model, &planned.batches, step, rate, &self.setup.replicas);
        self.model = Some(model);
        self.updater.read(&[pending]);
        Ok(())
    }

    /// The batches of the update after `from`.
    fn planned(&mut self, from: SamplerState) -> Result<PlannedUpdate> {
        let coming = self.batches.take().filter(|(_, next)| *next == from);
        let mut batches = match coming {
            Some((batches, _)) => batches,
            None => self.setup.updates(from)?,
        };
        let planned = batches.next().expect("the stream of updates has no end")?;
        self.batches = Some((batches, planned.next));
        Ok(planned)
    }
}
