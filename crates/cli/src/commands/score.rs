use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burnformer_data::corpus::LinePair;
use burnformer_data::{ParallelReader, Tokenizer, Utf8Policy};
use burnformer_infer::{LONGEST_SENTENCE, LengthPenalty, Translator, perplexity};
use burnformer_train::config::corpus_paths;
use serde_json::json;

use super::at_least;
use super::token_ids::line_to_ids;
use crate::device::DeviceName;
use crate::output::{Output, wrong_usage};

/// Arguments of `score`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory; several form an ensemble
    #[arg(long, short, required = true)]
    model: Vec<PathBuf>,
    /// Source sentences, one a line; without --target a TSV of source and target
    #[arg(long)]
    source: PathBuf,
    /// Their translations, one a line
    #[arg(long)]
    target: Option<PathBuf>,
    /// Length penalty ((5 + n) / 6)^α of the score [default: the model's]
    #[arg(long)]
    alpha: Option<f64>,
    /// Longest sentence taken, in tokens; a longer one is an error
    #[arg(long, value_name = "N", default_value_t = LONGEST_SENTENCE, value_parser = at_least(2))]
    longest: usize,
    /// Lines are token ids separated by spaces
    #[arg(long)]
    token_ids: bool,
    /// Print one JSON object a line, with the log-probability of every token
    #[arg(long)]
    json: bool,
    /// Where to compute
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
}

/// For each pair a line `log-probability TAB score TAB perplexity`; the whole text's perplexity goes
/// to stderr.
pub fn run(args: Args) -> Result<()> {
    let translator = Translator::load_ensemble(&args.model, &args.device.open()?)?;
    let paths: Vec<PathBuf> =
        [Some(&args.source), args.target.as_ref()].into_iter().flatten().cloned().collect();
    let corpus = corpus_paths("--source", &paths)?;
    let pairs = ParallelReader::open(&corpus, Utf8Policy::Error)?;
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    let (tokenizers, model) = (translator.tokenizers(), translator.model());
    let encode = |file: &Path, tokenizer: &Tokenizer, text: &str, line, vocab| match args.token_ids
    {
        true => line_to_ids(file, line, text, vocab),
        false => Ok(tokenizer.encode(text)),
    };
    let target_file = args.target.as_ref().unwrap_or(&args.source);
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for LinePair { line, source, target, .. } in &pairs {
        let (source_vocab, target_vocab) = (model.source_vocab(), model.target_vocab());
        sources.push(encode(&args.source, &tokenizers.source, source, *line, source_vocab)?);
        targets.push(encode(target_file, &tokenizers.target, target, *line, target_vocab)?);
    }
    let mut options = translator.options();
    options.longest = args.longest;
    if let Some(alpha) = args.alpha {
        options.search.length_penalty = LengthPenalty::Gnmt(alpha);
        options.search.validate().map_err(wrong_usage)?;
    }
    let scores =
        translator.score_ids(&sources, &targets, &options).with_context(|| name(&args.source))?;
    let mut output = Output::create(None, &[])?;
    for score in &scores {
        if args.json {
            let value = json!({
                "log_prob": score.total,
                "score": score.score,
                "perplexity": score.perplexity(),
                "log_probs": score.log_probs,
            });
            output.line(value)?;
        } else {
            let (total, scaled) = (score.total, score.score);
            output.line(format_args!("{total:.4}\t{scaled:.4}\t{:.3}", score.perplexity()))?;
        }
    }
    output.flush()?;
    let sentences = scores.len();
    eprintln!("{sentences} pairs of {}, perplexity {:.3}", name(&args.source), perplexity(&scores));
    Ok(())
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
