//! Translates a sentence and shows which source word each target word attends to most.
//!
//! `cargo run --release -p burnformer-infer --example attention -- runs/mine/best "Ein kleines
//! Haus."`

use std::error::Error;
use std::io::Write;
use std::path::Path;

use burn::tensor::Device;
use burnformer_infer::{AlignmentOptions, HeadWeights, Translator, pharaoh, word_alignment};

/// Writes the translation, its word alignment in Pharaoh's format, the aligned words, and for every
/// piece that the decoder predicts the source piece with the largest weight in the last layer,
/// averaged over the heads.
pub fn run(model: &Path, sentence: &str, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let translator = Translator::load(model, &Device::default())?;
    let translations = translator.translate(&[sentence], &translator.options())?;
    let translation = &translations[0].text;
    let attention = translator.attention(sentence, translation)?;
    let links = word_alignment(&attention, AlignmentOptions::default());
    writeln!(output, "{translation}\n{}", pharaoh(&links))?;
    for link in &links {
        let word = |text: &str, index| text.split_whitespace().nth(index).unwrap_or("").to_owned();
        let (target, source) = (word(translation, link.target), word(sentence, link.source));
        writeln!(output, "{target} <- {source}")?;
    }
    let last = attention.weights.cross.last().ok_or("the model has no cross-attention")?;
    let mean = HeadWeights::mean(last);
    for (index, piece) in attention.target_output.iter().enumerate() {
        let row = mean.row(index);
        let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        writeln!(output, "{}\t{:.2}\t{}", piece.text, row[best], attention.source[best].text)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, sentence] = &arguments[..] else {
        return Err("usage: attention MODEL_DIR SENTENCE".into());
    };
    run(model.as_ref(), sentence, &mut std::io::stdout().lock())
}
