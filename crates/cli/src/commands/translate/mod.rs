mod input;
mod requests;
mod results;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Error, Result};
use burnformer_core::ComputeType;
use burnformer_infer::{
    Batching, LONGEST_SENTENCE, LengthPenalty, LongSources, Sampling, TranslateOptions, Translator,
};

use self::input::Input;
use self::requests::requests;
use self::results::{alternatives, write};
use super::{at_least, between, compute_type};
use crate::device::DeviceName;
use crate::output::{Output, wrong_usage};
use crate::signals;

/// Arguments of `translate`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory; several form an ensemble
    #[arg(long, short, required = true)]
    model: Vec<PathBuf>,
    /// Text to translate, one sentence a line; plain, .gz or .zst [default: standard input]
    #[arg(long, short, default_value = "-")]
    input: PathBuf,
    /// Where translations go, one a line [default: standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Hypotheses of the beam search; 1 is greedy [default: the model's]
    #[arg(long, value_parser = between(1, 1000))]
    beam: Option<usize>,
    /// Length penalty ((5 + n) / 6)^α [default: the model's]
    #[arg(long, conflicts_with = "penalty")]
    alpha: Option<f64>,
    /// Another penalty than gnmt: `average` (score a token) or `none`
    #[arg(long)]
    penalty: Option<PenaltyName>,
    /// Translations of each sentence, best first, with their scores: exactly N lines for each line, as
    /// `number ||| translation ||| score`. Those that the length limit cut come last; where a sentence has
    /// fewer than N different translations, the last line is repeated
    #[arg(long, value_name = "N", value_parser = between(1, 1000))]
    nbest: Option<usize>,
    /// Fewest tokens of a translation
    #[arg(long)]
    min_length: Option<usize>,
    /// Most tokens of a translation
    #[arg(long, value_parser = at_least(1))]
    max_length: Option<usize>,
    /// No sequence of so many tokens twice in a translation
    #[arg(long, value_name = "N")]
    no_repeat_ngram: Option<usize>,
    /// Draw translations instead of searching for the most probable
    #[arg(long)]
    sample: bool,
    /// Divides the logits of --sample
    #[arg(long, default_value_t = 1.0, requires = "sample")]
    temperature: f64,
    /// Draw from so many most probable tokens; 0 is all
    #[arg(long, default_value_t = 0, requires = "sample")]
    top_k: usize,
    /// Draw from the most probable tokens that together reach this probability
    #[arg(long, default_value_t = 1.0, requires = "sample")]
    top_p: f64,
    /// Fixes every draw of --sample
    #[arg(long, default_value_t = 1, requires = "sample")]
    seed: u64,
    /// A file of prefixes, one for each line, that translations must begin with; an empty line has its prefix
    /// as translation
    #[arg(long, value_name = "FILE")]
    prefix: Option<PathBuf>,
    /// Lines are token ids separated by spaces, in and out
    #[arg(long)]
    token_ids: bool,
    /// Longest sentence, in tokens; what is longer is cut, with a warning, and translated so far
    #[arg(long, value_name = "N", default_value_t = LONGEST_SENTENCE, value_parser = at_least(2))]
    longest: usize,
    /// Most sentences translated together
    #[arg(long, default_value_t = 64, value_parser = at_least(1))]
    batch: usize,
    /// Lines read ahead, so that sentences of like length go together
    #[arg(long, default_value_t = 2048, value_parser = at_least(1))]
    chunk: usize,
    /// Print one JSON object for each line: translation, score, tokens, why it ends; with --nbest also
    /// `n_best`, a list of N such objects
    #[arg(long)]
    json: bool,
    /// Numbers in which weights are multiplied: float32, or int8, which is faster on a CPU and changes translations a
    /// little [default: the model's; see `quantize`]
    #[arg(long, value_name = "TYPE", value_parser = compute_type())]
    compute: Option<ComputeType>,
    /// Where to compute
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
}

/// Penalties without a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PenaltyName {
    Average,
    None,
}

/// One line out (or `--nbest` lines) for each line in, whatever it holds. Lines before a failure (a
/// damaged archive, a word that is no id) are translated and written first.
pub fn run(args: Args) -> Result<()> {
    let translator = Translator::load_as(&args.model, &args.device.open()?, args.compute)?;
    let options = options(&args, &translator);
    options.search.validate().map_err(wrong_usage)?;
    let mut input = Input::open(&args)?;
    let read: Vec<&Path> = [Some(&args.input), args.prefix.as_ref()]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    let output = Output::create(args.output.as_deref(), &read)?;
    let shared: signals::Shared = Arc::new(Mutex::new(output));
    signals::flush_and_exit(&shared)?;
    let mut done = 0;
    loop {
        let chunk = input.next_chunk(&args);
        let (requests, failure) = requests(&args, &translator, &mut input, chunk, &options);
        let (all, broken) = translator.translate_ids_until_error(requests, &options);
        let count = all.len();
        let mut output = shared.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, hypotheses) in (done..).zip(all) {
            write(&args, &mut output, number, &alternatives(&args, &translator, hypotheses))?;
        }
        output.flush()?;
        let broken = broken.map(|error| Error::from(error.offset(done)).context(input.name()));
        done += count;
        match broken.or(failure) {
            Some(failure) => return Err(failure),
            None if count == 0 => break,
            None => {}
        }
    }
    input.finish();
    Ok(())
}

fn options(args: &Args, translator: &Translator) -> TranslateOptions {
    let mut options = translator.options();
    let search = &mut options.search;
    search.beam_size = args.beam.unwrap_or(search.beam_size);
    search.n_best = args.nbest.unwrap_or(1);
    if args.beam.is_none() && !args.sample {
        search.beam_size = search.beam_size.max(search.n_best);
    }
    search.min_length = args.min_length.unwrap_or(search.min_length);
    search.max_length = args.max_length.or(search.max_length);
    search.no_repeat_ngram = args.no_repeat_ngram.unwrap_or(search.no_repeat_ngram);
    search.length_penalty = match (args.alpha, args.penalty) {
        (Some(alpha), _) => LengthPenalty::Gnmt(alpha),
        (None, Some(PenaltyName::Average)) => LengthPenalty::Average,
        (None, Some(PenaltyName::None)) => LengthPenalty::None,
        (None, None) => search.length_penalty,
    };
    if args.sample {
        let &Args { temperature, top_k, top_p, seed, .. } = args;
        search.sampling = Some(Sampling { temperature, top_k, top_p, seed });
    }
    options.batching = Batching { max_sentences: args.batch, ..Batching::default() };
    options.longest = args.longest;
    options.long_sources = LongSources::Truncate;
    options
}
