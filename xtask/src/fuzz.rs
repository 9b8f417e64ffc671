//! `fuzz`: inputs that a fuzzer makes enter the doors of the program, guided by coverage
//! (`tests/fuzz`).

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::kept;
use crate::shell::{USAGE, cargo, finished, output, print, say, succeeds, target_dir, workspace};

/// The package of the doors.
const PACKAGE: &str = "burnformer-fuzz";

/// A counter at each edge, and the operands of comparisons. Sums that overflow and assertions of
/// debug builds are found as well.
const COVERED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                       -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                       -Cllvm-args=-sanitizer-coverage-pc-table \
                       -Cllvm-args=-sanitizer-coverage-trace-compares \
                       -Cdebug-assertions=yes -Coverflow-checks=yes";

/// With a target, build scripts and macros are built without the flags.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// An input that takes longer is a finding.
const MAX_SECONDS: u32 = 20;

/// The longest input that the fuzzer makes, unless a seed is longer. Longer ones find the same
/// faults more slowly.
const MAX_BYTES: u64 = 2048;

/// The command line.
#[derive(Debug, PartialEq)]
struct Settings {
    /// The time for each door.
    minutes: f64,
    /// If true, a few inputs are chosen for the repository.
    keeps: bool,
    /// Parts of the names of doors; all doors if there are none.
    names: Vec<String>,
}

/// A door, as the program lists it.
struct Door {
    name: String,
    /// Files to begin with.
    seeds: Vec<String>,
}

impl Door {
    /// The length of the longest input.
    fn longest(&self) -> u64 {
        let seeds = self.seeds.iter().filter_map(|path| fs::metadata(path).ok());
        seeds.map(|file| file.len()).fold(MAX_BYTES, u64::max)
    }
}

/// What was tried at a door.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    cases: u64,
    edges: u64,
    inputs: u64,
}

/// Builds the program and runs it for each door that `args` names.
pub fn run(args: &[OsString]) -> ExitCode {
    let Some(settings) = Settings::of(args) else {
        say("xtask: `fuzz` takes parts of the names of doors, --minutes N and --keep");
        return ExitCode::from(USAGE);
    };
    finished(all(&settings))
}

impl Settings {
    fn of(args: &[OsString]) -> Option<Self> {
        let mut settings = Self {
            minutes: 1.0,
            keeps: false,
            names: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(argument) = args.next() {
            match argument.to_str()? {
                "--keep" => settings.keeps = true,
                "--minutes" => settings.minutes = args.next()?.to_str()?.parse().ok()?,
                option if option.starts_with('-') => return None,
                name => settings.names.push(name.to_owned()),
            }
        }
        Some(settings)
    }

    fn wants(&self, door: &Door) -> bool {
        let mut names = self.names.iter();
        self.names.is_empty() || names.any(|name| door.name.contains(name))
    }
}

fn all(settings: &Settings) -> Result<(), String> {
    let program = build()?;
    let mut doors = doors(&program)?;
    doors.retain(|door| settings.wants(door));
    if doors.is_empty() {
        return Err(format!(
            "no door has {} in its name",
            settings.names.join(" or ")
        ));
    }
    print("| door | cases | edges | inputs | finding |\n|---|---|---|---|---|\n")?;
    let mut findings = 0;
    for door in &doors {
        let place = Place::of(door)?;
        let found = place.fuzz(&program, settings.minutes)?;
        findings += usize::from(found);
        if settings.keeps {
            kept::choose(&program, &door.name, &place.inputs, &place.kept)?;
        }
    }
    match findings {
        0 => Ok(()),
        _ => Err(format!(
            "{findings} doors failed; see {}",
            folder().display()
        )),
    }
}

/// The folder of what the fuzzer builds and writes.
fn folder() -> PathBuf {
    target_dir().join("fuzz")
}

/// Builds the program and returns its path.
fn build() -> Result<PathBuf, String> {
    let mut command = cargo("build");
    command.args(["--release", "--target", TARGET, "--target-dir"]);
    command.arg(folder());
    command.args(["--package", PACKAGE, "--features", "libfuzzer"]);
    command.env("RUSTFLAGS", COVERED);
    succeeds(&mut command)?;
    Ok(folder().join(TARGET).join("release").join(PACKAGE))
}

fn doors(program: &Path) -> Result<Vec<Door>, String> {
    let text = output(&mut Command::new(program))?;
    let doors = text.lines().map(|line| {
        let mut columns = line.split('\t').map(String::from);
        Door {
            name: columns.next().unwrap_or_default(),
            seeds: columns.collect(),
        }
    });
    Ok(doors.collect())
}

/// The files of a door.
struct Place<'a> {
    door: &'a Door,
    /// The folder of the inputs that reach new code.
    inputs: PathBuf,
    /// The folder of the inputs in the repository.
    kept: PathBuf,
    /// The folder of the inputs that fail.
    findings: PathBuf,
    log: PathBuf,
}

