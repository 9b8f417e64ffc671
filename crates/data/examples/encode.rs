//! Encodes lines of standard input, and prints a JSON array `[ids, decoded]` for each:
//!
//! ```text
//! cargo run --release -p burnformer-data --example encode -- tokenizer.json < text
//! ```

use std::io::Write;
use std::path::Path;

use burnformer_data::{LineReader, Tokenizer, Utf8Policy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: encode TOKENIZER.JSON < TEXT")?;
    let tokenizer = Tokenizer::load(Path::new(&path))?;
    let mut out = std::io::stdout().lock();
    for line in LineReader::open(Path::new("-"), Utf8Policy::Error)? {
        let ids = tokenizer.encode(&line?.text);
        writeln!(out, "{}", serde_json::to_string(&(&ids, tokenizer.decode(&ids)))?)?;
    }
    Ok(())
}
