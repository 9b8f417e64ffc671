//! What the program says about itself: keys, presets, completions and manual pages.

use crate::common::{burnformer, refused, run, stderr, stdout};

#[test]
fn explanations_of_keys_are_whole() {
    let listed = stdout(&run(&["config"]));
    for line in listed.lines().filter(|line| line.contains('#')) {
        assert_eq!(
            line.matches('(').count(),
            line.matches(')').count(),
            "{line}"
        );
        assert!(!line.ends_with(" al") && !line.ends_with("e.g"), "{line}");
    }
}

#[test]
fn presets_are_listed_and_a_commented_file_is_written_that_changes_nothing() {
    let listed = stdout(&run(&["config", "presets"]));
    for name in [
        "speedrun", "tiny", "small", "base", "big", "multi30k", "rnn",
    ] {
        assert!(
            listed
                .lines()
                .any(|line| line.starts_with(&format!("{name} "))),
            "{listed}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let run_in = |arguments: &[&str]| burnformer(arguments).current_dir(&folder).output().unwrap();
    stdout(&run_in(&["config", "init", "--preset", "small"]));
    // Parameters and formats stand in comments. Text from a pipe is not read by a dry run, so that
    // nothing is measured.
    let settings = |output| -> Vec<String> {
        let text = stdout(&output);
        text.lines()
            .filter(|line| !line.starts_with('#'))
            .map(str::to_owned)
            .collect()
    };
    let by_file = settings(run_in(&[
        "train",
        "--config",
        "burnformer.toml",
        "--dry-run",
        "--train",
        "-",
    ]));
    assert_eq!(
        by_file,
        settings(run(&[
            "train",
            "--preset",
            "small",
            "--dry-run",
            "--train",
            "-"
        ]))
    );
    assert!(by_file.len() > 50, "{by_file:?}");
    let again = run_in(&["config", "init"]);
    assert!(
        stderr(&again).contains("burnformer.toml: exists already"),
        "{}",
        stderr(&again)
    );
    refused(
        &["config", "init", "--preset", "huge"],
        2,
        &["\"huge\"", "multi30k"],
    );
}

#[test]
fn shells_complete_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = stdout(&run(&["completions", shell]));
        assert!(
            script.contains("eval-bleu") && script.contains("shortlist"),
            "{shell}"
        );
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("man").display().to_string();
    assert_eq!(stdout(&run(&["completions", "--man", &folder])), "");
    let page = std::fs::read_to_string(format!("{folder}/burnformer-eval-bleu.1")).unwrap();
    assert!(page.contains(".TH") && page.contains("reference"), "{page}");
    refused(&["completions"], 2, &["SHELL"]);
}
