use anyhow::Result;
use serde_json::json;

use crate::output::print;

/// Arguments of `devices`.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Lists the devices of this build and this machine.
pub fn run(args: Args) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    if args.json {
        let cpu = json!([{ "name": "cpu", "backend": "flex", "threads": threads, "precision": "float32" }]);
        print(serde_json::to_string_pretty(&cpu)?)
    } else {
        print(format_args!("cpu   flex, {threads} threads, float32"))
    }
}
