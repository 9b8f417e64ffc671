//! Comparison with a peer: both sides run in turn, each in every sensible setting, and the fastest setting counts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use burnformer::output::{note, print};

use crate::peer::{NAME, Peer, Program, Run, TYPE, measured};
use crate::setting::{Setting, contenders, median, sorted};

/// Options of a comparison with a peer.
#[derive(clap::Args)]
pub struct Alternation {
    /// Compare with the other framework, whose packages this Python interpreter has: both sides run in alternation, the fastest
    /// setting of each side counts, and the ratio is printed
    #[arg(long, value_name = "PYTHON")]
    against: Option<PathBuf>,
    /// Number of rounds; in each round both sides run once in every setting, and the sides take turns to begin
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pairs: u16,
}

/// The work that both sides do, and their settings.
pub struct Comparison {
    pub peer: Peer,
    /// The arguments of this binary, without those of a setting.
    pub ours: Vec<String>,
    /// The settings of this binary; at least one.
    pub our_settings: Vec<Setting>,
    /// The arguments of the peer's program, without `--settings`.
    pub theirs: Vec<String>,
    /// The value of `--settings` for the peer's program.
    pub their_settings: Vec<String>,
    /// The field that holds the speed.
    pub figure: &'static str,
}

impl Alternation {
    /// Whether a peer was named.
    pub fn wanted(&self) -> bool {
        self.against.is_some()
    }

    /// Prints one JSON line for each compute type of the peer. It contains the setting of each side with the fastest
    /// median, the ratio of the two with its spread, and the median of every setting that was tried.
    ///
    /// From the second round on, settings that were much slower than the fastest in the first round are left out.
    pub fn run(&self, mut comparison: Comparison) -> Result<()> {
        let python = self.against.as_deref().context("--against names the Python of the peer")?;
        let program = Program::new(python, comparison.peer)?;
        let mut rounds = Vec::new();
        for turn in 1..=self.pairs {
            let round = comparison.round(turn % 2 == 1, &program)?;
            let runs = round.ours.iter().map(|run| ("ours", run));
            let runs = runs.chain(round.peers.iter().map(|run| ("peer", run)));
            runs.for_each(|(side, run)| {
                note(format_args!("round {turn}, {side}: {:.1} ({})", run.figure, run.text(NAME)));
            });
            comparison.keep_contenders(&round);
            rounds.push(round);
        }
        compute_types(&rounds)
            .into_iter()
            .try_for_each(|compute_type| print(report(&rounds, compute_type, comparison.figure)))
    }
}

/// The runs of both sides, one side directly after the other.
struct Round {
    ours: Vec<Run>,
    peers: Vec<Run>,
}

impl Comparison {
    /// A run of each side in every setting.
    fn round(&self, own_first: bool, program: &Program) -> Result<Round> {
        if own_first {
            let ours = self.our_runs()?;
            return Ok(Round { ours, peers: self.their_runs(program)? });
        }
        let peers = self.their_runs(program)?;
        Ok(Round { ours: self.our_runs()?, peers })
    }

    /// A run of this binary in each setting.
    fn our_runs(&self) -> Result<Vec<Run>> {
        let run = |setting: &Setting| {
            let mut command = Command::new(std::env::current_exe()?);
            let runs = measured(command.args(&self.ours).args(&setting.options), self.figure)?;
            let named = runs.into_iter().map(|run| run.named(&setting.name));
            Ok(named.collect::<Vec<_>>())
        };
        let runs: Result<Vec<_>> = self.our_settings.iter().map(run).collect();
        Ok(runs?.concat())
    }

    /// A run of the peer in each setting.
    fn their_runs(&self, program: &Program) -> Result<Vec<Run>> {
        let mut command = program.command();
        command.args(&self.theirs).args(["--settings", &self.their_settings.join(",")]);
        measured(&mut command, self.figure)
    }

    /// Leaves out the settings that failed, or whose speed is not within a quarter of the fastest of their side and
    /// type.
    fn keep_contenders(&mut self, round: &Round) {
        let left = contenders(&round.ours);
        self.our_settings.retain(|setting| left.iter().any(|run| run.text(NAME) == setting.name));
        let left = contenders(&round.peers);
        self.their_settings.retain(|setting| left.iter().any(|run| run.text("setting") == setting));
    }
}

