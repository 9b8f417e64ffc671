//! What the program is built from: what of it runs while it is built, and what can open a
//! connection.
//!
//! `xtask/supply.tsv` has a line for each build script and for each package that names sockets, with
//! what somebody who read it found. A new one, or a script that changed, fails `cargo xtask check`
//! until somebody has read it. Macros and the packages themselves are code of others too; the lock
//! file pins them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::sbom;
use crate::scan::{fingerprint, names_sockets};
use crate::shell::{USAGE, finished, print, say};
use crate::tree::{Id, Package, Tree, metadata, tree};

/// The file of what was read.
const FILE: &str = "xtask/supply.tsv";

/// The builds that the report compares, with the arguments of `cargo tree`. The last has everything
/// that a command in this repository can build.
const BUILDS: [(&str, &[&str]); 3] = [
    (
        "program",
        &["--package", "burnformer", "--edges", "normal,build"],
    ),
    (
        "all features",
        &[
            "--package",
            "burnformer",
            "--all-features",
            "--target",
            "all",
            "--edges",
            "normal,build",
        ],
    ),
    (
        "repository",
        &[
            "--workspace",
            "--all-features",
            "--target",
            "all",
            "--edges",
            "normal,build,dev",
        ],
    ),
];

/// A build script or a package that names sockets, as in the first three columns of [`FILE`].
type Key = [String; 3];

/// Prints the figures. With `--check`, compares [`FILE`] with the sources instead. With `--sbom`,
/// prints the parts of the program as CycloneDX instead.
pub fn run(workspace: &Path, args: &[OsString]) -> ExitCode {
    let result = match args {
        [] => Inventory::read(workspace).and_then(|all| print(&all.report())),
        [only] if only == "--check" => check(workspace),
        [only] if only == "--sbom" => sbom::of_program(&[], None).and_then(|text| print(&text)),
        _ => {
            say("xtask: `supply` takes no arguments but --check or --sbom");
            return ExitCode::from(USAGE);
        }
    };
    finished(result)
}

/// Fails with a line for each build script and package that nobody has read.
pub fn check(workspace: &Path) -> Result<(), String> {
    let packages = metadata()?;
    let (_, arguments) = BUILDS[BUILDS.len() - 1];
    let found = found(&tree(arguments)?, &packages);
    let faults = faults(&found, &reviewed(workspace)?);
    if faults.is_empty() {
        say(format_args!("xtask: {} lines of {FILE} hold", found.len()));
        return Ok(());
    }
    Err(faults.join("\n"))
}

/// The keys that a build needs, with the path to read.
fn found(tree: &Tree, packages: &BTreeMap<Id, Package>) -> BTreeMap<Key, PathBuf> {
    let mut found = BTreeMap::new();
    for id in tree.keys() {
        let package = &packages[id];
        if let Some(script) = &package.script {
            found.insert(script_key(id, script), script.clone());
        }
        if let Some(file) = names_sockets(&package.folder) {
            found.insert(sockets_key(id), file);
        }
    }
    found
}

fn script_key((name, _): &Id, script: &Path) -> Key {
    ["script".into(), name.clone(), fingerprint(script)]
}

/// Without a version: what a package does with sockets seldom changes.
fn sockets_key((name, _): &Id) -> Key {
    ["sockets".into(), name.clone(), "-".into()]
}

/// The lines of [`FILE`] as keys and remarks.
fn reviewed(workspace: &Path) -> Result<BTreeMap<Key, String>, String> {
    let path = workspace.join(FILE);
    let text = fs::read_to_string(&path);
    let text = text.map_err(|cause| format!("{}: {cause}", path.display()))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(entry).collect()
}

fn entry(line: &str) -> Result<(Key, String), String> {
    let mut columns = line.splitn(4, '\t').map(str::to_owned);
    let mut column = || columns.next().filter(|text| !text.is_empty());
    match [column(), column(), column(), column()] {
        [Some(kind), Some(name), Some(hash), Some(what)] => Ok(([kind, name, hash], what)),
        _ => Err(format!("{FILE}: a line has no four columns: {line}")),
    }
}

/// The differences between the sources and [`FILE`], a message each.
fn faults(found: &BTreeMap<Key, PathBuf>, reviewed: &BTreeMap<Key, String>) -> Vec<String> {
    let unread = found.iter().filter(|(key, _)| !reviewed.contains_key(*key));
    let gone = reviewed.keys().filter(|key| !found.contains_key(*key));
    let unread = unread.map(|(key, path)| {
        format!(
            "{FILE}: nobody has read {}\nhint: read it, then add: {}\tWHAT IT DOES",
            path.display(),
            key.join("\t")
        )
    });
    let gone = gone.map(|key| format!("{FILE}: nothing needs this line: {}", key.join("\t")));
    unread.chain(gone).collect()
}

