use burnformer_kernels::RandomKey;

/// Whether a forward pass is part of training, and if so with which randomness.
///
/// Dropout acts only under [`Mode::Training`]; each place folds its own number into the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No dropout.
    Inference,
    /// Dropout drawn from this key.
    Training(RandomKey),
}

impl Mode {
    /// The mode of update `update` of a run with `seed`.
    pub fn training(seed: u64, update: u64) -> Self {
        Self::Training(RandomKey::new(seed).fold(update))
    }

    /// The mode handed to the part at `place`.
    pub fn fold(self, place: u64) -> Self {
        match self {
            Self::Inference => Self::Inference,
            Self::Training(key) => Self::Training(key.fold(place)),
        }
    }
}
