use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use burnformer_view::{Axis, Chart, Figure, Picture, Series};
use serde_json::Value;

use burnformer::output;

/// The setting with which an update's cost is compared; one axis at a time departs from it: d_model 256, 8,000 tokens
/// in the vocabulary, 4,096 tokens per side in sentences of 32, one thread per core.
const AXES: [(&str, &str, &[usize]); 5] = [
    ("length", "--len", &[16, 32, 64, 128, 256, 512]),
    ("d_model", "--d", &[64, 128, 256, 512]),
    ("vocabulary", "--vocab", &[1000, 4000, 8000, 16000, 32000]),
    ("batch_tokens", "--budget", &[512, 1024, 2048, 4096, 8192]),
    ("threads", "--threads", &[1, 2]),
];

/// Arguments of the benchmark `growth`.
#[derive(clap::Args)]
pub struct Args {
    /// Number of updates to time at each point
    #[arg(long, default_value_t = 4)]
    updates: usize,
    /// Measure only this axis: length, d_model, vocabulary, batch_tokens or threads
    #[arg(long)]
    axis: Option<String>,
    /// Read the points from the CSV that an earlier run printed, instead of measuring
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Draw seconds and memory over each axis to this file, .png or .svg
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

const HEADER: &str = "axis,value,seconds_per_update,target_tokens_per_second,peak_memory_bytes";

/// The points of one axis.
type Curve = (String, Vec<Point>);

/// The cost of an update at one point of an axis.
struct Point {
    value: usize,
    seconds: f64,
    bytes: f64,
}

/// Measures each point in a process of its own, whose peak memory is that of the point.
pub fn run(args: Args) -> Result<()> {
    let wanted = |name: &str| args.axis.as_deref().is_none_or(|axis| axis == name);
    if !AXES.iter().any(|&(name, ..)| wanted(name)) {
        let names: Vec<&str> = AXES.iter().map(|&(name, ..)| name).collect();
        bail!("--axis: choose one of {}", names.join(", "));
    }
    let curves = match &args.from {
        Some(path) => read(path)?.into_iter().filter(|(name, _)| wanted(name)).collect(),
        None => measure(&args, wanted)?,
    };
    if let Some(path) = &args.picture {
        figure(&curves).save(path)?;
        output::note(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

fn measure(args: &Args, wanted: impl Fn(&str) -> bool) -> Result<Vec<Curve>> {
    output::print(HEADER)?;
    let mut curves = Vec::new();
    for (name, option, values) in AXES.into_iter().filter(|&(name, ..)| wanted(name)) {
        let mut curve = Vec::with_capacity(values.len());
        for &value in values {
            let fields = measured(option, value, args.updates)?;
            let number = |field: &str| fields[field].as_f64().unwrap_or(f64::NAN);
            let (seconds, bytes) = (number("s_per_update"), number("peak_memory_bytes"));
            let rate = number("tgt_tokens_per_s");
            output::print(format_args!("{name},{value},{seconds:.4},{rate:.1},{bytes}"))?;
            curve.push(Point { value, seconds, bytes });
        }
        curves.push((name.to_string(), curve));
    }
    Ok(curves)
}

/// The points of a CSV in the form that [`measure`] prints.
fn read(path: &Path) -> Result<Vec<Curve>> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| shown.to_string())?;
    let mut lines = text.lines();
    ensure!(lines.next() == Some(HEADER), "{shown}:1: the first line must be {HEADER}");
    let mut curves: Vec<Curve> = Vec::new();
    for (number, line) in (2..).zip(lines) {
        let (name, point) = parse(line)
            .with_context(|| format!("{shown}:{number}: \"{line}\" is not a row of {HEADER}"))?;
        match curves.last_mut().filter(|(last, _)| *last == name) {
            Some((_, curve)) => curve.push(point),
            None => curves.push((name.to_string(), vec![point])),
        }
    }
    Ok(curves)
}

fn parse(line: &str) -> Option<(&str, Point)> {
    let fields: Vec<&str> = line.split(',').collect();
    let [name, value, seconds, _, bytes] = fields[..] else { return None };
    let (value, seconds) = (value.parse().ok()?, seconds.parse().ok()?);
    Some((name, Point { value, seconds, bytes: bytes.parse().ok()? }))
}

/// One run of `cargo xtask bench train` with `option` set to `value`. The feed-forward network grows with d_model.
fn measured(option: &str, value: usize, updates: usize) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["train", "--json", "--warm", "1", "--updates", &updates.to_string()]);
    if option != "--len" {
        command.args(["--len", "32"]);
    }
    if option == "--d" {
        command.args(["--ff", &(4 * value).to_string()]);
    }
    command.args([option, &value.to_string()]);
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("failed: {command:?}");
    }
    serde_json::from_slice(&output.stdout).context("bench train prints one JSON line")
}

/// Two charts per curve, side by side: seconds and memory.
fn figure(curves: &[Curve]) -> Figure {
    let chart = |name: &str, curve: &[Point], label: &str, y: fn(&Point) -> f64| {
        let points = curve.iter().map(|point| (point.value as f64, y(point))).collect();
        let x = Axis::log2(name.replace('_', " "));
        let series = vec![Series::new("an update", points)];
        Chart {
            title: format!("{label} over {}", name.replace('_', " ")),
            x,
            y: Axis::linear(label),
            series,
        }
    };
    let both = |(name, curve): &Curve| {
        [
            chart(name, curve, "seconds", |point| point.seconds),
            chart(name, curve, "memory, MB", |point| point.bytes / 1e6),
        ]
    };
    Figure { charts: curves.iter().flat_map(both).collect(), columns: 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read_as_they_were_printed() {
        let (name, point) = parse("length,16,1.1717,3495.6,690352128").unwrap();
        assert_eq!((name, point.value), ("length", 16));
        assert_eq!((point.seconds, point.bytes), (1.1717, 690352128.0));
        assert!(parse("length,16,1.1717").is_none() && parse("length,x,1,1,1").is_none());
    }
}
