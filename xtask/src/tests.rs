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
        assert_eq!(nearest(slip), Some(meant));
    }
    assert_eq!(nearest("frobnicate"), None);
}

#[test]
fn edits_are_levenshteins() {
    // Textbook values: kitten to sitting takes three edits.
    assert_eq!(edits("kitten", "sitting"), 3);
    assert_eq!(edits("", "abc"), 3);
    assert_eq!(edits("same", "same"), 0);
}

#[test]
fn the_manifest_is_the_workspace_s() {
    let text = std::fs::read_to_string(manifest()).unwrap();
    assert!(text.starts_with("[workspace]"), "{}", manifest().display());
}

#[test]
fn every_command_of_the_binary_is_listed() {
    let source = manifest().with_file_name("crates/cli/src/program.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let variants = source.split("enum Command {").nth(1).unwrap().split('}').next().unwrap();
    // `EvalBleu(commands::eval_bleu::Args)` is the command `eval-bleu`.
    let paths = variants.lines().filter_map(|line| line.split("(commands::").nth(1));
    let module = |path: &str| path.split("::").next().unwrap().replace('_', "-");
    let mut commands: Vec<_> = paths.map(module).collect();
    let mut listed: Vec<_> = FORWARDED.iter().map(|(name, _)| name.to_string()).collect();
    commands.sort();
    listed.sort();
    assert_eq!(listed, commands);
}
