mod chart;
mod pen;

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_text::counted;
use burnformer_train::report::{METRICS_FILE, Record, read_metrics};
use serde_json::json;

use self::chart::{Axis, Chart, Figure, Series};
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::{csv, note, write_whole, wrong_usage};

/// Arguments of `plot`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// Run directories, or their metrics.jsonl files
    #[arg(required = true)]
    run: Vec<PathBuf>,
    /// The quantity to draw
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "loss,perplexity,bleu,rate,speed"
    )]
    metric: Vec<Curve>,
    /// The quantity on the horizontal axis
    #[arg(long, default_value = "updates")]
    against: XAxis,
    /// Write the picture to this file, .svg, or its numbers, .csv; may be given several
    /// times
    #[arg(long, short, required = true, value_name = "FILE")]
    output: Vec<PathBuf>,
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
enum XAxis {
    /// Updates
    Updates,
    /// Minutes of training
    Minutes,
}

struct Run {
    name: String,
    records: Vec<Record>,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default()
            .reads(self.run.iter().map(|path| metrics_file(path)))
            .writes(&self.output))
    }
}

/// Draws the curves, or writes their numbers.
///
/// # Errors
/// Returns an error if the records of a run cannot be read, or the output cannot be written.
pub fn run(args: Args) -> Result<()> {
    let runs = args
        .run
        .iter()
        .map(|path| read(path, &args.run))
        .collect::<Result<Vec<_>>>()?;
    let charts = args
        .metric
        .iter()
        .map(|curve| chart(*curve, args.against, &runs));
    // A run without validation has no BLEU.
    let charts: Vec<Chart> = charts.filter(|chart| !chart.series.is_empty()).collect();
    let mut outputs = args.output.iter();
    if let Some(path) = outputs.find(|path| !has_extension(path, &["csv", "svg"])) {
        let name = path.display();
        return Err(wrong_usage(format_args!(
            "{name}: the name of a picture ends in .svg, and that of numbers in .csv"
        )));
    }
    let figure = Figure(charts);
    for path in args.output {
        let text = if has_extension(&path, &["csv"]) {
            numbers(&figure.0) + "\n"
        } else {
            figure.to_svg()?
        };
        write_whole(&path, text)?;
        note(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// Returns whether `path` has one of these extensions.
fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    path.extension()
        .is_some_and(|end| extensions.iter().any(|known| end == *known))
}

/// Every point of `charts`, one per line.
fn numbers(charts: &[Chart]) -> String {
    let lines = charts
        .iter()
        .flat_map(|chart| chart.series.iter().map(move |line| (chart, line)));
    let rows = lines.flat_map(|(chart, line)| {
        line.points
            .iter()
            .map(move |(x, y)| json!({"chart": chart.title, "series": line.name, "x": x, "y": y}))
    });
    csv("chart,series,x,y", rows)
}

/// The file with the metrics of the run at `path`.
fn metrics_file(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(METRICS_FILE)
    } else {
        path.to_path_buf()
    }
}

fn read(path: &Path, all: &[PathBuf]) -> Result<Run> {
    let file = metrics_file(path);
    if !file.exists() || path.extension().is_none_or(|end| end != "jsonl") && path.is_file() {
        return Err(wrong_usage(format_args!(
            "{}: {}",
            path.display(),
            no_run(path)
        )));
    }
    let records = read_metrics(&file)?;
    Ok(Run {
        name: name(path, all),
        records,
    })
}

/// Why `path` is not a run directory, and what to name instead.
fn no_run(path: &Path) -> String {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|run| run.join(METRICS_FILE).is_file())
        .collect();
    runs.sort();
    match runs.first() {
        None => format!("not a run directory; name one, or its {METRICS_FILE}"),
        Some(run) => {
            let runs = counted(runs.len(), "run");
            let run = run.display();
            format!("not a run directory, but holds {runs}; name what to draw, such as {run}")
        }
    }
}

/// The name of the run's folder, or its whole path if another run has that name.
fn name(path: &Path, all: &[PathBuf]) -> String {
    let name = folder_name(path);
    let count = all.iter().filter(|path| folder_name(path) == name).count();
    name.filter(|_| count == 1)
        .unwrap_or_else(|| path.display().to_string())
}

