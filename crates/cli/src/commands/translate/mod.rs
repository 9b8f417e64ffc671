mod args;
mod document;
mod input;
mod lines;
mod reading;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Error, Result};
use burnformer_infer::{
    Batching, Glossary, LanguageError, LongSources, Sampling, TranslateOptions, Translator,
};
use burnformer_translation::{Leg, Route, translation_memory};

use self::args::files;
use self::reading::Reading;
use super::shortlist;
use crate::allocator::{Remedy, with_remedy};
use crate::output::{note, note_terminal, say, wrong_usage};
use crate::signals;
pub use args::Args;

/// Writes one line (or `--nbest` lines) for each line of the input, including empty lines. If
/// reading fails, for example in a damaged archive, the lines before the failure are translated and
/// written first.
///
/// # Errors
/// Returns an error if the options contradict each other, a model or a text cannot be read, a
/// translation fails, or the output cannot be written.
pub fn run(args: Args) -> Result<()> {
    let files = files(&args)?;
    check_text(&args)?;
    let readings = readings(&args)?;
    let translator = args.computing.load(&args.model)?;
    let second = match &args.then[..] {
        [] => None,
        models => Some(args.computing.load(models)?),
    };
    let last = second.as_ref().unwrap_or(&translator);
    let last_options = last_options(&args, last)?;
    let mut options = match &second {
        Some(_) => first_options(&args, &translator)?,
        None => last_options.clone(),
    };
    if let Some(path) = &args.glossary {
        options.glossary = Some(Arc::new(load_glossary(&args, path, last)?));
    }
    options.shortlist = shortlist(&translator, args.shortlist.as_deref())?;
    if !args.memory.is_empty() {
        let [from, _] = languages(&options);
        let [_, into] = languages(&last_options);
        let memory = translation_memory::load(&args.memory, [from, into], &mut |note| say(note))?;
        note(format_args!(
            "translation memory: {} segments",
            memory.len()
        ));
        options.memory = Some(Arc::new(memory));
    }
    let second = second.as_ref().map(|translator| Leg {
        translator,
        options: &last_options,
    });
    let route = Route {
        second,
        before: (!args.no_context).then_some(&args.context[..]),
        ..Route::direct(&translator, &options)
    };
    check_context(&args, &route)?;
    note_terminal(args.inputs.iter().chain(&args.prefix).map(PathBuf::as_path));
    let shared = Arc::default();
    if readings.contains(&Reading::Lines) {
        signals::flush_and_exit(&shared)?;
    }
    for ((input, output), reading) in files.iter().zip(&readings) {
        let output = output.as_deref();
        match reading {
            Reading::Lines => with_remedy(Remedy::Batch, || {
                lines::translate(&args, route, input, output, &shared)
            })?,
            Reading::Document(kind) => {
                document::translate(&args, &route, input, output, kind)?;
            }
        }
    }
    Ok(())
}

/// Loads the glossary at `path` and checks that `last`, the last translator, can write its terms.
fn load_glossary(args: &Args, path: &Path, last: &Translator) -> Result<Glossary> {
    let glossary = Glossary::load(path)?;
    last.check_glossary(&glossary)?;
    if args.max_length.is_some() {
        note(
            "--max-length: a translation with terms of the glossary may be longer by their tokens",
        );
    }
    Ok(glossary)
}

/// The source and the target language of `options`, where they are known.
fn languages(options: &TranslateOptions) -> [Option<&str>; 2] {
    let codes = options.languages.codes();
    codes.map_or([None; 2], |[from, into]| [Some(&**from), Some(&**into)])
}

/// Refuses a context for a model that has none, and shards that would need the lines of other
/// shards.
fn check_context(args: &Args, route: &Route) -> Result<()> {
    let has_context = route.context() > 0;
    if !args.context.is_empty() && !has_context {
        let why = if args.then.is_empty() {
            "the model was trained on sentences alone; use one that was trained with data.context, or leave \
             the option out"
        } else {
            "two models in a row translate sentences alone; leave the option out"
        };
        return Err(wrong_usage(format_args!("--context: {why}")));
    }
    if has_context && !args.shard.is_whole() {
        return Err(wrong_usage(
            "--shard: this model reads the lines before a line, which another shard may have; translate \
             without shards, or each line alone with --no-context",
        ));
    }
    Ok(())
}

/// Refuses text on the command line.
fn check_text(args: &Args) -> Result<()> {
    let [first, ..] = &args.text[..] else {
        return Ok(());
    };
    let text = args.text.join(" ");
    Err(wrong_usage(if Path::new(first).exists() {
        format!("{first}: name the file to translate with --input {first}")
    } else {
        format!(
            "text is read from standard input or a file: echo {text:?} | burnformer translate, or --input FILE"
        )
    }))
}

/// Returns how each input is read.
///
/// # Errors
/// Returns an error of usage if an input cannot be read, or an option belongs to documents and
/// there is none.
fn readings(args: &Args) -> Result<Vec<Reading>> {
    let all = args.inputs.iter().map(|input| Reading::of(args, input));
    let all = all.collect::<Result<Vec<_>>>()?;
    let document_options = [
        ("--language", args.language.is_some()),
        ("--retranslate", args.retranslate),
    ];
    let option = document_options.iter().find(|(_, is_given)| *is_given);
    match option {
        Some((option, _)) if all.iter().all(|it| *it == Reading::Lines) => {
            Err(wrong_usage(format_args!(
                "{option} belongs to a document; name the format of the text, as with --format html"
            )))
        }
        _ => Ok(all),
    }
}

/// The options of the first of two translators, `translator`. Search options belong to the last.
fn first_options(args: &Args, translator: &Translator) -> Result<TranslateOptions> {
    let source = args.searching.languages.source_language.as_deref();
    let through = args.through.as_deref();
    let languages = translator.languages(source, through);
    let languages = languages.map_err(|error| named(error, ["--source-language", "--through"]))?;
    Ok(TranslateOptions {
        languages,
        longest: args.longest,
        long_sources: LongSources::Truncate,
        ..translator.options()
    })
}

/// The error of a language, with the options that name the source and the target.
fn named(error: LanguageError, [source, target]: [&str; 2]) -> Error {
    let option = if error.side == "source" {
        source
    } else {
        target
    };
    wrong_usage(format_args!("{option}: {}", error.what))
}

/// The options of the last translator, `translator`.
fn last_options(args: &Args, translator: &Translator) -> Result<TranslateOptions> {
    let source = match &args.then[..] {
        [] => &args.searching.languages.source_language,
        _ => &args.through,
    };
    if args.through.is_some() && !args.searching.languages.zero_shot {
        let target = args.searching.languages.target_language.as_deref();
        let languages = translator.languages(source.as_deref(), target);
        languages.map_err(|error| named(error, ["--through", "--target-language"]))?;
    }
    args.searching.options(
        translator,
        source.as_deref(),
        args.nbest.unwrap_or(1),
        |options| {
            let search = &mut options.search;
            search.min_length = args.min_length.unwrap_or(search.min_length);
            search.max_length = args.max_length.or(search.max_length);
            search.no_repeat_ngram = args.no_repeat_ngram.unwrap_or(search.no_repeat_ngram);
            if args.sample {
                let &Args {
                    temperature,
                    top_k,
                    top_p,
                    seed,
                    ..
                } = args;
                search.sampling = Some(Sampling {
                    temperature,
                    top_k,
                    top_p,
                    seed,
                });
            }
            options.batching = Batching {
                max_sentences: args.batch,
                ..Batching::default()
            };
            options.longest = args.longest;
            options.long_sources = LongSources::Truncate;
        },
    )
}
