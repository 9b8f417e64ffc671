//! Translates standard input, one sentence per line, with a model directory that `burnformer train`
//! wrote.
//!
//! `cargo run --release -p burnformer-infer --example translate -- runs/mine/best < input.de >
//! output.en`

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;

use burn::tensor::Device;
use burnformer_infer::Translator;

/// Lines read ahead, so that sentences of like length are translated together.
const CHUNK: usize = 256;

/// Translates each line of `input` to one line of `output` and returns their number.
pub fn run(
    model: &Path,
    input: impl BufRead,
    output: &mut impl Write,
) -> Result<usize, Box<dyn Error>> {
    let translator = Translator::load(model, &Device::default())?;
    let options = translator.options();
    translator.translate_lines(input.lines(), CHUNK, &options, |translation| {
        Ok(writeln!(output, "{}", translation.text)?)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let model = std::env::args_os().nth(1).ok_or("usage: translate MODEL_DIR < TEXT")?;
    let lines = run(model.as_ref(), std::io::stdin().lock(), &mut std::io::stdout().lock())?;
    eprintln!("{lines} lines");
    Ok(())
}
