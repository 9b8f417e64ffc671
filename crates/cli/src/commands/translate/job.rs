//! One input of `translate`. It turns lines into search requests (token ids within the length
//! limits), and hypotheses into lines of the output.

use std::path::Path;

use anyhow::Result;
use burnformer_infer::{
    Alternative, Hypothesis, QualityWarning, Request, TranslateOptions, Translator,
    quality_warnings,
};
use serde_json::{Value, json};

use super::args::Args;
use super::input::{Chunk, Input};
use crate::output::Output;

/// The translation of one input.
pub(super) struct Job<'a> {
    pub args: &'a Args,
    pub translator: &'a Translator,
    pub options: &'a TranslateOptions,
    /// The text.
    pub input: &'a Path,
    /// The file of its translation; `None` for standard output.
    pub output: Option<&'a Path>,
}

impl Job<'_> {
    /// Returns the lines of `chunk` as requests.
    ///
    /// # Errors
    /// Returns the errors of [`Translator::requests`]. A checked glossary causes none.
    pub fn requests(&self, input: &mut Input, chunk: &Chunk) -> Result<Vec<Request>> {
        let mut requests = self.translator.requests(&chunk.lines, self.options)?;
        let prefixes = self
            .translator
            .tokenizers()
            .target
            .encode_batch(&chunk.prefixes);
        for (request, prefix) in requests.iter_mut().zip(prefixes) {
            request.prefix = prefix;
        }
        for (number, request) in (chunk.first..).zip(&mut requests) {
            self.fit(request, number, input);
        }
        Ok(requests)
    }

    /// Cuts the prefix of line `number` to the length limit of its translation. Warns if the prefix
    /// or the source is too long, or the line has too many terms.
    fn fit(&self, request: &mut Request, number: u64, input: &mut Input) {
        let longest = self.translator.longest_source(self.options);
        input.warnings.source(number, request.source.len(), longest);
        input.warnings.terms(number, request.terms.left_out);
        let limit = self
            .translator
            .longest_target(&request.source, self.options);
        if let Some((_, warnings)) = &mut input.prefixes {
            warnings.prefix(number, request.prefix.len(), limit);
        }
        request.prefix.truncate(limit);
    }

    /// Writes the translations of `source`, the line with index `number` counted from 0; with
    /// `--json`, also the scores, doubts and confidence. Returns the doubts about the best
    /// translation.
    pub fn write(
        &self,
        output: &mut Output,
        (number, source): (usize, &str),
        hypotheses: Vec<Hypothesis>,
    ) -> Result<Vec<QualityWarning>> {
        // If the search finds fewer than `--nbest`, the number of lines must still be the same.
        let mut all = self.translator.alternatives(hypotheses);
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
            if let Some(confidence) = self.translator.confidence(source, text, hypothesis) {
                value["confidence"] = confidence.into();
            }
            value["second_search"] = hypothesis.is_second.into();
            let memory = self.options.memory.as_ref();
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

fn to_json(Alternative { text, hypothesis }: &Alternative) -> Value {
    json!({
        "translation": text, "score": hypothesis.score, "tokens": hypothesis.tokens,
        "finish": hypothesis.finish.to_string(),
    })
}
