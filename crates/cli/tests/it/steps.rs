//! A command that writes a model can stop or fail at any step. The disk then has the old model or
//! the new one, and the repeated command succeeds as if nothing had happened.
//!
//! strace counts the system calls on the results' folder. It makes one of them kill the process,
//! find a full disk from then on, or fail. The tests pass without strace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use crate::common::{
    Trained, Untrained, burnformer, opus_mt, pairs, run, stderr, stdout, tiny_settings,
};

/// The system calls that change files, or make their content last.
const CALLS: [&str; 11] = [
    "openat",
    "mkdir",
    "rename",
    "renameat2",
    "write",
    "ftruncate",
    "fallocate",
    "fsync",
    "unlink",
    "unlinkat",
    "rmdir",
];

/// What happens at a step.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill,
    /// The disk is full from this step on.
    FullDisk,
    /// This step fails.
    BadDisk,
}

impl Fault {
    const ALL: [Self; 3] = [Self::Kill, Self::FullDisk, Self::BadDisk];

    /// The option of strace.
    fn injection(self, Step { call, number }: &Step) -> String {
        match self {
            Self::Kill => format!("inject={call}:signal=SIGKILL:when={number}"),
            // Files that are only read can be opened on a full disk.
            Self::FullDisk if *call == "openat" => {
                format!("inject={call}:error=ENOSPC:when={number}")
            }
            Self::FullDisk => format!("inject={call}:error=ENOSPC:when={number}+"),
            Self::BadDisk => format!("inject={call}:error=EIO:when={number}"),
        }
    }
}

/// A system call, by its number among calls of the same name.
#[derive(Debug)]
struct Step {
    call: &'static str,
    number: usize,
}

/// A command, and the names of its results in its folder.
struct Case {
    name: &'static str,
    arguments: Vec<String>,
    /// The folder before the command, with its content.
    before: Option<PathBuf>,
    results: Vec<&'static str>,
    /// The file of a run that is resumed with `--resume`.
    resumed: Option<&'static str>,
    folder: tempfile::TempDir,
}

/// The bytes of every file in a folder, or of a file.
type Content = BTreeMap<PathBuf, Vec<u8>>;

fn content(path: &Path) -> Content {
    let mut files = Content::new();
    if path.is_file() {
        files.insert(PathBuf::new(), fs::read(path).unwrap());
    }
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let found = entry.unwrap().path();
            if found.is_dir() {
                folders.push(found);
            } else {
                let name = found.strip_prefix(path).unwrap().to_path_buf();
                files.insert(name, fs::read(&found).unwrap());
            }
        }
    }
    files
}

