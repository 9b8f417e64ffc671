use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Result, ensure};
use burnformer_lab::study::table_1::{Kind, LayerSizes, Measurement, exponent, measure};
use peak_alloc::PeakAlloc;

use burnformer::output::{note, print};

use super::options::Common;

/// Arguments of the benchmark `layers`.
#[derive(clap::Args)]
pub struct Args {
    /// Lengths, in positions
    #[arg(long, value_delimiter = ',', num_args = 1.., default_values_t = [16, 32, 64, 128, 256, 512, 1024, 2048])]
    n: Vec<usize>,
    /// Widths, in features; those above 64 must be multiples of 64
    #[arg(long, value_delimiter = ',', num_args = 1.., default_values_t = [64, 128, 256, 512])]
    d: Vec<usize>,
    /// Largest distance that restricted self-attention sees; the paper's r is the neighbourhood,
    /// 2·R + 1 positions
    #[arg(long, short, default_value_t = 32)]
    r: usize,
    /// Width of the convolution's kernel in positions; an odd number
    #[arg(long, short, default_value_t = 3)]
    k: usize,
    /// Smallest length for the fit of exponents; below it, the cost of a call exceeds its work
    #[arg(long, default_value_t = 512)]
    fit_from: usize,
    /// Time for each measurement in milliseconds; at least three passes are measured
    #[arg(long, default_value_t = 200)]
    patience: u64,
    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    common: Common,
}

/// Measures every layer at every size; `allocator` counts allocations.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn run(args: Args, allocator: &PeakAlloc) -> Result<()> {
    check(&args)?;
    let all = measure_all(&args, allocator)?;
    if !args.json {
        return print(table(&all, args.fit_from).trim_end());
    }
    all.iter()
        .try_for_each(|m| print(serde_json::to_string(m)?))
}

fn check(args: &Args) -> Result<()> {
    ensure!(
        args.k % 2 == 1,
        "-k {}: give an odd number, so that the kernel has a centre",
        args.k
    );
    ensure!(
        !args.n.contains(&0),
        "--n 0: a sequence has at least one position"
    );
    let odd = args.d.iter().find(|&&d| d == 0 || (d > 64 && d % 64 != 0));
    ensure!(
        odd.is_none(),
        "--d {}: give multiples of 64, the width of a head",
        odd.unwrap_or(&0)
    );
    Ok(())
}

fn measure_all(args: &Args, allocator: &PeakAlloc) -> Result<Vec<Measurement>> {
    let device = args.common.open()?;
    let patience = Duration::from_millis(args.patience);
    let mut all = Vec::new();
    for kind in Kind::ALL {
        for &d in &args.d {
            let sizes = LayerSizes {
                d,
                radius: args.r,
                kernel: args.k,
            };
            note(format_args!("{}, d {d}", kind.name()));
            all.extend(
                args.n
                    .iter()
                    .map(|&n| measure(kind, sizes, n, patience, &device, allocator)),
            );
        }
    }
    Ok(all)
}

/// Formats a row for each layer: the fitted exponents beside the paper's orders, and figures at the
/// largest size.
fn table(all: &[Measurement], fit_from: usize) -> String {
    let n = all.iter().map(|m| m.n).max().unwrap_or(0);
    let d = all.iter().map(|m| m.d).max().unwrap_or(0);
    let mut text = format!(
        "| layer | paper's complexity | time ~ n^ (d {d}, n ≥ {fit_from}) | time ~ d^ (n {n}) | memory ~ n^ \
         | ms | MB | sequential steps | longest path |\n|---|---|---|---|---|---|---|---|---|\n"
    );
    for kind in Kind::ALL {
        let kind_measures = all.iter().filter(|m| m.kind == kind);
        let at_d = kind_measures
            .clone()
            .filter(|m| m.d == d && m.n >= fit_from);
        let at_n = kind_measures.filter(|m| m.n == n);
        let Some(largest) = at_n.clone().find(|m| m.d == d) else {
            continue;
        };
        let time_n = fitted(at_d.clone().map(|m| (m.n, m.seconds)));
        let time_d = fitted(at_n.map(|m| (m.d, m.seconds)));
        let bytes_n = fitted(at_d.map(|m| (m.n, m.bytes as f64)));
        let ([order, steps, path], [paper_n, paper_d]) = kind.in_the_paper();
        let ms = largest.seconds * 1e3;
        let mb = largest.bytes as f64 / 1e6;
        let name = kind.name();
        let own_steps = largest.steps;
        let own_path = largest.path;
        let _ = writeln!(
            text,
            "| {name} | {order} | {time_n} ({paper_n}) | {time_d} ({paper_d}) | {bytes_n} | {ms:.2} \
             | {mb:.2} | {own_steps} ({steps}) | {own_path} ({path}) |"
        );
    }
    text + &format!(
        "\nFigures at n {n}, d {d}; the paper's orders in brackets. They leave out constants: a contiguous kernel reaches \
         (k − 1)/2 positions to each side, so the path has (n − 1)/((k − 1)/2) layers, and that of restricted \
         self-attention over a distance of R (--r; the paper's r is 2·R + 1) has (n − 1)/R.\n"
    )
}

/// The exponent of the power law that fits `points` best.
fn fitted(points: impl Iterator<Item = (usize, f64)>) -> String {
    let points: Vec<(f64, f64)> = points.map(|(x, y)| (x as f64, y)).collect();
    exponent(&points).map_or("–".to_string(), |exponent| format!("{exponent:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layers with exactly the paper's costs.
    fn ideal() -> Vec<Measurement> {
        let mut all = Vec::new();
        for kind in Kind::ALL {
            for (n, d) in [(512, 64), (512, 128), (1024, 64), (1024, 128)] {
                let (_, [by_n, by_d]) = kind.in_the_paper();
                let seconds = 1e-9 * (n as f64).powf(by_n) * (d as f64).powf(by_d);
                all.push(Measurement {
                    kind,
                    n,
                    d,
                    seconds,
                    bytes: n * d,
                    steps: 1,
                    path: 1,
                });
            }
        }
        all
    }

    #[test]
    fn the_table_holds_the_fitted_exponents_beside_the_papers() {
        let table = table(&ideal(), 512);
        let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(
            row("| self-attention").contains("| 2.00 (2) | 1.00 (1) | 1.00 |"),
            "{table}"
        );
        assert!(
            row("| convolution").contains("| 1.00 (1) | 2.00 (2) |"),
            "{table}"
        );
    }
}
