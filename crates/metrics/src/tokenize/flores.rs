//! The tokenisers of spBLEU (Goyal et al., 2022): pieces of the SentencePiece models that sacreBLEU
//! fetches into its folder.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

use burnformer_sentencepiece::SentencePiece;

use crate::{MetricError, Result};

/// A tokeniser that reads its model once in a process.
pub(super) struct Flores {
    /// The name of the file in sacreBLEU's folder.
    file: &'static str,
    model: OnceLock<SentencePiece>,
}

pub(super) static FLORES_101: Flores = Flores {
    file: "sacrebleu_tokenizer_spm.model",
    model: OnceLock::new(),
};
pub(super) static FLORES_200: Flores = Flores {
    file: "flores200sacrebleuspm",
    model: OnceLock::new(),
};

impl Flores {
    pub(super) fn load(&self, name: &'static str) -> Result<()> {
        if self.model.get().is_none() {
            let model = SentencePiece::open(folder().join("models").join(self.file));
            let model = model.map_err(|cause| MetricError::NoTokenizerFile {
                name,
                cause: cause.to_string(),
            })?;
            self.model.get_or_init(|| model);
        }
        Ok(())
    }

    pub(super) fn tokenize(&self, line: &str) -> String {
        let model = self
            .model
            .get()
            .expect("the model is loaded before lines are tokenised");
        model.encode_pieces(line).join(" ")
    }
}

/// Returns the folder of sacreBLEU's data: `$SACREBLEU`, or `.sacrebleu` in the home folder.
fn folder() -> PathBuf {
    match env::var_os("SACREBLEU") {
        Some(folder) => folder.into(),
        None => env::home_dir().unwrap_or_default().join(".sacrebleu"),
    }
}
