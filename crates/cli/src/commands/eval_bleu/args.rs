//! The arguments of `eval-bleu`.

use std::path::PathBuf;

use anyhow::Result;
use burnformer_infer::MAX_SENTENCE_TOKENS;
use burnformer_metrics::{BleuTokenizer, Smoothing};

use super::super::{Computing, Searching, at_least, between, model};
use super::paired::Test;
use crate::files_in_use::{FilesInUse, UsesFiles};

/// Arguments of `eval-bleu`.
#[derive(clap::Args)]
#[command(mut_args(of_model), after_help = include_str!("examples.txt"))]
pub struct Args {
    /// Translate --input with this model and score the result; several models form an ensemble
    #[arg(long, short, requires = "input", conflicts_with = "hypothesis", value_parser = model(), value_name = "DIR")]
    pub(super) model: Vec<PathBuf>,
    /// Text to translate, one sentence per line; plain, .gz or .zst; of .tsv the first column
    #[arg(long, short, alias = "source", requires = "model", value_name = "FILE")]
    pub(super) input: Option<PathBuf>,
    /// Score the translations in this file; `-` is standard input; of .tsv the second column.
    /// Several files are compared with the first of them, or with --baseline
    #[arg(long, num_args = 1.., required_unless_present = "model", value_name = "FILE")]
    pub(super) hypothesis: Vec<PathBuf>,
    /// Reference translations; several files give several references for each line; of .tsv the
    /// second column [default: --input, if that is a .tsv]
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub(super) reference: Vec<PathBuf>,
    /// The scores to compute; may be given several times
    #[arg(long, num_args = 1.., default_value = "bleu")]
    pub(super) metric: Vec<MetricName>,
    /// The division of text into words for BLEU: 13a, intl, char, zh (for Chinese), none, or spm
    /// (also flores101) and flores200, whose files sacreBLEU fetches
    #[arg(long, default_value = "13a")]
    pub(super) tokenize: BleuTokenizer,
    /// Compare lower-cased text
    #[arg(long)]
    pub(super) lowercase: bool,
    /// The smoothing of BLEU for n-gram orders without a match: exp, floor, add-k or none
    #[arg(long, default_value = "exp")]
    pub(super) smooth: Smoothing,
    /// Leave n-gram orders that are longer than the translation out of BLEU (sacreBLEU's effective
    /// order)
    #[arg(long)]
    pub(super) effective_order: bool,
    /// Add 95 % confidence intervals by bootstrap resampling
    #[arg(long)]
    pub(super) confidence: bool,
    /// Number of bootstrap samples
    #[arg(long, default_value_t = 1000, value_parser = between(1, 1_000_000))]
    pub(super) confidence_n: usize,
    /// Fit the model's confidence in a translation to these translations, and write it into its
    /// `generation.json`; take a text that the model did not learn from
    #[arg(long, requires = "model")]
    pub(super) calibrate: bool,
    /// Print how the model's confidence compares with the chrF of these translations
    #[arg(long, requires = "model", conflicts_with = "json")]
    pub(super) reliability: bool,
    /// Compare with the translations in this file, and say how probable the difference is if it is
    /// due to chance
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// The test of several systems: bs is paired bootstrap resampling, ar approximate randomisation
    /// [default: bs]
    #[arg(long, value_name = "TEST")]
    pub(super) paired: Option<Test>,
    /// Number of trials of that test [default: 1000 of bs, 10000 of ar]
    #[arg(long, value_parser = between(1, 1_000_000))]
    pub(super) trials: Option<usize>,
    /// Digits after the decimal point, like sacreBLEU's --width
    #[arg(long, short = 'w', default_value_t = 1, value_parser = between(0, 15))]
    pub(super) width: usize,
    /// Print JSON in sacreBLEU's format
    #[arg(long)]
    pub(super) json: bool,
    /// Translate each line alone, also with a model that was trained with context (data.context).
    /// Otherwise the lines before a line are its context, up to an empty line
    #[arg(long)]
    pub(super) no_context: bool,
    #[command(flatten)]
    pub(super) searching: Searching,
    /// Lexical shortlist made by `shortlist`, as in `translate`
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(super) shortlist: Option<PathBuf>,
    /// Longest source sentence in tokens; a longer one is cut to this length and translated, with a
    /// warning
    #[arg(long, value_name = "N", default_value_t = MAX_SENTENCE_TOKENS, value_parser = at_least(2))]
    pub(super) longest: usize,
    /// Write the translations to this file
    #[arg(long)]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) computing: Computing,
}

/// Makes a search option require a model.
fn of_model(option: clap::Arg) -> clap::Arg {
    match option.get_id().as_str() {
        "beam" | "alpha" | "source_language" | "target_language" => option.requires("model"),
        _ => option,
    }
}

/// A score that can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum MetricName {
    Bleu,
    Chrf,
    #[value(name = "chrf++")]
    ChrfPlusPlus,
    Ter,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default()
            .reads(&self.hypothesis)
            .reads(&self.reference)
            .reads(&self.baseline)
            .reads(&self.input)
            .reads(&self.shortlist)
            .reads_models(&self.model)
            .writes(&self.output))
    }
}
