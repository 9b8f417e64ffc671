//! A command, the folder in which it works, and the end that it comes to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::{stderr, stdout};
use crate::compare::{Files, comparable, difference, files};
use crate::disk;
use crate::record::Recording;
use crate::trace::{Call, RECORDED, calls};

/// A command that changes files.
pub struct Case {
    pub name: &'static str,
    program: &'static str,
    arguments: Vec<String>,
    /// The files in the folder before the command.
    pub before: Files,
    /// The results in the folder. At any moment each is the old one or the new one. A run has none:
    /// its models change several times.
    pub results: Vec<&'static str>,
    folder: tempfile::TempDir,
}

/// What came of repeating a command.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The files of a command that was not interrupted.
    Same,
    /// Other files, or an end that is no error and no success.
    Different(String),
    /// An error that only a person can do something about.
    Refused(String),
}

/// Messages of a command that has nothing to do any more.
const DONE: [&str; 4] = [
    "exists already",
    "is not empty",
    "nothing to do",
    "is done already",
];

impl Case {
    /// A command. `{}` in its arguments stands for its folder.
    pub fn new<S: AsRef<str>>(
        name: &'static str,
        arguments: &[S],
        results: &[&'static str],
    ) -> Self {
        let program = env!("CARGO_BIN_EXE_burnformer");
        Self::of_program(program, name, arguments, results)
    }

    /// A command of another program.
    pub fn of_program<S: AsRef<str>>(
        program: &'static str,
        name: &'static str,
        arguments: &[S],
        results: &[&'static str],
    ) -> Self {
        let mut case = Self {
            name,
            program,
            arguments: Vec::new(),
            before: Files::new(),
            results: results.to_vec(),
            folder: home(),
        };
        case.arguments = case.filled(arguments);
        case
    }

    /// The same command in a folder in which `commands` ran before it.
    pub fn after(mut self, commands: &[Vec<String>]) -> Self {
        self.begin();
        for arguments in commands {
            self.finish(&self.filled(arguments));
        }
        self.before = files(&self.place());
        self
    }

    /// The same command in a folder that holds `files`.
    pub fn with(mut self, files: Files) -> Self {
        self.before = files;
        self
    }

    /// `arguments` with the folder instead of `{}`.
    fn filled<S: AsRef<str>>(&self, arguments: &[S]) -> Vec<String> {
        let place = self.place().display().to_string();
        let fill = |argument: &S| argument.as_ref().replace("{}", &place);
        arguments.iter().map(fill).collect()
    }

    pub fn place(&self) -> PathBuf {
        self.folder.path().join("place")
    }

    /// Sets up the folder for the command.
    pub fn begin(&self) {
        disk::write(&self.before, &self.place());
    }

    /// Runs a command to its end, which must be a success.
    fn finish(&self, arguments: &[String]) {
        stdout(&self.run(self.program, arguments));
    }

    fn run(&self, program: &str, arguments: &[String]) -> Output {
        self.command(program, arguments).output().unwrap()
    }

    fn command(&self, program: &str, arguments: &[String]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("RAYON_NUM_THREADS", "1")
            .env("XDG_CACHE_HOME", self.folder.path().join("cache"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the command under strace with `options`. Returns its output and the log of strace.
    pub fn traced(&self, options: &[&str]) -> (Output, String) {
        let log = self.folder.path().join("log");
        let mut arguments = vec!["-o".to_owned(), log.display().to_string()];
        arguments.extend(options.iter().map(|option| option.to_string()));
        arguments.push(self.program.into());
        arguments.extend(self.arguments.iter().cloned());
        let output = self.run("strace", &arguments);
        (output, fs::read_to_string(log).unwrap_or_default())
    }

    /// Runs the command within a limit of `ulimit`: `-f` limits each file to blocks of 512 bytes,
    /// `-v` the address space to kilobytes.
    pub fn limited(&self, option: &str, limit: usize) -> Output {
        let script = format!("ulimit {option} {limit}; exec \"$0\" \"$@\"");
        let mut arguments = vec!["-c".to_owned(), script, self.program.into()];
        arguments.extend(self.arguments.iter().cloned());
        self.run("sh", &arguments)
    }

    /// Runs the command with stacks so large that no thread can be started.
    pub fn without_threads(&self) -> Output {
        self.command(self.program, &self.arguments)
            .env("RUST_MIN_STACK", (1_u64 << 60).to_string())
            .output()
            .unwrap()
    }

    /// Runs the command with the library of `shortage.c`, of which `setting` is a variable. Returns
    /// its output and whether what it asks for happened.
    pub fn with_shortage(&self, setting: &str, value: usize) -> (Output, bool) {
        let library = self.folder.path().join("shortage.so");
        if !library.exists() {
            compile(&library);
        }
        let mark = self.folder.path().join("mark");
        let _ = fs::remove_file(&mark);
        let output = self
            .command(self.program, &self.arguments)
            .env("LD_PRELOAD", library)
            .env("BURNFORMER_PLACE", self.place())
            .env("BURNFORMER_MARK", &mark)
            .env(setting, value.to_string())
            .output()
            .unwrap();
        (output, mark.exists())
    }

    /// The calls of the command, which runs from its beginning to its end.
    pub fn calls(&self) -> Vec<Call> {
        self.begin();
        let trace = format!("trace={RECORDED}");
        let all = ["-f", "-qq", "-xx", "-s", "999999999", "-e", &trace];
        let (output, log) = self.traced(&all);
        stdout(&output);
        calls(&log)
    }

    /// The changes that the command makes.
    pub fn record(&self) -> Recording {
        let recording = Recording::new(&self.place(), &self.before, &self.calls());
        let is_whole = difference(&files(&self.place()), &recording.after.files());
        assert_eq!(is_whole, None, "{}: the recording is wrong", self.name);
        recording
    }

    /// The files of a command that was not interrupted.
    pub fn expected(&self) -> Files {
        self.begin();
        self.finish(&self.arguments);
        comparable(&self.place())
    }

    /// Runs the command in the folder as it is. A run that began is resumed.
    pub fn again(&self, expected: &Files) -> End {
        let mut arguments = self.arguments.clone();
        let is_training = arguments[0] == "train" && !arguments.contains(&"--resume".into());
        if is_training && self.place().join("run/config.toml").exists() {
            arguments.push("--resume".into());
        }
        let output = self.run(self.program, &arguments);
        let said = stderr(&output);
        let is_done = DONE.iter().any(|text| said.contains(text));
        match output.status.code() {
            Some(0) => {}
            Some(1) if is_done => {}
            Some(1) => return End::Refused(said),
            _ => return End::Different(format!("{}: {said}", output.status)),
        }
        match difference(expected, &comparable(&self.place())) {
            None => End::Same,
            Some(difference) => End::Different(format!("{difference}: {said}")),
        }
    }
}

/// A command of a shell that makes the file `$new` unless it exists. `$half` is a file beside it,
/// and `$all` their folder.
pub fn script(steps: &str) -> Case {
    let beginning = "half={}/half; new={}/new; all={}; \
        test ! -e $new || { echo 'new: exists already' >&2; exit 1; }; ";
    let script = beginning.to_owned() + steps;
    Case::of_program("sh", "script", &["-c", &script], &["new"])
}

/// Compiles the library of `shortage.c`.
fn compile(library: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crashes/shortage.c");
    let status = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .arg(library)
        .arg(source)
        .status();
    assert!(status.expect("a C compiler").success());
}

/// A temporary folder, in memory if the system has such a place.
pub fn home() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
    made.unwrap()
}

/// Returns whether strace is here and may trace.
pub fn has_strace() -> bool {
    let found = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        eprintln!("skipped: no strace here that may trace");
    }
    found
}
