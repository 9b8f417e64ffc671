//! Translation line by line: lines become search requests (token ids within the length limits), and
//! hypotheses become lines of the output.

use std::iter::repeat;
use std::path::Path;

use anyhow::{Error, Result};
use burnformer_infer::{
    Alternative, Cancel, Hypothesis, QualityWarning, Request, TextContext, TextRequest,
    begin_documents, quality_warnings,
};
use burnformer_translation::{Answer, Leg, Route, RouteRequests, Sentence};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::args::Args;
use super::input::{Chunk, Input};
use crate::commands::of_sides;
use crate::output::Output;
use crate::progress::Progress;
use crate::shards::{Part, digest_of_file};

/// The lines of one input on their way to the output.
struct Lines<'a> {
    args: &'a Args,
    route: Route<'a>,
    input: Input,
    /// The sentences before the next line; `None` if lines are translated alone.
    history: Option<TextContext>,
}

/// Translates `input` line by line into the file `path`; `None` is standard output. From then on,
/// the open output is in `output`.
pub(super) fn translate(
    args: &Args,
    route: Route,
    input: &Path,
    path: Option<&Path>,
    output: &Mutex<Option<Output>>,
) -> Result<()> {
    let prefix = args.prefix.as_deref();
    let texts = of_sides(input, prefix)?;
    let part = Part::open(&args.shard, path, &texts, args.chunk, || {
        identity(args, route)
    })?;
    let Some(part) = part else {
        return Ok(());
    };
    let input = Input::open(input, prefix, &part.lines)?;
    let progress = (!input.is_dialogue).then(|| Progress::new(0, part.count()));
    *output.lock() = Some(part.create_output()?);
    let first = usize::try_from(part.lines.start)?;
    let lines = Lines {
        args,
        route,
        input,
        history: (route.context() > 0).then(|| TextContext::of_sources(args.context.clone())),
    };
    let end = lines.write_all(progress, first, output);
    let mut output = output.lock();
    let output = output.as_mut().expect("it was opened above");
    let finished = end.and_then(|end| part.finish(output, end as u64));
    // The signal handler holds the output until the process ends.
    finished.inspect_err(|_| output.give_up())
}

