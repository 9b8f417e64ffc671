//! The results of a request.

use crate::engine::{Candidate, EngineError};

/// The reason why a request was not translated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// Too many sentences wait.
    #[error("too many sentences are waiting already; try again later")]
    Full,
    /// The server is being stopped.
    #[error("the server is being stopped")]
    Stopped,
    /// The engine has failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The result of one request: the candidates of each of its sentences.
pub(super) type Answer = Result<Vec<Vec<Candidate>>, QueueError>;
