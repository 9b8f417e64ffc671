mod document;
mod input;
mod requests;
mod results;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Error, Result};
use burnformer_data::corpus::Side;
use burnformer_documents::Format;
use burnformer_infer::{
    Batching, Glossary, LONGEST_SENTENCE, LengthPenalty, LongSources, Sampling, TranslateOptions,
    Translator,
};
use serde_json::{Value, json};

use self::input::Input;
use self::requests::requests;
use self::results::{alternatives, doubts_of, write};
use super::{Computing, Searching, at_least, between, model, shortlist};
use crate::output::{note_terminal, say, wrong_usage};
use crate::progress::Progress;
use crate::shards::{Part, ShardArgs, digest_of_file};
use crate::signals;
use crate::values::one_of;

/// Arguments of `translate`.
#[derive(clap::Args)]
pub struct Args {
    /// What looks like text, for a hint.
    #[arg(hide = true)]
    text: Vec<String>,
    /// The model directory; several model directories form an ensemble. embedded:de-en and embedded:en-de are inside the
    /// program [default: embedded:de-en, German to English]
    #[arg(long, short, value_parser = model(), value_name = "DIR")]
    model: Vec<PathBuf>,
    /// Text to translate, one sentence per line; plain, .gz or .zst; of .tsv the first column; `-` is standard input
    #[arg(long, short, default_value = "-")]
    input: PathBuf,
    /// File for the translations, one per line [default: standard output]
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// Read the whole input as one document in this format, and keep its markup, white space and lines. Sentences that are
    /// too long for the model are cut at clauses
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = one_of(&Format::ALL, Format::name),
        conflicts_with_all = ["nbest", "prefix", "token_ids", "json", "shard"]
    )]
    format: Option<Format>,
    /// Language of the document, such as `de`: its abbreviations end no sentence [default: --source-language, else en]
    #[arg(long, value_name = "LANGUAGE", requires = "format")]
    language: Option<String>,
    #[command(flatten)]
    searching: Searching,
    /// Another length penalty than ((5 + n) / 6)^α: `average` (log-probability per token) or `none`
    #[arg(long, conflicts_with = "alpha")]
    penalty: Option<PenaltyName>,
    /// Print the N best translations of each sentence, best first, with their scores: exactly N lines for each input
    /// line, in the form `number ||| translation ||| score`. Translations that were cut at the length limit come last.
    /// If a sentence has fewer than N different translations, the last line is repeated
    #[arg(long, value_name = "N", value_parser = between(1, 1000))]
    nbest: Option<usize>,
    /// Smallest number of tokens of a translation
    #[arg(long)]
    min_length: Option<usize>,
    /// Largest number of tokens of a translation
    #[arg(long, value_parser = at_least(1))]
    max_length: Option<usize>,
    /// Never repeat a sequence of N tokens within a translation
    #[arg(long, value_name = "N")]
    no_repeat_ngram: Option<usize>,
    /// Draw translations at random instead of searching for the most probable one
    #[arg(long)]
    sample: bool,
    /// With --sample: divide the logits by this; above 1 the draws vary more
    #[arg(long, default_value_t = 1.0, requires = "sample")]
    temperature: f64,
    /// With --sample: draw from the K most probable tokens; 0 draws from all
    #[arg(long, value_name = "K", default_value_t = 0, requires = "sample")]
    top_k: usize,
    /// With --sample: draw from the most probable tokens whose probabilities add up to P
    #[arg(long, value_name = "P", default_value_t = 1.0, requires = "sample")]
    top_p: f64,
    /// With --sample: the seed that determines every draw
    #[arg(long, default_value_t = 1, requires = "sample")]
    seed: u64,
    /// File with one prefix per line with which the translation of that line must begin; the translation of an empty
    /// line is its prefix
    #[arg(long, value_name = "FILE")]
    prefix: Option<PathBuf>,
    /// File of terms and their prescribed translations, which the translation of each line with such a term contains: on
    /// each line a term, a tab and its translation, or several separated by `|`, of which the model chooses one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["token_ids", "sample"])]
    glossary: Option<PathBuf>,
    /// File of likely translations of each token, which `shortlist` makes for the model. A translation then consists of
    /// tokens that are likely for its line, which is faster where the vocabulary is large and changes few translations
    #[arg(long, value_name = "FILE")]
    shortlist: Option<PathBuf>,
    /// Read and write token ids, separated by spaces, instead of text
    #[arg(long)]
    token_ids: bool,
    /// Longest source sentence in tokens; a longer one is cut to this length and translated, with a warning
    #[arg(long, value_name = "N", default_value_t = LONGEST_SENTENCE, value_parser = at_least(2))]
    longest: usize,
    /// Largest number of sentences that are translated together
    #[arg(long, default_value_t = 64, value_parser = at_least(1))]
    batch: usize,
    /// Number of lines to read ahead, so that sentences of similar length are translated together
    #[arg(long, default_value_t = 2048, value_parser = at_least(1))]
    chunk: usize,
    /// Print one JSON object per line: translation, score, tokens, the reason why it ends, `doubts` (signs that it is wrong: loop,
    /// copy, length) and whether it took a second search because the first found a loop; with --nbest also
    /// `n_best`, a list of N such objects
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    computing: Computing,
}

/// Length penalties without a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PenaltyName {
    Average,
    None,
}

