//! A static Linux program in an otherwise empty folder, and a Windows program in Wine.
//!
//! The tests are opt-in, because the programs must be built before. `BURNFORMER_STATIC` and
//! `BURNFORMER_WINDOWS` are their paths (docs/guide/installation.md says how to build them). The
//! first test needs the rights for `chroot`, the second Wine (`WINE` is its path).

#[path = "it/common/mod.rs"]
mod common;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Corpus, feed, stderr, stdout};

/// Everyday German sentences; the last line ends without a line feed.
const GERMAN: &str =
    "Guten Morgen!\nDas Telefongespräch hat sechs Stunden gedauert.\n\nIch heiße Tom.";

/// Commands of the program. They know the folder by relative paths only.
struct Elsewhere {
    folder: tempfile::TempDir,
    /// The program, and what starts it.
    words: Vec<PathBuf>,
}

impl Elsewhere {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .args(arguments)
            .current_dir(self.folder.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.env("WINEDEBUG", "-all");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Translates as the program of this machine does, from standard input and from file to file.
    fn translates(&self) {
        fs::write(self.path("text.de"), GERMAN).unwrap();
        for model in ["embedded:de-en", "embedded:en-de"] {
            let arguments = [
                "--quiet",
                "translate",
                "--model",
                model,
                "--beam",
                "4",
                "--nbest",
                "2",
            ];
            let here = stdout(&common::run_with(&arguments, GERMAN.as_bytes()));
            let there = feed(&mut self.command(&arguments), GERMAN.as_bytes());
            assert_eq!(stdout(&there), here, "{model}");
            let of_files = [
                &arguments[..],
                &["--input", "text.de", "--output", "text.out"],
            ]
            .concat();
            for _ in 0..2 {
                // The second time, the file is replaced.
                stdout(&self.run(&of_files));
                assert_eq!(
                    fs::read_to_string(self.path("text.out")).unwrap(),
                    here,
                    "{model}"
                );
            }
        }
    }

    fn training(&self, out: &str, more: &[&str]) -> Command {
        let mut arguments = vec!["--quiet", "train", "--preset", "tiny", "--out", out];
        arguments.extend([
            "--train", "train.de", "train.en", "--valid", "valid.de", "valid.en",
        ]);
        let settings = [
            "tokenizer.train.vocab_size=320",
            "tokenizer.train.allow_smaller=true",
            "training.budget=512",
            "training.max_updates=20",
            "training.max_minutes=0",
            "validation.every=10",
            "checkpoints.every=4",
            "data.cache=cache",
        ];
        settings
            .iter()
            .for_each(|setting| arguments.extend(["--set", setting]));
        arguments.extend(more);
        self.command(&arguments)
    }

    /// A training that is killed in the middle and resumed ends with the weights of a whole one.
    fn trains_and_resumes(&self) {
        Corpus::write(self.folder.path());
        stdout(&self.training("whole", &[]).output().unwrap());
        let mut killed = self.training("killed", &[]).spawn().unwrap();
        wait_for("a checkpoint", || {
            self.path("killed/checkpoints/step-000008").exists()
        });
        killed.kill().unwrap();
        killed.wait().unwrap();
        assert!(
            !self.path("killed/checkpoints/step-000020").exists(),
            "it was killed too late"
        );
        stdout(&self.training("killed", &["--resume"]).output().unwrap());
        for model in ["best", "last"] {
            let weights = |run| fs::read(self.path(&format!("{run}/{model}/model.safetensors")));
            assert!(
                weights("killed").unwrap() == weights("whole").unwrap(),
                "{model} differs"
            );
        }
        stdout(&self.run(&[
            "--quiet",
            "translate",
            "--model",
            "whole/best",
            "--input",
            "test.de",
        ]));
    }

    /// The first Ctrl-C lets a training save what it has.
    fn stops_in_good_order(&self) {
        let endless = [
            "--set",
            "training.max_updates=100000",
            "--set",
            "checkpoints.every=50000",
        ];
        let running = self.training("stopped", &endless).spawn().unwrap();
        wait_for("an update", || {
            fs::metadata(self.path("stopped/metrics.jsonl")).is_ok_and(|meta| meta.len() > 1000)
        });
        let interrupt = Command::new("kill")
            .args(["-INT", &running.id().to_string()])
            .status();
        assert!(interrupt.unwrap().success());
        let ended = running.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{}", stderr(&ended));
        assert!(
            stderr(&ended).contains("finishing this update and saving"),
            "{}",
            stderr(&ended)
        );
        let checkpoints = fs::read_dir(self.path("stopped/checkpoints"))
            .unwrap()
            .count();
        assert_eq!(checkpoints, 1);
    }

    /// Texts as Windows has them, and names that mean something there.
    fn knows_windows(&self) {
        let translated = |input: &str| {
            let output = self.run(&["--quiet", "translate", "--input", input]);
            let text = stdout(&output);
            assert!(
                !text.contains('\r') && !stderr(&output).contains(r"\\?\"),
                "{text}"
            );
            text
        };
        let expected = stdout(&feed(
            &mut self.command(&["--quiet", "translate"]),
            GERMAN.replace('\n', "\r\n").as_bytes(),
        ));
        fs::write(self.path("text.de"), GERMAN.replace('\n', "\r\n")).unwrap();
        // The longest path without a prefix has 260 characters.
        let long = vec!["n".repeat(90); 4].join("/");
        fs::create_dir_all(self.path(&long)).unwrap();
        fs::copy(self.path("text.de"), self.path(&long).join("text.de")).unwrap();
        let root = self.folder.path().display().to_string().replace('/', r"\");
        let here = format!(r"Z:{root}\text.de");
        for input in [
            "text.de",
            "TEXT.DE",
            r".\text.de",
            &here,
            &format!("{long}/text.de"),
        ] {
            assert_eq!(translated(input), expected, "{input}");
        }
        let out = format!("{long}/text.out");
        stdout(&self.run(&["translate", "--input", &here, "--output", &out]));
        assert_eq!(fs::read_to_string(self.path(&out)).unwrap(), expected);
        let same = self.run(&["translate", "--input", "text.de", "--output", r".\Text.De"]);
        common::assert_refused(&same, 2, &["both input and output"]);
        let folder = self.run(&["translate", "--input", "whole"]);
        common::assert_refused(&folder, 1, &["whole", "it is a directory"]);
        for name in ["con", "aux/run", "a?b", "nul.txt/run"] {
            let run = self.training(name, &[]).output().unwrap();
            common::assert_refused(&run, 1, &[name]);
        }
        stdout(&self.training(&long, &[]).output().unwrap());
        for command in ["adapt", "score", "eval-bleu", "settings"] {
            assert!(
                stdout(&self.run(&[command, "--help"])).contains("Usage:"),
                "{command}"
            );
        }
    }

    /// Answers a request over HTTP.
    fn serves(&self) {
        let mut server = Killed(self.command(&["serve", "--listen", "0"]).spawn().unwrap());
        let mut line = String::new();
        BufReader::new(server.0.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening at http://")
            .expect(&line);
        let body = r#"{"q": "Guten Morgen!", "source": "de", "target": "en"}"#;
        let length = body.len();
        let mut answer = String::new();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "POST /translate HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
        )
        .unwrap();
        write!(stream, "Content-Length: {length}\r\n\r\n{body}").unwrap();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.contains(r#""translatedText":"Good morning!""#),
            "{answer}"
        );
    }

    /// Bad input gives a sentence and an exit code.
    fn refuses(&self) {
        let cases: [(&[&str], i32, &str); 3] = [
            (
                &["translate", "--input", "nothing.de"],
                1,
                "nothing.de: no such file; check the path",
            ),
            (&["translate", "--model", "nothing"], 1, "nothing"),
            (&["tranlsate"], 2, "unrecognized subcommand"),
        ];
        for (arguments, code, needle) in cases {
            common::assert_refused(&self.run(arguments), code, &[needle]);
        }
        assert!(stdout(&self.run(&["--help"])).contains("translate"));
    }

    fn does_everything(&self) {
        self.refuses();
        self.translates();
        self.serves();
        self.trains_and_resumes();
        self.stops_in_good_order();
    }
}

/// A process that is killed on drop.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(300);
    while !there() {
        assert!(Instant::now() < end, "{what} did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The program at the path in the variable `name`.
fn program(name: &str) -> PathBuf {
    let path = std::env::var(name).unwrap_or_default();
    assert!(
        Path::new(&path).is_file(),
        "set {name} to the path of the program; it is {path:?}"
    );
    fs::canonicalize(path).unwrap()
}

#[test]
#[ignore = "needs a static program (BURNFORMER_STATIC) and the rights for chroot"]
fn a_static_program_needs_nothing_but_itself() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(
        program("BURNFORMER_STATIC"),
        folder.path().join("burnformer"),
    )
    .unwrap();
    let words = ["chroot", ".", "/burnformer"].map(PathBuf::from).to_vec();
    Elsewhere { folder, words }.does_everything();
}

#[test]
#[ignore = "needs a program for Windows (BURNFORMER_WINDOWS) and Wine"]
fn a_program_for_windows_runs_in_wine() {
    let wine = std::env::var_os("WINE").unwrap_or("wine".into());
    let words = vec![PathBuf::from(wine), program("BURNFORMER_WINDOWS")];
    let elsewhere = Elsewhere {
        folder: tempfile::tempdir().unwrap(),
        words,
    };
    elsewhere.does_everything();
    elsewhere.knows_windows();
}
