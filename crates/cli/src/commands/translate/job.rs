//! One input with all that its translation needs.

use std::path::Path;

use burnformer_infer::{TranslateOptions, Translator};

use super::args::Args;

/// The translation of one input.
pub(super) struct Job<'a> {
    pub args: &'a Args,
    pub translator: &'a Translator,
    pub options: &'a TranslateOptions,
    /// The text.
    pub input: &'a Path,
    /// The file of its translation; `None` for standard output.
    pub output: Option<&'a Path>,
}
