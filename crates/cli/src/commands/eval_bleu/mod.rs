//! Translates a text if there is a model, then scores translations and compares systems.

mod args;
mod paired;
mod reliability;
mod texts;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burnformer_data::corpus::{Side, check_line_counts};
use burnformer_infer::{Hypothesis, LongSources, TextContext, begin_documents};
use burnformer_metrics::{
    Bleu, BleuTokenizer, Bootstrap, Chrf, Metric, References, Score, Ter, WritingSystem, as_strs,
};
use serde_json::Value;

pub use self::args::Args;
use self::args::MetricName;
use self::paired::{Test, print_json, print_text};
use self::reliability::RatedTranslations;
use self::texts::{columns_of, lines, table};
use super::settings::changeable;
use super::shortlist;
use crate::line_warnings::LineWarnings;
use crate::output::{OnFailure, Output, note, note_terminal, print as put, wrong_usage};
use crate::progress::Progress;
use crate::texts::{check_pipes, shown};

/// Translates if there is a model, then scores.
///
/// # Errors
/// Returns an error if the model or a text cannot be read, the texts differ in length, or the
/// output cannot be written.
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
    let (source, texts) = match table {
        Some(table) => {
            let [source, target] = columns_of(table)?;
            (Some(source), vec![target])
        }
        None => {
            let texts = args.reference.iter();
            let texts = texts.map(|path| lines(path, Side::Target));
            (None, texts.collect::<Result<Vec<_>>>()?)
        }
    };
    let mut translations = systems
        .iter()
        .map(|path| lines(path, Side::Target))
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
const MIN_TOKENISED_LINES: usize = 100;

/// Names each of `systems` with translations that look tokenised, if BLEU is requested. BLEU
/// divides text into words itself.
fn note_tokenised(args: &Args, names: &[&PathBuf], systems: &[Vec<&str>]) {
    if !args.metric.contains(&MetricName::Bleu) {
        return;
    }
    for (name, lines) in names.iter().zip(systems) {
        let count = lines
            .iter()
            .filter(|line| line.trim_end().ends_with(" ."))
            .count();
        if count >= MIN_TOKENISED_LINES {
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
    let mut scores = Vec::new();
    for name in &args.metric {
        let metric = metric(*name, args);
        scores.push(if args.confidence {
            let bootstrap = Bootstrap {
                samples: args.confidence_n,
                ..Bootstrap::default()
            };
            metric.evaluate_with_confidence(hypotheses, references, bootstrap)?
        } else {
            metric.evaluate(hypotheses, references)?
        });
    }
    if !args.model.is_empty()
        && hypotheses.len() >= MIN_LINES
        && scores.iter().any(|score: &Score| {
            let fits = match writing {
                WritingSystem::Chinese => args.tokenize == writing.bleu().tokenizer,
                _ => writing.fits_bleu(),
            };
            score.name == "BLEU" && fits && score.value < LOW_BLEU
        })
    {
        note(
            "nearly nothing is right: does the model translate from the language of --input into that of --reference?",
        );
    }
    print(args, &scores)
}

/// Scores of fewer lines may be low by chance.
const MIN_LINES: usize = 10;
/// Lower BLEU may come from names and punctuation alone, as with swapped sides.
const LOW_BLEU: f64 = 3.0;

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

/// The translations of `lines`, and their hypotheses.
fn translate(args: &Args, path: &Path, lines: &[String]) -> Result<(Vec<String>, Vec<Hypothesis>)> {
    let translator = args.computing.load(&args.model)?;
    let shortlist = shortlist(&translator, args.shortlist.as_deref())?;
    let options = args.searching.options(
        &translator,
        args.searching.languages.source_language.as_deref(),
        1,
        |options| {
            options.long_sources = LongSources::Truncate;
            options.longest = args.longest;
            options.shortlist = shortlist;
        },
    )?;
    // An output that cannot be written fails before the work.
    let output = args
        .output
        .as_deref()
        .map(|path| Output::create(Some(path), OnFailure::Discard))
        .transpose()?;
    let mut requests = translator.requests(lines, &options)?;
    let mut warnings = LineWarnings::new(path);
    let limit = translator.longest_source(&options);
    for (number, request) in (1..).zip(&requests) {
        warnings.source(number, request.search.source.len(), limit);
    }
    warnings.finish();
    let progress = Progress::new(0, Some(lines.len()));
    let done = |count| progress.add(count);
    let (found, failure) = if args.no_context {
        translator.translate_ids_until_error(requests, &options, &done)
    } else {
        let begins = begin_documents(lines);
        let mut history = TextContext::default();
        translator.translate_documents_until_error(
            &mut requests,
            &begins,
            &mut history,
            &options,
            &done,
        )
    };
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
