//! The messages between the processes of a run.

use burnformer_data::SamplerState;
use serde::{Deserialize, Serialize};

use crate::run::Origin;
use crate::update::{LossScale, Ranks, WorkersError};

/// A message of process 0 to the others.
#[derive(Serialize, Deserialize)]
pub(super) enum Message {
    /// Prepare for the run with this configuration and the texts of these hashes.
    Begin { config: String, origin: Origin },
    /// Take the weights and moments that follow.
    Load {
        optimizer_steps: u64,
        loss_scale: Option<LossScale>,
    },
    /// Make update `step` over the batches after `from`. `rate` holds the bits of the learning rate.
    Update {
        step: u64,
        from: SamplerState,
        rate: u64,
    },
    /// The run has ended.
    End,
}

impl Message {
    /// Waits for the next message of process 0.
    ///
    /// # Errors
    /// Returns [`WorkersError::OtherProgram`] for an unknown message.
    pub fn receive(ranks: &dyn Ranks) -> Result<Self, WorkersError> {
        let mut bytes = Vec::new();
        ranks.broadcast(&mut bytes);
        serde_json::from_slice(&bytes).map_err(|_| WorkersError::OtherProgram(ranks.rank().number))
    }
}
