use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use burnformer_data::corpus::{LinePair, Side};
use burnformer_data::{DataError, ParallelReader, Utf8Policy};
use burnformer_infer::{
    LONGEST_SENTENCE, LengthPenalty, TargetScore, TranslateOptions, Translator, perplexity_of,
};
use burnformer_train::config::corpus_paths;
use serde_json::{Value, json};

use super::token_ids::line_to_ids;
use super::{Computing, at_least, model};
use crate::output::{Output, note, note_terminal, wrong_usage};
use crate::shards::{Part, ShardArgs, length};

/// The number of pairs that are scored and written together. Pairs of similar length among them
/// form batches, and memory stays bounded.
const CHUNK: usize = 2048;

/// Arguments of `score`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory; several model directories form an ensemble
    #[arg(long, short, required = true, value_parser = model(), value_name = "DIR")]
    model: Vec<PathBuf>,
    /// Source sentences, one per line; without --target, a TSV file of sources and targets
    #[arg(long)]
    source: PathBuf,
    /// The translations of the source sentences, one per line
    #[arg(long)]
    target: Option<PathBuf>,
    /// α of the length penalty ((5 + n) / 6)^α by which the score is divided, where n is the number
    /// of tokens [default: the model's]
    #[arg(long)]
    alpha: Option<f64>,
    /// Longest sentence in tokens; a longer one is an error
    #[arg(long, value_name = "N", default_value_t = LONGEST_SENTENCE, value_parser = at_least(2))]
    longest: usize,
    /// Read token ids, separated by spaces, instead of text
    #[arg(long)]
    token_ids: bool,
    /// Print one JSON object per pair, with the log-probability of every token
    #[arg(long)]
    json: bool,
    /// File for the results [default: standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    computing: Computing,
}

/// Prints a line `log-probability TAB score TAB perplexity` for each pair, and the perplexity of
/// the whole text to standard error. If something fails, the pairs before it are scored and written
/// first.
pub fn run(args: Args) -> Result<()> {
    let translator = args.computing.load(&args.model)?;
    let paths: Vec<PathBuf> =
        [Some(&args.source), args.target.as_ref()].into_iter().flatten().cloned().collect();
    let corpus = corpus_paths("--source", &paths)?;
    let options = options(&args, &translator)?;
    let target = args.target.as_ref().unwrap_or(&args.source);
    let texts = [(args.source.as_path(), Side::Source), (target, Side::Target)];
    let identity = || identity(&args, &options);
    let output = args.output.as_deref();
    let Some(part) = Part::open(&args.shard, output, &texts, CHUNK, identity)? else {
        return Ok(());
    };
    let mut pairs = ParallelReader::open(&corpus, Utf8Policy::Error)?;
    pairs.skip_pairs(part.lines.start)?;
    let mut pairs = pairs.take(length(&part.lines));
    note_terminal(paths.iter().map(PathBuf::as_path));
    if !args.json {
        note("columns: log-probability, score (with the length penalty), perplexity");
    }
    let mut output = part.create_output(&texts.map(|(path, _)| path))?;
    let mut done = usize::try_from(part.lines.start)?;
    let (mut tokens, mut total) = (0, 0.0);
    loop {
        let (sources, targets, failure) = next_chunk(&args, &translator, &mut pairs);
        let (scores, bad) = translator.score_ids_until_error(&sources, &targets, &options);
        for score in &scores {
            total += score.total;
            tokens += score.log_probs.len();
            write(&args, &mut output, score)?;
        }
        output.flush()?;
        let bad = bad.map(|error| Error::from(error.offset(done)).context(name(&args.source)));
        done += scores.len();
        match bad.or(failure) {
            Some(failure) => return Err(failure),
            None if scores.is_empty() => break,
            None => {}
        }
    }
    part.finish(&mut output, done as u64)?;
    let (perplexity, pairs) = (perplexity_of(total, tokens), done as u64 - part.lines.start);
    note(format_args!("{pairs} pairs of {}, perplexity {perplexity:.3}", name(&args.source)));
    Ok(())
}

/// What decides the output, beside the texts.
fn identity(args: &Args, options: &TranslateOptions) -> Result<Value> {
    let mut identity = args.computing.identity(&args.model, options, [&None, &None])?;
    identity["form"] = json!([args.json, args.token_ids]);
    Ok(identity)
}

fn options(args: &Args, translator: &Translator) -> Result<TranslateOptions> {
    let mut options = translator.options();
    options.longest = args.longest;
    if let Some(alpha) = args.alpha {
        options.search.length_penalty = LengthPenalty::Gnmt(alpha);
        options.search.validate().map_err(wrong_usage)?;
    }
    Ok(options)
}

/// The ids of the next pairs, none at the end, and the error in the pair after them, if any.
fn next_chunk(
    args: &Args,
    translator: &Translator,
    pairs: &mut impl Iterator<Item = Result<LinePair, DataError>>,
) -> (Vec<Vec<u32>>, Vec<Vec<u32>>, Option<Error>) {
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    for pair in pairs.take(CHUNK) {
        let ids = pair.map_err(Error::from).and_then(|pair| encode(args, translator, &pair));
        match ids {
            Ok((source, target)) => {
                sources.push(source);
                targets.push(target);
            }
            Err(failure) => return (sources, targets, Some(failure)),
        }
    }
    (sources, targets, None)
}

fn encode(args: &Args, translator: &Translator, pair: &LinePair) -> Result<(Vec<u32>, Vec<u32>)> {
    let (tokenizers, model) = (translator.tokenizers(), translator.model());
    if !args.token_ids {
        let source = tokenizers.source.encode(&pair.source);
        return Ok((source, tokenizers.target.encode(&pair.target)));
    }
    let target_file = args.target.as_ref().unwrap_or(&args.source);
    let source = line_to_ids(&args.source, pair.line, &pair.source, model.source_vocab())?;
    Ok((source, line_to_ids(target_file, pair.line, &pair.target, model.target_vocab())?))
}

fn write(args: &Args, output: &mut Output, score: &TargetScore) -> Result<()> {
    if args.json {
        return output.line(json!({
            "log_prob": score.total, "score": score.score, "perplexity": score.perplexity(),
            "log_probs": score.log_probs,
        }));
    }
    let (total, scaled) = (score.total, score.score);
    output.line(format_args!("{total:.4}\t{scaled:.4}\t{:.3}", score.perplexity()))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
