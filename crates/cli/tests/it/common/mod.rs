//! A toy language pair that a small model learns in seconds, and the binary to run.
#![allow(dead_code, reason = "each test file uses its share")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

const WORDS: [(&str, &str); 10] = [
    ("eins", "one"),
    ("zwei", "two"),
    ("drei", "three"),
    ("vier", "four"),
    ("fünf", "five"),
    ("sechs", "six"),
    ("sieben", "seven"),
    ("acht", "eight"),
    ("neun", "nine"),
    ("null", "zero"),
];

/// `count` pairs of two to six number words, from a generator seeded by `seed`.
pub fn pairs(seed: u64, count: usize) -> Vec<(String, String)> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..count)
        .map(|_| {
            let length = rng.random_range(2..7);
            let words: Vec<_> = (0..length)
                .map(|_| WORDS[rng.random_range(0..WORDS.len())])
                .collect();
            let side = |f: fn(&(&'static str, &'static str)) -> &'static str| {
                words.iter().map(f).collect::<Vec<_>>().join(" ")
            };
            (side(|w| w.0), side(|w| w.1))
        })
        .collect()
}

/// Writes both sides of `pairs` to `folder/name.de` and `folder/name.en`.
pub fn write_pairs(folder: &Path, name: &str, pairs: &[(String, String)]) -> [PathBuf; 2] {
    let write = |language: &str, lines: Vec<&str>| {
        let path = folder.join(format!("{name}.{language}"));
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        path
    };
    let source = write("de", pairs.iter().map(|p| p.0.as_str()).collect());
    let target = write("en", pairs.iter().map(|p| p.1.as_str()).collect());
    [source, target]
}

/// The binary with `arguments`.
pub fn burnformer<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burnformer"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs the binary with `input` on its standard input.
pub fn run_with<S: AsRef<std::ffi::OsStr>>(arguments: &[S], input: &[u8]) -> Output {
    feed(&mut burnformer(arguments), input)
}

/// Runs `command` with `input` on its standard input.
pub fn feed(command: &mut Command, input: &[u8]) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    output
}

/// Runs the binary.
pub fn run<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Output {
    burnformer(arguments).output().unwrap()
}

/// Asserts that the command with these arguments succeeds.
pub fn assert_runs(arguments: &[&str]) {
    stdout(&run(arguments));
}

/// stdout of a run that must succeed.
pub fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// stderr of a run.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The loss of each log line of the run in this folder.
pub fn losses(run: &Path) -> Vec<f64> {
    let metrics = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let rows = metrics
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.filter(|row| row["kind"] == "train")
        .map(|row| row["loss"].as_f64().unwrap())
        .collect()
}

/// The translations of a few lines, one of them empty, by the best model of a run.
pub fn translations(run: &Path, device: &str) -> String {
    let model = run.join("best").display().to_string();
    let input = b"eins zwei drei\nneun acht sieben null\n\nvier\n";
    stdout(&run_with(
        &["translate", "--model", &model, "--device", device],
        input,
    ))
}

/// The settings of a model that learns the toy pair in seconds.
pub fn tiny_settings(cache: &Path) -> Vec<String> {
    let settings = [
        "model.d_model=64",
        "model.heads=4",
        "model.d_ff=128",
        "model.norm=pre",
        "model.encoder_layers=1",
        "model.decoder_layers=1",
        "model.dropout=0.0",
        "tokenizer.train.vocab_size=320",
        "tokenizer.train.allow_smaller=true",
        "training.budget=512",
        "training.max_updates=800",
        "training.max_minutes=0",
        "training.log_every=20",
        "training.precision=float32",
        "optimizer.algorithm=adam",
        "schedule.shape=inverse_sqrt",
        "schedule.cooldown=0",
        "schedule.factor=1.0",
        "schedule.warmup=100",
        "validation.every=400",
        "validation.test_alphas=[]",
        "checkpoints.every=40",
        "checkpoints.keep=5",
        "checkpoints.average=2",
    ];
    let cache = format!("data.cache={}", cache.display());
    let all = settings.iter().map(|s| s.to_string()).chain([cache]);
    all.flat_map(|setting| ["--set".to_string(), setting])
        .collect()
}

/// Arguments of a training run on `corpus` in `folder/out`, with further ones.
pub fn train_arguments(folder: &Path, corpus: &Corpus, out: &str, more: &[&str]) -> Vec<String> {
    let path = |p: &Path| p.display().to_string();
    let mut arguments = vec!["train".to_string(), "--out".into(), path(&folder.join(out))];
    for (flag, files) in [
        ("--train", &corpus.train),
        ("--valid", &corpus.valid),
        ("--test", &corpus.test),
    ] {
        arguments.push(flag.into());
        arguments.extend(files.iter().map(|p| path(p)));
    }
    let settings = tiny_settings(&folder.join("cache"));
    // A model that a run starts from has its tokenisers.
    let is_used = |pair: &&[String]| {
        !more.contains(&"--from") || !pair.iter().any(|it| it.starts_with("tokenizer.train"))
    };
    arguments.extend(settings.chunks(2).filter(is_used).flatten().cloned());
    arguments.extend(more.iter().map(|s| s.to_string()));
    arguments
}

/// A toy corpus on disk.
pub struct Corpus {
    pub train: [PathBuf; 2],
    pub valid: [PathBuf; 2],
    pub test: [PathBuf; 2],
}

impl Corpus {
    pub fn write(folder: &Path) -> Self {
        Self {
            train: write_pairs(folder, "train", &pairs(1, 2000)),
            valid: write_pairs(folder, "valid", &pairs(2, 50)),
            test: write_pairs(folder, "test", &pairs(3, 50)),
        }
    }
}

