use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Error, Result, anyhow, bail};
use burnformer_data::corpus::repeated_pipe;
use burnformer_data::{DataError, LineReader, Tokenizer, Utf8Policy};
use burnformer_infer::{
    Alternative, Batching, FinishReason, Hypothesis, LONGEST_SENTENCE, LengthPenalty, LongSources,
    Request, Sampling, SpecialIds, TranslateOptions, Translator,
};
use serde_json::{Value, json};

use super::token_ids::{ids_to_line, line_to_ids};
use super::{at_least, between};
use crate::device::DeviceName;
use crate::line_warnings::LineWarnings;
use crate::output::{Output, wrong_usage};
use crate::signals;

/// Bytes of text read ahead at most, however many lines that is.
const CHUNK_BYTES: usize = 4 << 20;

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
    let translator = Translator::load_ensemble(&args.model, &args.device.open()?)?;
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

/// The lines to translate and their prefixes.
struct Input {
    lines: LineReader,
    prefixes: Option<LineReader>,
    warnings: LineWarnings,
    prefix_warnings: Option<LineWarnings>,
}

/// Some lines, the first of which is number `first`, and what went wrong behind them.
#[derive(Default)]
struct Chunk {
    first: u64,
    lines: Vec<String>,
    prefixes: Vec<String>,
    failure: Option<Error>,
}

impl Input {
    fn open(args: &Args) -> Result<Self> {
        let both = [Some(&args.input), args.prefix.as_ref()].into_iter().flatten();
        if let Some(path) = repeated_pipe(both.map(PathBuf::as_path)) {
            return Err(DataError::PipeTwice { path: path.into() }.into());
        }
        let lines = LineReader::open(&args.input, Utf8Policy::Replace)?.cutting_long_lines();
        let prefixes = args.prefix.as_ref().map(|path| LineReader::open(path, Utf8Policy::Error));
        let warnings = LineWarnings::new(lines.path());
        let prefixes = prefixes.transpose()?;
        let prefix_warnings = prefixes.as_ref().map(|lines| LineWarnings::new(lines.path()));
        Ok(Self { lines, prefixes, warnings, prefix_warnings })
    }

    /// Tells how many lines were translated although something was wrong with them.
    fn finish(&self) {
        [Some(&self.warnings), self.prefix_warnings.as_ref()]
            .into_iter()
            .flatten()
            .for_each(LineWarnings::finish);
    }

    fn name(&self) -> String {
        self.lines.path().display().to_string()
    }

    /// The next lines; none at the end.
    fn next_chunk(&mut self, args: &Args) -> Chunk {
        let mut chunk = Chunk { first: self.lines.lines_read() + 1, ..Chunk::default() };
        let mut bytes = 0;
        while chunk.lines.len() < args.chunk && bytes < CHUNK_BYTES {
            match self.next_line() {
                Ok(Some((line, prefix))) => {
                    bytes += line.len();
                    chunk.lines.push(line);
                    chunk.prefixes.extend(prefix);
                }
                Ok(None) => break,
                Err(failure) => {
                    chunk.failure = Some(failure);
                    break;
                }
            }
        }
        chunk
    }

    fn next_line(&mut self) -> Result<Option<(String, Option<String>)>> {
        let Some(line) = self.lines.next_line()? else {
            return Ok(None);
        };
        self.warnings.line(&line);
        let Some(prefixes) = &mut self.prefixes else {
            return Ok(Some((line.text, None)));
        };
        if let Some(prefix) = prefixes.next_line()? {
            return Ok(Some((line.text, Some(prefix.text))));
        }
        let (path, number) = (prefixes.path().display(), line.number);
        bail!("--prefix {path}: ends before line {number}; it needs one line a sentence")
    }
}

/// `chunk` as requests, up to its first bad line, and what is wrong there or behind it.
fn requests(
    args: &Args,
    translator: &Translator,
    input: &mut Input,
    chunk: Chunk,
    options: &TranslateOptions,
) -> (Vec<Request>, Option<Error>) {
    let Chunk { first, lines, prefixes, mut failure } = chunk;
    let (tokenizers, model) = (translator.tokenizers(), translator.model());
    let source = Side { tokenizer: &tokenizers.source, vocab: model.source_vocab(), first };
    let target = Side { tokenizer: &tokenizers.target, vocab: model.target_vocab(), first };
    let sources = source.encode(args, input.lines.path(), &lines, &mut failure);
    let prefixes = match &input.prefixes {
        None => vec![Vec::new(); sources.len()],
        // Only those of the lines that are left, so that the failure is the first.
        Some(reader) => {
            let file = reader.path();
            let lines = &prefixes[..prefixes.len().min(sources.len())];
            let prefixes = target.encode(args, file, lines, &mut failure);
            ordinary(prefixes, file, first, model.special(), &mut failure)
        }
    };
    let request = |(source, prefix)| Request { source, prefix, key: None };
    let mut requests: Vec<Request> = sources.into_iter().zip(prefixes).map(request).collect();
    for (number, request) in (first..).zip(&mut requests) {
        fit(request, number, translator, input, options);
    }
    (requests, failure)
}

