//! Turns hypotheses into the lines of the output.

use anyhow::Result;
use burnformer_infer::{Alternative, Doubt, Hypothesis, doubts};
use serde_json::{Value, json};

use super::job::Job;
use crate::output::Output;

impl Job<'_> {
    /// Writes the translations of `source`, which is line `number` from 0, and what is known of the
    /// first, whose doubts are returned.
    pub fn write(
        &self,
        output: &mut Output,
        (number, source): (usize, &str),
        hypotheses: Vec<Hypothesis>,
    ) -> Result<Vec<Doubt>> {
        let all = self.alternatives(hypotheses);
        let Alternative { text, hypothesis } = &all[0];
        let doubts = doubts(source, text);
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
                output.line(format_args!("{number} ||| {text} ||| {:.4}", hypothesis.score))?;
            }
        }
        Ok(doubts)
    }

    /// `hypotheses` with their texts: one, or as many as `--nbest` says. If the search found fewer,
    /// the last one is repeated, so that a program that counts lines stays in step.
    fn alternatives(&self, hypotheses: Vec<Hypothesis>) -> Vec<Alternative> {
        let text = |hypothesis: &Hypothesis| self.translator.text_of(hypothesis);
        let alternative =
            |hypothesis: Hypothesis| Alternative { text: text(&hypothesis), hypothesis };
        let mut all: Vec<Alternative> = hypotheses.into_iter().map(alternative).collect();
        let last = all.last().expect("a search returns at least one hypothesis").clone();
        all.resize(self.args.nbest.unwrap_or(1), last);
        all
    }
}

fn to_json(Alternative { text, hypothesis }: &Alternative) -> Value {
    json!({
        "translation": text, "score": hypothesis.score, "tokens": hypothesis.tokens,
        "finish": hypothesis.finish.to_string(),
    })
}
