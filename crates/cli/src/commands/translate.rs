use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use burnformer_data::{LineReader, Utf8Policy};
use burnformer_infer::{
    Alternative, Batching, FinishReason, LengthPenalty, LongSources, Request, Sampling,
    TranslateOptions, Translator,
};
use serde_json::json;

use super::token_ids::{ids_to_line, line_to_ids};
use crate::device::DeviceName;
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
    #[arg(long)]
    beam: Option<usize>,
    /// Length penalty ((5 + n) / 6)^α [default: the model's]
    #[arg(long, conflicts_with = "penalty")]
    alpha: Option<f64>,
    /// Another penalty than gnmt: `average` (score a token) or `none`
    #[arg(long)]
    penalty: Option<PenaltyName>,
    /// Translations of each sentence, best first, with their scores: N lines a sentence as
    /// `number ||| translation ||| score`
    #[arg(long, value_name = "N")]
    nbest: Option<usize>,
    /// Fewest tokens of a translation
    #[arg(long)]
    min_length: Option<usize>,
    /// Most tokens of a translation
    #[arg(long)]
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
    /// A file of prefixes, one a line, that translations must begin with
    #[arg(long, value_name = "FILE")]
    prefix: Option<PathBuf>,
    /// Lines are token ids separated by spaces, in and out
    #[arg(long)]
    token_ids: bool,
    /// Cut sources that do not fit learned positions instead of refusing them
    #[arg(long)]
    truncate: bool,
    /// Most sentences translated together
    #[arg(long, default_value_t = 64)]
    batch: usize,
    /// Lines read ahead, so that sentences of like length go together
    #[arg(long, default_value_t = 2048)]
    chunk: usize,
    /// Print one JSON object a line: translation, score, tokens, why it ends
    #[arg(long, conflicts_with = "nbest")]
    json: bool,
    /// Where to compute
    #[arg(long, default_value = "auto")]
    device: DeviceName,
}

/// Penalties without a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PenaltyName {
    Average,
    None,
}

/// One line out (or `--nbest` lines) for each line in.
pub fn run(args: Args) -> Result<()> {
    let translator = Translator::load_ensemble(&args.model, &args.device.open())?;
    let options = options(&args, &translator);
    options.search.validate()?;
    let mut input = LineReader::open(&args.input, Utf8Policy::Replace)?;
    let mut prefixes = match &args.prefix {
        Some(path) => Some(LineReader::open(path, Utf8Policy::Error)?),
        None => None,
    };
    let shared: signals::Output = Arc::new(Mutex::new(open_output(&args)?));
    signals::flush_and_exit(&shared)?;
    let mut done = 0;
    loop {
        let requests = read_chunk(&args, &translator, &mut input, prefixes.as_mut(), done)?;
        if requests.is_empty() {
            break;
        }
        let count = requests.len();
        let all = translator.translate_ids(requests, &options).map_err(|e| e.offset(done))?;
        let mut output = shared.lock().expect("whoever held the output is gone");
        for (place, hypotheses) in all.into_iter().enumerate() {
            let alternatives = hypotheses.into_iter().map(|hypothesis| {
                let text = match args.token_ids {
                    true => ids_to_line(&hypothesis.tokens),
                    false => translator.text_of(&hypothesis),
                };
                Alternative { text, hypothesis }
            });
            write(&args, &mut *output, done + place, &alternatives.collect::<Vec<_>>())?;
        }
        output.flush()?;
        done += count;
    }
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
    if args.truncate {
        options.long_sources = LongSources::Truncate;
    }
    options
}

fn open_output(args: &Args) -> Result<Box<dyn Write + Send>> {
    Ok(match &args.output {
        None => Box::new(BufWriter::new(std::io::stdout())),
        Some(path) => {
            let file =
                std::fs::File::create(path).with_context(|| format!("{}", path.display()))?;
            Box::new(BufWriter::new(file))
        }
    })
}

/// The next lines as requests; fewer than `--chunk` at the end. `done` lines came before.
fn read_chunk(
    args: &Args,
    translator: &Translator,
    input: &mut LineReader,
    mut prefixes: Option<&mut LineReader>,
    done: usize,
) -> Result<Vec<Request>> {
    let mut lines = Vec::new();
    let mut prefix_lines = Vec::new();
    while lines.len() < args.chunk.max(1) {
        let Some(line) = input.next_line()? else { break };
        if let Some(prefixes) = prefixes.as_deref_mut() {
            match prefixes.next_line()? {
                Some(prefix) => prefix_lines.push(prefix.text),
                None => {
                    bail!("--prefix ends before line {}; it needs one line a sentence", line.number)
                }
            }
        }
        lines.push(line.text);
    }
    let tokenizers = translator.tokenizers();
    let sources = encode(args, &tokenizers.source, &lines, done)?;
    let prefixes = encode(args, &tokenizers.target, &prefix_lines, done)?;
    let prefixes = prefixes.into_iter().chain(std::iter::repeat_with(Vec::new));
    let request = |(source, prefix)| Request { source, prefix, key: None };
    Ok(sources.into_iter().zip(prefixes).map(request).collect())
}

fn encode(
    args: &Args,
    tokenizer: &burnformer_data::Tokenizer,
    lines: &[String],
    done: usize,
) -> Result<Vec<Vec<u32>>> {
    if !args.token_ids {
        return Ok(tokenizer.encode_batch(lines));
    }
    let parse = |(place, line): (usize, &String)| line_to_ids(line, done + place + 1);
    lines.iter().enumerate().map(parse).collect()
}

fn write(
    args: &Args,
    output: &mut dyn Write,
    number: usize,
    alternatives: &[Alternative],
) -> Result<()> {
    if args.nbest.is_some() {
        for Alternative { text, hypothesis } in alternatives {
            writeln!(output, "{number} ||| {text} ||| {:.4}", hypothesis.score)?;
        }
        return Ok(());
    }
    let Alternative { text, hypothesis } = &alternatives[0];
    if args.json {
        let finish = match hypothesis.finish {
            FinishReason::EndOfSentence => "end-of-sentence",
            FinishReason::Limit => "limit",
        };
        let value = json!({
            "translation": text,
            "score": hypothesis.score,
            "tokens": hypothesis.tokens,
            "finish": finish,
        });
        return Ok(writeln!(output, "{value}")?);
    }
    Ok(writeln!(output, "{text}")?)
}