/// What the report counts and lists.
struct Inventory {
    packages: BTreeMap<Id, Package>,
    /// The tree of each of [`BUILDS`].
    trees: Vec<Tree>,
    /// The packages that name sockets.
    sockets: BTreeSet<Id>,
    reviewed: BTreeMap<Key, String>,
}

impl Inventory {
    fn read(workspace: &Path) -> Result<Self, String> {
        let packages = metadata()?;
        let trees = BUILDS.map(|(_, arguments)| tree(arguments));
        let named = |package: &Package| names_sockets(&package.folder).is_some();
        let sockets = packages.iter().filter(|(_, package)| named(package));
        Ok(Self {
            sockets: sockets.map(|(id, _)| id.clone()).collect(),
            trees: trees.into_iter().collect::<Result<_, _>>()?,
            packages,
            reviewed: reviewed(workspace)?,
        })
    }

    /// The figures of all builds, and what the program has.
    fn report(&self) -> String {
        let titles = BUILDS.map(|(name, _)| format!("{name:>14}"));
        let mut text = format!("{:<24}{}\n", "", titles.concat());
        text += &self.row("packages", |_, _| true);
        text += &self.row("  of this workspace", |_, package| is_ours(package));
        text += &self.row("  not from crates.io", |_, package| is_foreign(package));
        text += &self.row("  with a build script", |_, package| {
            package.script.is_some()
        });
        text += &self.row("  of macros", |_, package| package.is_macro);
        text += &self.row("  with `links`", |_, package| package.links.is_some());
        text += &self.row("  that name sockets", |id, _| self.sockets.contains(id));
        text += "\nPackages of the program with `links` (native libraries):\n";
        text += &self.list(|_, package| package.links.clone());
        text += "\nPackages of the program that name sockets, and those of this workspace that use them:\n";
        text += &self.list(|id, _| self.sockets.contains(id).then(|| self.sockets_of(id)));
        text += "\nBuild scripts of the program:\n";
        text += &self.list(|id, package| {
            let script = package.script.as_ref()?;
            Some(self.remark(&script_key(id, script)))
        });
        text
    }

    /// A line with the number of packages in each build for which `holds` is true.
    fn row(&self, name: &str, holds: impl Fn(&Id, &Package) -> bool) -> String {
        let count = |tree: &Tree| {
            let packages = tree.keys().filter(|id| holds(id, &self.packages[*id]));
            format!("{:>14}", packages.count())
        };
        let counts: String = self.trees.iter().map(count).collect();
        format!("{name:<24}{counts}\n")
    }

    /// A line for each package of the program about which `what` says something.
    fn list(&self, what: impl Fn(&Id, &Package) -> Option<String>) -> String {
        let line = |id: &Id| {
            let (name, version) = id;
            let what = what(id, &self.packages[id])?;
            Some(format!("  {name} {version}: {what}\n"))
        };
        self.trees[0].keys().filter_map(line).collect()
    }

    fn remark(&self, key: &Key) -> String {
        let remark = self.reviewed.get(key).map(String::as_str);
        remark.unwrap_or("nobody has read it").to_owned()
    }

    /// What a package does with sockets, and the packages of this workspace that use it.
    fn sockets_of(&self, id: &Id) -> String {
        let uses =
            |user: &Id, used: &BTreeSet<Id>| is_ours(&self.packages[user]) && used.contains(id);
        let users = self.trees[0].iter().filter(|(user, used)| uses(user, used));
        let users: Vec<&str> = users.map(|((name, _), _)| name.as_str()).collect();
        let remark = self.remark(&sockets_key(id));
        if users.is_empty() {
            remark
        } else {
            format!("{remark} [{}]", users.join(", "))
        }
    }
}

fn is_ours(package: &Package) -> bool {
    package.source.is_none()
}

fn is_foreign(package: &Package) -> bool {
    let source = package.source.as_ref();
    source.is_some_and(|source| !source.ends_with("/crates.io-index"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_new_and_what_is_gone_are_faults() {
        let line = "script\ta\t00\tsets flags";
        let (key, what) = entry(line).unwrap();
        assert_eq!(what, "sets flags");
        let reviewed = BTreeMap::from([(key.clone(), what)]);
        let found = BTreeMap::from([(key, PathBuf::from("a/build.rs"))]);
        assert!(faults(&found, &reviewed).is_empty());
        let [new] = &faults(&found, &BTreeMap::new())[..] else {
            panic!("one fault");
        };
        assert!(
            new.contains("a/build.rs") && new.contains("script\ta\t00\t"),
            "{new}"
        );
        assert_eq!(faults(&BTreeMap::new(), &reviewed).len(), 1);
        assert!(entry("script\ta").is_err());
        assert!(entry("script\ta\t00\t").is_err());
    }
}
