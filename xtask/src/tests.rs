mod circles;
mod pictures;

use super::shell::manifest;
use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

#[test]
fn arguments_reach_the_binary_as_they_are() {
    let given = [
        OsString::from("train"),
        "--device=cuda".into(),
        "a b".into(),
        "".into(),
    ];
    let given = given.to_vec();
    let expected = "--release --package burnformer --features cuda --features fusion \
                    --features autotune -- train --device=cuda";
    let expected = [words(expected), vec!["a b".into(), "".into()]].concat();
    assert_eq!(run_arguments("burnformer", &given), expected);
}

#[test]
fn the_manifest_is_the_workspace_s() {
    let text = std::fs::read_to_string(manifest()).unwrap();
    assert!(text.starts_with("[workspace]"), "{}", manifest().display());
}

#[test]
fn every_command_of_the_binary_is_listed_with_its_help() {
    let all = forwarded();
    for name in ["train", "eval-bleu", "serve", "completions"] {
        let (_, help) = all.iter().find(|(known, _)| known == name).expect(name);
        assert!(help.ends_with('.'), "{name}: {help}");
    }
    let variants = PROGRAM
        .split_once("enum Command {")
        .unwrap()
        .1
        .split_once("\n}")
        .unwrap()
        .0;
    assert_eq!(all.len(), variants.matches("::Args)").count());
}

#[test]
fn tests_run_with_the_oldest_compiler_that_the_manifest_allows() {
    let text = |name| std::fs::read_to_string(workspace().join(name)).unwrap();
    let manifest = text("Cargo.toml");
    let oldest = manifest
        .split_once("rust-version = \"")
        .unwrap()
        .1
        .split_once('"')
        .unwrap()
        .0;
    assert!(
        text("rust-toolchain.toml").contains(&format!("channel = \"{oldest}.0\"")),
        "{oldest}"
    );
}

/// The external crates with their features, as built by `arguments`; `None` if some are not on this
/// machine.
fn built_by(arguments: &str) -> Option<std::collections::BTreeSet<String>> {
    let form = ["--prefix", "none", "--format", "{p} {f}", "--offline"];
    let output = shell::cargo("tree")
        .args(form)
        .args(words(arguments))
        .output()
        .unwrap();
    if !output.status.success() {
        eprintln!(
            "{arguments}: not compared: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        return None;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    Some(
        text.lines()
            .filter(|line: &&str| !line.is_empty() && !line.starts_with("burnformer"))
            .map(|line| line.trim_end_matches(" (*)").to_owned())
            .collect(),
    )
}

#[test]
fn burn_is_compiled_once_for_every_build() {
    let tests = "--workspace --edges normal,build,dev --features burnformer/mpi";
    let mut compared = 0;
    for [part, whole] in [
        ["--package burnformer --edges normal,build", tests],
        [
            "--package burnformer --edges normal,build",
            "--workspace --edges normal,build,dev",
        ],
        [
            "--package burnformer-python --features wgpu,fusion --edges normal,build",
            "--workspace --edges normal,build,dev \
             --features burnformer/mpi,burnformer/wgpu,burnformer/fusion",
        ],
    ] {
        let (Some(part_of), Some(whole)) = (built_by(part), built_by(whole)) else {
            continue;
        };
        let others: Vec<&String> = part_of.difference(&whole).collect();
        assert!(others.is_empty(), "{part}: {others:#?}");
        compared += 1;
    }
    assert!(compared > 0, "nothing was compared");
}