/// Writes one line (or `--nbest` lines) for each line of the input, whatever it holds. If something fails (a damaged
/// archive, a word that is not an id), the lines before it are translated and written first.
pub fn run(args: Args) -> Result<()> {
    check_text(&args)?;
    let translator = args.computing.load(&args.model)?;
    let mut options = options(&args, &translator)?;
    if let Some(path) = &args.glossary {
        let glossary = Glossary::load(path)?;
        translator.check_glossary(&glossary)?;
        options.glossary = Some(Arc::new(glossary));
    }
    options.shortlist = shortlist(&translator, args.shortlist.as_deref())?;
    note_terminal(
        [Some(&args.input), args.prefix.as_ref()].into_iter().flatten().map(PathBuf::as_path),
    );
    if let Some(format) = args.format {
        return document::run(&args, format, &translator, &options);
    }
    lines(&args, &translator, &options)
}

/// Translates line by line.
fn lines(args: &Args, translator: &Translator, options: &TranslateOptions) -> Result<()> {
    let texts: Vec<(&Path, Side)> =
        [(Some(&args.input), Side::Source), (args.prefix.as_ref(), Side::Target)]
            .into_iter()
            .filter_map(|(path, side)| Some((path?.as_path(), side)))
            .collect();
    let identity = || identity(args, options);
    let output = args.output.as_deref();
    let Some(part) = Part::open(&args.shard, output, &texts, args.chunk, identity)? else {
        return Ok(());
    };
    let input = Input::open(args, &part.lines)?;
    let _progress = (!input.is_dialogue()).then(|| Progress::of(&options.tally, 0, part.count()));
    let read: Vec<&Path> = texts.iter().map(|(path, _)| *path).collect();
    let shared: signals::Shared = Arc::new(Mutex::new(part.create_output(&read)?));
    signals::flush_and_exit(&shared)?;
    let first = usize::try_from(part.lines.start)?;
    let end = write_lines(args, translator, options, input, (first, &shared));
    let mut output = shared.lock().unwrap_or_else(PoisonError::into_inner);
    let finished = end.and_then(|end| part.finish(&mut output, end as u64));
    // The handler of signals keeps the output for as long as the process lives.
    finished.inspect_err(|_| output.discard())
}

/// Translates all lines of `input`, of which the first has the number `done`, and returns the number after the last.
fn write_lines(
    args: &Args,
    translator: &Translator,
    options: &TranslateOptions,
    mut input: Input,
    (mut done, shared): (usize, &signals::Shared),
) -> Result<usize> {
    loop {
        let chunk = input.next_chunk(args);
        let lines = chunk.lines.clone();
        let (requests, failure) = requests(args, translator, &mut input, chunk, options);
        let (all, broken) = translator.translate_ids_until_error(requests, options);
        let count = all.len();
        let mut output = shared.lock().unwrap_or_else(PoisonError::into_inner);
        for ((number, hypotheses), source) in (done..).zip(all).zip(&lines) {
            let found = alternatives(args, translator, hypotheses);
            let doubts = doubts_of(args, source, &found[0]);
            input.warnings.doubts(number as u64 + 1, &doubts);
            write(args, &mut output, number, &found, &doubts)?;
        }
        output.flush()?;
        let broken = broken.map(|error| {
            Error::from(error.offset(done)).context(input.path().display().to_string())
        });
        done += count;
        match broken.or(failure) {
            Some(failure) => return Err(failure),
            None if count == 0 => break,
            None => {}
        }
    }
    input.finish();
    Ok(done)
}

/// What decides the output, beside the text and the prefixes.
fn identity(args: &Args, options: &TranslateOptions) -> Result<Value> {
    let languages = args.searching.languages();
    let mut identity = args.computing.identity(&args.model, options, languages)?;
    for (name, path) in [("glossary", &args.glossary), ("shortlist", &args.shortlist)] {
        identity[name] = path.as_deref().map(digest_of_file).transpose()?.into();
    }
    // Rounding depends on the sizes of batches.
    identity["batches"] = json!([args.batch, args.chunk]);
    identity["form"] = json!([args.json, args.nbest, args.token_ids, args.prefix.is_some()]);
    Ok(identity)
}

/// Refuses text on the command line, and warns of a document that is about to be translated line by line.
fn check_text(args: &Args) -> Result<()> {
    if let [first, ..] = &args.text[..] {
        let text = args.text.join(" ");
        return Err(wrong_usage(match Path::new(first).exists() {
            true => format!("{first}: name the file to translate with --input {first}"),
            false => format!(
                "text is read from standard input or a file: echo {text:?} | burnformer translate, or --input FILE"
            ),
        }));
    }
    let extension = args.input.extension().and_then(|name| name.to_str()).unwrap_or_default();
    let marked = Format::from_extension(extension).filter(|&format| format != Format::Text);
    if let (Some(format), None) = (marked, args.format) {
        say(format_args!(
            "warning: {}: is translated line by line, markup included; --format {format} keeps the markup",
            args.input.display()
        ));
    }
    Ok(())
}

fn options(args: &Args, translator: &Translator) -> Result<TranslateOptions> {
    args.searching.options(translator, args.nbest.unwrap_or(1), |options| {
        let search = &mut options.search;
        search.min_length = args.min_length.unwrap_or(search.min_length);
        search.max_length = args.max_length.or(search.max_length);
        search.no_repeat_ngram = args.no_repeat_ngram.unwrap_or(search.no_repeat_ngram);
        search.length_penalty = match args.penalty {
            Some(PenaltyName::Average) => LengthPenalty::Average,
            Some(PenaltyName::None) => LengthPenalty::None,
            None => search.length_penalty,
        };
        if args.sample {
            // Draws need no beam of their number.
            let usual = translator.options().search.beam_size;
            search.beam_size = args.searching.beam.unwrap_or(usual);
            let &Args { temperature, top_k, top_p, seed, .. } = args;
            search.sampling = Some(Sampling { temperature, top_k, top_p, seed });
        }
        options.batching = Batching { max_sentences: args.batch, ..Batching::default() };
        options.longest = args.longest;
        options.long_sources = LongSources::Truncate;
    })
}
