//! Text that consists of token ids: numbers separated by spaces.

use std::path::Path;

use anyhow::{Result, bail};

/// Parses the ids on line `number` (from 1) of `file`.
///
/// # Errors
/// If a word is not an id, or is not below `vocab`.
pub fn line_to_ids(file: &Path, number: u64, line: &str, vocab: usize) -> Result<Vec<u32>> {
    let place = format!("{}:{number}", file.display());
    let parse = |word: &str| match word.parse() {
        Ok(id) if (id as usize) < vocab => Ok(id),
        Ok(id) => bail!(
            "{place}: the id {id} is outside the vocabulary of {vocab} tokens; encode with the model's tokeniser"
        ),
        Err(_) => {
            bail!("{place}: {word:?} is not a token id; give whole numbers separated by spaces")
        }
    };
    line.split_whitespace().map(parse).collect()
}

/// `ids` as text, separated by spaces.
pub fn ids_to_line(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_out_and_come_back() {
        let parse = |line: &str| line_to_ids(Path::new("in.ids"), 7, line, 20);
        assert_eq!(parse(&ids_to_line(&[4, 17, 2])).unwrap(), [4, 17, 2]);
        for (line, value) in [("4 x", "\"x\""), ("4 20", "20"), ("-1", "\"-1\"")] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.starts_with("in.ids:7: ") && error.contains(value), "{error}");
        }
    }
}
