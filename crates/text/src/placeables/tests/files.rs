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
