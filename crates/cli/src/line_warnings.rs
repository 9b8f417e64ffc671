//! Warnings about lines that are translated although something is wrong with them.

use std::path::Path;

use burnformer_data::corpus::{Line, MAX_LINE_BYTES};
use burnformer_infer::{MAX_TERMS, QualityWarning};

use crate::output::say;

/// Counts the lines of one input that were repaired or cut. The first line of each kind is reported
/// at once and the number of each kind at the end, so a million bad lines give a handful of
/// warnings.
pub struct LineWarnings {
    input: String,
    /// The number of lines of each kind, in the order of their first lines.
    counts: Vec<(&'static str, u64)>,
}

impl LineWarnings {
    /// A counter for the input at `path`.
    pub fn new(path: &Path) -> Self {
        Self {
            input: path.display().to_string(),
            counts: Vec::new(),
        }
    }

    /// Counts line `number` as one of `kind`. The first line of a kind is reported with `message`.
    fn count(&mut self, kind: &'static str, number: u64, message: &str) {
        match self.counts.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, lines)) => *lines += 1,
            None => {
                say(format_args!("warning: {}:{number}: {message}", self.input));
                self.counts.push((kind, 1));
            }
        }
    }

    /// Counts the repairs that the reader made to `line`.
    pub fn line(&mut self, line: &Line) {
        if line.repair.replaced {
            let remedy = "bytes that are not UTF-8 are read as U+FFFD; convert the file from the \
                          encoding that it has (`iconv -f latin1 -t utf-8`)";
            self.count("were not UTF-8", line.number, remedy);
        }
        if line.repair.cut {
            let remedy = format!(
                "only the first {MAX_LINE_BYTES} bytes of the line are read; is this a text file with one sentence per line?"
            );
            self.count("were too long to be read whole", line.number, &remedy);
        }
    }

    /// Counts the text of line `number` if it seems to have columns.
    pub fn columns(&mut self, number: u64, text: &str) {
        if text.trim().contains('\t') {
            let remedy = "the line has a tab and is translated whole; of a file whose name ends in .tsv (--input) only the \
                          first column is (otherwise `cut -f1`)";
            self.count("had a tab", number, remedy);
        }
    }

    /// Counts the source on line `number` if its number of `tokens`, without `</s>`, is at least
    /// `limit`.
    pub fn source(&mut self, number: u64, tokens: usize, limit: usize) {
        if tokens >= limit {
            let kept_tokens = limit - 1;
            let remedy = format!(
                "only the first {kept_tokens} of {tokens} tokens are translated; split the sentence, or raise --longest"
            );
            self.count("were too long to be translated whole", number, &remedy);
        }
    }

    /// Counts line `number` if some of its glossary terms, `left_out` in number, are not used.
    pub fn terms(&mut self, number: u64, left_out: usize) {
        if left_out > 0 {
            let remedy = format!(
                "only the {MAX_TERMS} longest of {} terms are asked for; split the sentence",
                MAX_TERMS + left_out
            );
            self.count("have too many glossary terms", number, &remedy);
        }
    }

    /// Counts the forced prefix on line `number` if its number of `tokens` exceeds the length
    /// `limit` of the translation.
    pub fn prefix(&mut self, number: u64, tokens: usize, limit: usize) {
        if tokens > limit {
            let remedy = format!(
                "the translation is the first {limit} of {tokens} tokens of the prefix, which is all that the \
                 length limit allows; shorten the prefix, or raise the limit (--max-length, or \
                 max_length_extra in the model's generation.json)"
            );
            self.count(
                "were longer than their translations may be",
                number,
                &remedy,
            );
        }
    }

    /// Counts line `number` if there are `doubts` about its translation.
    pub fn quality_warnings(&mut self, number: u64, doubts: &[QualityWarning]) {
        if let Some(doubt) = doubts.first() {
            let sign = match doubt {
                QualityWarning::Loop => "repeats itself",
                QualityWarning::Copy => "is its source",
                QualityWarning::Length => "is far longer or shorter than its source",
                QualityWarning::Parts => "changes a number or loses a placeholder or a sign",
            };
            let remedy = if *doubt == QualityWarning::Parts {
                format!("the translation {sign}; check it, --json lists all warnings as `doubts`")
            } else {
                format!(
                    "the translation {sign}, so it is probably wrong; is the text in the language that the model translates? \
                     --json lists all warnings as `doubts`"
                )
            };
            self.count("have translations that look wrong", number, &remedy);
        }
    }

    /// Reports how many lines there were of each kind, if there was more than one.
    pub fn finish(&self) {
        for (kind, lines) in self.counts.iter().filter(|(_, lines)| *lines > 1) {
            say(format_args!(
                "warning: {}: {lines} lines in all {kind}",
                self.input
            ));
        }
    }
}
