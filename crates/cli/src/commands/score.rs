use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use burnformer_data::corpus::{LinePair, Side};
use burnformer_data::{ParallelReader, Utf8Policy};
use burnformer_infer::{
    LengthPenalty, MAX_SENTENCE_TOKENS, TargetScore, TranslateOptions, Translator, perplexity_of,
};
use burnformer_text::counted;
use serde_json::{Value, json};

use super::{Computing, LanguageArgs, at_least, model, of_options};
use crate::configuration::corpus;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::{Output, note, note_terminal};
use crate::shards::{Part, ShardArgs, length, written};
use crate::texts::{CHUNK_LINES, next_chunk};

/// Arguments of `score`.
#[derive(clap::Args)]
#[command(after_help = include_str!("score.txt"))]
pub struct Args {
    /// The model directory; several model directories form an ensemble
    #[arg(long, short, required = true, value_parser = model(), value_name = "DIR")]
    model: Vec<PathBuf>,
    /// Source sentences, one per line; without --target, a TSV file of sources and targets
    #[arg(long, short, alias = "source", value_name = "FILE")]
    input: PathBuf,
    /// The translations of the source sentences, one per line
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// α of the length penalty ((5 + n) / 6)^α by which the score is divided, where n is the number
    /// of tokens [default: the model's]
    #[arg(long)]
    alpha: Option<f64>,
    /// Longest sentence in tokens; a longer one is an error
    #[arg(long, value_name = "N", default_value_t = MAX_SENTENCE_TOKENS, value_parser = at_least(2))]
    longest: usize,
    /// Print one JSON object per pair: line, source, target, scores, and the log-probability of
    /// every token
    #[arg(long)]
    json: bool,
    /// File for the results [default: standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
    #[command(flatten)]
    languages: LanguageArgs,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    computing: Computing,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        let outputs = self.output.iter().flat_map(|out| written(&self.shard, out));
        Ok(FilesInUse::default()
            .reads([&self.input])
            .reads(&self.target)
            .reads_models(&self.model)
            .writes(outputs))
    }
}

/// Prints a line `log-probability TAB score TAB perplexity` for each pair, and the perplexity of
/// the whole text to standard error. If reading fails, the pairs before the failure are scored and
/// written first.
///
/// # Errors
/// Returns an error if the model or a text cannot be read, the texts differ in length, or the
/// output cannot be written.
pub fn run(args: Args) -> Result<()> {
    let translator = args.computing.load(&args.model)?;
    let tokenizers = translator.tokenizers();
    let paths: Vec<PathBuf> = [Some(&args.input), args.target.as_ref()]
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let corpus = corpus("--input", &paths)?;
    let options = options(&args, &translator)?;
    let target = args.target.as_ref().unwrap_or(&args.input);
    let texts = [(args.input.as_path(), Side::Source), (target, Side::Target)];
    let output = args.output.as_deref();
    let Some(part) = Part::open(&args.shard, output, &texts, CHUNK_LINES, || {
        identity(&args, &options)
    })?
    else {
        return Ok(());
    };
    let mut pairs = ParallelReader::open(&corpus, Utf8Policy::Error)?;
    pairs.skip_pairs(part.lines.start)?;
    let mut pairs = pairs.take(length(&part.lines));
    note_terminal(paths.iter().map(PathBuf::as_path));
    if !args.json {
        note("columns: log-probability, score (with the length penalty), perplexity");
    }
    let mut output = part.create_output()?;
    let mut done = usize::try_from(part.lines.start)?;
    let mut tokens = 0;
    let mut total = 0.0;
    loop {
        let (chunk, failure) = next_chunk(&mut pairs, CHUNK_LINES);
        let (sources, targets): (Vec<&str>, Vec<&str>) = chunk
            .iter()
            .map(|pair| (pair.source.as_str(), pair.target.as_str()))
            .unzip();
        let sources = translator.encode_sources(&sources, &options.languages);
        let targets = tokenizers.target.encode_batch(&targets);
        let (scores, bad) = translator.score_ids_until_error(&sources, &targets, &options);
        for (score, pair) in scores.iter().zip(&chunk) {
            total += score.total;
            tokens += score.log_probs.len();
            write(&args, &mut output, score, pair)?;
        }
        output.flush()?;
        let bad = bad.map(|error| Error::from(error.offset(done)).context(name(&args.input)));
        done += scores.len();
        match bad.or(failure) {
            Some(failure) => return Err(failure),
            None if scores.is_empty() => break,
            None => {}
        }
    }
    part.finish(&mut output, done as u64)?;
    let pairs = counted(done as u64 - part.lines.start, "pair");
    let perplexity = perplexity_of(total, tokens);
    note(format_args!(
        "{pairs} of {}, perplexity {perplexity:.3}",
        name(&args.input)
    ));
    Ok(())
}

/// The inputs besides the texts that decide the output.
fn identity(args: &Args, options: &TranslateOptions) -> Result<Value> {
    let mut identity = args
        .computing
        .identity(&args.model, options, args.languages.codes())?;
    identity["form"] = args.json.into();
    Ok(identity)
}

fn options(args: &Args, translator: &Translator) -> Result<TranslateOptions> {
    let from = args.languages.source_language.as_deref();
    let mut options = TranslateOptions {
        languages: args.languages.of_model(translator, from)?,
        longest: args.longest,
        ..translator.options()
    };
    if let Some(alpha) = args.alpha {
        options.search.length_penalty = LengthPenalty::Gnmt(alpha);
        options.search.validate().map_err(of_options)?;
    }
    Ok(options)
}

fn write(args: &Args, output: &mut Output, score: &TargetScore, pair: &LinePair) -> Result<()> {
    if args.json {
        return output.line(json!({
            "line": pair.line,
            "source": pair.source,
            "target": pair.target,
            "log_prob": score.total,
            "score": score.score,
            "perplexity": score.perplexity(),
            "log_probs": score.log_probs,
        }));
    }
    let total = score.total;
    let scaled = score.score;
    output.line(format_args!(
        "{total:.4}\t{scaled:.4}\t{:.3}",
        score.perplexity()
    ))
}

fn name(path: &Path) -> String {
    path.display().to_string()
}
