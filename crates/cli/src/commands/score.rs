use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_data::{ParallelReader, Tokenizer, Utf8Policy};
use burnformer_infer::{LengthPenalty, Translator, force_score, perplexity};
use burnformer_train::config::corpus_paths;
use serde_json::json;

use super::token_ids::line_to_ids;
use crate::device::DeviceName;

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
    /// Lines are token ids separated by spaces
    #[arg(long)]
    token_ids: bool,
    /// Print one JSON object a line, with the log-probability of every token
    #[arg(long)]
    json: bool,
    /// Where to compute
    #[arg(long, default_value = "auto")]
    device: DeviceName,
}

/// For each pair a line `log-probability TAB score TAB perplexity`; the whole text's perplexity goes
/// to stderr.
pub fn run(args: Args) -> Result<()> {
    let translator = Translator::load_ensemble(&args.model, &args.device.open())?;
    let paths: Vec<PathBuf> =
        [Some(&args.source), args.target.as_ref()].into_iter().flatten().cloned().collect();
    let corpus = corpus_paths("--source", &paths)?;
    let pairs = ParallelReader::open(&corpus, Utf8Policy::Error)?;
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    let tokenizers = translator.tokenizers();
    let encode = |tokenizer: &Tokenizer, text: &str, line: u64| match args.token_ids {
        true => line_to_ids(text, line as usize),
        false => Ok(tokenizer.encode(text)),
    };
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for pair in &pairs {
        sources.push(encode(&tokenizers.source, &pair.source, pair.line)?);
        targets.push(encode(&tokenizers.target, &pair.target, pair.line)?);
    }
    let options = translator.options();
    let penalty = args.alpha.map_or(options.search.length_penalty, LengthPenalty::Gnmt);
    let scores = force_score(translator.model(), &sources, &targets, penalty, &options.batching)?;
    let mut output = BufWriter::new(std::io::stdout().lock());
    for score in &scores {
        if args.json {
            let value = json!({
                "log_prob": score.total,
                "score": score.score,
                "perplexity": score.perplexity(),
                "log_probs": score.log_probs,
            });
            writeln!(output, "{value}")?;
        } else {
            writeln!(output, "{:.4}\t{:.4}\t{:.3}", score.total, score.score, score.perplexity())?;
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
