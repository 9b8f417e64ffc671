//! The messages between the processes of a run.

use burnformer_data::SamplerState;
use serde::{Deserialize, Serialize};

use crate::run::Origin;
use crate::update::{LossScale, Ranks, WorkersError};

/// A message of process 0 to the others, which it sends before it does the same.
#[derive(Serialize, Deserialize)]
pub(super) enum Message {
    /// Prepare for the run with this configuration, which learns from texts of these hashes.
    Begin { config: String, origin: Origin },
    /// Take the weights and moments that follow.
    Load {
        optimizer_steps: u64,
        loss_scale: Option<LossScale>,
    },
    /// Make update `step` over the batches after `from`, with the learning rate of these bits.
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
    /// Returns [`WorkersError::OtherProgram`] for a message that this version does not know.
    pub fn receive(ranks: &dyn Ranks) -> Result<Self, WorkersError> {
        let mut bytes = Vec::new();
        ranks.broadcast(&mut bytes);
        let other = |_| WorkersError::OtherProgram(ranks.rank().number);
        serde_json::from_slice(&bytes).map_err(other)
    }
}
