//! A long run of `translate` over real and hostile text: one line out for each line in, in flat
//! memory.

#[path = "it/common/mod.rs"]
mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use burnformer_data::{LineReader, Utf8Policy};
use common::Trained;

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// Lines of a careless crawler, one in ten of the input.
fn hostile(number: u64) -> Vec<u8> {
    // The worst lines come early, so that their memory counts in the baseline.
    let first = number <= 40;
    let rare = first || number.is_multiple_of(5000);
    let worst = if first {
        number / 10 % 4
    } else {
        number / 5000 % 4
    };
    let kinds: [&[u8]; 14] = [
        b"",
        b"   \t ",
        b"\0",
        b"drei\0vier",
        b"\x01\x02\x7f\x1b[31m",
        b"\xff\xfe\xfd",
        b"caf\xe9",
        b"\xed\xa0\x80 surrogate",
        b"carriage\rreturn\r",
        "a\u{2028}b\u{2029}c\u{85}d".as_bytes(),
        "\u{feff}\u{202e} ﷽ \u{1F600}".as_bytes(),
        b"</s> <s> <pad> <unk> <0x0A>",
        b"https://example.org/?q=1&amp;r=%20#x",
        b"0123456789012345678901234567890123456789",
    ];
    match (rare, worst) {
        (true, 0) => b"eins zwei ".repeat(100_000),
        (true, 1) => b"x".repeat(1_000_000),
        (true, 2) => "ä".repeat(1 << 20).into_bytes(),
        (true, _) => b"acht ".repeat(100_000),
        (false, _) => kinds[(number / 10) as usize % kinds.len()].to_vec(),
    }
}

/// Real German text: the corpus in the binary, again and again.
struct Real {
    lines: Vec<String>,
}

impl Real {
    fn load() -> Self {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../assets/corpus/tatoeba-de-en"
        );
        let path = PathBuf::from(folder).join("train.de.zst");
        let reader = LineReader::open(&path, Utf8Policy::Error).unwrap();
        Self {
            lines: reader.map(|line| line.unwrap().text).collect(),
        }
    }

    fn line(&self, number: u64) -> Vec<u8> {
        match number % 10 {
            9 => hostile(number + 1),
            _ => self.lines[number as usize % self.lines.len()]
                .clone()
                .into_bytes(),
        }
    }
}

/// Writes at least `lines` lines for at least `seconds` seconds. Returns the number of lines.
fn feed(stdin: ChildStdin, lines: u64, seconds: u64) -> u64 {
    let real = Real::load();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut stdin = BufWriter::with_capacity(1 << 16, stdin);
    let mut number = 0;
    while number < lines || Instant::now() < end {
        stdin.write_all(&real.line(number)).unwrap();
        stdin.write_all(b"\n").unwrap();
        number += 1;
    }
    number
}

/// Resident memory of `child` in kilobytes.
fn resident(child: &Child) -> Option<u64> {
    let status = File::open(format!("/proc/{}/status", child.id())).ok()?;
    let line = BufReader::new(status)
        .lines()
        .map_while(Result::ok)
        .find(|l| l.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn translate(model: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_burnformer"));
    command.args([
        "translate",
        "--model",
        model,
        "--beam",
        "1",
        "--max-length",
        "60",
    ]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

/// At least `SOAK_LINES` (1,000,000) lines for at least `SOAK_SECONDS` (1,800).
#[cfg(target_os = "linux")]
#[test]
#[ignore = "thirty minutes; SOAK_LINES and SOAK_SECONDS shorten it"]
fn a_million_hostile_lines_give_a_million_lines_in_flat_memory() {
    let lines = setting("SOAK_LINES", 1_000_000);
    let seconds = setting("SOAK_SECONDS", 1800);
    let started = Instant::now();
    let mut child = translate(&Trained::get().model());
    let stdin = child.stdin.take().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let feeder = std::thread::spawn(move || feed(stdin, lines, seconds));
    let mut given = 0u64;
    let mut samples = Vec::new();
    for line in output.split(b'\n') {
        let line = line.unwrap();
        assert!(
            std::str::from_utf8(&line).is_ok(),
            "line {given} is not UTF-8"
        );
        given += 1;
        if given.is_multiple_of(1000) {
            samples.extend(resident(&child));
        }
    }
    let taken = feeder.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(given, taken, "one line out for each line in");
    let tenth = samples.len() / 10;
    assert!(tenth > 0, "{} samples of memory are too few", samples.len());
    let early = *samples[..tenth].iter().max().unwrap();
    let late = *samples[samples.len() / 2..].iter().max().unwrap();
    let rate = given as f64 / started.elapsed().as_secs_f64();
    eprintln!(
        "{given} lines, {rate:.0} lines/s; memory {early} kB in the first tenth, {late} kB in the second half"
    );
    assert!(
        late as f64 <= 1.1 * early as f64,
        "memory grew from {early} kB to {late} kB"
    );
}
