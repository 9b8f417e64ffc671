use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use burnformer::output;
use serde_json::Value;

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
}

/// Measures each point in a process of its own, whose peak memory is that of the point.
pub fn run(args: Args) -> Result<()> {
    output::print("axis,value,seconds_per_update,target_tokens_per_second,peak_memory_bytes")?;
    for (name, option, values) in AXES {
        for &value in values {
            let fields = measured(option, value, args.updates)?;
            let [seconds, rate, bytes] = ["s_per_update", "tgt_tokens_per_s", "peak_memory_bytes"]
                .map(|field| fields[field].as_f64().unwrap_or(f64::NAN));
            output::print(format_args!("{name},{value},{seconds:.4},{rate:.1},{bytes}"))?;
        }
    }
    Ok(())
}

/// One run of `cargo xtask bench train` with `option` set to `value`. The feed-forward network grows with d_model.
fn measured(option: &str, value: usize, updates: usize) -> Result<Value> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["train", "--json", "--warm", "1", "--len", "32"]);
    if option == "--d" {
        command.args(["--ff", &(4 * value).to_string()]);
    }
    command.args(["--updates", &updates.to_string(), option, &value.to_string()]);
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "failed: {command:?}");
    serde_json::from_slice(&output.stdout).context("bench train prints one JSON line")
}
