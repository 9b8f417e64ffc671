//! The best translations of a sentence with their scores, found by beam search.
//!
//! `cargo run --release -p burnformer-infer --example n_best -- runs/mine/best 5 "Ein kleines
//! Haus."`

use std::error::Error;
use std::io::Write;
use std::path::Path;

use burn::tensor::Device;
use burnformer_infer::{FinishReason, Translator};

/// Writes up to `count` translations of `sentence`, one per line: score, log-probability, how it
/// ended, text.
///
/// The score is the log-probability divided by the length penalty: translations are ranked by it.
pub fn run(
    model: &Path,
    count: usize,
    sentence: &str,
    output: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let translator = Translator::load(model, &Device::default())?;
    let mut options = translator.options();
    options.search.n_best = count;
    options.search.beam_size = options.search.beam_size.max(count);
    let translations = translator.translate(&[sentence], &options)?;
    for best in &translations[0].n_best {
        let log_prob: f32 = best.hypothesis.log_probs.iter().sum();
        let end = match best.hypothesis.finish {
            FinishReason::EndOfSentence => "closed",
            FinishReason::Limit => "cut",
            FinishReason::Memory => "known",
        };
        writeln!(output, "{:.4}\t{log_prob:.4}\t{end}\t{}", best.hypothesis.score, best.text)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, count, sentence] = &arguments[..] else {
        return Err("usage: n_best MODEL_DIR COUNT SENTENCE".into());
    };
    run(model.as_ref(), count.parse()?, sentence, &mut std::io::stdout().lock())
}
