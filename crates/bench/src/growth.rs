use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use burnformer_view::{Axis, Chart, Figure, Series};
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
    /// Draw seconds and memory over each axis to this file, .png or .svg; may be given several times
    #[arg(long, value_name = "FILE")]
    picture: Vec<PathBuf>,
}

/// The points of one axis.
type Curve = (&'static str, Vec<Point>);

/// The cost of an update at one point of an axis.
struct Point {
    value: usize,
    seconds: f64,
    bytes: f64,
}

/// Measures each point in a process of its own, whose peak memory is that of the point.
pub fn run(args: Args) -> Result<()> {
    output::draw(&figure(&measure(args.updates)?), &args.picture)
}

fn measure(updates: usize) -> Result<Vec<Curve>> {
    output::print("axis,value,seconds_per_update,target_tokens_per_second,peak_memory_bytes")?;
    let mut curves = Vec::new();
    for (name, option, values) in AXES {
        let mut curve = Vec::with_capacity(values.len());
        for &value in values {
            let fields = measured(option, value, updates)?;
            let number = |field: &str| fields[field].as_f64().unwrap_or(f64::NAN);
            let (seconds, bytes) = (number("s_per_update"), number("peak_memory_bytes"));
            let rate = number("tgt_tokens_per_s");
            output::print(format_args!("{name},{value},{seconds:.4},{rate:.1},{bytes}"))?;
            curve.push(Point { value, seconds, bytes });
        }
        curves.push((name, curve));
    }
    Ok(curves)
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
    let chart = |curve: &Curve, label: &str, y: fn(&Point) -> f64| {
        let name = curve.0.replace('_', " ");
        let points = curve.1.iter().map(|point| (point.value as f64, y(point))).collect();
        let (title, series) =
            (format!("{label} over {name}"), vec![Series::new("an update", points)]);
        Chart { title, x: Axis::log2(name), y: Axis::linear(label), series }
    };
    let both = |curve: &Curve| {
        let seconds = chart(curve, "seconds", |point| point.seconds);
        [seconds, chart(curve, "memory, MB", |point| point.bytes / 1e6)]
    };
    Figure { charts: curves.iter().flat_map(both).collect(), columns: 2 }
}
