use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_core::model_dir::load_config;
use burnformer_train::report::{METRICS_FILE, Record, TrainRecord, ValidRecord, read_metrics};
use burnformer_view::{Axis, Chart, Figure, Series};

use super::output::Output;

/// Arguments of `plot RUN…`.
#[derive(clap::Args)]
pub struct Args {
    /// Run directories, or their metrics.jsonl files
    #[arg(required = true)]
    run: Vec<PathBuf>,
    /// The quantity to draw
    #[arg(long, value_delimiter = ',', default_value = "loss,perplexity,bleu,rate,speed")]
    metric: Vec<Curve>,
    /// The quantity on the horizontal axis; over flops, BLEU stands beside the paper's Table 2
    #[arg(long, default_value = "updates")]
    against: Against,
    #[command(flatten)]
    output: Output,
}

/// A curve of `metrics.jsonl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Curve {
    /// Label-smoothed loss of training and validation
    Loss,
    /// Perplexity of training and validation
    Perplexity,
    /// BLEU of the validation text
    Bleu,
    /// Learning rate
    Rate,
    /// Target tokens per second
    Speed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Against {
    /// Updates
    Updates,
    /// Minutes of training
    Minutes,
    /// Floating-point operations of training, without padding, sources taken as long as targets
    Flops,
}

/// Systems of the paper's Table 2: BLEU on WMT 2014 English–German, and floating-point operations
/// of training as estimated there.
const PAPER: [(&str, f64, f64); 7] = [
    ("GNMT + RL", 2.3e19, 24.6),
    ("ConvS2S", 9.6e18, 25.16),
    ("MoE", 2.0e19, 26.03),
    ("GNMT + RL ensemble", 1.8e20, 26.3),
    ("ConvS2S ensemble", 7.7e19, 26.36),
    ("Transformer (base)", 3.3e18, 27.3),
    ("Transformer (big)", 2.3e19, 28.4),
];

struct Run {
    name: String,
    records: Vec<Record>,
    /// Floating-point operations per update, where they are wanted.
    flops: f64,
}

pub fn run(args: Args) -> Result<()> {
    let read = |path: &PathBuf| read(path, &args.run, args.against);
    let runs = args.run.iter().map(read).collect::<Result<Vec<_>>>()?;
    let charts = args.metric.iter().map(|curve| chart(*curve, args.against, &runs));
    // A run without validation has no BLEU, and no chart of it.
    let charts: Vec<Chart> = charts.filter(|chart| !chart.series.is_empty()).collect();
    let columns = if charts.len() == 4 { 2 } else { charts.len().clamp(1, 3) };
    args.output.save(&Figure { charts, columns })
}

fn read(path: &Path, all: &[PathBuf], against: Against) -> Result<Run> {
    let file = if path.is_dir() { path.join(METRICS_FILE) } else { path.to_path_buf() };
    let records = read_metrics(&file)?;
    let flops = match against {
        Against::Flops => flops(&file, &records)?,
        Against::Updates | Against::Minutes => 0.0,
    };
    Ok(Run { name: name(path, all), records, flops })
}

/// Floating-point operations per update of the run that wrote `file`: those of its mean sentence,
/// by the configuration of its last model.
fn flops(file: &Path, records: &[Record]) -> Result<f64> {
    let config = load_config(&file.with_file_name("last"))?;
    let last = records.iter().rev().find_map(|record| match record {
        Record::Train(point) if point.pairs > 0 => Some(point),
        _ => None,
    });
    let Some(TrainRecord { step, tokens, pairs, .. }) = last else { return Ok(0.0) };
    let length = (tokens / pairs).max(1) as usize;
    Ok(config.update_flops(*pairs as usize, length, length) as f64 / *step as f64)
}

/// The name of the run's folder, or its whole path if another run has that name.
fn name(path: &Path, all: &[PathBuf]) -> String {
    let short = |path: &Path| {
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        folder.and_then(|f| f.file_name()).map(|name| name.to_string_lossy().into_owned())
    };
    let whole = path.display().to_string();
    match short(path) {
        Some(name) if all.iter().filter(|p| short(p).as_ref() == Some(&name)).count() == 1 => name,
        _ => whole,
    }
}

