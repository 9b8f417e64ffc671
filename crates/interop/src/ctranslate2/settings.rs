//! The special tokens and other settings, from `config.json` or, before binary version 6, from
//! variables.

use std::path::{Path, PathBuf};

use burnformer_core::{Activation, SourceEnd};
use serde::Deserialize;

use super::binary::Binary;
use crate::error::{InteropError, Result};
use crate::files::{parse_json, read_optional};

pub(super) const WEIGHTS: &str = "model.bin";
pub(super) const CONFIG: &str = "config.json";
/// The codes of activation functions (`ctranslate2/specs/common_spec.py`).
pub(super) const ACTIVATIONS: [(u8, Activation); 3] = [
    (0, Activation::Relu),
    (2, Activation::Silu),
    (3, Activation::Gelu),
];

/// The relevant settings, with CTranslate2's defaults.
#[derive(Deserialize)]
#[serde(default)]
pub(super) struct Settings {
    /// `config.json`, for messages.
    #[serde(skip)]
    path: PathBuf,
    pub unk_token: String,
    pub bos_token: String,
    pub eos_token: String,
    pub decoder_start_token: Option<String>,
    pub add_source_bos: bool,
    pub add_source_eos: bool,
    pub layer_norm_epsilon: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            unk_token: "<unk>".into(),
            bos_token: "<s>".into(),
            eos_token: "</s>".into(),
            decoder_start_token: Some("<s>".into()),
            add_source_bos: false,
            add_source_eos: false,
            layer_norm_epsilon: None,
        }
    }
}

impl Settings {
    /// The settings of the model `file` with the `config.json` at `path`.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or a setting is not supported.
    pub fn read(path: &Path, file: &Binary) -> Result<Self> {
        let settings = match read_optional(path)? {
            Some(bytes) => parse_json(path, &bytes)?,
            None if file.has_settings_in_variables() => Self::default(),
            None => {
                let remedy = "a model of CTranslate2 3 and later has it beside model.bin: it names the special tokens";
                return Err(InteropError::missing(path, CONFIG, remedy));
            }
        };
        let settings = if file.has_settings_in_variables() {
            Self {
                layer_norm_epsilon: settings.layer_norm_epsilon,
                ..Self::of_variables(file)
            }
        } else {
            settings
        };
        Ok(Self {
            path: path.into(),
            ..settings
        })
    }

    fn of_variables(file: &Binary) -> Self {
        let mut settings = Self {
            add_source_bos: file.flag("with_source_bos", false),
            add_source_eos: file.flag("with_source_eos", false),
            ..Self::default()
        };
        for (name, token) in [
            ("unk_token", &mut settings.unk_token),
            ("bos_token", &mut settings.bos_token),
            ("eos_token", &mut settings.eos_token),
        ] {
            if let Some(text) = file.text(name) {
                *token = text;
            }
        }
        let start = if file.flag("with_target_bos", true) {
            &settings.bos_token
        } else {
            &settings.eos_token
        };
        let is_given = file.flag("user_decoder_start_tokens", false);
        settings.decoder_start_token = (!is_given).then(|| start.clone());
        settings
    }

    /// The start token of the decoder.
    ///
    /// # Errors
    /// Returns [`InteropError::Unsupported`] if the caller of CTranslate2 must give it.
    pub fn start(&self) -> Result<&str> {
        self.decoder_start_token.as_deref().ok_or_else(|| {
            let what = "a decoder whose first token the caller gives (decoder_start_token = null)";
            InteropError::unsupported(
                &self.path,
                what,
                "import the original model, which names it",
            )
        })
    }

    /// Returns whether the encoder sees `</s>`. Without `add_source_eos` it does in models
    /// converted from transformers, where tokenisers append it, and does not in models of OpenNMT,
    /// where the decoder starts from `<s>`.
    ///
    /// # Errors
    /// Returns [`InteropError::Unsupported`] if sources begin with `<s>`, or if the files leave
    /// this open.
    pub fn source_end(&self, zero_start: bool) -> Result<SourceEnd> {
        let start = self.decoder_start_token.as_ref();
        if self.add_source_bos {
            return Err(InteropError::unsupported(
                &self.path,
                "a source that begins with <s> (add_source_bos)",
                "only sources without it can be read",
            ));
        }
        if self.add_source_eos || zero_start {
            return Ok(SourceEnd::Seen);
        }
        if start == Some(&self.bos_token) && self.bos_token != self.eos_token {
            return Ok(SourceEnd::Hidden);
        }
        Err(InteropError::unsupported(
            &self.path,
            "a source whose special tokens the caller adds (add_source_eos = false)",
            "import the original model, which names its special tokens",
        ))
    }
}
