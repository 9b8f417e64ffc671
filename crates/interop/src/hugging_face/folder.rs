//! The files in a model's folder.

pub(super) const CONFIG: &str = "config.json";
pub(super) const GENERATION: &str = "generation_config.json";
pub(super) const SAFETENSORS: &str = "model.safetensors";
pub(super) const PYTORCH: &str = "pytorch_model.bin";
/// The tokeniser files.
pub(super) const TEXTS: [&str; 4] = ["source.spm", "target.spm", "vocab.json", "target_vocab.json"];
/// The lists of tokens among them.
pub(super) const VOCABULARIES: [&str; 2] = ["vocab.json", "target_vocab.json"];
/// The tokeniser files in the format of `tokenizers`.
pub(super) const TOKENIZERS: [&str; 3] =
    ["tokenizer.json", "source_tokenizer.json", "target_tokenizer.json"];
