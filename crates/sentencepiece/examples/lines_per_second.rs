//! Measures the lines of a text that a model encodes per second, on one thread: the best of five
//! rounds.
//!
//! `cargo run --release -p burnformer-sentencepiece --example lines_per_second -- MODEL TEXT`

use std::error::Error;
use std::time::Instant;

use burnformer_sentencepiece::SentencePiece;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(model), Some(text)) = (args.next(), args.next()) else {
        return Err("give a model and a text".into());
    };
    let model = SentencePiece::open(model)?;
    let text = std::fs::read_to_string(text)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut best = f64::INFINITY;
    let mut ids = 0;
    for _ in 0..5 {
        let start = Instant::now();
        ids = lines
            .iter()
            .map(|line| model.encode(line).len())
            .sum::<usize>();
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{:.0} lines/s ({ids} ids)", lines.len() as f64 / best);
    Ok(())
}
