//! Common options of benchmarks.

use anyhow::Result;
use burnformer::device::DeviceName;
use burnformer_core::TransformerConfig;

/// The options of the device.
#[derive(clap::Args)]
pub struct Common {
    /// Number of threads [default: one per core]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub threads: usize,
    /// Device to compute on
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    pub device: DeviceName,
}

impl Common {
    /// Opens the device. Sets the number of threads first, before any thread is started.
    ///
    /// # Errors
    /// Returns an error if the device cannot be opened.
    pub fn open(&self) -> Result<burn::tensor::Device> {
        if self.threads > 0 {
            rayon::ThreadPoolBuilder::new()
                .num_threads(self.threads)
                .build_global()?;
        }
        self.device.open()
    }
}

/// The sizes of the benchmarked Transformer; the peers take the same options with the same
/// defaults.
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
    /// Number of tokens in the shared vocabulary
    #[arg(long, default_value_t = 8000)]
    pub vocab: usize,
}

impl Shape {
    /// The model's configuration over `vocab` pieces.
    pub fn config(&self, vocab: usize, dropout: f64) -> TransformerConfig {
        let d_head = self.d / self.heads.max(1);
        TransformerConfig {
            d_model: self.d,
            heads: self.heads,
            d_k: d_head,
            d_v: d_head,
            d_ff: self.ff,
            encoder_layers: self.layers,
            decoder_layers: self.layers,
            dropout,
            ..TransformerConfig::base(vocab)
        }
    }
}
