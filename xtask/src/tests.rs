mod circles;

use super::shell::manifest;
use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

#[test]
fn arguments_reach_the_binary_as_they_are() {
    let given = [OsString::from("train"), "--device=cuda".into(), "a b".into(), "".into()];
    let expected = "--release --package burnformer --features cuda -- train --device=cuda";
    let expected = [words(expected), vec!["a b".into(), "".into()]].concat();
    assert_eq!(run_arguments("burnformer", &given), expected);
}

#[test]
fn a_slip_or_an_abbreviation_finds_its_command() {
    for (slip, meant) in
        [("trian", "train"), ("tets", "test"), ("evalbleu", "eval-bleu"), ("dev", "devices")]
    {
        assert_eq!(nearest(slip).as_deref(), Some(meant));
    }
    assert_eq!(nearest("frobnicate"), None);
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
    let variants = PROGRAM.split_once("enum Command {").unwrap().1.split_once("\n}").unwrap().0;
    assert_eq!(all.len(), variants.matches("::Args)").count());
}

#[test]
fn tests_run_with_the_oldest_compiler_that_the_manifest_allows() {
    let text = |name| std::fs::read_to_string(workspace().join(name)).unwrap();
    let manifest = text("Cargo.toml");
    let oldest = manifest.split_once("rust-version = \"").unwrap().1.split_once('"').unwrap().0;
    assert!(text("rust-toolchain.toml").contains(&format!("channel = \"{oldest}.0\"")), "{oldest}");
}

#[test]
fn code_and_documents_are_within_their_limits() {
    assert!(lines::report(&workspace()));
}
