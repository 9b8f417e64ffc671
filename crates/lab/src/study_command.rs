use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use burnformer::configuration::{resolve, set_text};
use burnformer::device::DeviceName;
use burnformer::embedded;
use burnformer::files_in_use::{FilesInUse, UsesFiles};
use burnformer::output::{self, csv, note};
use burnformer::signals::Signals;
use burnformer::texts::{self, ReadTexts};
use burnformer_lab::study::{
    Measure, Row, RowResult, Study, StudyError, extrapolation, extrapolation_table, table3,
    table3_is_base, table3_table,
};
use burnformer_train::{Texts, TrainConfig, cache_folder};
use serde_json::json;

/// Arguments of `study`.
#[derive(clap::Args)]
#[command(after_help = include_str!("study_examples.txt"))]
pub struct Args {
    #[command(subcommand)]
    what: StudyCommand,
}

#[derive(clap::Subcommand)]
enum StudyCommand {
    /// The rows of Table 3 in the paper's ratios: number of heads, width of the keys, depth and
    /// widths, dropout and label smoothing, learned positions
    Table3(Table3),
    /// Sinusoidal against learned positions, in training on short sentences and testing on longer
    /// ones
    Extrapolation(Extrapolation),
}

#[derive(clap::Args)]
struct Common {
    /// The preset whose variations are trained: speedrun, tiny, small, base, big or multi30k
    #[arg(long, short, default_value = "tiny")]
    preset: String,
    /// TOML file of settings that replace settings of the preset
    #[arg(long, short)]
    config: Option<PathBuf>,
    /// Training text: two files or one TSV file [default: the embedded corpus]
    #[arg(long, num_args = 1.., value_names = ["SOURCE", "TARGET"], requires = "valid")]
    train: Vec<PathBuf>,
    /// Validation text, in the same forms, on which the models are measured
    #[arg(long, num_args = 1.., value_names = ["SOURCE", "TARGET"])]
    valid: Vec<PathBuf>,
    /// Change one setting of every row; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Number of updates per row, at least 1
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    updates: u64,
    /// Minutes of training per row, instead of updates
    #[arg(long, conflicts_with = "updates")]
    minutes: Option<f64>,
    /// Number of validation sentences to measure on; 0 means all
    #[arg(long, default_value_t = 0)]
    sentences: usize,
    /// Device on which to compute
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Print the results as comma-separated values, a line for each text
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Arguments of `study table3`.
#[derive(clap::Args)]
struct Table3 {
    #[command(flatten)]
    common: Common,
    /// Train only the base and the rows whose names begin with one of these: --rows A,D2
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Train the base from this number of seeds, so that the intervals of the other rows include
    /// the seed
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// The study's folder; rows that are finished there are not trained again
    #[arg(long, short, default_value = "studies/table3")]
    out: PathBuf,
}

/// Arguments of `study extrapolation`.
#[derive(clap::Args)]
struct Extrapolation {
    #[command(flatten)]
    common: Common,
    /// Largest number of tokens per side of a training pair
    #[arg(long, default_value_t = 10)]
    longest: usize,
    /// Train both from this number of seeds
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// The study's folder; rows that are finished there are not trained again
    #[arg(long, short, default_value = "studies/extrapolation")]
    out: PathBuf,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        let common = match &self.what {
            StudyCommand::Table3(Table3 { common, .. }) => common,
            StudyCommand::Extrapolation(Extrapolation { common, .. }) => common,
        };
        Ok(FilesInUse::default()
            .reads(&common.config)
            .reads(&common.train)
            .reads(&common.valid))
    }
}

/// The columns of `--csv`.
const COLUMNS: &str =
    "name,change,parameters,updates,seconds,longest,sentences,perplexity,bleu,interval";

/// Trains the rows that are not finished yet, then prints the table.
///
/// # Errors
/// Returns an error if the configuration is wrong, a row cannot be trained, or the output cannot be
/// written.
pub fn run(args: Args) -> Result<()> {
    args.files_in_use()?.check()?;
    burnformer_core::allocator::share_freed_memory();
    match args.what {
        StudyCommand::Table3(Table3 {
            common,
            rows: wanted,
            seeds,
            out,
        }) => {
            let (config, texts) = configuration(&common)?;
            let mut rows = table3(&config, seeds);
            if !wanted.is_empty() {
                rows.retain(|row| {
                    let is_wanted = wanted.iter().any(|start| row.name.starts_with(start));
                    is_wanted || table3_is_base(&row.name)
                });
            }
            let results = train(&common, texts, out, &rows)?;
            print(&common, &results, || table3_table(&rows, &results))
        }
        StudyCommand::Extrapolation(Extrapolation {
            common,
            longest,
            seeds,
            out,
        }) => {
            ensure!(longest > 1, "--longest is {longest}; it must be at least 2");
            let (config, texts) = configuration(&common)?;
            let rows = extrapolation(&config, longest, seeds);
            let results = train(&common, texts, out, &rows)?;
            print(&common, &results, || extrapolation_table(&results))
        }
    }
}

