//! Limits that only fall, and names that few files may have.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::workspace;
use crate::lines::{code, is_test};

const LINES: &str = "xtask/src/lines.rs";

/// The limits in the text of `lines.rs`, in their order.
fn limits(text: &str) -> Vec<(&str, usize)> {
    let (_, rest) = text.split_once("const LIMITS").unwrap_or_default();
    let (list, _) = rest.split_once("\n];").unwrap_or_default();
    list.lines().filter_map(limit).collect()
}

/// The name and the number in a line of the list.
fn limit(line: &str) -> Option<(&str, usize)> {
    let (name, number) = line.trim().strip_prefix("(\"")?.rsplit_once("\", ")?;
    Some((name, number.strip_suffix("),")?.replace('_', "").parse().ok()?))
}

/// The limits of `before` that are higher in `now`, or missing. A limit may get another name, and
/// new ones follow behind the others.
fn raised(before: &str, now: &str) -> Vec<String> {
    let now = limits(now);
    let all = limits(before).into_iter().enumerate();
    let is_raised = |(index, (name, old)): (usize, (&str, usize))| match now.get(index) {
        Some((_, new)) if *new <= old => None,
        Some((_, new)) => Some(format!("{name}: {new}, which was {old}")),
        None => Some(format!("{name}: missing, which was {old}")),
    };
    all.filter_map(is_raised).collect()
}

/// The output of git, or `None` where there is no git or no history.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(workspace()).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn no_limit_is_above_that_of_the_last_commits_that_changed_them() {
    let now = fs::read_to_string(workspace().join(LINES)).unwrap();
    assert!(limits(&now).len() >= 7, "the limits of {LINES} cannot be read: {:?}", limits(&now));
    let commits = git(&["log", "-2", "--format=%H", "--", LINES]).unwrap_or_default();
    if commits.is_empty() {
        eprintln!("not compared: there is no history of {LINES}");
    }
    for commit in commits.lines() {
        // A shallow clone lists its oldest commit, and has its files.
        let before = git(&["show", &format!("{commit}:./{LINES}")]).expect(commit);
        let raised = raised(&before, &now);
        assert!(raised.is_empty(), "above the limits of {commit}: {raised:#?}");
    }
}

#[test]
fn a_limit_that_rises_or_goes_is_found() {
    let list = |rows: &str| format!("const LIMITS: [(&str, usize); 2] = [\n{rows}];\nconst A: u8;");
    let before = list("    (\"lines\", 53_263),\n    (\"words, of pages\", 0),\n");
    assert_eq!(limits(&before), [("lines", 53_263), ("words, of pages", 0)]);
    let lower = "    (\"lines\", 53_000),\n    (\"words\", 0),\n    (\"names\", 7),\n";
    assert_eq!(raised(&before, &list(lower)), Vec::<String>::new());
    let higher = "    (\"lines\", 53_264),\n    (\"words, of pages\", 0),\n";
    assert_eq!(raised(&before, &list(higher)), ["lines: 53264, which was 53263"]);
    let fewer = "    (\"lines\", 53_263),\n";
    assert_eq!(raised(&before, &list(fewer)), ["words, of pages: missing, which was 0"]);
}

/// The files below `folder` that are not of tests, with their text.
fn texts(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        match fs::read_to_string(&path) {
            _ if name.to_str().is_some_and(|name| is_test(&name)) => {}
            _ if path.is_dir() => all.extend(texts(&path)),
            Ok(text) => all.push((path, text)),
            Err(_) => {}
        }
    }
    all
}

/// The files below the folder `src` of each of `crates`.
fn sources(crates: impl IntoIterator<Item = PathBuf>) -> Vec<(PathBuf, String)> {
    crates.into_iter().flat_map(|folder| texts(&folder.join("src"))).collect()
}

/// The number of times that `text` has `name` as a whole word.
fn count(text: &str, name: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_whole = |(at, _): &(usize, &str)| {
        !text[..*at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word)
    };
    text.match_indices(name).filter(is_whole).count()
}

#[test]
fn a_key_of_the_configuration_is_in_at_most_five_files_of_train() {
    let files = sources([workspace().join("crates/train")]);
    let files = files.iter().filter(|(_, text)| count(text, "label_smoothing") > 0);
    let files: Vec<&PathBuf> = files.map(|(path, _)| path).collect();
    assert!((1..=5).contains(&files.len()), "{files:#?}");
}

#[test]
fn one_function_follows_another_process() {
    let crates = fs::read_dir(workspace().join("crates")).unwrap();
    let files = sources(crates.map(|entry| entry.unwrap().path()).filter(|it| it.is_dir()));
    assert!(files.len() > 300, "{}", files.len());
    let found = files.iter().filter(|(_, text)| count(text, "fn follow") > 0);
    let found: Vec<(&PathBuf, usize)> =
        found.map(|(path, text)| (path, count(text, "fn follow"))).collect();
    assert!(found.iter().map(|(_, count)| count).sum::<usize>() <= 1, "{found:#?}");
}

#[test]
fn the_search_tracks_terms_in_their_folder_alone() {
    let files = sources([workspace().join("crates/infer")]);
    let is_of_terms = |path: &Path| path.iter().any(|part| part == "terms");
    assert!(files.iter().any(|(path, _)| is_of_terms(path)));
    let found = files.iter().filter(|(path, text)| !is_of_terms(path) && text.contains("Tracker"));
    let found: Vec<&PathBuf> = found.map(|(path, _)| path).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_recurrent_baseline_and_the_benchmarks_stay_small() {
    for (folder, most) in [("crates/core/src/rnn", 450), ("crates/bench/src", 900)] {
        let files = texts(&workspace().join(folder));
        let lines: usize = files.iter().map(|(_, text)| code(text).len()).sum();
        assert!((1..=most).contains(&lines), "{folder}: {lines}");
    }
}

#[test]
fn a_name_is_counted_as_a_whole_word() {
    let text = "fn follow() {}\nfn following() {}\nfn follow<T>() {}\nlet old_label = label;";
    assert_eq!([count(text, "fn follow"), count(text, "label"), count(text, "lab")], [2, 1, 0]);
}
