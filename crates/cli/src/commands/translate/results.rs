//! Turns hypotheses into the lines of the output.

use anyhow::Result;
use burnformer_infer::{Alternative, Doubt, FinishReason, Hypothesis, Translator, doubts};
use serde_json::{Value, json};

use super::args::Args;
use crate::output::Output;

/// `hypotheses` with their texts: one, or as many as `--nbest` says. If the search found fewer, the
/// last one is repeated, so that a program that counts lines stays in step.
pub(super) fn alternatives(
    args: &Args,
    translator: &Translator,
    hypotheses: Vec<Hypothesis>,
) -> Vec<Alternative> {
    let alternative =
        |hypothesis: Hypothesis| Alternative { text: translator.text_of(&hypothesis), hypothesis };
    let mut all: Vec<Alternative> = hypotheses.into_iter().map(alternative).collect();
    let last = all.last().expect("a search returns at least one hypothesis").clone();
    all.resize(args.nbest.unwrap_or(1), last);
    all
}

/// The signs of the quality of a translation.
pub(super) struct Signs {
    /// The signs that it is wrong.
    pub doubts: Vec<Doubt>,
    /// The confidence in it, between 0 and 1.
    confidence: Option<f64>,
}

impl Signs {
    /// The signs of `found`, a translation of `source`.
    pub fn of(translator: &Translator, source: &str, found: &Alternative) -> Self {
        let Alternative { text, hypothesis } = found;
        let confidence = translator.confidence(source, text, hypothesis);
        Self { doubts: doubts(source, text), confidence }
    }
}

/// Writes the translations of `source`, which is line `number` from 0, and what is known of the
/// first.
pub(super) fn write(
    args: &Args,
    output: &mut Output,
    (number, source): (usize, &str),
    alternatives: &[Alternative],
    signs: &Signs,
) -> Result<()> {
    if args.json {
        let mut value = to_json(&alternatives[0]);
        value["line"] = (number + 1).into();
        value["source"] = source.into();
        value["doubts"] = signs.doubts.iter().map(|doubt| doubt.name()).collect();
        if let Some(confidence) = signs.confidence {
            value["confidence"] = confidence.into();
        }
        value["second_search"] = alternatives[0].hypothesis.is_second.into();
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
        "translation": text, "score": hypothesis.score, "tokens": hypothesis.tokens,
        "finish": finish,
    })
}
