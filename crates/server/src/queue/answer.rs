//! What becomes of a request.

use std::time::Duration;

use crate::engine::{Candidate, EngineError};

/// Why a request was not translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// Too many sentences wait.
    #[error("{waiting} sentences are waiting already; try again in {} s", retry.as_secs())]
    Full {
        /// The number of sentences that wait.
        waiting: usize,
        /// When to try again.
        retry: Duration,
    },
    /// The server is being stopped.
    #[error("the server is being stopped")]
    Stopped,
    /// The engine has failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// What becomes of one request: the candidates of each of its sentences.
pub(super) type Answer = Result<Vec<Vec<Candidate>>, QueueError>;
