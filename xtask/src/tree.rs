//! The packages of a build, as cargo resolves them from the lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use crate::shell::{cargo, output};

/// The name and the version of a package.
pub type Id = (String, String);

/// The packages of a build with the packages that each depends on, from `cargo tree`.
pub type Tree = BTreeMap<Id, BTreeSet<Id>>;

/// What the manifest of a package says, from `cargo metadata`.
pub struct Package {
    pub folder: PathBuf,
    /// The registry or repository; `None` for a crate of this workspace.
    pub source: Option<String>,
    /// The native library that it links or compiles.
    pub links: Option<String>,
    pub licence: Option<String>,
    pub repository: Option<String>,
    pub is_macro: bool,
    /// The build script.
    pub script: Option<PathBuf>,
}

/// The packages of the build with these arguments of `cargo tree`.
pub fn tree(arguments: &[&str]) -> Result<Tree, String> {
    let mut command = cargo("tree");
    command.args(["--locked", "--prefix", "depth", "--format", "\t{p}"]);
    output(command.args(arguments)).map(|text| parse(&text))
}

/// Parses lines with a depth, a tab, and `NAME vVERSION` with notes behind it. The dependencies of a
/// package are listed where it stands first.
fn parse(text: &str) -> Tree {
    let mut tree = Tree::new();
    let mut path: Vec<Id> = Vec::new();
    for line in text.lines() {
        let Some((depth, package)) = line.split_once('\t') else {
            continue;
        };
        let mut words = package.split_whitespace();
        let name = words.next().unwrap_or_default();
        let version = words.next().unwrap_or_default();
        let id = (name.into(), version.trim_start_matches('v').into());
        path.truncate(depth.parse().unwrap_or(0));
        if let Some(user) = path.last() {
            let dependencies: &mut BTreeSet<Id> = tree.entry(user.clone()).or_default();
            dependencies.insert(id.clone());
        }
        tree.entry(id.clone()).or_default();
        path.push(id);
    }
    tree
}

/// Every package of the lock file.
pub fn metadata() -> Result<BTreeMap<Id, Package>, String> {
    let arguments = ["--locked", "--all-features", "--format-version", "1"];
    let text = output(cargo("metadata").args(arguments))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|cause| cause.to_string())?;
    let packages = metadata["packages"].as_array();
    Ok(packages.into_iter().flatten().map(package).collect())
}

fn package(value: &Value) -> (Id, Package) {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let target = |kind: &str| {
        let mut targets = value["targets"].as_array().into_iter().flatten();
        targets.find(|target| target["kind"][0] == kind)
    };
    let script = target("custom-build").and_then(|target| target["src_path"].as_str());
    let mut folder = PathBuf::from(text("manifest_path").unwrap_or_default());
    folder.pop();
    let package = Package {
        folder,
        source: text("source"),
        links: text("links"),
        licence: text("license"),
        repository: text("repository"),
        is_macro: target("proc-macro").is_some(),
        script: script.map(PathBuf::from),
    };
    let id = (
        text("name").unwrap_or_default(),
        text("version").unwrap_or_default(),
    );
    (id, package)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Id {
        (name.into(), "1.0.0".into())
    }

    #[test]
    fn dependencies_stand_below_the_package_that_uses_them() {
        let text = "0\ta v1.0.0 (/somewhere)\n1\tb v1.0.0\n2\tc v1.0.0 (proc-macro)\n1\td v1.0.0\n2\tb v1.0.0 (*)\n";
        let tree = parse(text);
        let uses = |name: &str| tree[&id(name)].iter().cloned().collect::<Vec<_>>();
        assert_eq!(uses("a"), [id("b"), id("d")]);
        assert_eq!(uses("b"), [id("c")]);
        assert_eq!(uses("d"), [id("b")]);
        assert!(uses("c").is_empty());
    }
}
