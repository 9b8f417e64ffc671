use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_train::report::{METRICS_FILE, Record, TrainPoint, ValidPoint, read_metrics};
use burnformer_view::{Axis, Chart, Figure, Series};

use super::Output;

/// Arguments of `plot RUN…`.
#[derive(clap::Args)]
pub struct Args {
    /// Run directories, or their metrics.jsonl
    #[arg(required = true)]
    run: Vec<PathBuf>,
    /// What to draw
    #[arg(long, value_delimiter = ',', default_value = "loss,perplexity,bleu,rate,speed")]
    metric: Vec<Metric>,
    /// Against what
    #[arg(long, default_value = "updates")]
    against: Against,
    #[command(flatten)]
    output: Output,
}

/// A curve of `metrics.jsonl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Metric {
    /// Label-smoothed loss, training and validation
    Loss,
    /// Perplexity, training and validation
    Perplexity,
    /// BLEU of the validation text
    Bleu,
    /// Learning rate
    Rate,
    /// Target tokens a second
    Speed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Against {
    /// Updates
    Updates,
    /// Minutes of training
    Minutes,
}

struct Run {
    name: String,
    records: Vec<Record>,
}

pub fn run(args: Args) -> Result<()> {
    let runs = args.run.iter().map(|path| read(path, &args.run)).collect::<Result<Vec<_>>>()?;
    let charts = args.metric.iter().map(|metric| chart(*metric, args.against, &runs));
    // A run without validation has no BLEU, and no chart of it.
    let charts: Vec<Chart> = charts.filter(|chart| !chart.series.is_empty()).collect();
    let columns = if charts.len() == 4 { 2 } else { charts.len().clamp(1, 3) };
    args.output.save(&Figure { charts, columns })
}

fn read(path: &Path, all: &[PathBuf]) -> Result<Run> {
    let file = if path.is_dir() { path.join(METRICS_FILE) } else { path.to_path_buf() };
    Ok(Run { name: name(path, all), records: read_metrics(file)? })
}

/// The run's folder, or its whole path where that does not tell it from the others.
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

fn chart(metric: Metric, against: Against, runs: &[Run]) -> Chart {
    let (title, y) = match metric {
        Metric::Loss => ("Loss", Axis::linear("nats a token")),
        Metric::Perplexity => ("Perplexity", Axis::log("perplexity")),
        Metric::Bleu => ("BLEU of the validation text", Axis::linear("BLEU")),
        Metric::Rate => ("Learning rate", Axis::linear("learning rate")),
        Metric::Speed => ("Speed", Axis::linear("target tokens a second")),
    };
    let x = match against {
        Against::Updates => Axis::linear("updates"),
        Against::Minutes => Axis::linear("minutes"),
    };
    let series = runs.iter().flat_map(|run| series(metric, against, run));
    let series = series.filter(|series| !series.points.is_empty()).collect();
    Chart { title: title.into(), x, y, series }
}

/// The training curve and the validation curve of one run; either may be empty.
fn series(metric: Metric, against: Against, run: &Run) -> [Series; 2] {
    let (mut training, mut validation) = (Vec::new(), Vec::new());
    for record in &run.records {
        match record {
            Record::Train(point) => {
                let x = place(against, point.step, point.seconds);
                training.extend(of_training(metric, point).map(|y| (x, y)));
            }
            Record::Valid(point) => {
                let x = place(against, point.step, point.seconds);
                validation.extend(of_validation(metric, point).map(|y| (x, y)));
            }
            Record::Divergence(_) => {}
        }
    }
    let name = &run.name;
    [Series::new(name, training), Series::new(format!("{name}, validation"), validation)]
}

fn place(against: Against, step: u64, seconds: f64) -> f64 {
    match against {
        Against::Updates => step as f64,
        Against::Minutes => seconds / 60.0,
    }
}

fn of_training(metric: Metric, point: &TrainPoint) -> Option<f64> {
    match metric {
        Metric::Loss => Some(point.loss),
        Metric::Perplexity => Some(point.ppl),
        Metric::Bleu => None,
        Metric::Rate => Some(point.lr),
        Metric::Speed => Some(point.tokens_per_second),
    }
}

fn of_validation(metric: Metric, point: &ValidPoint) -> Option<f64> {
    match metric {
        Metric::Loss => Some(point.loss),
        Metric::Perplexity => Some(point.ppl),
        Metric::Bleu => point.bleu,
        Metric::Rate | Metric::Speed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_of(records: Vec<Record>) -> Run {
        Run { name: "a".into(), records }
    }

    fn records() -> Vec<Record> {
        let train = TrainPoint { step: 50, seconds: 30.0, loss: 5.0, ..TrainPoint::default() };
        let valid =
            ValidPoint { step: 50, seconds: 60.0, bleu: Some(12.5), ..ValidPoint::default() };
        vec![Record::Train(train), Record::Valid(valid)]
    }

    #[test]
    fn training_and_validation_are_two_curves_of_one_run() {
        let chart = chart(Metric::Loss, Against::Updates, &[run_of(records())]);
        let names: Vec<&str> = chart.series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["a", "a, validation"]);
        assert_eq!(chart.series[0].points, [(50.0, 5.0)]);
    }

    #[test]
    fn minutes_are_those_of_training() {
        let chart = chart(Metric::Bleu, Against::Minutes, &[run_of(records())]);
        assert_eq!(chart.series[0].points, [(1.0, 12.5)]);
    }

    #[test]
    fn a_run_without_validation_has_no_curve_of_it() {
        let chart = chart(Metric::Bleu, Against::Updates, &[run_of(records()[..1].to_vec())]);
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
