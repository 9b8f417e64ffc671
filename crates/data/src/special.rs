//! The four special tokens, which have fixed ids at the start of every vocabulary, and the
//! separator of sentences, which some vocabularies have.

/// Id of [`PAD_TOKEN`], which fills the shorter rows of a batch and is never read or predicted.
pub const PAD: u32 = 0;
/// Id of [`BOS_TOKEN`], the first input of the decoder.
pub const BOS: u32 = 1;
/// Id of [`EOS_TOKEN`], the last token of every source and of every target output.
pub const EOS: u32 = 2;
/// Id of [`UNK_TOKEN`], the unknown token. With byte fallback no text needs it.
pub const UNK: u32 = 3;

/// The text of the padding token.
pub const PAD_TOKEN: &str = "<pad>";
/// The text of the start-of-sentence token.
pub const BOS_TOKEN: &str = "<s>";
/// The text of the end-of-sentence token.
pub const EOS_TOKEN: &str = "</s>";
/// The text of the unknown token.
pub const UNK_TOKEN: &str = "<unk>";

/// The text of the token behind each sentence of a [context](crate::context). Only vocabularies
/// that are trained for context have it, behind their pieces.
pub const SEPARATOR_TOKEN: &str = "<sep>";

/// The special tokens in the order of their ids.
pub const TOKENS: [&str; 4] = [PAD_TOKEN, BOS_TOKEN, EOS_TOKEN, UNK_TOKEN];
