use std::io;
use std::path::{Path, PathBuf};

/// A result whose error, where no other is named, is [`HubError`].
pub(crate) type Result<T, E = HubError> = std::result::Result<T, E>;

/// An error that prevents a model from being fetched, with its remedy.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// A name does not have the form of a model's name.
    #[error("{given:?} is no name of a model: {form}")]
    Name {
        /// The name.
        given: String,
        /// The form of a valid name.
        form: &'static str,
    },
    /// The server answers 401 or 403.
    #[error(
        "{0}: access denied: there is no such model, or it is private or gated (accept its terms on its page, and set \
         HF_TOKEN)"
    )]
    Denied(String),
    /// The server answers 404.
    #[error(
        "{0}: there is no such model, revision or file; look the name up on the page of the model"
    )]
    NotFound(String),
    /// The list has no model of these languages.
    #[error("Firefox has no model {from}-{to}; it has {known}")]
    NoPair {
        /// The source language, up to its first hyphen.
        from: String,
        /// The rest of the pair.
        to: String,
        /// The pairs that it has.
        known: String,
    },
    /// The server answers with another status.
    #[error("{url}: the server answers {status}; try again later")]
    Status {
        /// The address of the request.
        url: String,
        /// The status of HTTP.
        status: u16,
    },
    /// There is no answer, or it broke off again and again.
    #[error(
        "{url}: cannot be reached: {cause}; check the network (HTTPS_PROXY names a proxy, HF_ENDPOINT another server); \
         the same command goes on where this one stopped"
    )]
    Unreachable {
        /// The address of the request.
        url: String,
        /// The error of the connection.
        cause: String,
    },
    /// The answer is not what the server's interface promises.
    #[error("{url}: the answer is not understood: {cause}; is this the right server?")]
    Answer {
        /// The address of the request.
        url: String,
        /// The error in the answer.
        cause: String,
    },
    /// The cache lacks the model, and HF_HUB_OFFLINE is set.
    #[error("{name} is not in the cache {}, and HF_HUB_OFFLINE forbids to fetch it", cache.display())]
    Offline {
        /// The model.
        name: String,
        /// The folder of the cache.
        cache: PathBuf,
    },
    /// A file that is not the one of the list.
    #[error(
        "{url}: the file has the hash {found} instead of {expected}; it was thrown away: fetch it again"
    )]
    Hash {
        /// The address of the file.
        url: String,
        /// The hash of the list.
        expected: String,
        /// The hash of what arrived.
        found: String,
    },
    /// A model without weights that an importer reads.
    #[error(
        "{0}: has no model.safetensors, pytorch_model.bin, model.bin or .npz, the files of which a model is made"
    )]
    NoWeights(String),
    /// The caller wanted to stop.
    #[error("interrupted; the same command goes on where this one stopped")]
    Interrupted,
    /// A file of the cache.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        cause: io::Error,
    },
}

impl HubError {
    pub(crate) fn io(path: &Path, cause: io::Error) -> Self {
        Self::Io {
            path: path.into(),
            cause,
        }
    }

    pub(crate) fn answer(url: &str, cause: impl ToString) -> Self {
        Self::Answer {
            url: url.into(),
            cause: cause.to_string(),
        }
    }

    pub(crate) fn unreachable(url: &str, cause: impl ToString) -> Self {
        Self::Unreachable {
            url: url.into(),
            cause: cause.to_string(),
        }
    }
}