/// The compute types of the peer in the order in which they appear.
fn compute_types(rounds: &[Round]) -> Vec<&str> {
    let mut types = Vec::new();
    for run in rounds.iter().flat_map(|round| &round.peers) {
        if !types.contains(&run.text(TYPE)) {
            types.push(run.text(TYPE));
        }
    }
    types
}

/// The runs of one setting: its name, and its run in each round that it took part in.
type Runs<'a> = (&'a str, BTreeMap<usize, &'a Run>);

/// The runs of each setting, with the settings in the order in which they appear.
fn by_setting<'a>(rounds: impl Iterator<Item = Vec<&'a Run>>) -> Vec<Runs<'a>> {
    let mut settings: Vec<Runs> = Vec::new();
    for (round, runs) in rounds.enumerate() {
        for run in runs {
            match settings.iter_mut().find(|(name, _)| *name == run.text(NAME)) {
                Some((_, runs)) => drop(runs.insert(round, run)),
                None => settings.push((run.text(NAME), BTreeMap::from([(round, run)]))),
            }
        }
    }
    settings
}

fn median_figure((_, runs): &Runs) -> f64 {
    median(&sorted(runs.values().map(|run| run.figure).collect()))
}

/// The setting with the highest median, of those that took part to the end.
fn fastest<'a, 'b>(settings: &'b [Runs<'a>]) -> &'b Runs<'a> {
    let most = settings.iter().map(|(_, runs)| runs.len()).max();
    let stayed = settings.iter().filter(|(_, runs)| Some(runs.len()) == most);
    let best = stayed.max_by(|a, b| median_figure(a).total_cmp(&median_figure(b)));
    best.expect("a side that printed nothing is an error of its run")
}

/// The line that compares our runs with those of the peer in `compute_type`.
fn report(rounds: &[Round], compute_type: &str, figure: &str) -> Value {
    let of_type = |run: &&Run| run.text(TYPE) == compute_type;
    // What this program does not compute in that type is compared as it does compute it.
    let has_type = rounds.iter().flat_map(|round| &round.ours).any(|run| of_type(&run));
    let compared = |run: &&Run| !has_type || of_type(run);
    let ours = by_setting(rounds.iter().map(|round| round.ours.iter().filter(compared).collect()));
    let peers = by_setting(rounds.iter().map(|round| round.peers.iter().filter(of_type).collect()));
    let (own, peer) = (fastest(&ours), fastest(&peers));
    let pairs: Vec<(&Run, &Run)> =
        own.1.iter().filter_map(|(round, run)| Some((*run, *peer.1.get(round)?))).collect();
    let ratios = sorted(pairs.iter().map(|(own, peer)| own.figure / peer.figure).collect());
    let peak = |runs: &Runs| runs.1.values().map(|run| run.peak_bytes).max();
    let framework =
        |runs: &Runs| runs.1.values().next().map(|run| run.text("framework").to_string());
    let mut value = json!({
        "figure": figure,
        "pairs": pairs.len(),
        "ours": framework(own),
        "ours_setting": own.0,
        "ours_median": median_figure(own),
        "peer": framework(peer),
        "peer_type": compute_type,
        "peer_setting": peer.0,
        "peer_median": median_figure(peer),
        "ratio_median": median(&ratios),
        "ratio_min": ratios.first(),
        "ratio_max": ratios.last(),
        "ours_peak_memory_bytes": peak(own),
        "peer_peak_memory_bytes": peak(peer),
        "ours_tried": tried(&ours),
        "peer_tried": tried(&peers),
    });
    // What the speed of a training means depends on how fast the machine is at that time.
    for name in ["gflops", "matmul_gflops", "matmul_share"] {
        let figures = own.1.values().filter_map(|run| run.fields[name].as_f64());
        let figures = sorted(figures.collect());
        if !figures.is_empty() {
            value[format!("ours_{name}")] = median(&figures).into();
        }
    }
    if let Some(shapes) = pairs.first().and_then(|(own, _)| own.fields["shapes"].as_object()) {
        value["shapes"] =
            shapes.keys().map(|shape| (shape.clone(), by_shape(&pairs, shape))).collect();
    }
    value
}

/// The median of every setting, and the number of its runs.
fn tried(settings: &[Runs]) -> Value {
    let row = |runs: &Runs| json!({ "setting": runs.0, "median": median_figure(runs), "runs": runs.1.len() });
    settings.iter().map(row).collect()
}

