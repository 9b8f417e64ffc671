//! A model directory so small that it loads in a millisecond.

use std::path::Path;
use std::sync::LazyLock;

use burn::tensor::Device;
use burnformer_core::{TransformerConfig, model_dir};
use burnformer_data::{Tokenizer, TokenizerSettings, Tokenizers};
use burnformer_infer::{GenerationSettings, save_text_files};

/// The files of the directory.
#[allow(dead_code, reason = "not every test file damages them")]
pub const FILES: [&str; 5] = [
    "config.json",
    "generation.json",
    "manifest.json",
    "model.safetensors",
    "tokenizer.json",
];

static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
    let settings = TokenizerSettings {
        vocab_size: 280,
        ..TokenizerSettings::default()
    };
    Tokenizer::train(["the house is small", "the dog sees the house"], &settings).unwrap()
});

/// The directory.
pub struct Toy(tempfile::TempDir);

impl Toy {
    #[allow(dead_code, reason = "not every test file takes the first one")]
    pub fn new() -> Self {
        Self::with_seed(1)
    }

    pub fn with_seed(seed: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = TransformerConfig {
            d_ff: 16,
            encoder_layers: 1,
            decoder_layers: 1,
            ..TransformerConfig::tiny(280).with_width(8, 2)
        };
        let model = config.init(seed, &Device::default()).unwrap();
        model_dir::save(dir.path(), &config, &model).unwrap();
        let tokenizers = Tokenizers::joint(TOKENIZER.clone());
        save_text_files(dir.path(), &tokenizers, &GenerationSettings::default()).unwrap();
        model_dir::seal(dir.path()).unwrap();
        Self(dir)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}
