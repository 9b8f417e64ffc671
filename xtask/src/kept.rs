//! Chooses the few inputs of a fuzzer that are kept in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::shell::{copy, succeeds};

/// The bytes that are kept for a door.
const MAX_BYTES: usize = 4096;
/// The most inputs that are kept for a door.
const MAX_INPUTS: usize = 16;
/// The longest input that is kept.
const MAX_LENGTH: usize = 1024;

/// An input, with the number of its bytes and the features that it reaches: edges, and how often
/// each was taken.
struct Input {
    path: PathBuf,
    len: usize,
    features: BTreeSet<u64>,
}

/// Replaces the files in `kept` by those of `kept` and `inputs` that reach most for their length.
pub fn choose(program: &Path, door: &str, inputs: &Path, kept: &Path) -> Result<(), String> {
    let control = inputs.with_extension("control");
    let merged = inputs.with_extension("merged");
    for path in [&control, &merged] {
        let _ = fs::remove_file(path);
        let _ = fs::remove_dir_all(path);
    }
    fs::create_dir_all(&merged).map_err(|cause| format!("{}: {cause}", merged.display()))?;
    let mut command = Command::new(program);
    command
        .arg("-merge=1")
        .arg(format!("-merge_control_file={}", control.display()));
    command.args([&merged, inputs, kept]);
    command.env("BURNFORMER_DOOR", door).stderr(Stdio::null());
    succeeds(&mut command)?;
    let report = fs::read_to_string(&control);
    let report = report.map_err(|cause| format!("{}: {cause}", control.display()))?;
    let chosen = smallest(read(&report));
    replace(kept, &chosen)
}

/// Reads the control file of a merge: the number of files, the number of those that were there
/// before, the files, and the features of each (`FT 0 12 34`).
fn read(report: &str) -> Vec<Input> {
    let mut lines = report.lines();
    let count = lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
    lines.next();
    let paths: Vec<PathBuf> = lines.by_ref().take(count).map(PathBuf::from).collect();
    let mut features = BTreeMap::new();
    for line in lines {
        let Some(rest) = line.strip_prefix("FT ") else {
            continue;
        };
        let mut numbers = rest
            .split(' ')
            .filter_map(|number| number.parse::<u64>().ok());
        if let Some(index) = numbers.next() {
            features.insert(index as usize, numbers.collect());
        }
    }
    let all = paths.into_iter().enumerate().filter_map(|(index, path)| {
        Some(Input {
            len: fs::metadata(&path).ok()?.len() as usize,
            features: features.remove(&index)?,
            path,
        })
    });
    all.filter(|input| input.len <= MAX_LENGTH).collect()
}

/// Takes the input with the most new features per byte, until the limits.
fn smallest(mut all: Vec<Input>) -> Vec<PathBuf> {
    let mut chosen = Vec::new();
    let mut bytes = 0;
    while chosen.len() < MAX_INPUTS {
        all.retain(|input| !input.features.is_empty() && bytes + input.len <= MAX_BYTES);
        let worth = |input: &Input| input.features.len() as f64 / (input.len + 16) as f64;
        let best = (0..all.len()).max_by(|&a, &b| worth(&all[a]).total_cmp(&worth(&all[b])));
        let Some(best) = best else { break };
        let input = all.swap_remove(best);
        bytes += input.len;
        for other in &mut all {
            other
                .features
                .retain(|feature| !input.features.contains(feature));
        }
        chosen.push(input.path);
    }
    chosen
}

/// Makes `chosen` the only files of `folder`. Some of them may be in it.
fn replace(folder: &Path, chosen: &[PathBuf]) -> Result<(), String> {
    let name = |path: &Path| path.file_name().map(|name| folder.join(name));
    let stay: BTreeSet<PathBuf> = chosen.iter().filter_map(|path| name(path)).collect();
    for (from, to) in chosen.iter().filter_map(|path| Some((path, name(path)?))) {
        if *from != to {
            copy(from, &to)?;
        }
    }
    let entries = fs::read_dir(folder).map_err(|cause| format!("{}: {cause}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if !stay.contains(&path) {
            fs::remove_file(&path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, len: usize, features: &[u64]) -> Input {
        Input {
            path: name.into(),
            len,
            features: features.iter().copied().collect(),
        }
    }

    #[test]
    fn short_inputs_with_new_features_are_taken() {
        let all = vec![
            input("long", 1000, &[1, 2, 3]),
            input("short", 10, &[1, 2]),
            input("same", 11, &[1, 2]),
            input("other", 20, &[3]),
        ];
        assert_eq!(smallest(all), [PathBuf::from("short"), "other".into()]);
    }

    #[test]
    fn the_bytes_have_a_limit() {
        let all = (0..20).map(|number| input(&number.to_string(), 1000, &[number]));
        assert_eq!(smallest(all.collect()).len(), MAX_BYTES / 1000);
    }

    #[test]
    fn features_belong_to_the_file_of_their_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for (name, len) in [("a", 3), ("b", MAX_LENGTH + 1), ("c", 5)] {
            fs::write(path(name), vec![0; len]).expect("it is written");
        }
        let report = format!(
            "3\n0\n{}\n{}\n{}\nSTARTED 0 3\nFT 0 7 8\nCOV 0 1\nSTARTED 2 5\nFT 2 9\n",
            path("a").display(),
            path("b").display(),
            path("c").display()
        );
        let all = read(&report);
        let found: Vec<_> = all
            .iter()
            .map(|it| (it.path.clone(), it.features.len()))
            .collect();
        assert_eq!(found, [(path("a"), 2), (path("c"), 1)]);
    }
}