/// Medians of one shape.
fn by_shape(pairs: &[(&Run, &Run)], shape: &str) -> Value {
    let read = |run: &Run| run.fields["shapes"][shape].as_f64().unwrap_or(f64::NAN);
    let of =
        |side: &dyn Fn(&(&Run, &Run)) -> f64| median(&sorted(pairs.iter().map(side).collect()));
    json!({
        "ours": of(&|pair| read(pair.0)),
        "peer": of(&|pair| read(pair.1)),
        "ratio": of(&|pair| read(pair.0) / read(pair.1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::tests::run;

    fn round(ours: &[(f64, &str)], peers: &[(f64, &str, &str)]) -> Round {
        Round {
            ours: ours.iter().map(|&(figure, setting)| run(figure, "", setting)).collect(),
            peers: peers
                .iter()
                .map(|&(figure, kind, setting)| run(figure, kind, setting))
                .collect(),
        }
    }

    #[test]
    fn the_setting_of_the_highest_median_counts_for_each_compute_type() {
        let ours = [(3900.0, "batch 32"), (4100.0, "batch 64")];
        let peers = [
            (2400.0, "float32", "1x2"),
            (3400.0, "float32", "2x1"),
            (5800.0, "int8", "2x1 int8"),
            (3200.0, "int8", "1x2 int8"),
        ];
        let rounds = [round(&ours, &peers)];
        assert_eq!(compute_types(&rounds), ["float32", "int8"]);
        let found = |kind| {
            let value = report(&rounds, kind, "tgt_tokens_per_s");
            let setting = value["peer_setting"].as_str().unwrap_or_default().to_string();
            (value["ours_median"].as_f64(), value["peer_median"].as_f64(), setting)
        };
        assert_eq!(found("float32"), (Some(4100.0), Some(3400.0), "2x1".into()));
        assert_eq!(found("int8"), (Some(4100.0), Some(5800.0), "2x1 int8".into()));
    }

    #[test]
    fn runs_of_ours_in_the_peers_type_are_compared_with_it() {
        let ours = [run(4.0, "float32", "float32"), run(9.0, "int8", "int8")];
        let peers = vec![run(2.0, "float32", "theirs"), run(3.0, "int8", "theirs int8")];
        let rounds = [Round { ours: ours.into(), peers }];
        let ratio = |kind| report(&rounds, kind, "tgt_tokens_per_s")["ratio_median"].as_f64();
        assert_eq!([ratio("float32"), ratio("int8")], [Some(2.0), Some(3.0)]);
    }

    #[test]
    fn one_lucky_run_does_not_make_a_setting_the_fastest() {
        let peers = |a, b| [(a, "float32", "steady"), (b, "float32", "lucky")];
        let rounds = [(2.0, 9.0), (2.0, 1.9), (2.0, 1.9)]
            .map(|(a, b)| round(&[(4.0, "2 threads")], &peers(a, b)));
        let value = report(&rounds, "float32", "tgt_tokens_per_s");
        assert_eq!(value["peer_setting"], "steady");
        assert_eq!(value["ratio_median"], 2.0);
        assert_eq!(value["peer_tried"][1], json!({ "setting": "lucky", "median": 1.9, "runs": 3 }));
    }

    #[test]
    fn a_setting_that_was_left_out_after_the_first_round_does_not_win() {
        let first = round(&[(4.0, "a")], &[(2.0, "float32", "kept"), (9.0, "float32", "left out")]);
        let second = round(&[(3.0, "a")], &[(2.0, "float32", "kept")]);
        let value = report(&[first, second], "float32", "tgt_tokens_per_s");
        assert_eq!(value["peer_setting"], "kept");
    }

    #[test]
    fn a_report_has_the_spread_of_the_ratios() {
        let rounds =
            [4.0, 3.0, 2.0].map(|own| round(&[(own, "2 threads")], &[(2.0, "int8", "2x1")]));
        let value = report(&rounds, "int8", "tgt_tokens_per_s");
        let ratios = ["ratio_min", "ratio_median", "ratio_max"].map(|name| value[name].as_f64());
        assert_eq!(ratios, [Some(1.0), Some(1.5), Some(2.0)]);
    }
}
