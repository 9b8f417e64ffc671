use std::time::Instant;

use anyhow::{Context, Result};
use burnformer::mpi;
use burnformer_train::ExchangePrecision::{BFloat16, Float32};
use serde_json::json;

use crate::options::Format;
use crate::record::Record;

/// Arguments of the benchmark `exchange`.
#[derive(clap::Args)]
pub struct Args {
    /// Numbers of gradients to sum
    #[arg(long, value_delimiter = ',', default_values_t = [1_000_000, 4_000_000, 16_000_000])]
    parameters: Vec<usize>,
    /// Number of sums of each size, of which the fastest counts
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Exchange in bfloat16
    #[arg(long)]
    bfloat16: bool,
    #[command(flatten)]
    format: Format,
}

/// Times sums over all processes of `mpirun`, as an update of training makes one. Process 0 prints.
pub fn run(args: Args) -> Result<()> {
    let ranks =
        mpi::ranks()?.context("one process exchanges nothing; start several by `mpirun`")?;
    let precision = if args.bfloat16 { BFloat16 } else { Float32 };
    for &parameters in &args.parameters {
        let mut values = vec![0.0; parameters];
        let mut time = |_| {
            let start = Instant::now();
            ranks.sum(&mut values, precision);
            start.elapsed().as_secs_f64()
        };
        let seconds = (0..=args.rounds).map(&mut time).fold(f64::INFINITY, f64::min);
        if ranks.rank().number == 0 {
            let count = ranks.rank().count;
            let fields =
                json!({ "processes": count, "parameters": parameters, "seconds": seconds });
            Record::new(fields).print(args.format.json)?;
        }
    }
    ranks.end();
    Ok(())
}
