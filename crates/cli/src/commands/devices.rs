use anyhow::Result;
use serde_json::json;

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
        println!("{}", serde_json::to_string_pretty(&cpu)?);
    } else {
        println!("cpu   flex, {threads} threads, float32");
    }
    Ok(())
}
