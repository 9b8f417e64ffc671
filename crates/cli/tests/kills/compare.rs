//! The comparison of two runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::fixture::half_written;

/// Every file with bytes that must not depend on kills: parameters, moments, tokenisers,
/// configurations.
fn bytes(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![run.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(run).unwrap().display().to_string();
            let timed = [
                "metrics.jsonl",
                "train.log",
                "run.lock",
                "state.json",
                "manifest.json",
                ".burnformer",
            ];
            if path.is_dir() {
                folders.push(path);
            } else if !timed.iter().any(|end| name.ends_with(end)) {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// A JSON text without the values that depend on a clock.
fn timeless(text: &str) -> Value {
    fn strip(value: &mut Value) {
        if let Value::Object(fields) = value {
            for clock in ["seconds", "tokens_per_second", "data_wait", "since"] {
                fields.remove(clock);
            }
            fields.values_mut().for_each(strip);
        }
    }
    let mut value = serde_json::from_str(text).unwrap();
    strip(&mut value);
    value
}

pub fn metrics(run: &Path) -> Vec<Value> {
    fs::read_to_string(run.join("metrics.jsonl"))
        .unwrap()
        .lines()
        .map(timeless)
        .collect()
}

/// The state of each checkpoint, by its name.
pub fn states(run: &Path) -> BTreeMap<String, Value> {
    let entries = fs::read_dir(run.join("checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap());
    entries
        .map(|entry: fs::DirEntry| {
            let state = fs::read_to_string(entry.path().join("state.json")).unwrap();
            (entry.file_name().into_string().unwrap(), timeless(&state))
        })
        .collect()
}

pub fn assert_same(whole: &Path, parts: &Path, case: &str) {
    let expected = bytes(whole);
    let found = bytes(parts);
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&expected), "{case}: files");
    for (name, content) in &expected {
        assert!(found[name] == *content, "{case}: {name} differs");
    }
    assert_eq!(metrics(parts), metrics(whole), "{case}: metrics");
    assert_eq!(states(parts), states(whole), "{case}: states");
    assert_eq!(half_written(parts), 0, "{case}");
}
