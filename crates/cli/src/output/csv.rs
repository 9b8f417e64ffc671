//! Results as CSV.

use serde_json::Value;

/// Formats `rows` (JSON objects) as CSV with the header `columns`, the keys of the objects. A text
/// with a comma, a quote or a line end is quoted (RFC 4180), and null is an empty cell.
pub fn csv(columns: &str, rows: impl IntoIterator<Item = Value>) -> String {
    let keys: Vec<&str> = columns.split(',').collect();
    let mut csv = columns.to_owned();
    for row in rows {
        let cells: Vec<String> = keys.iter().map(|key| cell(&row[*key])).collect();
        csv.push('\n');
        csv.push_str(&cells.join(","));
    }
    csv
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cells_that_would_end_early_are_quoted() {
        let rows = [
            json!({"x": "1, 2", "y": "a \"b\""}),
            json!({"y": 0.5, "x": null, "z": 1}),
        ];
        assert_eq!(csv("x,y", rows), "x,y\n\"1, 2\",\"a \"\"b\"\"\"\n,0.5");
    }
}
