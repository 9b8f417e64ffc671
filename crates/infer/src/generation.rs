use std::path::Path;

use burnformer_data::ContextSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::calibration::Calibration;
use crate::settings::{SearchSettings, SettingsError, check};

/// The file of a model directory with its [`GenerationSettings`].
pub const GENERATION_FILE: &str = "generation.json";

/// The default settings of a model: the content of [`GENERATION_FILE`]. Its tables are flat in the
/// file.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a table")]
pub struct GenerationSettings {
    /// The settings of the search.
    #[serde(flatten)]
    pub search: SearchSettings,
    /// The protections of text.
    #[serde(flatten)]
    pub protections: Protections,
    /// The function from the probability of a translation to its confidence. Without it,
    /// translations have no confidence.
    pub calibration: Option<Calibration>,
    /// The pairs of source and target language on which the model was trained, such as `[["de",
    /// "en"], ["en", "de"]]`. Another pair is refused, or translated only when asked for
    /// (`--zero-shot`). An empty list allows all languages of the vocabulary.
    pub directions: Vec<[String; 2]>,
    /// The previous sentences of a document with which the model was trained. Without it, sentences are
    /// translated alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = Value::Null))]
    pub context: Option<ContextSettings>,
}

/// What a [`Translator`](crate::Translator) does besides the search, so that a translation keeps
/// what its source has. The search itself knows no text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(default, expecting = "a table")]
pub struct Protections {
    /// Also translates a source all in capitals in small letters, and returns the most probable
    /// translation in capitals. Placeholders and a forced prefix stay as they are. On in models
    /// trained here, as few texts have enough capitals to learn from.
    pub small_letters: bool,
    /// Searches again, with no sequence of three tokens twice, if a translation repeats a sequence
    /// many times and its source does not. No effect on sampling, or with `no_repeat_ngram`. On in
    /// models trained here, off in imported models, which translate as in their own system.
    pub second_search: bool,
    /// Searches again if a translation changes a number or loses a placeholder or an address, with
    /// these as constraints; adds quotation marks, brackets and the dash of a speech that are
    /// missing; leaves a source without letters as it is. On in models trained here.
    pub keep_parts: bool,
}

/// A result whose error is [`SettingsError`] by default.
type Result<T, E = SettingsError> = std::result::Result<T, E>;

impl From<SearchSettings> for GenerationSettings {
    /// The settings of a model that is searched like this, without protections: an imported model
    /// translates as in its own system.
    fn from(search: SearchSettings) -> Self {
        Self {
            search,
            ..Self::default()
        }
    }
}

impl GenerationSettings {
    /// Sets `key` to `value`, both as in [`GENERATION_FILE`]; a key inside of another is written
    /// `sampling.top_k`. A number for `length_penalty` is the α of GNMT, and `true` for `sampling`
    /// stands for its default settings.
    ///
    /// # Errors
    /// Returns [`SettingsError::Key`] if there is no such setting, or `value` has another type.
    /// Ranges are not checked: see [`validate`](Self::validate).
    pub fn set(&mut self, key: &str, value: Value) -> Result<()> {
        self.try_set(key, value)
            .map_err(|cause| SettingsError::Key {
                key: key.into(),
                cause,
            })
    }

    fn try_set(&mut self, key: &str, value: Value) -> Result<(), String> {
        let value = match (key, value) {
            ("length_penalty", Value::Number(alpha)) => json!({ "gnmt": alpha }),
            ("sampling", Value::Bool(true)) => json!({}),
            ("sampling", Value::Bool(false)) => Value::Null,
            (_, value) => value,
        };
        match key.split_once('.') {
            None => self.replace(key, value),
            // A penalty is a table with one key, and a new one replaces it.
            Some((table @ "length_penalty", name)) => self.replace(table, json!({ name: value })),
            Some((table, name)) => {
                let mut all = json!(self);
                let mut inner = all[table].take();
                if !inner.is_object() && !inner.is_null() {
                    return Err(format!("{table} has no keys; set it as a whole"));
                }
                inner[name] = value;
                self.replace(table, inner)
            }
        }
    }

    /// Replaces the whole value of `key`.
    ///
    /// # Errors
    /// Returns the cause if there is no such setting, or `value` has another type.
    fn replace(&mut self, key: &str, value: Value) -> Result<(), String> {
        let mut all = json!(self);
        if self.context.is_none() {
            // A file without context does not name it.
            all["context"] = Value::Null;
        }
        let Some(old) = all.get_mut(key) else {
            let names = all.as_object().into_iter().flat_map(Map::keys);
            let names: Vec<&str> = names.map(String::as_str).collect();
            return Err(format!(
                "unknown setting; choose one of {}",
                names.join(", ")
            ));
        };
        *old = value;
        *self = serde_json::from_value(all).map_err(|cause| cause.to_string())?;
        Ok(())
    }

    /// Returns the settings for one translation of each sentence, with the `changes` of a caller as
    /// in [`set`](Self::set). A `beam_size` among them is as in [`SearchSettings::set_n_best`].
    ///
    /// # Errors
    /// Returns the errors of [`set`](Self::set) and [`validate`](Self::validate).
    pub fn with(&self, changes: &Map<String, Value>) -> Result<Self> {
        let mut settings = self.clone();
        settings.search.n_best = 1;
        for (key, value) in changes {
            settings.set(key, value.clone())?;
        }
        let search = &mut settings.search;
        let beam = changes
            .contains_key("beam_size")
            .then_some(search.beam_size);
        search.set_n_best(search.n_best, beam)?;
        settings.validate()?;
        Ok(settings)
    }

    /// Checks that the settings are in their ranges.
    ///
    /// # Errors
    /// Returns a [`SettingsError`] that names the first setting out of its range.
    pub fn validate(&self) -> Result<()> {
        self.search.validate()?;
        if let Some(Calibration { offset, slope }) = self.calibration {
            let good = offset.is_finite() && slope.is_finite() && slope > 0.0;
            let remedy = "a positive number is needed; `eval-bleu --calibrate` fits it";
            check(good, "calibration.slope", &slope, remedy)?;
        }
        Ok(())
    }

    /// Parses the content of a settings file, called `path` in error messages.
    ///
    /// # Errors
    /// Returns [`SettingsError::File`] if the file has an unknown key or a value out of its range.
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        Self::parse(bytes).map_err(|cause| SettingsError::File(path.into(), cause))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let settings: Self = serde_json::from_slice(bytes)
            .map_err(|cause| Self::wrong_key(bytes).unwrap_or(cause.to_string()))?;
        settings.validate().map_err(|cause| cause.to_string())?;
        Ok(settings)
    }

    /// The first key of a settings file whose value cannot be read, with the cause. A key that is
    /// given twice is none of them.
    fn wrong_key(bytes: &[u8]) -> Option<String> {
        let settings: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        settings.into_iter().find_map(|(key, value)| {
            let cause = Self::default().replace(&key, value).err()?;
            Some(format!("{key}: {cause}"))
        })
    }

    /// Writes all settings to a JSON file, [`GENERATION_FILE`] in a model directory.
    ///
    /// # Errors
    /// Returns [`SettingsError::Value`] if a setting is out of its range, [`SettingsError::File`]
    /// if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.validate()?;
        let mut json = serde_json::to_vec_pretty(self).expect("settings are plain data");
        json.push(b'\n');
        burnformer_files::write(path, &json)
            .map_err(|e| SettingsError::File(path.into(), e.to_string()))
    }
}

#[cfg(test)]
mod tests;
