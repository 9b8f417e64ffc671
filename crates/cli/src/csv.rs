//! Tables as comma-separated values.

use serde_json::Value;

/// A line for each of `rows`, which are objects, under the `columns`, which are keys of them. A
/// text with a comma, a quote or a line end stands in quotes (RFC 4180), and null is empty.
pub fn csv(columns: &str, rows: impl IntoIterator<Item = Value>) -> String {
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let cells = |row: Value| columns.split(',').map(|key| cell(&row[key])).collect::<Vec<_>>();
    let lines = rows.into_iter().map(|row| cells(row).join(","));
    [columns.to_owned()].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_that_would_end_early_are_quoted() {
        let rows = [json!({"x": "1, 2", "y": "a \"b\""}), json!({"y": 0.5, "x": null, "z": 1})];
        assert_eq!(csv("x,y", rows), "x,y\n\"1, 2\",\"a \"\"b\"\"\"\n,0.5");
    }
}
