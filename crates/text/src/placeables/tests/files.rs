//! Parts in real texts.

use super::*;

/// Writes the ranges of verbatim parts, for each line of the file `PARTS_OF`, to the file
/// `PARTS_TO`: `PARTS_OF=lines.txt PARTS_TO=parts.txt cargo test --release -p burnformer-text
/// parts_of_lines -- --ignored`
#[test]
#[ignore = "reads a file"]
fn parts_of_lines() {
    let name = |key: &str| std::env::var(key).expect("PARTS_OF and PARTS_TO name files");
    let text = std::fs::read_to_string(name("PARTS_OF")).unwrap();
    std::fs::write(
        name("PARTS_TO"),
        text.lines()
            .map(|line: &str| {
                let parts = parts(line)
                    .into_iter()
                    .filter(|part: &Part| part.kind == PartKind::Verbatim);
                let ranges =
                    parts.map(|Part { range, .. }| format!("{}-{}", range.start, range.end));
                ranges.collect::<Vec<_>>().join(" ") + "\n"
            })
            .collect::<String>(),
    )
    .unwrap();
}

/// Prints the lines of the file `CODES_OF` that are code as a whole, or have signs that join words:
/// `CODES_OF=lines.txt cargo test --release -p burnformer-text codes_of_lines -- --ignored
/// --nocapture`
#[test]
#[ignore = "reads a file"]
fn codes_of_lines() {
    let name = std::env::var("CODES_OF").expect("CODES_OF names a file");
    let text = std::fs::read_to_string(name).unwrap();
    for line in text.lines() {
        if crate::is_code(line) {
            println!("code: {line}");
        }
        if !crate::joining_signs(line).is_empty() {
            println!("joined: {line}");
        }
    }
}
