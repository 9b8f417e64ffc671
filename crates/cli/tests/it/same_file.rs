//! No command writes a file that it reads, whatever name or stream leads to it. The cases are
//! generated: commands × files read × files written × ways to name one file twice.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{Untrained, burnformer, stderr, stdout};

/// The start of the words of a command line that are files in the folder of the test.
const READ: &str = "read/";
const WRITTEN: &str = "written/";

/// Command lines. Words with the prefix `read/` are files that the command reads, words with the
/// prefix `written/` are files that it writes, and `model` is a model directory.
const COMMANDS: &[&str] = &[
    "translate --model model --input read/a --prefix read/p --glossary read/g --memory read/m.tsv \
     --shortlist read/s --output written/o",
    "translate --model model --format html --input read/a --glossary read/g --memory read/m.po \
     --output written/o",
    "translate --model model --input read/a read/b --memory read/a read/b --output .",
    "score --model model --input read/a --target read/b --output written/o",
    "eval-bleu --model model --input read/a --reference read/b --shortlist read/s --output written/o",
    "eval-bleu --hypothesis read/a read/b --baseline read/c --reference read/d",
    "distill --model model --input read/a --reference read/b --nbest 2 --out written/o",
    "shortlist --model model --train read/a read/b --out written/o",
    "attention --model model --input read/a read/b --html written/o",
    "plot read/a.jsonl --output written/o.csv --output written/o.svg",
    "gather written/o --shards 1",
    "adapt --model model --memory read/a read/b --general read/c --out new",
    "train --train read/a read/b --valid read/c.tsv --test read/d.tsv --mix read/e.tsv 2 \
     --config read/f.toml --from model --out new",
    "average model --out new",
    "quantize --model model --out new",
    "export hugging-face --model model --out new",
    "settings model",
    "inspect model",
    #[cfg(feature = "serve")]
    "serve --listen 127.0.0.1:0 --model de-en=model --glossary de-en=read/g --shortlist de-en=read/s \
     --memory de-en=read/m.tsv --api-keys read/k",
];

/// The ways that the name of an output leads to an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    SameName,
    OtherSpelling,
    SymbolicLink,
    HardLink,
}

/// The ways on every system.
const WAYS: &[Way] = &[
    Way::SameName,
    Way::OtherSpelling,
    Way::HardLink,
    #[cfg(unix)]
    Way::SymbolicLink,
];

/// A folder with the files of a command.
struct Fixture {
    folder: tempfile::TempDir,
    words: Vec<String>,
    read: Vec<String>,
    written: Vec<String>,
}

