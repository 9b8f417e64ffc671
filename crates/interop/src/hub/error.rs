use std::io;
use std::path::{Path, PathBuf};

/// A result with the error [`HubError`] by default.
pub(crate) type Result<T, E = HubError> = std::result::Result<T, E>;

/// The reasons why a model cannot be fetched, with their remedies.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The name of a model has another form.
    #[error("{given:?} is not the name of a model; {form}")]
    Name {
        /// The name.
        given: String,
        /// The form of a valid name.
        form: &'static str,
    },
    /// The server returned 401 or 403.
    #[error(
        "{0}: access denied: there is no such model, or it is private or gated; check its name, or \
         accept its terms on its page and set HF_TOKEN"
    )]
    Denied(String),
    /// The server returned 404.
    #[error(
        "{0}: there is no such model, revision or file; look the name up on the page of the model"
    )]
    NotFound(String),
    /// The list has no model of these languages.
    #[error("Firefox has no model {from}-{to}; choose one of {known}")]
    NoPair {
        /// The source language, up to its first hyphen.
        from: String,
        /// The rest of the pair.
        to: String,
        /// The available pairs.
        known: String,
    },
    /// The server returned another status.
    #[error("{url}: the server answers {status}; try again later")]
    Status {
        /// The address of the request.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// There is no response, or it broke off repeatedly.
    #[error(
        "{url}: cannot be reached: {cause}; check the network (HTTPS_PROXY names a proxy, HF_ENDPOINT another server), \
         and run the same command again to resume the download"
    )]
    Unreachable {
        /// The address of the request.
        url: String,
        /// The error of the connection.
        cause: String,
    },
    /// The response does not follow the server's interface.
    #[error("{url}: the answer is not understood: {cause}; check that this is the right server")]
    Answer {
        /// The address of the request.
        url: String,
        /// The error in the response.
        cause: String,
    },
    /// The cache lacks the model, and HF_HUB_OFFLINE is set.
    #[error("{name} is not in the cache {}, and HF_HUB_OFFLINE forbids fetching it; \
        unset it, or fetch the model first", cache.display())]
    Offline {
        /// The model.
        name: String,
        /// The folder of the cache.
        cache: PathBuf,
    },
    /// A file with another hash than in the list.
    #[error(
        "{url}: the file has the hash {found} instead of {expected} and was deleted; fetch it again"
    )]
    Hash {
        /// The address of the file.
        url: String,
        /// The hash in the list.
        expected: String,
        /// The hash of the downloaded file.
        found: String,
    },
    /// A model without importable weights.
    #[error(
        "{0}: has no model.safetensors, pytorch_model.bin, model.bin or .npz; choose a model with \
         weights in one of these files"
    )]
    NoWeights(String),
    /// The caller stopped the download.
    #[error("interrupted; run the same command again to resume the download")]
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