/// `prefixes` up to the first that holds an id of `special`.
fn ordinary(
    mut prefixes: Vec<Vec<u32>>,
    file: &Path,
    first: u64,
    special: SpecialIds,
    failure: &mut Option<Error>,
) -> Vec<Vec<u32>> {
    let reserved = [special.pad, special.bos, special.eos];
    let found = |prefix: &Vec<u32>| prefix.iter().copied().find(|id| reserved.contains(id));
    let bad = (0..prefixes.len()).find_map(|place| Some((place, found(&prefixes[place])?)));
    if let Some((place, id)) = bad {
        let (file, number) = (file.display(), first + place as u64);
        *failure = Some(anyhow!(
            "{file}:{number}: the prefix holds the special id {id}; give ordinary tokens only"
        ));
        prefixes.truncate(place);
    }
    prefixes
}

/// Cuts the prefix of line `number` to the length limit of its translation, and warns if that or the source
/// is too long.
fn fit(
    request: &mut Request,
    number: u64,
    translator: &Translator,
    input: &mut Input,
    options: &TranslateOptions,
) {
    input.warnings.source(number, request.source.len(), translator.longest_source(options));
    let limit = translator.longest_target(&request.source, options);
    if let Some(warnings) = &mut input.prefix_warnings {
        warnings.prefix(number, request.prefix.len(), limit);
    }
    request.prefix.truncate(limit);
}

/// How one side's lines become ids.
struct Side<'a> {
    tokenizer: &'a Tokenizer,
    vocab: usize,
    first: u64,
}

impl Side<'_> {
    /// Ids of `lines` up to the first that has none.
    fn encode(
        &self,
        args: &Args,
        file: &Path,
        lines: &[String],
        failure: &mut Option<Error>,
    ) -> Vec<Vec<u32>> {
        if !args.token_ids {
            return self.tokenizer.encode_batch(lines);
        }
        let mut all = Vec::with_capacity(lines.len());
        for (number, line) in (self.first..).zip(lines) {
            match line_to_ids(file, number, line, self.vocab) {
                Ok(ids) => all.push(ids),
                Err(error) => {
                    *failure = Some(error);
                    break;
                }
            }
        }
        all
    }
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

/// `hypotheses` with their texts: one, or as many as `--nbest` says. What a search found too few of is filled
/// with its last, so that whoever counts lines stays in step.
fn alternatives(
    args: &Args,
    translator: &Translator,
    hypotheses: Vec<Hypothesis>,
) -> Vec<Alternative> {
    let alternative = |hypothesis: Hypothesis| {
        let text = match args.token_ids {
            true => ids_to_line(&hypothesis.tokens),
            false => translator.text_of(&hypothesis),
        };
        Alternative { text, hypothesis }
    };
    let mut all: Vec<Alternative> = hypotheses.into_iter().map(alternative).collect();
    let last = all.last().expect("a search returns at least one hypothesis").clone();
    all.resize(args.nbest.unwrap_or(1), last);
    all
}

/// Writes what line `number`, from 0, was translated to.
fn write(
    args: &Args,
    output: &mut Output,
    number: usize,
    alternatives: &[Alternative],
) -> Result<()> {
    if args.json {
        let mut value = to_json(&alternatives[0]);
        if args.nbest.is_some() {
            value["n_best"] = alternatives.iter().map(to_json).collect();
        }
        return output.line(value);
    }
    if args.nbest.is_none() {
        return output.line(&alternatives[0].text);
    }
    for Alternative { text, hypothesis } in alternatives {
        output.line(format_args!("{number} ||| {text} ||| {:.4}", hypothesis.score))?;
    }
    Ok(())
}

fn to_json(Alternative { text, hypothesis }: &Alternative) -> Value {
    let finish = match hypothesis.finish {
        FinishReason::EndOfSentence => "end-of-sentence",
        FinishReason::Limit => "limit",
    };
    json!({
        "translation": text,
        "score": hypothesis.score,
        "tokens": hypothesis.tokens,
        "finish": finish,
    })
}
