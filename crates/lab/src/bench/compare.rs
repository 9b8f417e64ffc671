//! Comparison with a peer. Both sides run in alternation, each in every sensible setting, and the
//! fastest setting counts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use burnformer::output::{note, print};
use serde_json::{Value, json};

/// Options of a comparison with a peer.
#[derive(clap::Args)]
pub struct PeerArgs {
    /// Compare with the peer framework in this Python interpreter: both sides run in alternation,
    /// the fastest setting of each side counts, and the ratio is printed
    #[arg(long, value_name = "PYTHON")]
    pub against: Option<PathBuf>,
    /// Number of rounds; in each round both sides run once in every setting, and the sides take
    /// turns to begin
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pairs: u16,
}

/// A program in `benches/peers` for the same work, and its Python packages. The first package is
/// the framework.
pub type Peer = (&'static str, &'static [&'static str]);

/// The work of both sides. Both get the options of this process; a peer ignores unknown ones.
pub struct Comparison {
    pub peer: Peer,
    /// The settings of this program, as options.
    pub ours: Vec<String>,
    /// The arguments before the options of the peer.
    pub files: Vec<PathBuf>,
    /// The settings of the peer.
    pub theirs: Vec<String>,
    /// The JSON field with the speed.
    pub figure: &'static str,
}

impl PeerArgs {
    /// Prints one JSON line for each compute type of the peer: the fastest setting of each side,
    /// and the ratio of their medians with its spread. A setting much slower than the fastest is
    /// left out of further rounds.
    ///
    /// # Errors
    /// Returns an error if the peer is missing or fails, or the output cannot be written.
    pub fn run(&self, work: Comparison) -> Result<()> {
        let python = self
            .against
            .as_deref()
            .context("--against names the Python of the peer")?;
        check_packages(python, work.peer.1)?;
        let mut options: Vec<String> = std::env::args().skip(1).collect();
        let kind = options.remove(0);
        let options = without_comparison(&options);
        let mut ours = Side::new(work.ours.clone());
        let mut peers = Side::new(work.theirs.clone());
        for turn in 0..self.pairs {
            let is_ours_first = turn.is_multiple_of(2);
            for is_ours in [is_ours_first, !is_ours_first] {
                if is_ours {
                    let runs = work.run_ours(&kind, &options, &ours.settings)?;
                    announce("ours", &runs);
                    ours.add(runs);
                } else {
                    let runs = work.run_theirs(python, &options, &peers.settings)?;
                    announce("peer", &runs);
                    peers.add(runs);
                }
            }
        }
        let types: BTreeSet<&str> = peers.rounds[0].iter().map(Run::compute_type).collect();
        types
            .into_iter()
            .try_for_each(|kind| print(report(&ours, &peers, kind, work.figure)))
    }
}

/// Runs this program with the same options, but for the model, in another process: the memory of
/// this one counts the writing of `model`.
///
/// # Errors
/// Returns an error if the process fails.
pub fn measured_alone(model: &Path) -> Result<()> {
    let options: Vec<String> = std::env::args().skip(1).collect();
    let mut command = Command::new(std::env::current_exe()?);
    command.args(without_comparison(&options));
    let status = command.arg("--model").arg(model).status()?;
    ensure!(status.success(), "the measurement failed: {status}");
    Ok(())
}

impl Comparison {
    /// Runs this program once in each of `settings`.
    fn run_ours(&self, kind: &str, options: &[&String], settings: &[String]) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        for setting in settings {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg(kind).args(options);
            let measured = measured(command.args(setting.split(' ')), self.figure)?;
            runs.extend(measured.into_iter().map(|run| Run {
                setting: setting.clone(),
                ..run
            }));
        }
        Ok(runs)
    }

    /// Runs the peer, which runs itself in each of `settings`.
    fn run_theirs(
        &self,
        python: &Path,
        options: &[&String],
        settings: &[String],
    ) -> Result<Vec<Run>> {
        let mut command = Command::new(python);
        command.arg(peers().join(self.peer.0)).args(&self.files);
        command.args(options);
        command.args(["--settings", &settings.join(",")]);
        measured(&mut command, self.figure)
    }
}

/// Notes the speed of each run of a side.
fn announce(name: &str, runs: &[Run]) {
    for run in runs {
        note(format_args!("{name}: {:.1} ({})", run.figure, run.setting));
    }
}

/// The options of a comparison. Each takes a value. The settings of this program name the model.
const COMPARISON: [&str; 7] = [
    "--against",
    "--pairs",
    "--types",
    "--by",
    "--shape",
    "--model",
    "-m",
];

/// `options` without the options of a [`COMPARISON`].
fn without_comparison(options: &[String]) -> Vec<&String> {
    let mut kept = Vec::new();
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.split_once('=') {
            _ if COMPARISON.contains(&option.as_str()) => drop(options.next()),
            Some((name, _)) if COMPARISON.contains(&name) => {}
            _ => kept.push(option),
        }
    }
    kept
}

/// One side of a comparison: the remaining settings, and the runs of each round.
struct Side {
    settings: Vec<String>,
    rounds: Vec<Vec<Run>>,
}

