//! Downloads of translation models by name, from the Hugging Face hub and from Firefox's list.
//!
//! The trade-off: a small blocking client over `ureq`, instead of the hub's library with its
//! asynchronous runtime. It requests the names, sizes and hashes of all files once, and then
//! fetches the files for an importer. The cache has the hub's layout, so that other programs share
//! it.
//!
//! Responses are not trusted: file names must be plain, sizes are bounded by the list, hashes are
//! checked before a file gets its name, and a token is sent only to its own server.

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

/// Fetches the files of the model `name` that the cache lacks.
///
/// # Errors
/// Returns a [`HubError`] with a remedy.
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
