use std::env;
use std::path::{Path, PathBuf};

use burnformer_files::{FileKind, read_whole};

/// The servers and the cache of models.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The address of the Hugging Face hub.
    pub endpoint: String,
    /// The user's token for the hub.
    pub token: Option<String>,
    /// The folder of the hub's cache.
    pub cache: PathBuf,
    /// If true, nothing is fetched.
    pub offline: bool,
    /// The address of the server of Firefox's list.
    pub firefox: String,
    /// A file of certificates (PEM) to trust instead of the built-in ones.
    pub certificates: Option<PathBuf>,
}

/// The token in the file `path`, if there is one.
fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read_whole(path, FileKind::KEYS).ok()?).ok()
}

impl Settings {
    /// The settings in the environment, by the variables of the hub's Python library, and
    /// `FIREFOX_SETTINGS_ENDPOINT` for another server of Firefox's list.
    pub fn from_env() -> Self {
        let caches = path("XDG_CACHE_HOME").or_else(|| Some(env::home_dir()?.join(".cache")));
        let home = path("HF_HOME");
        let home = home.unwrap_or_else(|| caches.unwrap_or_else(env::temp_dir).join("huggingface"));
        let token_file = path("HF_TOKEN_PATH").unwrap_or_else(|| home.join("token"));
        let token = text("HF_TOKEN").or_else(|| read_text(&token_file));
        Self {
            endpoint: address("HF_ENDPOINT", "https://huggingface.co"),
            token: token
                .map(|token| token.trim().to_owned())
                .filter(|token| !token.is_empty()),
            cache: path("HF_HUB_CACHE").unwrap_or_else(|| home.join("hub")),
            offline: text("HF_HUB_OFFLINE")
                .is_some_and(|value| ["1", "ON", "YES", "TRUE"].contains(&&*value.to_uppercase())),
            firefox: address(
                "FIREFOX_SETTINGS_ENDPOINT",
                "https://firefox.settings.services.mozilla.com",
            ),
            certificates: path("SSL_CERT_FILE"),
        }
    }
}

/// The environment variable `name`, if it is set and not empty.
fn text(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// The path in the environment variable `name`.
fn path(name: &str) -> Option<PathBuf> {
    text(name).map(PathBuf::from)
}

/// The address in the environment variable `name`, or `default`, without a closing slash.
fn address(name: &str, default: &str) -> String {
    text(name)
        .unwrap_or_else(|| default.into())
        .trim_end_matches('/')
        .to_owned()
}
