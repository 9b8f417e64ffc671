use std::path::PathBuf;

use burnformer_core::ConfigError;
use burnformer_core::model_dir::ModelDirError;
use burnformer_data::DataError;

use super::presets::preset_names;

/// A result with the error [`ConfigFileError`] by default.
pub(crate) type Result<T, E = ConfigFileError> = std::result::Result<T, E>;

/// A configuration that cannot be used.
#[derive(thiserror::Error)]
pub enum ConfigFileError {
    /// No preset has this name.
    #[error("no preset is named \"{name}\"{}; the presets are {}", suggestion(nearest), preset_names().join(", "))]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The nearest name, if one is similar.
        nearest: Option<String>,
    },
    /// The file cannot be read.
    #[error("{}: {source}; check the path given to --config", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{location}: not valid TOML: {message}; every line is a [section] or key = value")]
    Syntax {
        /// The file, or the setting.
        location: String,
        /// The parser's message, with line and column.
        message: String,
    },
    /// A key that does not exist.
    #[error("{location}: unknown key \"{key}\"{hint}; `burnformer config` lists every key")]
    UnknownKey {
        /// The file, or the setting.
        location: String,
        /// The key given, dotted.
        key: String,
        /// The end of the message: the key that may be meant.
        hint: String,
    },
    /// A value of the wrong type.
    #[error("{location}: {message}; `burnformer config KEY` explains a key and its type")]
    Type {
        /// The file, or the setting.
        location: String,
        /// Key, type found, type expected.
        message: String,
    },
    /// A setting that is not `key.path=value`.
    #[error("--set {0} is not a setting; write key.path=value, such as --set model.d_model=256")]
    Setting(String),
    /// A value out of its range.
    #[error("{key} is {value}; it must be {remedy}")]
    Value {
        /// The key, dotted.
        key: &'static str,
        /// The value of the key.
        value: String,
        /// The remedy.
        remedy: String,
    },
    /// A model that cannot be built.
    #[error("model.{0}")]
    Model(#[source] ConfigError),
    /// Tokeniser settings that cannot be used.
    #[error("tokenizer.train.{0}")]
    Tokenizer(#[source] DataError),
    /// A setting of the other architecture.
    #[error(
        "{key} is {value}, but a model of architecture \"{architecture}\" has no such part; leave the key out, \
         and start from a preset of that architecture (--preset, or `preset` in the file)"
    )]
    NoEffect {
        /// The key, dotted.
        key: String,
        /// The value of the key.
        value: String,
        /// The architecture.
        architecture: &'static str,
    },
    /// The model directory of `training.from` cannot be read.
    #[error("training.from (--from): {0}")]
    From(#[source] ModelDirError),
    /// A setting that contradicts the model that the run starts from.
    #[error("{key} is {value}, but the model in {} has {found}; leave the key out: the section \
        [model] comes from training.from (--from)", dir.display())]
    OtherModel {
        /// The key, dotted.
        key: String,
        /// The value of the key.
        value: String,
        /// The model directory.
        dir: PathBuf,
        /// The value in the model.
        found: String,
    },
    /// A setting of a new tokeniser in a run that starts from a model.
    #[error("{key} is {value}, but no tokeniser is trained: the tokenisers come from the model in {} \
        (training.from, --from); leave the key out", dir.display())]
    OtherTokenizer {
        /// The key, dotted.
        key: String,
        /// The value of the key.
        value: String,
        /// The model directory.
        dir: PathBuf,
    },
    /// A pattern that names no parameter.
    #[error(
        "training.freeze: no parameter is named \"{pattern}\", and none begins so{}; \
        `burnformer inspect` lists the parameters of a model directory",
        suggestion(nearest)
    )]
    Freeze {
        /// The pattern.
        pattern: String,
        /// The nearest name or prefix of a name, if one is similar.
        nearest: Option<String>,
    },
    /// Pairs of languages that cannot be trained together: the problem and its remedy.
    #[error("{0}")]
    Pairs(String),
    /// A corpus or a tokeniser setting that names neither one nor two files.
    #[error("{key} names {found} files; {remedy}")]
    Paths {
        /// The key, dotted.
        key: &'static str,
        /// The number of paths that were given.
        found: usize,
        /// The remedy.
        remedy: String,
    },
}

burnformer_text::debug_as_message!(ConfigFileError);

fn suggestion(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map(|name| format!("; did you mean \"{name}\"?"))
        .unwrap_or_default()
}

/// The name most similar to `name`. The right last part in another section counts as similar.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    // The comparison takes quadratic time, and no misspelt key is that long.
    if name.len() > 100 {
        return None;
    }
    let (similarity, best) = names
        .map(|known| (similarity(name, known), known))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (similarity > 0.75).then(|| best.to_string())
}

/// The similarity of two dotted names, or of their last parts if that is higher; 0 to 1.
fn similarity(a: &str, b: &str) -> f64 {
    let whole = strsim::jaro_winkler(a, b);
    let last = strsim::jaro_winkler(last_part(a), last_part(b));
    whole.max(last)
}

fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or_default()
}
