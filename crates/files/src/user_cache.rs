use std::path::PathBuf;

/// Returns the user's cache folder for this program.
pub fn user_cache() -> PathBuf {
    let base = folder_variable("XDG_CACHE_HOME")
        .or_else(|| folder_variable("HOME").map(|home| home.join(".cache")))
        .or_else(|| folder_variable("LOCALAPPDATA"))
        .unwrap_or_else(std::env::temp_dir);
    base.join("burnformer")
}

/// Returns the folder in the environment variable `name`, if it is set and not empty.
fn folder_variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}
