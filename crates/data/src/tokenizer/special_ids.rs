use crate::special;

/// The ids of tokens that no text holds, as a tokeniser's files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenizerSpecialIds {
    /// Fills the short rows of a batch.
    pub pad: u32,
    /// The decoder's first input; `None` if the files leave it to the model, as those of Marian models do.
    pub bos: Option<u32>,
    /// Closes every source and every target.
    pub eos: u32,
    /// Stands for what has no token.
    pub unk: u32,
}

impl TokenizerSpecialIds {
    /// The ids of [`special`], which every `tokenizer.json` has and training asks for.
    pub const OURS: Self =
        Self { pad: special::PAD, bos: Some(special::BOS), eos: special::EOS, unk: special::UNK };
}