/// The configuration to vary, and the location of its texts.
fn configuration(common: &Common) -> Result<(TrainConfig, (Texts, ReadTexts))> {
    let file = common.config.as_deref();
    let mut config = resolve(Some(&common.preset), file, &common.set, None)?;
    let architecture = config.model.architecture.name();
    ensure!(
        architecture == "transformer",
        "model.architecture is \"{architecture}\", but a study varies the parts of a Transformer; choose a preset of that \
         architecture, such as --preset tiny"
    );
    if let Some(minutes) = common.minutes {
        ensure!(
            minutes > 0.0 && minutes.is_finite(),
            "--minutes is {minutes}; a row needs a positive number of minutes, or else it would train without end"
        );
    }
    config.training.max_updates = if common.minutes.is_some() {
        0
    } else {
        common.updates
    };
    config.training.max_minutes = common.minutes.unwrap_or(0.0);
    config.validation.max_sentences = common.sentences;
    set_text(&mut config.data.train, "--train", &common.train)?;
    set_text(&mut config.data.valid, "--valid", &common.valid)?;
    embedded::fill(&mut config.data);
    ensure!(
        !config.data.valid.is_empty(),
        "no validation text to measure; name one with --valid"
    );
    let beside = common
        .config
        .as_deref()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."));
    let cache = cache_folder(&config);
    let texts = texts::of_command(&mut config.data, beside, &cache)?;
    Ok((config, texts))
}

/// The results of `rows`, one after another. Finished rows are read from their files.
fn train(
    common: &Common,
    (texts, read): (Texts, ReadTexts),
    folder: PathBuf,
    rows: &[Row],
) -> Result<Vec<RowResult>> {
    let signals = Signals::watch("finishing this update and saving; once more to stop at once")?;
    let verbosity = output::verbosity();
    let study = Study {
        folder,
        texts,
        device: common.device.open()?,
        verbosity,
    };
    let known = study.done(rows)?.len();
    note(format_args!(
        "study: {} ({known} of {} rows done)",
        study.folder.display(),
        rows.len()
    ));
    let mut results = Vec::with_capacity(rows.len());
    for row in rows {
        let trained = signals.run_interruptible(|interrupted| study.run(row, interrupted));
        match trained.map_err(|error| match error {
            StudyError::Train(error) => read.explain(error).into(),
            error => error,
        })? {
            None => return Err(signals.stopped().into()),
            Some(result) => {
                note(summary(&result));
                results.push(result);
            }
        }
    }
    Ok(results)
}

fn summary(result: &RowResult) -> String {
    let RowResult {
        name,
        change,
        updates,
        seconds,
        ..
    } = result;
    let measures = result.measures.iter();
    let measures: Vec<String> = measures
        .map(|m| {
            format!(
                "ppl {:.2} BLEU {:.1} ± {:.1}",
                m.perplexity, m.bleu, m.interval
            )
        })
        .collect();
    let measures = measures.join(" | ");
    format!("row {name} {change} | {updates} updates, {seconds:.0} s | {measures}")
}

fn print(common: &Common, results: &[RowResult], table: impl Fn() -> String) -> Result<()> {
    match (common.json, common.csv) {
        (true, _) => output::print(serde_json::to_string_pretty(results)?),
        (_, true) => output::print(numbers(results)),
        _ => output::print(table().trim_end()),
    }
}

/// One line for each row and each text it was measured on.
fn numbers(results: &[RowResult]) -> String {
    let rows = results
        .iter()
        .flat_map(|row| row.measures.iter().map(move |it| (row, it)));
    csv(
        COLUMNS,
        rows.map(|(row, measure): (&RowResult, &Measure)| {
            let mut cells = json!(row);
            let measure = json!(measure);
            for (key, value) in measure.as_object().into_iter().flatten() {
                cells[key] = value.clone();
            }
            cells
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_several_texts_has_a_line_for_each() {
        let short = Measure {
            longest: Some(10),
            sentences: 5,
            perplexity: 2.5,
            bleu: 1.0,
            interval: 0.5,
            signature: "s".into(),
        };
        let all = Measure {
            longest: None,
            bleu: 2.0,
            ..short.clone()
        };
        let row = RowResult {
            name: "A1".into(),
            change: "1 head, wide".into(),
            parameters: 7,
            updates: 3,
            seconds: 1.0,
            measures: vec![short, all],
            config: "[model]\n".into(),
        };
        let lines = [
            "A1,\"1 head, wide\",7,3,1.0,10,5,2.5,1.0,0.5",
            "A1,\"1 head, wide\",7,3,1.0,,5,2.5,2.0,0.5",
        ];
        let expected = format!("{COLUMNS}\n{}\n{}", lines[0], lines[1]);
        assert_eq!(numbers(&[row]), expected);
    }
}
