//! Texts that are not the user's files, and moved runs: a run finds its texts wherever its folder
//! is.
#![cfg(unix)]

mod pipes;

use crate::common;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{
    assert_refused, burnformer, pairs, run, run_with, stderr, stdout, tiny_settings, write_pairs,
};

/// A separate home folder with a cache that may be cleared.
struct Home {
    folder: tempfile::TempDir,
}

/// The settings of a short run: a toy model with the shared cache.
fn settings(more: &[&str]) -> Vec<String> {
    let mut settings = tiny_settings(Path::new("unused"));
    settings.retain(|setting| !setting.starts_with("data.cache"));
    settings.pop();
    let short = [
        "training.max_updates=4",
        "training.log_every=1",
        "checkpoints.every=2",
        "validation.max_sentences=5",
    ];
    let short = short.iter().flat_map(|setting| ["--set", setting]);
    settings.extend(short.chain(more.iter().copied()).map(String::from));
    settings
}

const LONGER: [&str; 2] = ["--set", "training.max_updates=6"];

impl Home {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    /// `train` with `more` arguments, standing in this home.
    fn train<S: AsRef<std::ffi::OsStr>>(&self, more: &[S]) -> Command {
        let mut command = burnformer(&["train"]);
        command
            .args(more)
            .env("XDG_CACHE_HOME", self.cache())
            .current_dir(self.folder.path());
        command
    }

