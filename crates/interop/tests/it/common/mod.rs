#![allow(dead_code, reason = "each test file uses its share")]

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A file or folder among the fixtures.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// Lists of ids.
pub fn ids(json: &Value) -> Vec<Vec<u32>> {
    let row = |row: &Value| {
        row.as_array()
            .unwrap()
            .iter()
            .map(|id| id.as_u64().unwrap() as u32)
            .collect()
    };
    json.as_array().unwrap().iter().map(row).collect()
}
