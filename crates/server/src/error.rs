use std::path::PathBuf;

use crate::language::LanguagePair;

/// An error that prevents a server from starting, or a model from being loaded.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// There is nothing to serve.
    #[error("no model to serve; name one by --model de-en=DIR")]
    NoModels,
    /// Two models are given for one language pair.
    #[error("two models translate {0}: leave one out, or give it other codes")]
    TwoModels(LanguagePair),
    /// A model cannot be loaded.
    #[error("{}: {cause}", name.display())]
    Load {
        /// The model directory.
        name: PathBuf,
        /// The cause.
        cause: String,
    },
    /// Listening at the address failed.
    #[error("cannot listen at {address}: {source}; choose another port, or 0 for a free one")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The value of `--cors` is not an origin.
    #[error("{0:?} is not an origin; write one such as https://example.org, or *")]
    Cors(String),
    /// The value of `--url-prefix` is not a path.
    #[error("{0:?} is not a URL prefix; write / and then letters, digits and -._~/, such as /mt")]
    Prefix(String),
    /// The folder of `--paper` has no pages, or cannot be read.
    #[error("{}: {source}", folder.display())]
    Pages {
        /// The folder.
        folder: PathBuf,
        /// The error of the operating system, or what is missing.
        source: std::io::Error,
    },
    /// The operating system returned an error.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
