use std::env;
use std::path::{Path, PathBuf};

use burnformer_files::{FileKind, read_whole};

/// The servers from which models come, and the cache to which they go.
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
    /// The address of the server that has Firefox's list.
    pub firefox: String,
    /// A file of certificates (PEM) to trust instead of those that are built in.
    pub certificates: Option<PathBuf>,
}

/// The token in the file `path`, if there is one.
fn read_text(path: &Path) -> Option<String> {
    String::from_utf8(read_whole(path, FileKind::KEYS).ok()?).ok()
}

impl Settings {
    /// The settings in the environment, by the variables of the hub's library for Python;
    /// `FIREFOX_SETTINGS_ENDPOINT` names another server of Firefox's list.
    pub fn from_env() -> Self {
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let path = |name: &str| text(name).map(PathBuf::from);
        let caches = path("XDG_CACHE_HOME").or_else(|| Some(env::home_dir()?.join(".cache")));
        let home = path("HF_HOME");
        let home = home.unwrap_or_else(|| caches.unwrap_or_else(env::temp_dir).join("huggingface"));
        let kept = path("HF_TOKEN_PATH").unwrap_or_else(|| home.join("token"));
        let token = text("HF_TOKEN").or_else(|| read_text(&kept));
        let is_set = |value: String| ["1", "ON", "YES", "TRUE"].contains(&&*value.to_uppercase());
        let address = |name, default: &str| {
            text(name)
                .unwrap_or_else(|| default.into())
                .trim_end_matches('/')
                .to_owned()
        };
        Self {
            endpoint: address("HF_ENDPOINT", "https://huggingface.co"),
            token: token
                .map(|token| token.trim().to_owned())
                .filter(|token| !token.is_empty()),
            cache: path("HF_HUB_CACHE").unwrap_or_else(|| home.join("hub")),
            offline: text("HF_HUB_OFFLINE").is_some_and(is_set),
            firefox: address(
                "FIREFOX_SETTINGS_ENDPOINT",
                "https://firefox.settings.services.mozilla.com",
            ),
            certificates: path("SSL_CERT_FILE"),
        }
    }
}
