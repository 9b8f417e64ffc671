use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use burnformer_view::{Axis, Chart, Figure, Picture, Series};
use serde_json::Value;

/// What an update's cost is measured against, one axis at a time from the same middle: d 256,
/// 8,000 pieces, 4,096 tokens a side in sentences of 32, one thread a core.
const AXES: [(&str, &str, &[usize]); 5] = [
    ("length", "--len", &[16, 32, 64, 128, 256, 512]),
    ("d_model", "--d", &[64, 128, 256, 512]),
    ("vocabulary", "--vocab", &[1000, 4000, 8000, 16000, 32000]),
    ("batch_tokens", "--budget", &[512, 1024, 2048, 4096, 8192]),
    ("threads", "--threads", &[1, 2]),
];

/// Arguments of `bench growth`.
#[derive(clap::Args)]
pub struct Args {
    /// Updates timed at each point
    #[arg(long, default_value_t = 4)]
    updates: usize,
    /// Only this axis: length, d_model, vocabulary, batch_tokens or threads
    #[arg(long)]
    axis: Option<String>,
    /// Draw seconds and memory over each axis, .png or .svg
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

/// The cost of an update at one place of an axis.
struct Point {
    value: usize,
    seconds: f64,
    bytes: f64,
}

/// Measures each point in a process of its own, so that its peak memory is its own.
pub fn run(args: Args) -> Result<()> {
    let wanted = |name: &str| args.axis.as_deref().is_none_or(|axis| axis == name);
    if !AXES.iter().any(|&(name, ..)| wanted(name)) {
        let names: Vec<&str> = AXES.iter().map(|&(name, ..)| name).collect();
        bail!("--axis: choose one of {}", names.join(", "));
    }
    println!("axis,value,seconds_per_update,target_tokens_per_second,peak_memory_bytes");
    let mut curves = Vec::new();
    for (name, option, values) in AXES.into_iter().filter(|&(name, ..)| wanted(name)) {
        let mut curve = Vec::with_capacity(values.len());
        for &value in values {
            let fields = measured(option, value, args.updates)?;
            let number = |field: &str| fields[field].as_f64().unwrap_or(f64::NAN);
            let (seconds, bytes) = (number("s_per_update"), number("peak_memory_bytes"));
            println!("{name},{value},{seconds:.4},{:.1},{bytes}", number("tgt_tokens_per_s"));
            curve.push(Point { value, seconds, bytes });
        }
        curves.push((name, curve));
    }
    if let Some(path) = &args.picture {
        figure(&curves).save(path)?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// One run of `bench train` with `option` set to `value`; the feed-forward network grows with d_model.
fn measured(option: &str, value: usize, updates: usize) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", "train", "--json", "--warm", "1", "--updates", &updates.to_string()]);
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

/// Two charts a curve, side by side: seconds and memory.
fn figure(curves: &[(&str, Vec<Point>)]) -> Figure {
    let chart = |name: &str, curve: &[Point], label: &str, y: fn(&Point) -> f64| {
        let points = curve.iter().map(|point| (point.value as f64, y(point))).collect();
        let x = Axis::log2(name.replace('_', " "));
        let series = vec![Series::new("an update", points)];
        Chart {
            title: format!("{label} over {}", name.replace('_', " ")),
            x,
            y: Axis::log(label),
            series,
        }
    };
    let both = |(name, curve): &(&str, Vec<Point>)| {
        [
            chart(name, curve, "seconds", |point| point.seconds),
            chart(name, curve, "memory, MB", |point| point.bytes / 1e6),
        ]
    };
    Figure { charts: curves.iter().flat_map(both).collect(), columns: 2 }
}
