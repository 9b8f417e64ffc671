//! The search settings in Marian's decoder options.

use std::path::Path;

use burnformer_infer::{BeamRule, LengthPenalty, SearchSettings};

use super::yaml::Options;
use crate::error::{InteropError, Result};

/// Options that change translations and have no counterpart here.
const LEFT_OUT: [&str; 4] = [
    "force-decode",
    "output-approx-knn",
    "output-sampling",
    "skip-cost",
];

/// The ids of a target vocabulary that Marian never generates.
#[derive(Default)]
pub(super) struct Suppressed {
    /// The unknown token.
    pub unknown: u32,
    /// The control characters among the bytes of a SentencePiece model.
    pub control: Vec<u32>,
}

/// The search settings in `options`, the content of `path`, with Marian's defaults.
pub(super) fn settings(
    path: &Path,
    options: &Options,
    suppressed: &Suppressed,
) -> Result<SearchSettings> {
    let damaged = |message: String| InteropError::damaged(path, message);
    let number = |key| options.number::<f64>(key).map_err(damaged);
    let mut suppress = Vec::new();
    if !options.is("allow-unk") {
        suppress.push(suppressed.unknown);
    }
    if !options.is("allow-special") {
        suppress.extend(&suppressed.control);
    }
    let search = SearchSettings {
        beam_size: options.number("beam-size").map_err(damaged)?.unwrap_or(12),
        beam_rule: BeamRule::Marian,
        length_penalty: LengthPenalty::Power(number("normalize")?.unwrap_or(0.0)),
        word_penalty: number("word-penalty")?.unwrap_or(0.0),
        max_length_factor: number("max-length-factor")?.unwrap_or(3.0),
        max_length_extra: 0,
        suppress,
        ..SearchSettings::default()
    };
    search.validate()?;
    Ok(search)
}

/// Notes on options that are left out.
pub(super) fn notes(options: &Options) -> Vec<String> {
    LEFT_OUT
        .iter()
        .filter(|key| options.is(key) || !options.list(key).is_empty())
        .filter(|key| options.get(key) != Some("false"))
        .map(|key| format!("{key} has no counterpart and was left out"))
        .collect()
}
