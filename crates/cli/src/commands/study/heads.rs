//! `study heads`: BLEU of a trained model with each attention head off.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_data::{ParallelReader, Utf8Policy, counted};
use burnformer_infer::LongSources;
use burnformer_study::{HeadResult, HeadStudy, heads_table};
use serde_json::json;

use crate::commands::{Computing, between, corpus, model, of_options};
use crate::csv::csv;
use crate::embedded;
use crate::output::{self, note};

/// The text of a command that names none.
const TEST: [&str; 2] = ["embedded:tatoeba-de-en/test.de", "embedded:tatoeba-de-en/test.en"];

/// Arguments of `study heads`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory; embedded:de-en and embedded:en-de are inside the program [default:
    /// embedded:de-en]
    #[arg(long, short, value_parser = model(), value_name = "DIR", requires = "test")]
    model: Option<PathBuf>,
    /// The text to translate and its references: two files or one TSV file [default: the embedded
    /// test text]
    #[arg(long, num_args = 1.., value_names = ["SOURCE", "TARGET"])]
    test: Vec<PathBuf>,
    /// Number of lines from the start of the text; 0 means all
    #[arg(long, value_name = "N", default_value_t = 500)]
    lines: usize,
    /// Number of hypotheses of the beam search; 1 is greedy search [default: the model's]
    #[arg(long, value_name = "N", value_parser = between(1, 1000))]
    beam: Option<usize>,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Print the results as comma-separated values, a line for each head
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    computing: Computing,
}

/// Measures the whole model, then the model without each head, and prints the table.
pub fn run(args: &Args) -> Result<()> {
    let (sources, references) = text(args)?;
    let dir = args.model.clone().map_or_else(embedded::default_model, Ok)?;
    let Computing { compute, device } = &args.computing;
    let study = HeadStudy::open(&dir, &device.open()?, *compute)?;
    let translator = study.translator(None)?;
    let mut options = translator.options();
    options.search.beam_size = args.beam.unwrap_or(options.search.beam_size);
    options.search.n_best = 1;
    options.search.validate().map_err(of_options)?;
    options.long_sources = LongSources::Truncate;
    let measure = |off| study.measure(off, &options, &sources, &references);
    let whole = measure(None)?;
    let count = study.heads().len();
    let lines = counted(sources.len(), "line");
    note(format_args!("{lines}, BLEU {:.2} with all {count} heads", whole.bleu()));
    let mut results = Vec::with_capacity(count);
    for (number, head) in (1..).zip(study.heads()) {
        let result = measure(Some(head))?.against(&whole, head)?;
        let HeadResult { change, interval, .. } = result;
        note(format_args!("{number} of {count} | {head} off | BLEU {change:+.2} ± {interval:.2}"));
        results.push(result);
    }
    print(args, whole.bleu(), &results)
}

/// The lines of the test text, and their references.
fn text(args: &Args) -> Result<(Vec<String>, Vec<String>)> {
    let given: Vec<&Path> = args.test.iter().map(PathBuf::as_path).collect();
    let names = if given.is_empty() { TEST.map(Path::new).to_vec() } else { given };
    let paths = names.into_iter().map(embedded::text_file).collect::<Result<Vec<_>>>()?;
    let limit = if args.lines == 0 { usize::MAX } else { args.lines };
    let mut text = (Vec::new(), Vec::new());
    for pair in ParallelReader::open(&corpus("--test", &paths)?, Utf8Policy::Error)?.take(limit) {
        let pair = pair?;
        text.0.push(pair.source);
        text.1.push(pair.target);
    }
    Ok(text)
}

fn print(args: &Args, bleu: f64, results: &[HeadResult]) -> Result<()> {
    if args.json {
        let all = json!({ "bleu": bleu, "without": results });
        return output::print(serde_json::to_string_pretty(&all)?);
    }
    if !args.csv {
        return output::print(heads_table(bleu, results).trim_end());
    }
    let rows = results.iter().map(|result| json!(result));
    output::print(csv(&["part", "layer", "head", "bleu", "change", "interval"], rows))
}