impl<'a> Place<'a> {
    fn of(door: &'a Door) -> Result<Self, String> {
        let place = Self {
            door,
            inputs: folder().join("inputs").join(&door.name),
            kept: workspace().join("tests/fuzz/corpus").join(&door.name),
            findings: folder().join("findings").join(&door.name),
            log: folder().join("logs").join(&door.name),
        };
        let logs = folder().join("logs");
        for path in [&place.inputs, &place.kept, &place.findings, &logs] {
            fs::create_dir_all(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
        }
        Ok(place)
    }

    /// Runs the fuzzer, prints a row, and returns whether it found something.
    fn fuzz(&self, program: &Path, minutes: f64) -> Result<bool, String> {
        let log =
            File::create(&self.log).map_err(|cause| format!("{}: {cause}", self.log.display()))?;
        let mut command = Command::new(program);
        command
            .args([&self.inputs, &self.kept])
            .args(self.options(minutes));
        command.env("BURNFORMER_DOOR", &self.door.name).stderr(log);
        let failed = succeeds(&mut command).is_err();
        let log =
            fs::read(&self.log).map_err(|cause| format!("{}: {cause}", self.log.display()))?;
        let Outcome {
            cases,
            edges,
            inputs,
        } = Outcome::of(&String::from_utf8_lossy(&log));
        let finding = if failed {
            self.log.display().to_string()
        } else {
            String::new()
        };
        print(&format!(
            "| {} | {cases} | {edges} | {inputs} | {finding} |\n",
            self.door.name
        ))?;
        Ok(failed)
    }

    fn options(&self, minutes: f64) -> Vec<String> {
        let words = workspace().join("tests/fuzz/words.dict");
        let seconds = (minutes * 60.0).ceil().max(1.0);
        let mut options = vec![
            format!("-max_total_time={seconds}"),
            format!("-timeout={MAX_SECONDS}"),
            format!("-max_len={}", self.door.longest()),
            format!("-artifact_prefix={}/", self.findings.display()),
            format!("-dict={}", words.display()),
            "-use_value_profile=1".into(),
            "-print_final_stats=1".into(),
        ];
        if !self.door.seeds.is_empty() {
            options.push(format!("-seed_inputs={}", self.door.seeds.join(",")));
        }
        options
    }
}

impl Outcome {
    /// Reads the messages of libFuzzer.
    fn of(log: &str) -> Self {
        let last = log.lines().rev().find(|line| line.contains(" cov: "));
        let last = last.unwrap_or_default();
        let after = |text: &str, name: &str| {
            let rest = text.split_once(name)?.1.trim_start();
            let end = rest
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(rest.len());
            rest[..end].parse().ok()
        };
        let executed = after(log, "stat::number_of_executed_units:");
        let executed = executed.or_else(|| after(last, "#"));
        Self {
            cases: executed.unwrap_or(0),
            edges: after(last, " cov: ").unwrap_or(0),
            inputs: after(last, " corp: ").unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn names_and_options_are_told_apart() {
        let settings = Settings::of(&words("po --minutes 0.5 xliff --keep")).expect("valid");
        assert_eq!(settings.names, ["po", "xliff"]);
        assert_eq!(settings.minutes, 0.5);
        assert!(settings.keeps);
        for line in ["--minutes", "--minutes x", "--hours 1"] {
            assert_eq!(Settings::of(&words(line)), None, "{line}");
        }
    }

    /// Lines of libFuzzer in LLVM 22.
    #[test]
    fn the_figures_are_those_of_the_last_report() {
        let log = "#2\tINITED cov: 12 ft: 13 corp: 1/1b exec/s: 0 rss: 36Mb\n\
                   #512\tpulse  cov: 90 ft: 99 corp: 17/40b lim: 6 exec/s: 256 rss: 36Mb\n";
        let killed = Outcome {
            cases: 512,
            edges: 90,
            inputs: 17,
        };
        assert_eq!(Outcome::of(log), killed);
        let ended = format!("{log}stat::number_of_executed_units: 700\n");
        assert_eq!(
            Outcome::of(&ended),
            Outcome {
                cases: 700,
                ..killed
            }
        );
        assert_eq!(Outcome::of(""), Outcome::default());
    }
}
