//! The dependencies of the program with their licences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::shell::cargo;

/// A crate that the program is made of.
pub struct Dependency {
    name: String,
    version: String,
    licence: String,
    address: String,
}

/// The crates that are in the program of `package`, built with these arguments of cargo, without
/// those of this workspace, in the order of their names.
pub fn dependencies(package: &str, arguments: &[String]) -> Result<Vec<Dependency>, String> {
    let mut command = cargo("tree");
    command.args(["--locked", "--package", package, "--edges", "normal", "--prefix", "none"]);
    command.args(arguments).args(["--format", "{p}\t{l}\t{r}"]);
    let output = command.output().map_err(|cause| format!("cargo does not start: {cause}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<&str> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    lines.sort_unstable();
    lines.dedup();
    Ok(lines.into_iter().filter_map(dependency).collect())
}

/// The dependency of a line `NAME vVERSION`, licence and address; none for a crate in a folder.
fn dependency(line: &str) -> Option<Dependency> {
    let mut parts = line.split('\t');
    let (package, licence) = (parts.next()?, parts.next()?);
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let is_ours = words.next().is_some_and(|word| word.starts_with("(/"));
    let [name, version, licence, address] =
        [name, version, licence, parts.next().unwrap_or_default()].map(String::from);
    (!is_ours).then_some(Dependency { name, version, licence, address })
}

/// The licences of all dependencies in one text: a list, and each text once with the crates that
/// have it.
pub fn texts(dependencies: &[Dependency]) -> String {
    let mut text = String::from(
        "The programs of Burnformer contain these crates, each under the licence beside it. Their texts follow.\n\n",
    );
    let mut by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Dependency { name, version, licence, address } in dependencies {
        let _ = writeln!(text, "{name} {version}\t{licence}\t{address}");
        for file in files_of(name, version) {
            by_text.entry(file).or_default().push(format!("{name} {version}"));
        }
    }
    for (file, names) in by_text {
        let _ = write!(text, "\n{}\n{}\n\n{}\n", "=".repeat(80), names.join(", "), file.trim_end());
    }
    text
}

/// The texts of licences in the source of a crate, which cargo keeps.
fn files_of(name: &str, version: &str) -> Vec<String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).unwrap_or_default();
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        ["licen", "copying", "notice", "unlicense"].iter().any(|begin| name.starts_with(begin))
    };
    let registries = entries(&home.join("registry/src"));
    let folders = registries.map(|entry| entry.path().join(format!("{name}-{version}")));
    let mut files: Vec<PathBuf> = folders
        .flat_map(|folder| entries(&folder).map(|entry| entry.path()).collect::<Vec<_>>())
        .filter(is_text)
        .collect();
    files.sort();
    files.into_iter().filter_map(|path| fs::read_to_string(path).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_cargo_tree_is_a_dependency_unless_it_is_ours() {
        let found = dependency("serde v1.0.2\tMIT OR Apache-2.0\thttps://x").unwrap();
        assert_eq!((&*found.name, &*found.version), ("serde", "1.0.2"));
        assert_eq!((&*found.licence, &*found.address), ("MIT OR Apache-2.0", "https://x"));
        assert!(dependency("serde_derive v1.0.2 (proc-macro)\tMIT/Apache-2.0\t").is_some());
        assert!(dependency("burnformer-core v0.1.0 (/somewhere)\tMIT\t").is_none());
    }
}