impl Fixture {
    fn new(command: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["read", "written", "model"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let model = Untrained::get().model();
        for entry in fs::read_dir(&model).unwrap() {
            let path = entry.unwrap().path();
            let copy = folder.path().join("model").join(path.file_name().unwrap());
            fs::copy(&path, copy).unwrap();
        }
        let words: Vec<String> = command.split_whitespace().map(String::from).collect();
        let named = |start: &str| -> Vec<String> {
            let names = words
                .iter()
                .filter_map(|word| word.find(start).map(|at| &word[at..]));
            names.map(String::from).collect()
        };
        let mut read = named(READ);
        if command.contains("model model") || command.contains(" model") {
            read.extend(["model/config.json", "model/model.safetensors"].map(String::from));
        }
        for name in &read {
            let path = folder.path().join(name);
            if !path.exists() {
                fs::write(path, format!("one line of {name}\n")).unwrap();
            }
        }
        let written = named(WRITTEN);
        Self {
            folder,
            words,
            read,
            written,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with the words of the command, one of them replaced.
    fn command(&self, from: &str, to: &str) -> Command {
        let words = self
            .words
            .iter()
            .map(|word| if word == from { to } else { word });
        let mut command = burnformer(&words.collect::<Vec<_>>());
        command.current_dir(&self.folder);
        command
    }
}

/// Makes `written` lead to `read` and returns the name to write.
fn lead(fixture: &Fixture, read: &str, written: &str, way: Way) -> String {
    match way {
        Way::SameName => return read.into(),
        Way::OtherSpelling => return format!("./written/../{read}"),
        Way::HardLink => fs::hard_link(fixture.path(read), fixture.path(written)).unwrap(),
        #[cfg(unix)]
        Way::SymbolicLink => {
            std::os::unix::fs::symlink(Path::new("..").join(read), fixture.path(written)).unwrap();
        }
        #[cfg(not(unix))]
        Way::SymbolicLink => unreachable!("not among the ways of this system"),
    }
    written.into()
}

/// Asserts that `output` refuses and names both, and that the file is as `before`.
fn assert_kept(output: &Output, fixture: &Fixture, read: &str, written: &str, before: &[u8]) {
    let said = stderr(output);
    let case = format!("{:?}, {read} as {written}: {said}", fixture.words);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{case}");
    for needle in [read, written, "is both input and"] {
        assert!(said.contains(needle), "{needle:?}: {case}");
    }
    assert!(!said.contains("panicked"), "{case}");
    assert!(fs::read(fixture.path(read)).unwrap() == before, "{case}");
}

/// The suffixes of files that a command writes beside its output.
fn derived(command: &str) -> Vec<(&'static str, &'static str)> {
    match command.split_whitespace().next().unwrap() {
        "translate" if command.contains("prefix") => vec![("--shard 1/2", ".1-of-2")],
        "score" => vec![("--shard 1/2", ".1-of-2")],
        "distill" => vec![("", ".work"), ("--shard 2/2", ".2-of-2.work")],
        _ => Vec::new(),
    }
}

#[test]
fn no_option_writes_a_file_that_another_one_reads() {
    let mut cases = 0;
    for command in COMMANDS {
        let names = Fixture::new(command);
        for read in &names.read {
            for written in &names.written {
                for way in WAYS {
                    // The extension decides between pictures and tables.
                    let has_end = Path::new(written).extension().is_some();
                    if has_end && matches!(way, Way::SameName | Way::OtherSpelling) {
                        continue;
                    }
                    let fixture = Fixture::new(command);
                    let before = fs::read(fixture.path(read)).unwrap();
                    let name = lead(&fixture, read, written, *way);
                    let output = fixture.command(written, &name).output().unwrap();
                    assert_kept(&output, &fixture, read, &name, &before);
                    cases += 1;
                }
                for (more, end) in derived(command) {
                    let fixture = Fixture::new(&format!("{command} {more}"));
                    let before = fs::read(fixture.path(read)).unwrap();
                    let name = format!("{written}{end}");
                    lead(&fixture, read, &name, Way::HardLink);
                    let output = fixture.command("", "").output().unwrap();
                    assert_kept(&output, &fixture, read, &name, &before);
                    cases += 1;
                }
            }
        }
    }
    assert!(cases > 100, "{cases}");
}

#[test]
fn standard_output_is_never_a_file_that_is_read() {
    let mut cases = 0;
    for command in COMMANDS {
        for read in &Fixture::new(command).read {
            let fixture = Fixture::new(command);
            let before = fs::read(fixture.path(read)).unwrap();
            let appended = File::options().append(true).open(fixture.path(read));
            let mut child = fixture.command("", "");
            child.stdout(appended.unwrap());
            let output = child.stderr(Stdio::piped()).output().unwrap();
            assert_kept(&output, &fixture, read, "standard output", &before);
            cases += 1;
        }
    }
    assert!(cases > 50, "{cases}");
}

#[test]
fn standard_input_is_never_a_file_that_is_written() {
    let commands = [
        "translate --model model --output written/o",
        "translate --model model --input read/a --prefix - --output written/o",
        "score --model model --input - --target read/b --output written/o",
        "eval-bleu --model model --input - --reference read/b --output written/o",
        "distill --model model --input - --out written/o",
        "shortlist --model model --train - read/b --out written/o",
        "attention --model model --input - --html written/o",
    ];
    for command in commands {
        for way in WAYS {
            let fixture = Fixture::new(command);
            fs::write(fixture.path("read/i"), "one line\n").unwrap();
            let name = lead(&fixture, "read/i", "written/o", *way);
            let input = File::open(fixture.path("read/i")).unwrap();
            let mut child = fixture.command("written/o", &name);
            let output = child.stdin(input).output().unwrap();
            let said = stderr(&output);
            assert!(matches!(output.status.code(), Some(1 | 2)), "{said}");
            assert!(
                said.contains("standard input") && said.contains(&name),
                "{command}: {said}"
            );
            assert_eq!(
                fs::read(fixture.path("read/i")).unwrap(),
                b"one line\n",
                "{command}"
            );
        }
    }
}

#[test]
fn a_resumed_run_does_not_write_its_texts() {
    let untrained = Untrained::get();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let config = untrained.folder.path().join("run/config.toml");
    fs::copy(config, run.join("config.toml")).unwrap();
    for name in [
        "metrics.jsonl",
        "train.log",
        "finished.json",
        "test-score.txt",
    ] {
        let text = folder.path().join("text.tsv");
        fs::write(&text, "eins\tone\n").unwrap();
        fs::hard_link(&text, run.join(name)).unwrap();
        let [run_path, text_path] = [&run, &text].map(|path| path.display().to_string());
        let arguments = [
            "train", "--resume", "--out", &run_path, "--train", &text_path, "--valid", &text_path,
        ];
        let output = burnformer(&arguments).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        for needle in [&*text_path, name, "is both input and output"] {
            assert!(said.contains(needle), "{needle:?}: {said}");
        }
        assert_eq!(fs::read_to_string(&text).unwrap(), "eins\tone\n");
        fs::remove_file(run.join(name)).unwrap();
        fs::remove_file(&text).unwrap();
    }
}

#[test]
fn a_memory_in_the_folder_that_is_replaced_is_refused() {
    for inner in ["out", "out.work"] {
        let fixture = Fixture::new("adapt --model model --out out");
        fs::create_dir(fixture.path(inner)).unwrap();
        let memory = format!("{inner}/m.tsv");
        fs::write(fixture.path(&memory), "eins\tone\n").unwrap();
        let mut command = fixture.command("", "");
        let output = command.args(["--memory", &memory]).output().unwrap();
        assert_kept(&output, &fixture, &memory, inner, b"eins\tone\n");
    }
}

/// Translates `text` into `output` in `folder`, which must succeed. Returns standard output.
fn translate(folder: &Path, text: &str, output: &str) -> String {
    fs::write(folder.join("text"), text).unwrap();
    let model = Untrained::get().model().display().to_string();
    let arguments = [
        "translate",
        "--model",
        &model,
        "--input",
        "text",
        "--output",
        output,
    ];
    stdout(&burnformer(&arguments).current_dir(folder).output().unwrap())
}

#[test]
fn an_output_replaces_a_file_and_leaves_its_other_names_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("old"), "old\n").unwrap();
    fs::hard_link(path("old"), path("hard")).unwrap();
    translate(folder.path(), "eins\nzwei\n", "old");
    assert_eq!(fs::read_to_string(path("old")).unwrap().lines().count(), 2);
    assert_eq!(fs::read_to_string(path("hard")).unwrap(), "old\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::os::unix::fs::symlink("old", path("link")).unwrap();
        std::os::unix::fs::symlink("new", path("dangling")).unwrap();
        fs::set_permissions(path("old"), fs::Permissions::from_mode(0o600)).unwrap();
        translate(folder.path(), "eins\n", "link");
        translate(folder.path(), "eins\n", "dangling");
        assert!(path("link").is_symlink() && path("dangling").is_symlink());
        for name in ["old", "new"] {
            assert_eq!(fs::read_to_string(path(name)).unwrap().lines().count(), 1);
        }
        let mode = fs::metadata(path("old")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let names = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let hidden = names.filter(|name| name.to_string_lossy().starts_with('.'));
    assert_eq!(hidden.count(), 0);
}

#[test]
fn an_error_at_the_first_line_leaves_the_old_output() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("old"), "old\n").unwrap();
    fs::write(path("text"), "eins\nzwei\n").unwrap();
    let model = Untrained::get().model().display().to_string();
    let translate = |prefixes: &[u8]| {
        fs::write(path("prefixes"), prefixes).unwrap();
        let words = "--input text --prefix prefixes --output old".split(' ');
        let arguments = ["translate", "--model", &model].into_iter().chain(words);
        let mut command = burnformer(&arguments.collect::<Vec<_>>());
        let output = command.current_dir(&folder).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        fs::read_to_string(path("old")).unwrap()
    };
    // A prefix that is not UTF-8 is an error.
    assert_eq!(translate(b"\xff\n\n"), "old\n");
    let kept = translate(b"\n\xff\n");
    assert_eq!(
        kept.lines().count(),
        1,
        "the lines before the error are kept"
    );
    assert_ne!(kept, "old\n");
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_written_directly() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(translate(folder.path(), "eins\nzwei\n", "/dev/null"), "");
    let said = translate(folder.path(), "eins\nzwei\n", "/dev/stdout");
    assert_eq!(said.lines().count(), 2);
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).unwrap());
    translate(folder.path(), "eins\nzwei\n", "pipe");
    assert_eq!(reader.join().unwrap().lines().count(), 2);
    // Standard input and standard output are one device.
    let model = Untrained::get().model().display().to_string();
    let mut command = burnformer(&["translate", "--model", &model]);
    assert!(command.stdout(Stdio::null()).status().unwrap().success());
}