fn copy_folder(from: &Path, to: &Path) {
    for (name, bytes) in content(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

impl Case {
    /// A command. `{}` in its arguments stands for its folder.
    fn new(name: &'static str, arguments: &[&str], results: &[&'static str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("place").display().to_string();
        Self {
            name,
            arguments: arguments
                .iter()
                .map(|it| it.replace("{}", &place))
                .collect(),
            before: None,
            results: results.to_vec(),
            resumed: None,
            folder,
        }
    }

    fn place(&self) -> PathBuf {
        self.folder.path().join("place")
    }

    /// Sets up the folder for the command.
    fn begin(&self) {
        let place = self.place();
        if place.exists() {
            fs::remove_dir_all(&place).unwrap();
        }
        fs::create_dir(&place).unwrap();
        if let Some(before) = &self.before {
            copy_folder(before, &place);
        }
    }

    fn results(&self) -> Vec<Content> {
        let paths = self.results.iter().map(|name| self.place().join(name));
        paths.map(|path| content(&path)).collect()
    }

    /// The names in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.place()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Runs the command, which resumes from the files in the folder.
    fn again(&self) -> Output {
        let mut arguments = self.arguments.clone();
        if self
            .resumed
            .is_some_and(|it| self.place().join(it).exists())
        {
            arguments.push("--resume".into());
        }
        run(&arguments)
    }

    /// Runs the command under strace with `options`.
    fn traced(&self, options: &[&str]) -> Output {
        let program = burnformer(&self.arguments);
        let log = self.folder.path().join("log");
        let mut command = Command::new("strace");
        command.arg("-o").arg(log).args(options);
        command
            .arg(program.get_program())
            .args(program.get_args())
            .env("RAYON_NUM_THREADS", "1")
            .stdin(Stdio::null());
        command.output().unwrap()
    }

    /// The steps of the command that concern its folder.
    fn steps(&self) -> Vec<Step> {
        self.begin();
        let trace = format!("trace={}", CALLS.join(","));
        stdout(&self.traced(&["-y", "-e", &trace]));
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap();
        let place = self.place().display().to_string();
        let mut counts = BTreeMap::new();
        let mut steps = Vec::new();
        for line in log.lines() {
            let Some(call) = CALLS.into_iter().find(|call| {
                line.strip_prefix(call)
                    .is_some_and(|rest| rest.starts_with('('))
            }) else {
                continue;
            };
            let number = counts.entry(call).or_insert(0);
            *number += 1;
            let writes = ["O_CREAT", "O_WRONLY", "O_RDWR", "O_APPEND"];
            let is_read = call == "openat" && !writes.iter().any(|flag| line.contains(flag));
            if line.contains(&place) && !is_read {
                let number = *number;
                steps.push(Step { call, number });
            }
        }
        steps
    }

    /// Tries each fault at `most` steps of the command, spread over all.
    fn check(&self, most: usize) {
        let start = Instant::now();
        let steps = self.steps();
        assert!(steps.len() > 5, "{}: {steps:?}", self.name);
        self.begin();
        let old = self.results();
        stdout(&run(&self.arguments));
        let new = self.results();
        let names = self.names();
        let stride = steps.len().div_ceil(most).max(1);
        let mut tries = 0;
        for (offset, fault) in Fault::ALL.into_iter().enumerate() {
            let first = offset * stride / Fault::ALL.len();
            for step in steps.iter().skip(first).step_by(stride) {
                self.check_step(fault, step, [&old, &new], &names);
                tries += 1;
            }
        }
        println!(
            "{}: {tries} tries at {} steps in {:.1?}",
            self.name,
            steps.len(),
            start.elapsed()
        );
    }

    fn check_step(&self, fault: Fault, step: &Step, [old, new]: [&[Content]; 2], names: &[String]) {
        let at = format!("{}: {fault:?} at {step:?}", self.name);
        self.begin();
        let trace = format!("trace={}", step.call);
        let injection = fault.injection(step);
        let said = stderr(&self.traced(&["-qq", "-e", &trace, "-e", &injection]));
        assert!(!said.contains("panicked"), "{at}: {said}");
        if let Some(line) = said.lines().find(|line| line.starts_with("error: ")) {
            let place = self.place().display().to_string();
            assert!(line.contains(&place), "{at} names another file: {said}");
            assert!(said.contains("\nhint: "), "{at} has no remedy: {said}");
        }
        let found = self.results();
        for (index, found) in found.iter().enumerate() {
            let is_whole = *found == old[index] || *found == new[index];
            assert!(is_whole, "{at}: half of {}: {said}", self.results[index]);
        }
        let again = self.again();
        let is_done = ["exists already", "is not empty", "nothing to do"]
            .iter()
            .any(|text| stderr(&again).contains(text));
        assert!(
            again.status.success() || (is_done && found == new),
            "{at}: {said}\nthen: {}",
            stderr(&again)
        );
        assert!(self.results() == new, "{at}: other bytes");
        assert_eq!(self.names(), names, "{at}: leftovers");
    }
}

/// All commands that make or change a model without training.
fn conversions() -> (tempfile::TempDir, Vec<Case>) {
    let untrained = Untrained::get();
    let model = untrained.model().display().to_string();
    let text = untrained.corpus.valid.each_ref();
    let [source, target] = text.map(|path| path.display().to_string());
    let folder = tempfile::tempdir().unwrap();
    let [theirs, imported] = ["theirs", "imported"].map(|name| folder.path().join(name));
    opus_mt(&theirs, &["fra"]);
    let [theirs, imported] = [theirs, imported].map(|path| path.display().to_string());
    stdout(&run(&["import", &theirs, "-o", &imported]));
    let out = "{}/new";
    let mut cases = vec![
        Case::new("average", &["average", &model, &model, "-o", out], &["new"]),
        Case::new("quantize", &["quantize", "-m", &model, "-o", out], &["new"]),
        Case::new("import", &["import", &theirs, "-o", out], &["new"]),
        Case::new(
            "shortlist",
            &[
                "shortlist",
                "-m",
                &model,
                "--train",
                &source,
                &target,
                "-o",
                out,
            ],
            &["new"],
        ),
        Case::new(
            "distill",
            &["distill", "-m", &model, "--input", &source, "-o", out],
            &["new"],
        ),
    ];
    for format in ["hugging-face", "ctranslate2", "ctranslate2-int8"] {
        let arguments = ["export", format, "-m", &imported, "-o", out];
        cases.push(Case::new("export", &arguments, &["new"]));
    }
    let mut settings = Case::new(
        "settings",
        &["settings", out, "--set", "beam_size=3"],
        &["new"],
    );
    settings.before = Some(settings.folder.path().join("before"));
    copy_folder(
        &untrained.model(),
        &settings.folder.path().join("before/new"),
    );
    cases.push(settings);
    (folder, cases)
}

/// Adaptations of a model: the first one, and one that continues it.
fn adaptations() -> Vec<Case> {
    let trained = Trained::get();
    let model = trained.model();
    let [source, target] = trained
        .corpus
        .test
        .each_ref()
        .map(|path| path.display().to_string());
    let adapt = |memory: &Path| {
        let memory = memory.display().to_string();
        let arguments = ["adapt", "--model", &model, "--memory", &memory, "--general"];
        let rest = [
            &source,
            &target,
            "--out",
            "{}/new",
            "--updates",
            "60",
            "--mix",
            "1",
        ];
        Case::new("adapt", &[&arguments[..], &rest].concat(), &["new"])
    };
    let folder = trained.folder.path();
    let first = adapt(&memory(folder, "first.tsv", 150));
    first.begin();
    stdout(&run(&first.arguments));
    let mut further = adapt(&memory(folder, "further.tsv", 300));
    further.name = "adapt further";
    further.before = Some(further.folder.path().join("before"));
    copy_folder(&first.place(), &further.folder.path().join("before"));
    vec![first, further]
}

/// Sentences twice as long as the model knows.
fn memory(folder: &Path, name: &str, count: usize) -> PathBuf {
    let all = pairs(7, 2 * count);
    let path = folder.join(name);
    fs::write(
        &path,
        all.chunks(2)
            .map(|two: &[(String, String)]| {
                let (a, b) = &two[0];
                let (c, d) = &two[1];
                format!("{a} {c} {a}\t{b} {d} {b}\n")
            })
            .collect::<String>(),
    )
    .unwrap();
    path
}

/// A run of two updates.
fn training() -> Case {
    let untrained = Untrained::get();
    let [source, target] = untrained.corpus.train.each_ref();
    let cache = untrained.folder.path().join("cache");
    let mut arguments: Vec<String> = ["train", "--quiet", "--out", "{}/run", "--train"]
        .map(String::from)
        .to_vec();
    arguments.extend([source, target].map(|path| path.display().to_string()));
    arguments.extend(tiny_settings(&cache));
    for setting in ["training.max_updates=2", "checkpoints.every=1"] {
        arguments.extend(["--set", setting].map(String::from));
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut case = Case::new("train", &arguments, &["run/best"]);
    case.resumed = Some("run/config.toml");
    case
}

fn has_strace() -> bool {
    let found = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: no strace here that may trace");
    }
    found
}

#[test]
fn a_command_that_fails_at_a_step_leaves_the_old_or_the_new_model_and_can_be_repeated() {
    check([3, 2, 1]);
}

#[test]
#[ignore = "many minutes: every step of every command fails in three ways"]
fn a_command_that_fails_at_any_step_leaves_the_old_or_the_new_model_and_can_be_repeated() {
    check([usize::MAX; 3]);
}

/// Tries each fault at the given numbers of steps of conversions, of a training, and of
/// adaptations.
fn check([of_conversions, of_training, of_adaptations]: [usize; 3]) {
    if !has_strace() {
        return;
    }
    let (_folder, cases) = conversions();
    for case in &cases {
        case.check(of_conversions);
    }
    training().check(of_training);
    for case in adaptations() {
        case.check(of_adaptations);
    }
}
