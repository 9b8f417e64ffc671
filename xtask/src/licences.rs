//! The dependencies of the program with their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{cargo, cargo_home, output};

/// The licences of all external crates in the program of `package`, built with these cargo
/// arguments: a list by name, and each text once with the crates that have it.
pub fn texts(package: &str, arguments: &[String]) -> Result<String, String> {
    let mut command = cargo("tree");
    command.args([
        "--locked",
        "--package",
        package,
        "--edges",
        "normal",
        "--prefix",
        "none",
    ]);
    command.args(arguments).args(["--format", "{p}\t{l}\t{r}"]);
    let tree = output(&mut command)?;
    let lines: BTreeSet<&str> = tree
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .collect();
    let dependencies: Vec<String> = lines.into_iter().filter_map(dependency).collect();
    let mut text = String::from(
        "The programs of Burnformer contain these crates, each under the licence beside it. Their texts follow.\n\n",
    );
    let mut by_text: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut without_text = Vec::new();
    for line in &dependencies {
        let _ = writeln!(text, "{line}");
        let package = line.split('\t').next().unwrap_or_default();
        let files = files_of(package);
        if files.is_empty() {
            without_text.push(package);
        }
        for file in files {
            by_text.entry(file).or_default().push(package);
        }
    }
    if !without_text.is_empty() {
        let _ = writeln!(
            text,
            "\nThese packages contain no text of their licence, which is among those of the others: {}",
            without_text.join(", ")
        );
    }
    for (file, names) in by_text {
        let _ = write!(
            text,
            "\n{}\n{}\n\n{}\n",
            "=".repeat(80),
            names.join(", "),
            file.trim_end()
        );
    }
    Ok(text)
}

/// The entry for a line with `NAME vVERSION`, licence and URL; `None` for a crate in a folder.
fn dependency(line: &str) -> Option<String> {
    let (package, rest) = line.split_once('\t')?;
    let (name, version) = package.split_once(" v")?;
    let (version, origin) = version.split_once(' ').unwrap_or((version, ""));
    (!origin.starts_with("(/")).then(|| format!("{name} {version}\t{rest}"))
}

/// The licence texts in cargo's copy of the source of `package`, given as name and version.
fn files_of(package: &str) -> Vec<String> {
    let home = cargo_home();
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let registries = entries(&home.join("registry/src"));
    let folders = registries.map(|entry| entry.path().join(package.replace(' ', "-")));
    let files: BTreeSet<PathBuf> = folders
        .flat_map(|folder| {
            entries(&folder)
                .map(|entry| entry.path())
                .collect::<Vec<_>>()
        })
        .filter(|path: &PathBuf| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .to_lowercase();
            ["licen", "copying", "notice", "unlicense"]
                .iter()
                .any(|begin| name.starts_with(begin))
        })
        .collect();
    files
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_cargo_tree_is_a_dependency_unless_it_is_ours() {
        let found = dependency("serde v1.0.2\tMIT OR Apache-2.0\thttps://x").unwrap();
        assert_eq!(found, "serde 1.0.2\tMIT OR Apache-2.0\thttps://x");
        assert!(dependency("serde_derive v1.0.2 (proc-macro)\tMIT/Apache-2.0\t").is_some());
        assert!(dependency("burnformer-core v0.1.0 (/somewhere)\tMIT\t").is_none());
    }
}
