use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::output::say;

/// How to measure beside a peer.
#[derive(clap::Args)]
pub struct Alternation {
    /// Measure in alternation with this peer and print the ratio
    #[arg(long, value_name = "PEER", requires = "python")]
    against: Option<PeerName>,
    /// The Python that has the peer's packages
    #[arg(long)]
    python: Option<PathBuf>,
    /// Pairs of runs, ours and the peer's, taking turns at going first
    #[arg(long, default_value_t = 5)]
    pairs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum PeerName {
    Torch,
    Ctranslate2,
}

/// A program that measures the same work in another framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// PyTorch training.
    TorchTrain,
    /// CTranslate2 decoding.
    Ct2Decode,
    /// PyTorch's affine maps.
    TorchMatmul,
}

impl Peer {
    fn name(self) -> PeerName {
        match self {
            Self::TorchTrain | Self::TorchMatmul => PeerName::Torch,
            Self::Ct2Decode => PeerName::Ctranslate2,
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::TorchTrain => "torch_train.py",
            Self::Ct2Decode => "ct2_decode.py",
            Self::TorchMatmul => "torch_matmul.py",
        }
    }
}

/// The peers' programs, so that an installed binary has them too.
const FILES: [(&str, &str); 4] = [
    ("transformer.py", include_str!("../../../../../benches/peers/transformer.py")),
    ("torch_train.py", include_str!("../../../../../benches/peers/torch_train.py")),
    ("torch_matmul.py", include_str!("../../../../../benches/peers/torch_matmul.py")),
    ("ct2_decode.py", include_str!("../../../../../benches/peers/ct2_decode.py")),
];

/// What one run of either side gave.
struct Run {
    figure: f64,
    peak_bytes: u64,
    fields: Value,
}

impl Alternation {
    /// Whether a peer was named.
    pub fn wanted(&self) -> bool {
        self.against.is_some()
    }

    /// Runs this binary with `ours` and `peer` with `theirs` in turn, each a process of its own, and
    /// prints both medians of `figure` and the ratio with its spread.
    pub fn run(&self, peer: Peer, ours: &[String], theirs: &[String], figure: &str) -> Result<()> {
        let (Some(name), Some(python)) = (self.against, &self.python) else {
            bail!("--against needs --python PATH");
        };
        if name != peer.name() {
            bail!("--against: this benchmark's peer is {:?}", peer.name());
        }
        let folder = tempfile::tempdir()?;
        for (name, text) in FILES {
            std::fs::write(folder.path().join(name), text)?;
        }
        let own = || {
            let mut command = Command::new(std::env::current_exe()?);
            measured(command.args(ours), figure)
        };
        let other = || {
            let mut command = Command::new(python);
            measured(command.arg(folder.path().join(peer.program())).args(theirs), figure)
        };
        let mut pairs = Vec::with_capacity(self.pairs);
        for turn in 0..self.pairs {
            let (own, other) = match turn % 2 {
                0 => (own()?, other()?),
                _ => {
                    let other = other()?;
                    (own()?, other)
                }
            };
            let ratio = own.figure / other.figure;
            say(format_args!(
                "pair {}: {:.1} against {:.1}, ratio {ratio:.3}",
                turn + 1,
                own.figure,
                other.figure
            ));
            pairs.push((own, other));
        }
        report(&pairs, figure)
    }
}

/// Runs `command`, whose last line of output is a JSON object that has `figure`.
fn measured(command: &mut Command, figure: &str) -> Result<Run> {
    let shown = format!("{command:?}");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
    let mut output = String::new();
    let mut pipe = child.stdout.take().expect("stdout is piped");
    std::io::Read::read_to_string(&mut pipe, &mut output)?;
    let (good, peak_bytes) = wait(&mut child)?;
    if !good {
        bail!("failed: {shown}");
    }
    let line = output.lines().rev().find(|line| line.starts_with('{'));
    let line = line.with_context(|| format!("no JSON line from {shown}"))?;
    let fields: Value = serde_json::from_str(line)?;
    let found = fields[figure].as_f64();
    let figure = found.with_context(|| format!("no {figure} from {shown}"))?;
    Ok(Run { figure, peak_bytes, fields })
}

/// Whether `child` succeeded, and the most memory it held, in bytes (0 where the system cannot say).
#[cfg(target_os = "linux")]
fn wait(child: &mut std::process::Child) -> Result<(bool, u64)> {
    let pid = libc::pid_t::try_from(child.id())?;
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live local variables, and nobody else waits for this child.
    let waited = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
    if waited != pid {
        return Err(std::io::Error::last_os_error().into());
    }
    let good = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    Ok((good, 1024 * usage.ru_maxrss as u64))
}

#[cfg(not(target_os = "linux"))]
fn wait(child: &mut std::process::Child) -> Result<(bool, u64)> {
    Ok((child.wait()?.success(), 0))
}

fn report(pairs: &[(Run, Run)], figure: &str) -> Result<()> {
    let of = |side: fn(&(Run, Run)) -> f64| sorted(pairs.iter().map(side).collect());
    let ratios = of(|(own, other)| own.figure / other.figure);
    let [own, other] = [of(|pair| pair.0.figure), of(|pair| pair.1.figure)];
    let peak = |side: fn(&(Run, Run)) -> u64| pairs.iter().map(side).max().unwrap_or(0);
    let framework = |run: &Run| run.fields["framework"].as_str().unwrap_or("?").to_string();
    let Some((first, _)) = pairs.first().map(|pair| (&pair.0, &pair.1)) else { return Ok(()) };
    let mut value = json!({
        "figure": figure,
        "pairs": pairs.len(),
        "ours": framework(first),
        "ours_median": median(&own),
        "peer": framework(&pairs[0].1),
        "peer_median": median(&other),
        "ratio_median": median(&ratios),
        "ratio_min": ratios[0],
        "ratio_max": ratios[ratios.len() - 1],
        "ours_peak_memory_bytes": peak(|pair| pair.0.peak_bytes),
        "peer_peak_memory_bytes": peak(|pair| pair.1.peak_bytes),
    });
    if let Some(shapes) = first.fields["shapes"].as_object() {
        value["shapes"] =
            shapes.keys().map(|shape| (shape.clone(), by_shape(pairs, shape))).collect();
    }
    crate::output::print(value)
}

/// Medians of one shape.
fn by_shape(pairs: &[(Run, Run)], shape: &str) -> Value {
    let read = |run: &Run| run.fields["shapes"][shape].as_f64().unwrap_or(f64::NAN);
    let of = |side: &dyn Fn(&(Run, Run)) -> f64| median(&sorted(pairs.iter().map(side).collect()));
    json!({
        "ours": of(&|pair| read(&pair.0)),
        "peer": of(&|pair| read(&pair.1)),
        "ratio": of(&|pair| read(&pair.0) / read(&pair.1)),
    })
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The middle of `sorted` values, or the mean of the middle two.
fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&sorted(vec![3.0, 1.0, 2.0])), 2.0);
        assert_eq!(median(&sorted(vec![4.0, 1.0, 2.0, 3.0])), 2.5);
    }
}