/// A folder for runs, and the toy corpus.
pub struct Toy {
    pub folder: tempfile::TempDir,
    pub corpus: Corpus,
    /// Arguments of every run.
    pub settings: Vec<&'static str>,
}

impl Toy {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let corpus = Corpus::write(folder.path());
        Self {
            folder,
            corpus,
            settings: Vec::new(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Arguments of a training run in the folder `out`, with further ones.
    pub fn arguments(&self, out: &str, more: &[&str]) -> Vec<String> {
        let more = [&self.settings, more].concat();
        train_arguments(self.folder.path(), &self.corpus, out, &more)
    }

    pub fn train(&self, out: &str, more: &[&str]) -> Output {
        run(&self.arguments(out, more))
    }

    /// The bytes of the weights in a checkpoint.
    pub fn weights(&self, out: &str, step: u32) -> Vec<u8> {
        let path = format!("{out}/checkpoints/step-{step:06}/model.safetensors");
        std::fs::read(self.path(&path)).unwrap()
    }
}

/// A run trained once for all tests of a file.
pub struct Trained {
    pub folder: tempfile::TempDir,
    pub corpus: Corpus,
    pub output: Output,
}

impl Trained {
    pub fn get() -> &'static Self {
        static TRAINED: OnceLock<Trained> = OnceLock::new();
        TRAINED.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let corpus = Corpus::write(folder.path());
            let output = run(&train_arguments(folder.path(), &corpus, "run", &[]));
            assert!(output.status.success(), "{}", stderr(&output));
            Self {
                folder,
                corpus,
                output,
            }
        })
    }

    pub fn run_dir(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// The best model's directory, as an argument.
    pub fn model(&self) -> String {
        self.run_dir().join("best").display().to_string()
    }
}

/// A run of two updates: a model directory like any other, but with meaningless translations.
pub struct Untrained {
    pub folder: tempfile::TempDir,
    pub corpus: Corpus,
}

impl Untrained {
    pub fn get() -> &'static Self {
        static UNTRAINED: OnceLock<Untrained> = OnceLock::new();
        UNTRAINED.get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            let corpus = Corpus::write(folder.path());
            let mut arguments = vec!["train".to_string(), "--quiet".into(), "--out".into()];
            arguments.push(folder.path().join("run").display().to_string());
            arguments.push("--train".into());
            arguments.extend(corpus.train.iter().map(|path| path.display().to_string()));
            arguments.extend(tiny_settings(&folder.path().join("cache")));
            for setting in ["training.max_updates=2", "training.log_every=1"] {
                arguments.extend(["--set", setting].map(String::from));
            }
            let output = run(&arguments);
            assert!(output.status.success(), "{}", stderr(&output));
            Self { folder, corpus }
        })
    }

    /// The model directory.
    pub fn model(&self) -> PathBuf {
        self.folder.path().join("run/last")
    }

    /// A copy of the model directory for a test to damage.
    pub fn copy(&self) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(self.model()).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
        }
        copy
    }
}

/// Asserts that `output` is a refusal: the exit code, nothing on stdout, every one of `needles` in
/// one message on stderr, and no panic.
pub fn assert_refused(output: &Output, code: i32, needles: &[&str]) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(
        output.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    assert!(!message.contains("panicked"), "{message}");
    // The libraries write `cause; remedy`, the program gives the remedy a line.
    let in_one_line = message.replace("\nhint: ", "; ");
    for needle in needles {
        let is_there = in_one_line.contains(needle) || message.contains(needle);
        assert!(is_there, "{needle:?} is not in: {message}");
    }
}

/// Asserts that the binary with `arguments` refuses as [`assert_refused`] says.
pub fn refused(arguments: &[&str], code: i32, needles: &[&str]) {
    assert_refused(&run(arguments), code, needles);
}

/// Runs the binary with at most four gigabytes of address space. Allocating the sizes that a
/// hostile file claims would kill it.
#[cfg(unix)]
pub fn run_bounded(arguments: &[&str]) -> Output {
    let script = "ulimit -v 4000000; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_burnformer")])
        .args(arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

/// Makes a model in the form of OPUS-MT at Hugging Face in `folder`. It translates into
/// `languages`, with tokens such as `>>fra<<`.
pub fn opus_mt(folder: &Path, languages: &[&str]) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interop/tests/fixtures");
    let m2m100 = fixtures.join("m2m100/relu");
    fs::create_dir(folder).unwrap();
    for entry in fs::read_dir(fixtures.join("hugging_face/shared_swish")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    for side in ["source.spm", "target.spm"] {
        fs::copy(m2m100.join("sentencepiece.bpe.model"), folder.join(side)).unwrap();
    }
    let pieces = fs::read(m2m100.join("vocab.json")).unwrap();
    let pieces: serde_json::Map<_, _> = serde_json::from_slice(&pieces).unwrap();
    let pieces = pieces
        .keys()
        .filter(|piece| !piece.starts_with(['<', '_']))
        .cloned();
    let tags = languages.iter().map(|language| format!(">>{language}<<"));
    // The model has 24 tokens.
    let tokens = ["</s>".into(), "<unk>".into()]
        .into_iter()
        .chain(tags)
        .chain(pieces);
    let tokens = tokens.take(23).chain(["<pad>".into()]);
    let ids: serde_json::Map<_, _> = tokens.zip((0..).map(|id: u32| id.into())).collect();
    fs::write(folder.join("vocab.json"), serde_json::to_vec(&ids).unwrap()).unwrap();
}
