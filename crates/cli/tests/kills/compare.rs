//! The comparison of two folders that must not differ although one was interrupted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// The files of a folder, by their paths in it. A folder is an entry without content.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The files of `folder`, without what depends on a clock or on the process: clock readings, the
/// log, and the content of locks and of TensorBoard's file.
pub fn comparable(folder: &Path) -> Files {
    without_clocks(&files(folder))
}

/// The same of files that were read already.
pub fn without_clocks(files: &Files) -> Files {
    files
        .iter()
        .map(|(name, content)| timeless(name, content.clone()))
        .collect()
}

/// All files of `folder`, as they are.
pub fn files(folder: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(&inner).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
                files.insert(name + "/", Vec::new());
            } else {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// The file `path` without what depends on a clock or on the process.
fn timeless(path: &str, content: Vec<u8>) -> (String, Vec<u8>) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let text = String::from_utf8_lossy(&content);
    match name {
        "run.lock" | "train.log" => (path.into(), Vec::new()),
        name if name.starts_with("events.out.") => (format!("{folder}/events"), Vec::new()),
        "metrics.jsonl" | "state.json" | "manifest.json" => {
            let lines: Vec<String> = json_values(&text).collect();
            (path.into(), lines.join("\n").into_bytes())
        }
        _ => (path.into(), content),
    }
}

/// The JSON values in `text` without the values that depend on a clock. What is not JSON stays.
fn json_values(text: &str) -> impl Iterator<Item = String> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.map(|value| match value {
        Ok(mut value) => {
            strip(&mut value);
            value.to_string()
        }
        Err(error) => error.to_string(),
    })
}

/// Removes what depends on a clock. The hash of a `state.json` depends on the clock readings in it.
fn strip(value: &mut Value) {
    if let Value::Object(fields) = value {
        let clocks = ["seconds", "tokens_per_second", "data_wait", "since"];
        for name in clocks.into_iter().chain(["state.json"]) {
            fields.remove(name);
        }
        fields.values_mut().for_each(strip);
    }
}

/// The records in the `metrics.jsonl` of a run, without clock readings.
pub fn metrics(run: &Path) -> Vec<Value> {
    let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    json_values(&text)
        .map(|value| serde_json::from_str(&value).unwrap())
        .collect()
}

/// Says in what `found` differs from `expected`; `None` if it does not.
pub fn difference(expected: &Files, found: &Files) -> Option<String> {
    let missing = expected.keys().find(|name| !found.contains_key(*name));
    let added = found.keys().find(|name| !expected.contains_key(*name));
    let changed = expected
        .iter()
        .find(|(name, content)| found.get(*name).is_some_and(|other| other != *content));
    missing
        .map(|name| format!("{name} is missing"))
        .or(added.map(|name| format!("{name} was left")))
        .or(changed.map(|(name, _)| format!("{name} differs")))
}

pub fn assert_same(whole: &Path, parts: &Path, case: &str) {
    let [whole, parts] = [whole, parts].map(comparable);
    assert_eq!(difference(&whole, &parts), None, "{case}");
}
