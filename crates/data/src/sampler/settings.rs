//! Settings for dividing a corpus into batches.

use serde::{Deserialize, Serialize};

use crate::tokenizer::SpecialIds;

/// The limits on the size of a batch, and the order of batches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SamplerSettings {
    /// The token budget: rows × max(longest source, longest target), each with its `</s>`, is at
    /// most this number.
    pub budget: usize,
    /// Lengths, including `</s>`, are padded up to a multiple of this number. Batches then have few
    /// different shapes, which helps a device that compiles or tunes its kernels for each shape. 1
    /// adds no padding.
    pub multiple: usize,
    /// The seed of the order of batches; the order also depends on the epoch.
    pub seed: u64,
    /// The special ids of the batches.
    pub special: SpecialIds,
    /// The most pairs that are planned together. A larger corpus is divided into windows, and a
    /// batch has pairs of one.
    pub window: usize,
}

impl Default for SamplerSettings {
    fn default() -> Self {
        Self { budget: 4096, multiple: 1, seed: 1, special: SpecialIds::OURS, window: 1 << 22 }
    }
}
