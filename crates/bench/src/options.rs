//! Options that several benchmarks share.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_train::{Texts, TrainConfig, cache_folder};
use rand::RngExt;

use crate::setting::flat;
use burnformer::device::DeviceName;
use burnformer::embedded;
use burnformer::texts::{self, ReadTexts};

/// The options of where to compute.
#[derive(clap::Args)]
pub struct DeviceOptions {
    /// Number of threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
    /// Device on which to compute
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: DeviceName,
}

impl DeviceOptions {
    /// Opens the device. Sets the number of threads first, before any thread is started.
    pub fn open(&self) -> Result<burn::tensor::Device> {
        if self.threads > 0 {
            rayon::ThreadPoolBuilder::new().num_threads(self.threads).build_global()?;
        }
        self.device.open()
    }
}

/// The option of how a result is printed.
#[derive(clap::Args)]
pub struct Format {
    /// Print JSON, one object per line
    #[arg(long)]
    pub json: bool,
}

/// The option of the vocabulary that both languages share.
#[derive(Clone, Debug, clap::Args)]
pub struct Pieces {
    /// Number of tokens in the shared vocabulary
    #[arg(long, default_value_t = 8000)]
    pub vocab: usize,
}

/// The options of the text of a benchmark and its batches.
#[derive(clap::Args)]
pub struct Text {
    /// Parallel text, in the forms that `train` takes [default: the embedded corpus]
    #[arg(long, num_args = 1..=2, value_names = ["SOURCE", "TARGET"])]
    pub train: Vec<PathBuf>,
    /// Largest number of tokens per side in a batch, padding included
    #[arg(long, default_value_t = 4096)]
    pub budget: usize,
}

impl Text {
    /// The configuration of a run over this text with a vocabulary of `pieces`.
    pub fn config(&self, pieces: &Pieces) -> TrainConfig {
        let mut config = TrainConfig::default();
        config.tokenizer.train.vocab_size = pieces.vocab;
        config.training.budget = self.budget;
        config.data.train.clone_from(&self.train);
        config
    }
}

/// Where the training text of `config` is read: the embedded corpus if it names none. Validation and test text are left
/// out, because they take time that is not measured.
pub fn texts_of(config: &mut TrainConfig) -> Result<(Texts, ReadTexts)> {
    embedded::fill(&mut config.data);
    config.data.valid.clear();
    config.data.test.clear();
    let cache = cache_folder(config);
    texts::of_command(&mut config.data, Path::new("."), &cache)
}

/// The sizes of the benchmarked Transformer; the peers take the same options with the same defaults.
#[derive(Clone, Debug, clap::Args)]
pub struct Shape {
    /// Width of the model, d_model
    #[arg(long, default_value_t = 256)]
    pub d: usize,
    /// Number of attention heads
    #[arg(long, default_value_t = 4)]
    pub heads: usize,
    /// Width of the feed-forward network, d_ff
    #[arg(long, default_value_t = 1024)]
    pub ff: usize,
    /// Number of layers in the encoder, and in the decoder
    #[arg(long, default_value_t = 3)]
    pub layers: usize,
    #[command(flatten)]
    pub pieces: Pieces,
}

impl Shape {
    /// The sizes as options of a peer's program.
    pub fn to_options(&self) -> Vec<String> {
        let &Self { d, heads, ff, layers, pieces: Pieces { vocab } } = self;
        let pairs = [
            ("--d", d),
            ("--heads", heads),
            ("--ff", ff),
            ("--layers", layers),
            ("--vocab", vocab),
        ];
        flat(pairs.map(|(name, value)| (name, value.to_string())))
    }

    /// The model's configuration over `vocab` pieces.
    pub fn config(&self, vocab: usize, dropout: f64) -> burnformer_core::TransformerConfig {
        burnformer_core::TransformerConfig {
            d_model: self.d,
            heads: self.heads,
            d_k: self.d / self.heads.max(1),
            d_v: self.d / self.heads.max(1),
            d_ff: self.ff,
            encoder_layers: self.layers,
            decoder_layers: self.layers,
            dropout,
            ..burnformer_core::TransformerConfig::base(vocab)
        }
    }
}

/// `count` tokens that are not special. They are a function of `place`.
pub fn random_pieces(place: u64, count: usize, vocab: usize) -> Vec<u32> {
    const SPECIAL: u32 = 4;
    let pieces = SPECIAL..(vocab as u32).max(SPECIAL + 1);
    let mut rng = burnformer_core::RandomKey::new(1).fold(place).rng();
    (0..count).map(|_| rng.random_range(pieces.clone())).collect()
}
