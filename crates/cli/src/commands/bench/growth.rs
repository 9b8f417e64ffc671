use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
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
}

/// Measures each point in a process of its own, so that its peak memory is its own.
pub fn run(args: Args) -> Result<()> {
    let wanted = |name: &str| args.axis.as_deref().is_none_or(|axis| axis == name);
    if !AXES.iter().any(|&(name, ..)| wanted(name)) {
        let names: Vec<&str> = AXES.iter().map(|&(name, ..)| name).collect();
        bail!("--axis: choose one of {}", names.join(", "));
    }
    println!("axis,value,seconds_per_update,target_tokens_per_second,peak_memory_bytes");
    for (name, option, values) in AXES.into_iter().filter(|&(name, ..)| wanted(name)) {
        for &value in values {
            let point = point(option, value, args.updates)?;
            let number = |field: &str| point[field].as_f64().unwrap_or(f64::NAN);
            println!(
                "{name},{value},{:.4},{:.1},{}",
                number("s_per_update"),
                number("tgt_tokens_per_s"),
                number("peak_memory_bytes"),
            );
        }
    }
    Ok(())
}

/// One run of `bench train` with `option` set to `value`; feed-forward and heads grow with d_model.
fn point(option: &str, value: usize, updates: usize) -> Result<Value> {
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
