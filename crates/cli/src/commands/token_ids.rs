//! Text that is ids already: numbers separated by spaces.

use anyhow::{Context, Result};

/// The ids of line `number` (from 1).
///
/// # Errors
/// If a word is no id.
pub fn line_to_ids(line: &str, number: usize) -> Result<Vec<u32>> {
    let parse = |word: &str| {
        word.parse().with_context(|| {
            format!(
                "line {number}: {word:?} is no token id; give whole numbers separated by spaces"
            )
        })
    };
    line.split_whitespace().map(parse).collect()
}

/// Ids separated by spaces.
pub fn ids_to_line(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_go_out_and_come_back() {
        assert_eq!(line_to_ids(&ids_to_line(&[4, 17, 2]), 1).unwrap(), [4, 17, 2]);
        let error = line_to_ids("4 x", 7).unwrap_err().to_string();
        assert!(error.contains("line 7") && error.contains("\"x\""), "{error}");
    }
}