fn chart(curve: Curve, against: Against, runs: &[Run]) -> Chart {
    let (title, y) = match curve {
        Curve::Loss => ("Loss", Axis::linear("nats per token")),
        Curve::Perplexity => ("Perplexity", Axis::log("perplexity")),
        Curve::Bleu => ("BLEU of the validation text", Axis::linear("BLEU")),
        Curve::Rate => ("Learning rate", Axis::linear("learning rate")),
        Curve::Speed => ("Speed", Axis::linear("target tokens per second")),
    };
    let x = match against {
        Against::Updates => Axis::linear("updates"),
        Against::Minutes => Axis::linear("minutes"),
        Against::Flops => Axis::log("floating-point operations of training"),
    };
    let series = runs.iter().flat_map(|run| series(curve, against, run));
    let mut series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    if (curve, against) == (Curve::Bleu, Against::Flops) {
        let point = |(name, flops, bleu)| Series::new(format!("{name}, WMT"), vec![(flops, bleu)]);
        series.extend(PAPER.map(point));
    }
    Chart { title: title.into(), x, y, series }
}

/// The training curve and the validation curve of one run; either may be empty.
fn series(curve: Curve, against: Against, run: &Run) -> [Series; 2] {
    let (mut training, mut validation) = (Vec::new(), Vec::new());
    for record in &run.records {
        match record {
            Record::Train(point) => {
                let x = place(against, run, point.step, point.seconds);
                training.extend(of_training(curve, point).map(|y| (x, y)));
            }
            Record::Valid(point) => {
                let x = place(against, run, point.step, point.seconds);
                validation.extend(of_validation(curve, point).map(|y| (x, y)));
            }
            Record::Divergence(_) => {}
        }
    }
    let name = &run.name;
    [Series::new(name, training), Series::new(format!("{name}, validation"), validation)]
}

fn place(against: Against, run: &Run, step: u64, seconds: f64) -> f64 {
    match against {
        Against::Flops => step as f64 * run.flops,
        Against::Updates => step as f64,
        Against::Minutes => seconds / 60.0,
    }
}

fn of_training(curve: Curve, point: &TrainRecord) -> Option<f64> {
    match curve {
        Curve::Loss => Some(point.loss),
        Curve::Perplexity => Some(point.ppl),
        Curve::Bleu => None,
        Curve::Rate => Some(point.lr),
        Curve::Speed => Some(point.tokens_per_second),
    }
}

fn of_validation(curve: Curve, point: &ValidRecord) -> Option<f64> {
    match curve {
        Curve::Loss => Some(point.loss),
        Curve::Perplexity => Some(point.ppl),
        Curve::Bleu => point.bleu,
        Curve::Rate | Curve::Speed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(records: Vec<Record>) -> Run {
        Run { name: "a".into(), records, flops: 1e9 }
    }

    fn records() -> Vec<Record> {
        let train = TrainRecord { step: 50, seconds: 30.0, loss: 5.0, ..TrainRecord::default() };
        let valid =
            ValidRecord { step: 50, seconds: 60.0, bleu: Some(12.5), ..ValidRecord::default() };
        vec![Record::Train(train), Record::Valid(valid)]
    }

    #[test]
    fn training_and_validation_are_two_curves_of_one_run() {
        let chart = chart(Curve::Loss, Against::Updates, &[run_of(records())]);
        let names: Vec<&str> = chart.series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["a", "a, validation"]);
        assert_eq!(chart.series[0].points, [(50.0, 5.0)]);
    }

    #[test]
    fn minutes_are_those_of_training() {
        let chart = chart(Curve::Bleu, Against::Minutes, &[run_of(records())]);
        assert_eq!(chart.series[0].points, [(1.0, 12.5)]);
    }

    #[test]
    fn over_operations_bleu_stands_beside_the_papers() {
        let chart = chart(Curve::Bleu, Against::Flops, &[run_of(records())]);
        assert_eq!(chart.series[0].points, [(5e10, 12.5)]);
        assert_eq!(chart.series.len(), 1 + PAPER.len());
    }

    #[test]
    fn a_run_without_validation_has_no_curve_of_it() {
        let chart = chart(Curve::Bleu, Against::Updates, &[run_of(records()[..1].to_vec())]);
        assert!(chart.series.is_empty());
    }

    #[test]
    fn runs_of_one_name_are_told_apart_by_their_paths() {
        let paths = ["x/run/metrics.jsonl", "y/run/metrics.jsonl", "y/other/metrics.jsonl"];
        let paths = paths.map(PathBuf::from);
        assert_eq!(name(&paths[0], &paths), "x/run/metrics.jsonl");
        assert_eq!(name(&paths[2], &paths), "other");
    }
}
