mod paired;
mod reliability;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burnformer_data::corpus::{CorpusPaths, Side, check_line_counts, is_tsv};
use burnformer_data::{LineReader, ParallelReader, TextError, Utf8Policy};
use burnformer_infer::{Hypothesis, LongSources, MAX_SENTENCE_TOKENS};
use burnformer_metrics::{
    Bleu, BleuTokenizer, Bootstrap, Chrf, Metric, References, Score, Smoothing, Ter, WritingSystem,
    as_strs,
};
use serde_json::Value;

use self::paired::{Test, print_json, print_text};
use self::reliability::RatedTranslations;
use super::settings::changeable;
use super::{Computing, Searching, at_least, between, model, shortlist};
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::line_warnings::LineWarnings;
use crate::output::{OnFailure, Output, note, note_terminal, print as put, wrong_usage};
use crate::progress::Progress;
use crate::texts::{check_pipes, shown};

/// Arguments of `eval-bleu`.
#[derive(clap::Args)]
#[command(mut_args(of_model), after_help = include_str!("examples.txt"))]
pub struct Args {
    /// Translate --input with this model and score the result; several models form an ensemble
    #[arg(long, short, requires = "input", conflicts_with = "hypothesis", value_parser = model(), value_name = "DIR")]
    model: Vec<PathBuf>,
    /// Text to translate, one sentence per line; plain, .gz or .zst; of .tsv the first column
    #[arg(long, short, alias = "source", requires = "model", value_name = "FILE")]
    input: Option<PathBuf>,
    /// Score the translations in this file; `-` is standard input; of .tsv the second column.
    /// Several files are compared with the first of them, or with --baseline
    #[arg(long, num_args = 1.., required_unless_present = "model", value_name = "FILE")]
    hypothesis: Vec<PathBuf>,
    /// Reference translations; several files give several references for each line; of .tsv the
    /// second column [default: --input, if that is a .tsv]
    #[arg(long, num_args = 1.., value_name = "FILE")]
    reference: Vec<PathBuf>,
    /// The scores to compute; may be given several times
    #[arg(long, num_args = 1.., default_value = "bleu")]
    metric: Vec<MetricName>,
    /// The division of text into words for BLEU: 13a, intl, char, zh (for Chinese), none, or spm
    /// (also flores101) and flores200, whose files sacreBLEU fetches
    #[arg(long, default_value = "13a")]
    tokenize: BleuTokenizer,
    /// Compare lower-cased text
    #[arg(long)]
    lowercase: bool,
    /// The smoothing of BLEU for n-gram orders without a match: exp, floor, add-k or none
    #[arg(long, default_value = "exp")]
    smooth: Smoothing,
    /// Leave n-gram orders that are longer than the translation out of BLEU (sacreBLEU's effective
    /// order)
    #[arg(long)]
    effective_order: bool,
    /// Add 95 % confidence intervals by bootstrap resampling
    #[arg(long)]
    confidence: bool,
    /// Number of bootstrap samples
    #[arg(long, default_value_t = 1000, value_parser = between(1, 1_000_000))]
    confidence_n: usize,
    /// Fit the model's confidence in a translation to these translations, and write it into its
    /// `generation.json`; take a text that the model did not learn from
    #[arg(long, requires = "model")]
    calibrate: bool,
    /// Print how the model's confidence compares with the chrF of these translations
    #[arg(long, requires = "model", conflicts_with = "json")]
    reliability: bool,
    /// Compare with the translations in this file, and say how probable the difference is if it is
    /// due to chance
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// The test of several systems: bs is paired bootstrap resampling, ar approximate randomisation
    /// [default: bs]
    #[arg(long, value_name = "TEST")]
    paired: Option<Test>,
    /// Number of trials of that test [default: 1000 of bs, 10000 of ar]
    #[arg(long, value_parser = between(1, 1_000_000))]
    trials: Option<usize>,
    /// Digits after the decimal point, like sacreBLEU's --width
    #[arg(long, short = 'w', default_value_t = 1, value_parser = between(0, 15))]
    width: usize,
    /// Print JSON in sacreBLEU's format
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    searching: Searching,
    /// File of likely translations of each token, as in `translate`
    #[arg(long, value_name = "FILE", requires = "model")]
    shortlist: Option<PathBuf>,
    /// Longest source sentence in tokens; a longer one is cut to this length and translated, with a
    /// warning
    #[arg(long, value_name = "N", default_value_t = MAX_SENTENCE_TOKENS, value_parser = at_least(2))]
    longest: usize,
    /// Write the translations to this file
    #[arg(long)]
    output: Option<PathBuf>,
    #[command(flatten)]
    computing: Computing,
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
enum MetricName {
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

/// Translates if there is a model, then scores.
pub fn run(args: Args) -> Result<()> {
    let to_calibrate = args
        .calibrate
        .then(|| changeable(&args.model))
        .transpose()?;
    // A table of both sides is read once, as it may be a pipe.
    let table = table(&args)?;
    let systems: Vec<&PathBuf> = args.baseline.iter().chain(&args.hypothesis).collect();
    check_systems(&args, systems.len())?;
    let all = systems
        .iter()
        .copied()
        .chain(&args.input)
        .chain(&args.reference);
    let all: Vec<&Path> = all.map(PathBuf::as_path).collect();
    check_pipes(all.iter().copied())?;
    note_terminal(all);
    let read = |path: &PathBuf| lines(path, Side::Target);
    let (source, texts) = match table {
        Some(table) => {
            let [source, target] = columns_of(table)?;
            (Some(source), vec![target])
        }
        None => {
            let texts = args.reference.iter().map(read);
            let texts = texts.collect::<Result<Vec<_>>>()?;
            (None, texts)
        }
    };
    let mut translations = systems
        .iter()
        .map(|path| read(path))
        .collect::<Result<Vec<_>>>()?;
    let source = match (source, &args.input) {
        (None, Some(path)) => Some(lines(path, Side::Source)?),
        (source, _) => source,
    };
    let read = systems
        .iter()
        .copied()
        .zip(&translations)
        .chain(args.input.iter().zip(&source));
    let read = args.reference.iter().zip(&texts).chain(read);
    check_line_counts(read.map(|(path, lines)| (lines.len() as u64, path.as_path())))?;
    let found = match (&args.input, &source) {
        (Some(path), Some(source)) => {
            let (texts, found) = translate(&args, path, source)?;
            translations.push(texts);
            Some((source, found))
        }
        _ => None,
    };
    let streams: Vec<Vec<&str>> = texts.iter().map(|stream| as_strs(stream)).collect();
    let writing = WritingSystem::of(&streams[0]);
    note_words(&args, writing);
    let references = References::new(&streams);
    let translations: Vec<Vec<&str>> = translations.iter().map(|all| as_strs(all)).collect();
    let names: Vec<&PathBuf> = systems.into_iter().chain(args.model.first()).collect();
    note_tokenised(&args, &names, &translations);
    match &translations[..] {
        [only] => score(&args, only, &references, writing)?,
        _ => compare(&args, &names, &translations, &references)?,
    }
    let Some((sources, found)) = found.filter(|_| args.calibrate || args.reliability) else {
        return Ok(());
    };
    let hypotheses = translations.last().context("nothing was translated")?;
    let rated = RatedTranslations::new(sources, hypotheses, found, &references)?;
    to_calibrate.map_or(Ok(()), |model| rated.calibrate(model))?;
    if args.reliability {
        rated.print(&args.model[0])
    } else {
        Ok(())
    }
}

/// Refuses options for the wrong number of systems. `files` is the number of systems in files.
fn check_systems(args: &Args, files: usize) -> Result<()> {
    let several = files + usize::from(!args.model.is_empty()) > 1;
    if !several && (args.paired.is_some() || args.trials.is_some()) {
        return Err(wrong_usage(
            "--paired and --trials compare systems; name another one with --baseline, or several with --hypothesis",
        ));
    }
    if several && args.confidence {
        return Err(wrong_usage(
            "--confidence is for one system; the comparison of several has intervals with --paired bs",
        ));
    }
    Ok(())
}

/// Names the score that fits references in this `writing`, if BLEU is requested and its tokeniser
/// finds no spaces.
fn note_words(args: &Args, writing: WritingSystem) {
    let looks = matches!(
        args.tokenize,
        BleuTokenizer::V13a | BleuTokenizer::International
    );
    let fitting = match writing {
        WritingSystem::Chinese => "--tokenize zh",
        WritingSystem::Unspaced => "--metric chrf or --tokenize char",
        WritingSystem::Spaced | WritingSystem::Korean => return,
    };
    if looks && args.metric.contains(&MetricName::Bleu) {
        note(format_args!(
            "warning: --tokenize {} takes whole sentences for words, as the references are written in {writing}; use {fitting}",
            args.tokenize
        ));
    }
}

/// The number of lines that have to end like tokenised text before a note says so, as in sacreBLEU
/// 2.6.0.
const TOKENISED: usize = 100;

/// Names each of `systems` with translations that look tokenised, if BLEU is requested. BLEU
/// divides text into words itself.
fn note_tokenised(args: &Args, names: &[&PathBuf], systems: &[Vec<&str>]) {
    if !args.metric.contains(&MetricName::Bleu) {
        return;
    }
    for (name, lines) in names.iter().zip(systems) {
        let ends = |line: &&&str| line.trim_end().ends_with(" .");
        let count = lines.iter().filter(ends).count();
        if count >= TOKENISED {
            note(format_args!(
                "warning: {}: {count} translations end in a space and a full stop, so the text looks tokenised, which changes BLEU; detokenise it first",
                shown(name)
            ));
        }
    }
}

/// Prints the scores of `systems`, the baseline first, and the p-value of each difference from it.
fn compare(
    args: &Args,
    names: &[&PathBuf],
    systems: &[Vec<&str>],
    references: &References,
) -> Result<()> {
    let test = args.paired.unwrap_or(Test::Bs);
    let trials = args.trials;
    let all = args
        .metric
        .iter()
        .map(|&name| paired::compare(test, trials, &*metric(name, args), systems, references))
        .collect::<Result<Vec<_>>>()?;
    let mut names: Vec<String> = names
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names[0].insert_str(0, "Baseline: ");
    if args.json {
        print_json(&names, &all)
    } else {
        print_text(&names, &all, args.width)
    }
}

/// Prints the scores of `hypotheses`.
fn score(
    args: &Args,
    hypotheses: &[&str],
    references: &References,
    writing: WritingSystem,
) -> Result<()> {
    let score = |&name: &MetricName| -> Result<Score> {
        let metric = metric(name, args);
        if !args.confidence {
            return Ok(metric.evaluate(hypotheses, references)?);
        }
        let bootstrap = Bootstrap {
            samples: args.confidence_n,
            ..Bootstrap::default()
        };
        Ok(metric.evaluate_with_confidence(hypotheses, references, bootstrap)?)
    };
    let scores = args.metric.iter().map(score).collect::<Result<Vec<_>>>()?;
    if !args.model.is_empty()
        && hypotheses.len() >= FEW
        && scores.iter().any(|score: &Score| {
            let fits = match writing {
                WritingSystem::Chinese => args.tokenize == writing.bleu().tokenizer,
                _ => writing.fits_bleu(),
            };
            score.name == "BLEU" && fits && score.value < LITTLE
        })
    {
        note(
            "nearly nothing is right: does the model translate from the language of --input into that of --reference?",
        );
    }
    print(args, &scores)
}

/// Scores of fewer lines may be low by chance.
const FEW: usize = 10;
/// Lower BLEU may come from names and punctuation alone, as with swapped sides.
const LITTLE: f64 = 3.0;

fn print(args: &Args, scores: &[Score]) -> Result<()> {
    if !args.json {
        return scores
            .iter()
            .try_for_each(|score| put(score.text(args.width)));
    }
    let values: Vec<Value> = scores.iter().map(|score| score.json(args.width)).collect();
    match values.as_slice() {
        [one] => put(serde_json::to_string_pretty(one)?),
        _ => put(serde_json::to_string_pretty(&values)?),
    }
}

fn metric(name: MetricName, args: &Args) -> Box<dyn Metric> {
    let lowercase = args.lowercase;
    match name {
        MetricName::Bleu => Box::new(Bleu {
            tokenizer: args.tokenize,
            lowercase,
            smoothing: args.smooth,
            effective_order: args.effective_order,
            ..Bleu::default()
        }),
        MetricName::Chrf => Box::new(Chrf {
            lowercase,
            ..Chrf::default()
        }),
        MetricName::ChrfPlusPlus => Box::new(Chrf {
            lowercase,
            ..Chrf::plus_plus()
        }),
        MetricName::Ter => Box::new(Ter::default()),
    }
}

/// The TSV file of sources and references; `None` if `--reference` names the references.
fn table(args: &Args) -> Result<Option<&Path>> {
    match (&args.reference[..], &args.input) {
        ([], Some(source)) if is_tsv(source) => Ok(Some(source)),
        ([], _) => Err(wrong_usage(
            "no reference translations; name them with --reference, or give --input a .tsv of both sides",
        )),
        _ => Ok(None),
    }
}

/// The columns of the TSV file at `path`, checked like [`lines`].
fn columns_of(path: &Path) -> Result<[Vec<String>; 2]> {
    let mut columns = [vec![], vec![]];
    let mut bytes = 0;
    for pair in ParallelReader::open(&CorpusPaths::tsv(path), Utf8Policy::Error)? {
        let pair = pair?;
        bytes += pair.source.len() + pair.target.len() + 2 * size_of::<String>();
        check_size(path, bytes)?;
        columns[0].push(pair.source);
        columns[1].push(pair.target);
    }
    if columns[0].is_empty() {
        return Err(TextError::Empty(path.into()).into());
    }
    Ok(columns)
}

fn check_size(path: &Path, bytes: usize) -> Result<()> {
    ensure!(
        bytes <= MAX_TEXT_BYTES,
        "{}: has more than {} MiB of text; score it in parts",
        shown(path),
        MAX_TEXT_BYTES >> 20
    );
    Ok(())
}

/// The largest size of the lines of a text in bytes. A pipe may never end.
const MAX_TEXT_BYTES: usize = 512 << 20;

/// Every line of a file, or the column `side` of TSV. Invalid UTF-8 is an error, because replacing
/// it would change the score.
fn lines(path: &Path, side: Side) -> Result<Vec<String>> {
    let mut reader = LineReader::open_side(path, side, Utf8Policy::Error)?;
    let mut lines = Vec::new();
    let mut bytes = 0;
    for line in reader.by_ref() {
        let text = line?.text;
        bytes += text.len() + size_of::<String>();
        check_size(path, bytes)?;
        lines.push(text);
    }
    if lines.is_empty() {
        return Err(TextError::Empty(reader.path().into()).into());
    }
    Ok(lines)
}

/// The translations of `lines`, and their hypotheses.
fn translate(args: &Args, path: &Path, lines: &[String]) -> Result<(Vec<String>, Vec<Hypothesis>)> {
    let translator = args.computing.load(&args.model)?;
    let shortlist = shortlist(&translator, args.shortlist.as_deref())?;
    let options = args.searching.options(&translator, 1, |options| {
        options.long_sources = LongSources::Truncate;
        options.longest = args.longest;
        options.shortlist = shortlist;
    })?;
    // An output that cannot be written fails before the work.
    let output = args
        .output
        .as_deref()
        .map(|path| Output::create(Some(path), OnFailure::Discard))
        .transpose()?;
    let requests = translator.requests(lines, &options)?;
    let mut warnings = LineWarnings::new(path);
    let limit = translator.longest_source(&options);
    for (number, request) in (1..).zip(&requests) {
        warnings.source(number, request.source.len(), limit);
    }
    warnings.finish();
    let progress = Progress::new(0, Some(lines.len()));
    let (found, failure) =
        translator.translate_ids_until_error(requests, &options, &|count| progress.add(count));
    failure
        .map_or(Ok(()), Err)
        .with_context(|| path.display().to_string())?;
    let best: Vec<Hypothesis> = found
        .into_iter()
        .map(|mut all| all.swap_remove(0))
        .collect();
    let texts: Vec<String> = best
        .iter()
        .map(|hypothesis| translator.text_of(hypothesis))
        .collect();
    if let Some(mut output) = output {
        texts.iter().try_for_each(|text| output.line(text))?;
        output.finish()?;
    }
    Ok((texts, best))
}