    /// Runs `train` through a shell that reads `line`. `$@` are the arguments.
    fn shell(&self, line: &str, arguments: &[String]) -> Output {
        let mut command = Command::new("bash");
        command
            .args(["-c", line, env!("CARGO_BIN_EXE_burnformer")])
            .args(arguments);
        command
            .env("XDG_CACHE_HOME", self.cache())
            .current_dir(self.folder.path());
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn weights(&self, run: &str, step: u32) -> Vec<u8> {
        let path = format!("{run}/checkpoints/step-{step:06}/model.safetensors");
        fs::read(self.path(&path)).unwrap()
    }

    fn configuration(&self, run: &str) -> String {
        fs::read_to_string(self.path(run).join("config.toml")).unwrap()
    }

    /// Clears the cache, except for tokenised text, which is slow to make.
    fn forget_embedded_texts(&self) {
        let _ = fs::remove_dir_all(self.cache().join("burnformer/corpus"));
    }

    /// Clears the cache, moves the run, and asserts that the run resumes there and that its
    /// configuration repeats it.
    fn assert_it_can_move(&self, from: &str) {
        fs::remove_dir_all(self.cache()).unwrap();
        fs::rename(self.path(from), self.path("elsewhere")).unwrap();
        let mut resumed = self.train(&[&["--resume", "--out", "elsewhere"], &LONGER[..]].concat());
        stdout(&resumed.output().unwrap());
        self.forget_embedded_texts();
        let again = ["--config", "elsewhere/config.toml", "--out", "again"];
        stdout(&self.train(&again).output().unwrap());
        assert!(self.weights("elsewhere", 6) == self.weights("again", 6));
        // The second run no longer needs the first.
        self.forget_embedded_texts();
        fs::remove_dir_all(self.path("elsewhere")).unwrap();
        let longer = [
            "--resume",
            "--out",
            "again",
            "--set",
            "training.max_updates=8",
        ];
        stdout(&self.train(&longer).output().unwrap());
    }
}

#[test]
fn a_default_run_resumes_and_repeats_without_its_cache_and_elsewhere() {
    let home = Home::new();
    let rows: String = pairs(3, 5)
        .iter()
        .map(|(de, en)| format!("{de}\t{en}\n"))
        .collect();
    let mut arguments = vec![
        "train".into(),
        "--out".into(),
        home.path("run").display().to_string(),
    ];
    arguments.extend(settings(&["--test", "-"]));
    let output = {
        let mut command = burnformer(&arguments);
        command.env("XDG_CACHE_HOME", home.cache());
        common::feed(&mut command, rows.as_bytes())
    };
    assert!(
        stdout(&output).contains("BLEU|"),
        "the piped test text is scored"
    );
    let configuration = home.configuration("run");
    for name in [
        "embedded:tatoeba-de-en/train.de",
        "embedded:tatoeba-de-en/valid.en",
        "run:corpus/test.tsv",
    ] {
        assert!(configuration.contains(name), "{configuration}");
    }
    assert!(
        !configuration.contains(home.folder.path().to_str().unwrap()),
        "{configuration}"
    );
    home.assert_it_can_move("run");
}

#[test]
fn embedded_texts_can_be_named_in_any_direction_and_unknown_names_are_refused() {
    let home = Home::new();
    let valid = |side: &str| format!("embedded:tatoeba-de-en/valid.{side}");
    let both = format!("data.train=[{:?}, {:?}]", valid("en"), valid("de"));
    stdout(
        &home
            .train(&settings(&["--out", "run", "--set", &both]))
            .output()
            .unwrap(),
    );
    assert!(home.configuration("run").contains(&valid("en")));
    let refused = |name: &str, needles: &[&str]| {
        let output = home
            .train(&["--train", name, "--out", "other"])
            .output()
            .unwrap();
        assert_refused(&output, 1, needles);
        assert!(!home.path("other").exists());
    };
    refused(
        "embedded:tatoeba-de-en/train.fr",
        &["data.train", "train.fr", &valid("de")],
    );
    refused(
        "run:../train.tsv",
        &["data.train", "run:../train.tsv", "within the run's folder"],
    );
    refused(
        "run:corpus/train.tsv",
        &["other/corpus/train.tsv: no such file"],
    );
}

fn latin1(folder: &Path, name: &[u8]) -> PathBuf {
    folder.join(OsString::from_vec(name.to_vec()))
}

#[test]
fn paths_that_are_not_unicode_work_everywhere() {
    let home = Home::new();
    let folder = latin1(home.folder.path(), b"caf\xe9");
    fs::create_dir(&folder).unwrap();
    let [source, target] = write_pairs(&folder, "train", &pairs(1, 100));
    let out = latin1(&folder, b"\xff-run");
    let mut arguments: Vec<OsString> =
        ["--train".into(), source.clone().into(), target.into()].into();
    arguments.extend(["--out".into(), out.clone().into()]);
    arguments.extend(settings(&[]).into_iter().map(OsString::from));
    let train = |more: &[OsString]| {
        let mut command = home.train(more);
        command.env("XDG_CACHE_HOME", folder.join("cache"));
        stdout(&command.output().unwrap())
    };
    train(&arguments);
    fs::remove_file(source).unwrap();
    let mut longer: Vec<OsString> = vec!["--resume".into(), "--out".into(), out.clone().into()];
    longer.extend(LONGER.map(OsString::from));
    train(&longer);
    let model: OsString = out.join("best").into();
    let inspected = stdout(&run(&["inspect".into(), model.clone(), "--json".into()]));
    assert!(inspected.contains("\"path\""), "{inspected}");
    let [translations, page, picture] =
        ["t.txt", "a.html", "a.svg"].map(|name| folder.join(name).into_os_string());
    let test = [
        &["translate".into(), "--model".into(), model.clone()][..],
        &["--output".into(), translations.clone()],
    ];
    stdout(&run_with(&test.concat(), b"eins\nzwei\n"));
    for arguments in [
        vec![
            "eval-bleu".into(),
            "--hypothesis".into(),
            translations.clone(),
            "--reference".into(),
            translations.clone(),
        ],
        vec![
            "score".into(),
            "--model".into(),
            model.clone(),
            "--source".into(),
            translations.clone(),
            "--target".into(),
            translations,
        ],
        vec![
            "attention".into(),
            "--model".into(),
            model.clone(),
            "eins".into(),
            "--html".into(),
            page,
        ],
        vec!["plot".into(), out.into(), "-o".into(), picture],
        vec![
            "average".into(),
            model,
            "--out".into(),
            folder.join("averaged").into(),
        ],
    ] {
        let output = run::<OsString>(&arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn the_files_of_a_run_and_its_cache_have_the_permissions_of_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    for (umask, expected) in [("077", 0o600), ("022", 0o644)] {
        let home = Home::new();
        write_pairs(home.folder.path(), "train", &pairs(9, 60));
        let line = format!("umask {umask}; exec \"$0\" train \"$@\"");
        // One text of each kind: the user's, the embedded one's copy, and the run's own.
        let embedded =
            "data.valid=[\"embedded:tatoeba-de-en/valid.de\", \"embedded:tatoeba-de-en/valid.en\"]";
        let arguments = [
            "--train", "train.de", "train.en", "--out", "run", "--set", embedded,
        ];
        let output = home.shell(&line, &settings(&arguments));
        assert!(output.status.success(), "{}", stderr(&output));
        let mut folders = vec![home.cache(), home.path("run")];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                assert_eq!(
                    mode,
                    expected,
                    "umask {umask}: {} is {mode:o}",
                    path.display()
                );
                files += 1;
            }
        }
        assert!(files > 10, "{files} files");
        assert!(
            home.cache()
                .join("burnformer/corpus/tatoeba-de-en/valid.de.zst")
                .exists()
        );
    }
}
