//! The processes of a run: process 0 sends messages, and a follower shares its updates and leaves
//! everything else to it.

use std::rc::Rc;

use burn::tensor::{Device, TensorData};
use burnformer_core::{Model, StateDict, named_parameters, with_parameters};
use burnformer_data::{PlannedUpdate, SamplerState, UpdateStream};
use serde::{Deserialize, Serialize};

use super::setup::{MODEL_IS_THERE, Setup};
use crate::config::TrainConfig;
use crate::error::Result;
use crate::run::{Corpora, Origin, Start};
use crate::update::{LossScale, Ranks, Recipe, Replicas, Updater, Workers, WorkersError};

/// A message of process 0 to the others, sent as TOML, which keeps every bit of a number.
#[derive(Serialize, Deserialize)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(super) enum Message {
    /// Prepare for the run with this configuration and the texts of these hashes.
    Begin { config: TrainConfig, origin: Origin },
    /// Take the weights and moments that follow.
    Load {
        optimizer_steps: u64,
        loss_scale: Option<LossScale>,
    },
    /// Make update `step` over the batches after `from` with the learning rate `rate`.
    Update {
        step: u64,
        from: SamplerState,
        rate: f64,
    },
    /// The run has ended.
    End {},
}

impl Message {
    /// Waits for the next message of process 0.
    ///
    /// # Errors
    /// Returns [`WorkersError::OtherProgram`] for an unknown message.
    fn receive(ranks: &dyn Ranks) -> Result<Self, WorkersError> {
        let mut bytes = Vec::new();
        ranks.broadcast(&mut bytes);
        toml::from_slice(&bytes).map_err(|_| WorkersError::OtherProgram(ranks.rank().number))
    }
}

/// Sends `message` to all other processes.
pub(super) fn send(replicas: &Replicas, message: &Message) {
    let Some(ranks) = replicas.ranks() else {
        return;
    };
    let text = toml::to_string(message).expect("a message is plain data");
    ranks.broadcast(&mut text.into_bytes());
    if let Message::End {} = message {
        ranks.end();
    }
}

/// Sends the weights of `model` and the moments to all other processes.
pub(super) fn send_state(replicas: &Replicas, model: &Model, updater: &Updater) {
    let Some(ranks) = replicas.ranks() else {
        return;
    };
    let optimizer = &updater.optimizer;
    let load = Message::Load {
        optimizer_steps: optimizer.steps(),
        loss_scale: updater.loss_scale,
    };
    send(replicas, &load);
    for values in [named_parameters(model), optimizer.named_moments()] {
        let bytes = values.values().flat_map(|value| value.bytes().iter());
        ranks.broadcast(&mut bytes.copied().collect());
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

/// Shares the updates of the run of process 0 until it ends. `corpora` must come from the same
/// texts as in process 0. The configuration is received from process 0.
///
/// # Errors
/// Returns [`WorkersError::OtherTexts`] if the texts differ from process 0,
/// [`WorkersError::OtherProgram`] if process 0 runs another version, and the errors of
/// [`Learner::new`](crate::Learner::new) for devices and configurations.
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
            Message::Update { step, from, rate } => follower.update(step, from, rate)?,
            Message::End {} => break,
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
    fn new(
        config: TrainConfig,
        ranks: Rc<dyn Ranks>,
        corpora: &Corpora,
        devices: &[Device],
    ) -> Result<Self> {
        let workers = Workers {
            devices,
            ranks: Some(ranks),
        };
        let mut setup = Setup::new(config, corpora, workers)?;
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
        let model = self.model.take().expect(MODEL_IS_THERE);
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
        let model = self.model.take().expect(MODEL_IS_THERE);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_keeps_every_bit() {
        let origin = Origin {
            train: "a".into(),
            valid: None,
            tokenizers: ["b".into(), "c".into()],
        };
        let mut config = TrainConfig::default();
        config.optimizer.epsilon = 0.1 + 0.2;
        let from = SamplerState {
            seed: 1,
            epoch: 2,
            next_batch: 3,
        };
        let mut messages = vec![Message::Begin { config, origin }, Message::End {}];
        messages.extend(
            [None, Some(LossScale::default())].map(|loss_scale| Message::Load {
                optimizer_steps: 7,
                loss_scale,
            }),
        );
        messages.extend([0.1 + 0.2, 1e-300 / 3.0, 0.0].map(|rate| Message::Update {
            step: 9,
            from,
            rate,
        }));
        for message in messages {
            let text = toml::to_string(&message).unwrap();
            let read: Message = toml::from_str(&text).unwrap();
            match (&message, &read) {
                (Message::Begin { config, .. }, Message::Begin { config: other, .. }) => {
                    assert_eq!(config, other)
                }
                (Message::Update { rate, .. }, Message::Update { rate: other, .. }) => {
                    assert_eq!(rate.to_bits(), other.to_bits())
                }
                _ => {}
            }
            assert_eq!(toml::to_string(&read).unwrap(), text);
        }
    }
}
