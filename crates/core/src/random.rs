use burnformer_kernels::RandomKey;

/// The mode of a forward pass: training, with the key of its random numbers, or inference.
///
/// Dropout acts only under [`Mode::Training`]. Each part of the model derives a key of its own with
/// [`fold`](Self::fold), so every dropout mask is a function of the seed, the update and the place
/// in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No dropout.
    Inference,
    /// Dropout masks are a function of this key.
    Training(RandomKey),
}

impl Mode {
    /// The mode of update number `update` in a run with the given `seed`.
    pub fn training(seed: u64, update: u64) -> Self {
        Self::Training(RandomKey::new(seed).fold(update))
    }

    /// The mode for part number `index` of a module; parts with different numbers get unrelated
    /// random numbers.
    pub fn fold(self, index: u64) -> Self {
        match self {
            Self::Inference => Self::Inference,
            Self::Training(key) => Self::Training(key.fold(index)),
        }
    }
}
