//! The parts of the program as a bill of materials (CycloneDX 1.6, JSON).
//!
//! It has no time and no random number, so that the same sources give the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::shell::workspace;
use crate::tree::{Id, Package, Tree, metadata, tree};

/// The package of the program.
const PROGRAM: &str = "burnformer";

/// The bill of the program, built with these cargo arguments, with the hash of its file `program`.
///
/// A part that is only used to build it (a macro, a library of a build script) has the scope
/// `excluded`.
pub fn of_program(arguments: &[String], program: Option<&Path>) -> Result<String, String> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let tree_of =
        |edges| tree(&[&["--package", PROGRAM, "--edges", edges], &arguments[..]].concat());
    let whole = tree_of("normal,build")?;
    let inside = tree_of("normal,no-proc-macro")?;
    let hash = program.map(sha256).transpose()?;
    let lock = workspace().join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(|cause| format!("{}: {cause}", lock.display()))?;
    let packages = metadata()?;
    let bill = bill(&whole, &inside, &packages, &checksums(&lock), hash)?;
    serde_json::to_string_pretty(&bill)
        .map(|text| text + "\n")
        .map_err(|cause| cause.to_string())
}

fn sha256(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    let hash = Sha256::digest(bytes);
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn bill(
    whole: &Tree,
    inside: &Tree,
    packages: &BTreeMap<Id, Package>,
    checksums: &BTreeMap<Id, String>,
    hash: Option<String>,
) -> Result<Value, String> {
    let (parts, program): (Vec<&Id>, Vec<&Id>) =
        whole.keys().partition(|(name, _)| name != PROGRAM);
    let [program] = program[..] else {
        return Err(format!("the tree has {} packages {PROGRAM}", program.len()));
    };
    let mut main = component(program, &packages[program], hash.as_ref());
    main["type"] = json!("application");
    let components = parts.into_iter().map(|id| {
        let mut part = component(id, &packages[id], checksums.get(id));
        let scope = if inside.contains_key(id) {
            "required"
        } else {
            "excluded"
        };
        part["scope"] = json!(scope);
        part
    });
    let dependencies = whole.iter().map(|(id, used)| dependency(id, used));
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": main },
        "components": components.collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    }))
}

fn component(id: &Id, package: &Package, sha256: Option<&String>) -> Value {
    let (name, version) = id;
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(id),
        "name": name,
        "version": version,
        "purl": purl(id),
    });
    if let Some(hash) = sha256 {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": hash }]);
    }
    if let Some(licence) = &package.licence {
        // The separator of old manifests.
        let expression = licence.replace(" / ", "/").replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

fn dependency(id: &Id, used: &BTreeSet<Id>) -> Value {
    let used: Vec<String> = used.iter().map(purl).collect();
    json!({ "ref": purl(id), "dependsOn": used })
}

/// The package URL, which databases of known faults are searched by.
fn purl((name, version): &Id) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// The SHA-256 of each package of crates.io, from Cargo.lock.
fn checksums(lock: &str) -> BTreeMap<Id, String> {
    let packages = lock.split("[[package]]").skip(1);
    let checksum = |text: &str| {
        let value = |key: &str| {
            let mut lines = text.lines();
            let line = lines.find_map(|line| line.strip_prefix(key))?;
            Some(line.trim_matches([' ', '=', '"']).to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    };
    packages.filter_map(checksum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> Id {
        (name.into(), "1.0.0+x".into())
    }

    fn package(licence: &str) -> Package {
        Package {
            folder: "".into(),
            source: None,
            links: None,
            licence: Some(licence.into()),
            repository: None,
            is_macro: false,
            script: None,
        }
    }

    #[test]
    fn what_only_builds_the_program_is_excluded() {
        let whole = Tree::from([
            (id(PROGRAM), [id("inside"), id("macro")].into()),
            (id("inside"), [].into()),
            (id("macro"), [].into()),
        ]);
        let inside = Tree::from([
            (id(PROGRAM), [id("inside")].into()),
            (id("inside"), [].into()),
        ]);
        let packages = whole
            .keys()
            .map(|id| (id.clone(), package("MIT/Apache-2.0")))
            .collect();
        let lock = "version = 4\n\n[[package]]\nname = \"inside\"\nversion = \"1.0.0+x\"\nchecksum = \"ab\"\n";
        let bill = bill(
            &whole,
            &inside,
            &packages,
            &checksums(lock),
            Some("cd".into()),
        )
        .unwrap();
        assert_eq!(bill["metadata"]["component"]["hashes"][0]["content"], "cd");
        let [first, second] = &bill["components"].as_array().unwrap()[..] else {
            panic!("two parts");
        };
        assert_eq!(first["purl"], "pkg:cargo/inside@1.0.0%2Bx");
        assert_eq!(first["hashes"][0]["content"], "ab");
        assert_eq!(first["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(
            [&first["scope"], &second["scope"]],
            ["required", "excluded"]
        );
        let used = &bill["dependencies"][0]["dependsOn"];
        assert_eq!(used.as_array().unwrap().len(), 2);
    }
}