impl Lines<'_> {
    /// Translates the lines from number `done` on, and returns the number after the last.
    fn write_all(
        mut self,
        progress: Option<Progress>,
        mut done: usize,
        output: &Mutex<Option<Output>>,
    ) -> Result<usize> {
        loop {
            let chunk = self.input.next_chunk(self.args.chunk);
            let (mut requests, middle) = self.requests(&chunk)?;
            let Leg {
                translator,
                options,
            } = self.route.last();
            let count = |count| {
                if let Some(progress) = &progress {
                    progress.add(count);
                }
            };
            let (translations, failure) = match &mut self.history {
                None => translator.translate_ids_until_error(requests, options, &count),
                Some(history) => translator.translate_documents_until_error(
                    &mut requests,
                    &begin_documents(&chunk.lines),
                    history,
                    options,
                    &count,
                ),
            };
            let count = translations.len();
            let mut output = output.lock();
            let output = output.as_mut().expect("an open output");
            for ((index, hypotheses), source) in
                translations.into_iter().enumerate().zip(&chunk.lines)
            {
                let number = done + index;
                let middle = middle[index].as_ref();
                let doubts = self.write(output, (number, source, middle), hypotheses)?;
                self.input
                    .warnings
                    .quality_warnings(number as u64 + 1, &doubts);
            }
            output.flush()?;
            let failure = failure.map(|error| {
                Error::from(error.offset(done)).context(self.input.path.display().to_string())
            });
            done += count;
            match failure.or(chunk.failure) {
                Some(failure) => return Err(failure),
                None if count == 0 => break,
                None => {}
            }
        }
        self.input.finish();
        Ok(done)
    }

    /// Returns the lines of `chunk` as requests to the last translator, and their translations by
    /// the first of two.
    ///
    /// # Errors
    /// Returns the errors of [`Route::requests`]. A checked glossary causes none.
    fn requests(&mut self, chunk: &Chunk) -> Result<(Vec<TextRequest>, Vec<Option<Answer>>)> {
        let prefixes = chunk.prefixes.iter().map(Some).chain(repeat(None));
        let sentences = chunk
            .lines
            .iter()
            .zip(prefixes)
            .map(|(text, prefix)| Sentence {
                text: text.clone(),
                prefix: prefix.cloned().unwrap_or_default(),
                ..Sentence::default()
            });
        let sentences: Vec<Sentence> = sentences.collect();
        let asked = self.route.requests(&sentences, &Cancel::default());
        let before = usize::try_from(chunk.first - 1)?;
        let RouteRequests {
            mut requests,
            middle,
        } = asked.map_err(|error| error.offset(before))?;
        for (number, request) in (chunk.first..).zip(&mut requests) {
            self.fit(&mut request.search, number);
        }
        Ok((requests, middle))
    }

    /// Cuts the prefix of line `number` to the length limit of its translation. Warns if the prefix
    /// or the source is too long, or the line has too many terms.
    fn fit(&mut self, request: &mut Request, number: u64) {
        let Leg {
            translator,
            options,
        } = self.route.last();
        let longest = translator.longest_source(options);
        let limit = translator.longest_target(&request.source, options);
        self.input
            .warnings
            .source(number, request.source.len(), longest);
        self.input.warnings.terms(number, request.terms.left_out);
        if let Some((_, warnings)) = &mut self.input.prefixes {
            warnings.prefix(number, request.prefix.len(), limit);
        }
        request.prefix.truncate(limit);
    }

    /// Writes the translations of `source`, the line with index `number` counted from 0, and of its
    /// translation `middle` by the first of two translators; with `--json`, also the scores, doubts
    /// and confidence. Returns the doubts about the best translation.
    fn write(
        &self,
        output: &mut Output,
        (number, source, middle): (usize, &str, Option<&Answer>),
        hypotheses: Vec<Hypothesis>,
    ) -> Result<Vec<QualityWarning>> {
        let Leg { translator, .. } = self.route.last();
        // If the search finds fewer than `--nbest`, the number of lines must still be the same.
        let mut all = translator.alternatives(hypotheses);
        let last = all
            .last()
            .expect("a search returns at least one hypothesis")
            .clone();
        all.resize(self.args.nbest.unwrap_or(1), last);
        let Alternative { text, hypothesis } = &all[0];
        let doubts = quality_warnings(source, text);
        if self.args.json {
            let mut value = to_json(&all[0]);
            value["line"] = (number + 1).into();
            value["source"] = source.into();
            value["doubts"] = doubts.iter().map(|doubt| doubt.to_string()).collect();
            // Calibrations are of one model.
            let confidence = match self.route.second {
                Some(_) => None,
                None => translator.confidence(source, text, hypothesis),
            };
            if let Some(confidence) = confidence {
                value["confidence"] = confidence.into();
            }
            if let Some(middle) = middle {
                value["through"] = (&*middle.translated.text).into();
            }
            let is_second = hypothesis.is_second || middle.is_some_and(|it| it.is_second);
            value["second_search"] = is_second.into();
            let memory = self.route.first.options.memory.as_ref();
            if let Some(near) = memory.and_then(|memory| memory.nearest(source)) {
                value["memory"] = json!({
                    "source": near.source, "translation": near.translation, "score": near.score,
                });
            }
            if self.args.nbest.is_some() {
                value["n_best"] = all.iter().map(to_json).collect();
            }
            output.line(value)?;
        } else if self.args.nbest.is_none() {
            output.line(text)?;
        } else {
            for Alternative { text, hypothesis } in &all {
                output.line(format_args!(
                    "{number} ||| {text} ||| {:.4}",
                    hypothesis.score
                ))?;
            }
        }
        Ok(doubts)
    }
}

/// The inputs besides the text and the prefixes that decide the output.
fn identity(args: &Args, route: Route) -> Result<Value> {
    let languages = args.searching.languages.codes();
    let options = route.first.options;
    let mut identity = args.computing.identity(&args.model, options, languages)?;
    if let Some(second) = route.second {
        let languages = [&args.through, &None];
        identity["then"] = args
            .computing
            .identity(&args.then, second.options, languages)?;
    }
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

fn to_json(Alternative { text, hypothesis }: &Alternative) -> Value {
    json!({
        "translation": text, "score": hypothesis.score, "tokens": hypothesis.tokens,
        "finish": hypothesis.finish.to_string(),
    })
}
