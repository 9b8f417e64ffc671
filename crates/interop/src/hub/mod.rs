//! Translation models by name: from the Hugging Face hub, and from the list from which Firefox gets
//! its models.
//!
//! The trade-off taken: a small client that blocks, over `ureq`, instead of the hub's library,
//! which brings an asynchronous runtime. It asks the hub once for the names, sizes and hashes of
//! all files, and then fetches those that an importer may need. The cache has the hub's layout,
//! so that other programs share it.
//!
//! Answers are not trusted: names of files are plain, sizes are bounded by those in the list,
//! hashes are checked before a file gets its name, and a token is sent only to the server for which
//! it is meant.

mod client;
mod error;
mod firefox;
mod hugging_face;
mod name;
mod settings;

pub use error::HubError;
use error::Result;
pub use name::{Download, ModelName, Progress, Watch};
pub use settings::Settings;

/// Fetches the files of the model `name` that are not in the cache yet.
///
/// # Errors
/// A [`HubError`] that says what to do.
pub fn fetch(name: &ModelName, settings: &Settings, watch: &mut Watch) -> Result<Download> {
    match name {
        ModelName::Hub { name, revision } => hugging_face::fetch(name, revision, settings, watch),
        ModelName::Firefox { source, target } => firefox::fetch(source, target, settings, watch),
    }
}

/// Removes all revisions of the model `name` from the cache. Returns whether there were any.
///
/// # Errors
/// Returns [`HubError::Io`] if a folder cannot be removed.
pub fn remove(name: &ModelName, settings: &Settings) -> Result<bool> {
    let folder = match name {
        ModelName::Hub { name, .. } => hugging_face::folder(name, settings),
        ModelName::Firefox { source, target } => firefox::folder(source, target, settings),
    };
    if !folder.exists() {
        return Ok(false);
    }
    std::fs::remove_dir_all(&folder).map_err(|cause| HubError::io(&folder, cause))?;
    Ok(true)
}