/// The name of the folder at `path`, or of the folder of the file at `path`.
fn folder_name(path: &Path) -> Option<String> {
    let folder = if path.is_dir() {
        Some(path)
    } else {
        path.parent()
    };
    let name = folder?.file_name()?;
    Some(name.to_string_lossy().into_owned())
}

fn chart(curve: Curve, against: XAxis, runs: &[Run]) -> Chart {
    let (title, y, field) = match curve {
        Curve::Loss => ("Loss", Axis::linear("nats per token"), "loss"),
        Curve::Perplexity => ("Perplexity", Axis::log("perplexity"), "ppl"),
        Curve::Bleu => ("BLEU of the validation text", Axis::linear("BLEU"), "bleu"),
        Curve::Rate => ("Learning rate", Axis::linear("learning rate"), "lr"),
        Curve::Speed => (
            "Speed",
            Axis::linear("target tokens per second"),
            "tokens_per_second",
        ),
    };
    let x = match against {
        XAxis::Updates => Axis::linear("updates"),
        XAxis::Minutes => Axis::linear("minutes"),
    };
    let series = runs.iter().flat_map(|run| series(field, against, run));
    let series = series.filter(|series| !series.points.is_empty()).collect();
    Chart {
        title,
        x,
        y,
        series,
    }
}

/// The training curve and the validation curve of one field of a run's records. Either may be
/// empty.
fn series(field: &str, against: XAxis, run: &Run) -> [Series; 2] {
    let records = run.records.iter();
    let training = records
        .clone()
        .filter(|record| matches!(record, Record::Train(_)));
    // Averaged models are not part of the run's curve.
    let validation = records.filter(|record| matches!(record, Record::Valid(it) if !it.averaged));
    let name = &run.name;
    [
        Series {
            name: name.clone(),
            points: training
                .filter_map(|record| point(record, field, against))
                .collect(),
        },
        Series {
            name: format!("{name}, validation"),
            points: validation
                .filter_map(|record| point(record, field, against))
                .collect(),
        },
    ]
}

/// The point of a record in the curve of `field`, if the record has the field.
fn point(record: &Record, field: &str, against: XAxis) -> Option<(f64, f64)> {
    let fields = json!(record);
    let x = match against {
        XAxis::Updates => fields["step"].as_f64()?,
        XAxis::Minutes => fields["seconds"].as_f64()? / 60.0,
    };
    Some((x, fields[field].as_f64()?))
}

#[cfg(test)]
mod tests {
    use burnformer_train::report::{TrainRecord, ValidRecord};

    use super::*;

    fn run_of(records: Vec<Record>) -> Run {
        Run {
            name: "a".into(),
            records,
        }
    }

    fn records() -> Vec<Record> {
        let train = TrainRecord {
            step: 50,
            seconds: 30.0,
            loss: 5.0,
            ..TrainRecord::default()
        };
        let valid = ValidRecord {
            step: 50,
            seconds: 60.0,
            bleu: Some(12.5),
            ..ValidRecord::default()
        };
        let averaged = ValidRecord {
            bleu: Some(50.0),
            averaged: true,
            ..valid.clone()
        };
        vec![
            Record::Train(train),
            Record::Valid(valid),
            Record::Valid(averaged),
        ]
    }

    #[test]
    fn training_and_validation_are_two_curves_of_one_run() {
        let chart = chart(Curve::Loss, XAxis::Updates, &[run_of(records())]);
        let names: Vec<&str> = chart.series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["a", "a, validation"]);
        assert_eq!(chart.series[0].points, [(50.0, 5.0)]);
    }

    #[test]
    fn minutes_count_training_only() {
        let chart = chart(Curve::Bleu, XAxis::Minutes, &[run_of(records())]);
        assert_eq!(chart.series[0].points, [(1.0, 12.5)]);
    }

    #[test]
    fn a_run_without_validation_has_no_validation_curve() {
        let chart = chart(
            Curve::Bleu,
            XAxis::Updates,
            &[run_of(records()[..1].to_vec())],
        );
        assert!(chart.series.is_empty());
    }

    #[test]
    fn runs_of_one_name_are_told_apart_by_their_paths() {
        let paths = [
            "x/run/metrics.jsonl",
            "y/run/metrics.jsonl",
            "y/other/metrics.jsonl",
        ];
        let paths = paths.map(PathBuf::from);
        assert_eq!(name(&paths[0], &paths), "x/run/metrics.jsonl");
        assert_eq!(name(&paths[2], &paths), "other");
    }
}
