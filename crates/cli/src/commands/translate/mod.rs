mod args;
mod document;
mod input;
mod job;
mod reading;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Error, Result};
use burnformer_infer::{Batching, Glossary, LongSources, Sampling, TranslateOptions, Translator};
use burnformer_translation::memory_files;
use serde_json::{Value, json};

use self::args::files;
use self::input::Input;
use self::job::Job;
use self::reading::Reading;
use super::{of_sides, shortlist};
use crate::memory::{Remedy, with_remedy};
use crate::output::{note, note_terminal, say, wrong_usage};
use crate::progress::Progress;
use crate::shards::{Part, digest_of_file};
use crate::signals;
pub use args::Args;

/// Writes one line (or `--nbest` lines) for each line of the input, including empty lines. If
/// reading fails, for example in a damaged archive, the lines before the failure are translated and
/// written first.
pub fn run(args: Args) -> Result<()> {
    let files = files(&args)?;
    check_text(&args)?;
    let readings = readings(&args)?;
    let translator = args.computing.load(&args.model)?;
    let mut options = options(&args, &translator)?;
    if let Some(path) = &args.glossary {
        let glossary = Glossary::load(path)?;
        translator.check_glossary(&glossary)?;
        if args.max_length.is_some() {
            note(
                "--max-length: a translation with terms of the glossary may be longer by their tokens",
            );
        }
        options.glossary = Some(Arc::new(glossary));
    }
    options.shortlist = shortlist(&translator, args.shortlist.as_deref())?;
    if !args.memory.is_empty() {
        let codes = options.languages.codes();
        let languages = codes.map_or([None; 2], |[from, to]| [Some(&**from), Some(&**to)]);
        let memory = memory_files::load(&args.memory, languages, &mut |note| say(note))?;
        note(format_args!(
            "translation memory: {} segments",
            memory.len()
        ));
        options.memory = Some(Arc::new(memory));
    }
    note_terminal(args.inputs.iter().chain(&args.prefix).map(PathBuf::as_path));
    let mut shared = None;
    for ((input, output), reading) in files.iter().zip(&readings) {
        let job = Job {
            args: &args,
            translator: &translator,
            options: &options,
            input,
            output: output.as_deref(),
        };
        match reading {
            Reading::Lines => with_remedy(Remedy::Batch, || job.lines(&mut shared))?,
            Reading::Document(kind) => job.document(kind)?,
        }
    }
    Ok(())
}

impl Job<'_> {
    /// Translates line by line. The output is in `shared` from then on.
    fn lines(&self, shared: &mut Option<signals::Shared>) -> Result<()> {
        let args = self.args;
        let prefix = self.args.prefix.as_deref();
        let texts = of_sides(self.input, prefix)?;
        let Some(part) = Part::open(&args.shard, self.output, &texts, args.chunk, || {
            self.identity()
        })?
        else {
            return Ok(());
        };
        let input = Input::open(self.input, prefix, &part.lines)?;
        let progress = (!input.lines.is_dialogue).then(|| Progress::new(0, part.count()));
        let output = part.create_output()?;
        let shared = match shared {
            Some(shared) => {
                *shared.lock().unwrap_or_else(PoisonError::into_inner) = output;
                shared
            }
            None => {
                let first = shared.insert(Arc::new(Mutex::new(output)));
                signals::flush_and_exit(first)?;
                first
            }
        };
        let first = usize::try_from(part.lines.start)?;
        let end = self.write_lines(input, progress, first, shared);
        let mut output = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let finished = end.and_then(|end| part.finish(&mut output, end as u64));
        // The signal handler holds the output until the process ends.
        finished.inspect_err(|_| output.give_up())
    }

    /// Translates the lines of `input` from number `done` on, and returns the number after the
    /// last.
    fn write_lines(
        &self,
        mut input: Input,
        progress: Option<Progress>,
        mut done: usize,
        shared: &signals::Shared,
    ) -> Result<usize> {
        loop {
            let chunk = input.next_chunk(self.args.chunk);
            let requests = self.requests(&mut input, &chunk)?;
            let (all, broken) =
                self.translator
                    .translate_ids_until_error(requests, self.options, &|count| {
                        if let Some(progress) = &progress {
                            progress.add(count);
                        }
                    });
            let count = all.len();
            let mut output = shared.lock().unwrap_or_else(PoisonError::into_inner);
            for ((number, hypotheses), source) in (done..).zip(all).zip(&chunk.lines) {
                let doubts = self.write(&mut output, (number, source), hypotheses)?;
                input.warnings.quality_warnings(number as u64 + 1, &doubts);
            }
            output.flush()?;
            let broken = broken.map(|error| {
                Error::from(error.offset(done)).context(input.lines.path.display().to_string())
            });
            done += count;
            match broken.or(chunk.failure) {
                Some(failure) => return Err(failure),
                None if count == 0 => break,
                None => {}
            }
        }
        input.finish();
        Ok(done)
    }

    /// The inputs besides the text and the prefixes that decide the output.
    fn identity(&self) -> Result<Value> {
        let args = self.args;
        let languages = args.searching.languages();
        let mut identity = args
            .computing
            .identity(&args.model, self.options, languages)?;
        for (name, path) in [("glossary", &args.glossary), ("shortlist", &args.shortlist)] {
            identity[name] = path.as_deref().map(digest_of_file).transpose()?.into();
        }
        let memory = args.memory.iter().map(|path| digest_of_file(path));
        identity["memory"] = memory.collect::<Result<Vec<_>>>()?.into();
        // Batch sizes change the rounding.
        identity["batches"] = json!([args.batch, args.chunk]);
        identity["form"] = json!([args.json, args.nbest, args.prefix.is_some()]);
        Ok(identity)
    }
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
/// Returns an error of usage if an input cannot be read, or an option belongs to documents and there
/// is none.
fn readings(args: &Args) -> Result<Vec<Reading>> {
    let all = args.inputs.iter().map(|input| Reading::of(args, input));
    let all = all.collect::<Result<Vec<_>>>()?;
    let of_documents = [
        ("--language", args.language.is_some()),
        ("--retranslate", args.retranslate),
    ];
    let option = of_documents.iter().find(|(_, is_given)| *is_given);
    match option {
        Some((option, _)) if all.iter().all(|it| *it == Reading::Lines) => {
            Err(wrong_usage(format_args!(
                "{option} belongs to a document; name the format of the text, as with --format html"
            )))
        }
        _ => Ok(all),
    }
}

fn options(args: &Args, translator: &Translator) -> Result<TranslateOptions> {
    args.searching
        .options(translator, args.nbest.unwrap_or(1), |options| {
            let search = &mut options.search;
            search.min_length = args.min_length.unwrap_or(search.min_length);
            search.max_length = args.max_length.or(search.max_length);
            search.no_repeat_ngram = args.no_repeat_ngram.unwrap_or(search.no_repeat_ngram);
            if args.sample {
                // Sampling needs no beam as wide as the number of draws.
                let usual = translator.options().search.beam_size;
                search.beam_size = args.searching.beam.unwrap_or(usual);
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
        })
}
