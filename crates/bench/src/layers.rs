use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Result, ensure};
use burnformer_study::table_1::{Kind, LayerSizes, Measurement, exponent, measure};
use peak_alloc::PeakAlloc;

use burnformer::output::{note, print};

use crate::options::Common;

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
    /// Smallest length that is used to fit exponents; below it, the cost of a call exceeds that of
    /// its work
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

/// Measures every layer at every size; `memory` counts allocations.
pub fn run(args: Args, memory: &PeakAlloc) -> Result<()> {
    check(&args)?;
    let all = measure_all(&args, memory)?;
    if !args.json {
        return print(table(&all, args.fit_from).trim_end());
    }
    all.iter().try_for_each(|m| print(serde_json::to_string(m)?))
}

fn check(args: &Args) -> Result<()> {
    ensure!(args.k % 2 == 1, "-k {}: give an odd number, so that the kernel has a centre", args.k);
    ensure!(!args.n.contains(&0), "--n 0: a sequence has at least one position");
    let odd = args.d.iter().find(|&&d| d == 0 || (d > 64 && d % 64 != 0));
    ensure!(odd.is_none(), "--d {}: give multiples of 64, the width of a head", odd.unwrap_or(&0));
    Ok(())
}

fn measure_all(args: &Args, memory: &PeakAlloc) -> Result<Vec<Measurement>> {
    let device = args.common.open()?;
    let patience = Duration::from_millis(args.patience);
    let mut all = Vec::new();
    for kind in Kind::ALL {
        for &d in &args.d {
            let sizes = LayerSizes { d, radius: args.r, kernel: args.k };
            note(format_args!("{}, d {d}", kind.name()));
            let at = |&n: &usize| measure(kind, sizes, n, patience, &device, memory);
            all.extend(args.n.iter().map(at));
        }
    }
    Ok(all)
}

/// The points `(x, y)` of `kind`, in the order of x.
fn points(
    all: &[Measurement],
    keep: impl Fn(&Measurement) -> bool,
    at: impl Fn(&Measurement) -> (f64, f64),
) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = all.iter().filter(|m| keep(m)).map(at).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The largest length and the largest width.
fn largest(all: &[Measurement]) -> (usize, usize) {
    let most = |of: fn(&Measurement) -> usize| all.iter().map(of).max().unwrap_or(0);
    (most(|m| m.n), most(|m| m.d))
}

/// Formats a row for each layer: the fitted exponents beside the orders of the paper, and figures
/// at the largest size.
fn table(all: &[Measurement], fit_from: usize) -> String {
    let (n, d) = largest(all);
    let mut text = format!(
        "| layer | paper's complexity | time ~ n^ (d {d}, n ≥ {fit_from}) | time ~ d^ (n {n}) | memory ~ n^ \
         | ms | MB | sequential steps | longest path |\n|---|---|---|---|---|---|---|---|---|\n"
    );
    for kind in Kind::ALL {
        let at_d = |m: &Measurement| m.kind == kind && m.d == d && m.n >= fit_from;
        let at_n = |m: &Measurement| m.kind == kind && m.n == n;
        let time_n = points(all, at_d, |m| (m.n as f64, m.seconds));
        let time_d = points(all, at_n, |m| (m.d as f64, m.seconds));
        let memory = points(all, at_d, |m| (m.n as f64, m.bytes as f64));
        let Some(largest) = all.iter().find(|m| m.kind == kind && m.n == n && m.d == d) else {
            continue;
        };
        let ([order, steps, path], [paper_n, paper_d]) = kind.in_the_paper();
        let [time_n, time_d, memory] = [time_n, time_d, memory].map(|all| shown(exponent(&all)));
        let (ms, mb) = (largest.seconds * 1e3, largest.bytes as f64 / 1e6);
        let (name, own_steps, own_path) = (kind.name(), largest.steps, largest.path);
        let _ = writeln!(
            text,
            "| {name} | {order} | {time_n} ({paper_n}) | {time_d} ({paper_d}) | {memory} | {ms:.2} \
             | {mb:.2} | {own_steps} ({steps}) | {own_path} ({path}) |"
        );
    }
    text + &format!(
        "\nFigures at n {n}, d {d}; the paper's orders in brackets. They leave out constants: a contiguous kernel reaches \
         (k − 1)/2 positions to each side, so the path has (n − 1)/((k − 1)/2) layers, and that of restricted \
         self-attention over a distance of R (--r; the paper's r is 2·R + 1) has (n − 1)/R.\n"
    )
}

fn shown(exponent: Option<f64>) -> String {
    exponent.map_or("–".to_string(), |exponent| format!("{exponent:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layers whose cost is exactly that of the paper.
    fn ideal() -> Vec<Measurement> {
        let mut all = Vec::new();
        for kind in Kind::ALL {
            for (n, d) in [(512, 64), (512, 128), (1024, 64), (1024, 128)] {
                let (_, [by_n, by_d]) = kind.in_the_paper();
                let seconds = 1e-9 * (n as f64).powf(by_n) * (d as f64).powf(by_d);
                all.push(Measurement { kind, n, d, seconds, bytes: n * d, steps: 1, path: 1 });
            }
        }
        all
    }

    #[test]
    fn the_table_holds_the_fitted_exponents_beside_the_papers() {
        let table = table(&ideal(), 512);
        let row = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap();
        assert!(row("| self-attention").contains("| 2.00 (2) | 1.00 (1) | 1.00 |"), "{table}");
        assert!(row("| convolution").contains("| 1.00 (1) | 2.00 (2) |"), "{table}");
    }
}
