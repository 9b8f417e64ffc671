//! Benchmarks anyone can rerun: one JSON line each, and alternation with a peer.

mod data;
mod decode;
mod growth;
mod kernels;
mod layers;
mod peer;
mod record;
mod train;

use std::path::Path;

use anyhow::Result;
use burnformer_train::{Texts, TrainConfig, cache_folder};
use clap::Subcommand;

use crate::embedded;
use crate::texts::{self, ReadTexts};

/// Arguments of `bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Training updates on real text: target tokens a second, padding not counted
    Train(train::Args),
    /// Translation with random weights, every hypothesis of the same length
    Decode(decode::Args),
    /// Matrix products at the shapes of a Transformer: GFLOP/s
    Kernels(kernels::Args),
    /// How an update's time and memory grow with length, width, vocabulary, batch and threads: CSV
    Growth(growth::Args),
    /// The layers of the paper's Table 1: how their cost grows with length and width
    Layers(layers::Args),
    /// Batches from a tokenised corpus: pairs a second, padding
    Data(data::Args),
}

/// Measures and prints to standard output.
pub fn run(args: Args) -> Result<()> {
    match args.what {
        What::Train(args) => train::run(args),
        What::Decode(args) => decode::run(args),
        What::Kernels(args) => kernels::run(args),
        What::Growth(args) => growth::run(args),
        What::Layers(args) => layers::run(args),
        What::Data(args) => data::run(args),
    }
}

/// The sizes of the benchmarked Transformer; the peers take the same options with the same defaults.
#[derive(Clone, Debug, clap::Args)]
struct Shape {
    /// d_model
    #[arg(long, default_value_t = 256)]
    d: usize,
    /// Attention heads
    #[arg(long, default_value_t = 4)]
    heads: usize,
    /// Width of the feed-forward network
    #[arg(long, default_value_t = 1024)]
    ff: usize,
    /// Layers of the encoder, and of the decoder
    #[arg(long, default_value_t = 3)]
    layers: usize,
    /// Pieces of the shared vocabulary
    #[arg(long, default_value_t = 8000)]
    vocab: usize,
}

impl Shape {
    /// The same on a peer's command line.
    fn to_options(&self) -> Vec<String> {
        let &Self { d, heads, ff, layers, vocab } = self;
        let pairs = [
            ("--d", d),
            ("--heads", heads),
            ("--ff", ff),
            ("--layers", layers),
            ("--vocab", vocab),
        ];
        pairs.iter().flat_map(|(name, value)| [name.to_string(), value.to_string()]).collect()
    }

    /// The model's configuration over `vocab` pieces.
    fn config(&self, vocab: usize, dropout: f64) -> burnformer_core::TransformerConfig {
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

/// Where the training text of `config` is read, the embedded corpus if it names none; validation and test take no time
/// that is measured.
fn of_bench(config: &mut TrainConfig) -> Result<(Texts, ReadTexts)> {
    embedded::fill(&mut config.data);
    config.data.valid.clear();
    config.data.test.clear();
    let cache = cache_folder(config);
    texts::of_command(&mut config.data, Path::new("."), &cache)
}

/// Sets the number of threads before anything starts some; 0 leaves it to the machine.
fn use_threads(threads: usize) -> Result<()> {
    if threads > 0 {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    Ok(())
}

/// `count` pieces that are not special, the same for the same `place`.
fn random_pieces(place: u64, count: usize, vocab: usize) -> Vec<u32> {
    const SPECIAL: u32 = 4;
    let pieces = vocab.saturating_sub(SPECIAL as usize) as f32;
    let draws = burnformer_core::RandomKey::new(1).fold(place).uniform(count);
    draws.into_iter().map(|draw| SPECIAL + (draw * pieces) as u32).collect()
}