impl Side {
    fn new(settings: Vec<String>) -> Self {
        Self {
            settings,
            rounds: vec![],
        }
    }

    /// Adds a round of `runs`. Settings that failed, or are slower than three quarters of the
    /// fastest of their type, are not tried again.
    fn add(&mut self, runs: Vec<Run>) {
        let mut stay = Vec::new();
        for run in &runs {
            let same_type = runs
                .iter()
                .filter(|other| other.compute_type() == run.compute_type());
            let fastest = same_type.map(|other| other.figure).fold(0.0, f64::max);
            if run.figure >= 0.75 * fastest {
                stay.push(run.setting.clone());
            }
        }
        self.settings.retain(|setting| stay.contains(setting));
        self.rounds.push(runs);
    }

    /// The runs of the fastest setting of the type `kind`, one per round; of all settings if none
    /// has that type.
    fn fastest(&self, kind: &str) -> Vec<&Run> {
        let all = self.rounds.iter().flatten();
        let any = !all.clone().any(|run| run.compute_type() == kind);
        let mut candidates = Vec::new();
        for setting in &self.settings {
            let runs: Vec<&Run> = all
                .clone()
                .filter(|run| run.setting == *setting)
                .filter(|run| any || run.compute_type() == kind)
                .collect();
            if !runs.is_empty() {
                candidates.push(runs);
            }
        }
        candidates
            .into_iter()
            .max_by(|a, b| figures(a).total_cmp(&figures(b)))
            .unwrap_or_default()
    }
}

fn figures(runs: &[&Run]) -> f64 {
    median(runs.iter().map(|run| run.figure).collect())
}

/// The comparison of our runs with the peer's in the type `kind`, as a JSON line. A type that this
/// program lacks is compared with its fastest one.
fn report(ours: &Side, peers: &Side, kind: &str, figure: &str) -> Value {
    let ours = ours.fastest(kind);
    let peers = peers.fastest(kind);
    let mut ratios: Vec<f64> = ours
        .iter()
        .zip(&peers)
        .map(|(a, b)| a.figure / b.figure)
        .collect();
    ratios.sort_by(f64::total_cmp);
    json!({
        "figure": figure, "type": kind, "ours": side(&ours), "peer": side(&peers),
        "ratio_min": ratios.first(), "ratio_max": ratios.last(), "ratio_median": median(ratios),
    })
}

/// The figures of one side.
fn side(runs: &[&Run]) -> Value {
    let most = runs
        .iter()
        .filter_map(|run| run.fields["peak_memory_bytes"].as_u64())
        .max();
    let mut side = json!({ "median": figures(runs), "peak_memory_bytes": most });
    // The machine's own speed varies with the hour, so it is reported too.
    for name in ["gflops", "matmul_gflops", "matmul_share"] {
        let values: Vec<_> = runs
            .iter()
            .filter_map(|run| run.fields[name].as_f64())
            .collect();
        if !values.is_empty() {
            side[name] = median(values).into();
        }
    }
    if let Some(run) = runs.first() {
        side["framework"] = run.fields["framework"].clone();
        side["setting"] = run.setting.clone().into();
    }
    side
}

/// A printed line of a run on either side.
#[derive(Clone, Debug)]
struct Run {
    setting: String,
    figure: f64,
    fields: Value,
}

impl Run {
    fn compute_type(&self) -> &str {
        self.fields["type"].as_str().unwrap_or_default()
    }
}

/// Runs `command`, which prints at least one JSON object with the field `figure`, one object per
/// line.
fn measured(command: &mut Command, figure: &str) -> Result<Vec<Run>> {
    let shown = format!("{command:?}");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {shown}"))?;
    ensure!(output.status.success(), "failed: {shown}");
    let text = String::from_utf8_lossy(&output.stdout);
    let runs = text
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| {
            let fields: Value = serde_json::from_str(line)?;
            let speed = fields[figure]
                .as_f64()
                .with_context(|| format!("no {figure} from {shown}"))?;
            let setting = fields["setting"].as_str().unwrap_or_default().to_string();
            Ok(Run {
                setting,
                figure: speed,
                fields,
            })
        });
    let runs: Vec<Run> = runs.collect::<Result<_>>()?;
    ensure!(!runs.is_empty(), "no JSON line from {shown}");
    Ok(runs)
}

/// A Python program that prints the arguments that cannot be imported.
const MISSING: &str = "import importlib.util, sys
print(*[name for name in sys.argv[1:] if importlib.util.find_spec(name) is None])";

/// Returns an error if `python` does not run, or lacks one of `packages`.
fn check_packages(python: &Path, packages: &[&str]) -> Result<()> {
    let shown = python.display();
    let output = Command::new(python)
        .args(["-c", MISSING])
        .args(packages)
        .output();
    let output = output.with_context(|| {
        format!("--against {shown} does not start: give the path of a Python 3, for example --against python3")
    })?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let works = output.status.success();
    ensure!(
        works,
        "--against {shown} is not a Python 3 that works: {}",
        errors.trim()
    );
    let missing = String::from_utf8_lossy(&output.stdout).trim().to_string();
    ensure!(
        missing.is_empty(),
        "--against {shown} lacks what measuring {} needs: {}. Install it with: {shown} -m pip install {missing}",
        packages[0],
        missing.replace(' ', ", "),
    );
    Ok(())
}

/// The folder of peer programs in this repository.
fn peers() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).join("../../benches/peers")
}

/// The number of threads for `--threads`, where 0 means one per core.
pub fn thread_count(threads: usize) -> usize {
    if threads == 0 {
        std::thread::available_parallelism().map_or(1, usize::from)
    } else {
        threads
    }
}

/// The divisors of `n`, from 1 up.
pub fn divisors(n: usize) -> impl Iterator<Item = usize> {
    (1..=n).filter(move |divisor| n.is_multiple_of(*divisor))
}

/// The median of `values`: the middle one, or the mean of the middle two; NaN if there are none.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Round<'a> = &'a [(f64, &'a str, &'a str)];

    /// The report on the type `kind` over rounds of both sides, given as (speed, type, setting). A
    /// dropped setting does not run again.
    fn reported(ours: &[Round], peers: &[Round], kind: &str) -> Value {
        report(&side(ours), &side(peers), kind, "tgt_tokens_per_s")
    }

    fn side(rounds: &[Round]) -> Side {
        let mut side = Side::new(rounds[0].iter().map(|run| run.2.to_string()).collect());
        for round in rounds {
            let runs = round.iter().map(|&(figure, kind, setting)| Run {
                figure,
                setting: setting.into(),
                fields: json!({ "type": kind }),
            });
            let runs = runs
                .filter(|run| side.settings.contains(&run.setting))
                .collect();
            side.add(runs);
        }
        side
    }

    #[test]
    fn the_highest_median_wins_for_each_compute_type() {
        let ours = [(3900.0, "", "batch 32"), (4100.0, "", "batch 64")];
        let peers = [
            (2400.0, "float32", "1x2"),
            (3400.0, "float32", "2x1"),
            (5800.0, "int8", "2x1 int8"),
            (3200.0, "int8", "1x2 int8"),
        ];
        for (kind, speed, setting) in [("float32", 3400.0, "2x1"), ("int8", 5800.0, "2x1 int8")] {
            let value = reported(&[&ours], &[&peers], kind);
            assert_eq!(value["ours"]["median"], 4100.0);
            assert_eq!(value["peer"]["median"], speed);
            assert_eq!(value["peer"]["setting"], setting);
        }
    }

    #[test]
    fn our_runs_are_compared_in_the_peers_type() {
        let ours = [(4.0, "float32", "float32"), (9.0, "int8", "int8")];
        let peers = [(2.0, "float32", "theirs"), (3.0, "int8", "theirs int8")];
        for (kind, ratio) in [("float32", 2.0), ("int8", 3.0)] {
            let value = reported(&[&ours], &[&peers], kind);
            assert_eq!(value["ratio_median"], ratio);
        }
    }

    #[test]
    fn one_lucky_run_does_not_make_a_setting_the_fastest() {
        let ours: Round = &[(4.0, "float32", "2 threads")];
        let steady = (2.0, "float32", "steady");
        let first = [steady, (2.4, "float32", "lucky")];
        let later = [steady, (1.9, "float32", "lucky")];
        let value = reported(&[ours, ours, ours], &[&first, &later, &later], "float32");
        assert_eq!(value["peer"]["setting"], "steady");
        assert_eq!(value["ratio_median"], 2.0);
    }

    #[test]
    fn a_slow_setting_is_left_out_of_later_rounds() {
        let ours: Round = &[(3.0, "", "a")];
        let first = [(2.0, "float32", "kept"), (1.4, "float32", "left out")];
        let second = [(2.0, "float32", "kept"), (9.0, "float32", "left out")];
        let value = reported(&[ours, ours], &[&first, &second], "float32");
        assert_eq!(value["peer"]["setting"], "kept");
        assert_eq!(value["peer"]["median"], 2.0);
    }

    #[test]
    fn a_report_has_the_spread_of_the_ratios() {
        let ours = [4.0, 3.0, 2.0].map(|speed| [(speed, "", "2 threads")]);
        let peer: Round = &[(2.0, "int8", "2x1")];
        let ours: Vec<Round> = ours.iter().map(|round| round.as_slice()).collect();
        let value = reported(&ours, &[peer; 3], "int8");
        let ratios = ["ratio_min", "ratio_median", "ratio_max"].map(|name| value[name].as_f64());
        assert_eq!(ratios, [Some(1.0), Some(1.5), Some(2.0)]);
    }

    #[test]
    fn a_run_gets_no_options_of_the_comparison() {
        let options = [
            "--beam",
            "1",
            "--against",
            "python",
            "--pairs=3",
            "--types",
            "int8",
            "--d",
            "8",
        ];
        let options = options.map(String::from);
        assert_eq!(without_comparison(&options), ["--beam", "1", "--d", "8"]);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
