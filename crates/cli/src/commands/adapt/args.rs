//! The arguments of `adapt`.

use std::path::PathBuf;

use anyhow::Result;
use clap::builder::TypedValueParser;

use crate::commands::{at_least, model};
use crate::device::DeviceNames;
use crate::files_in_use::{FilesInUse, UsesFiles};

/// Arguments of `adapt`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// The model to adapt: a directory, or embedded:de-en or embedded:en-de inside the program
    #[arg(long, short, required = true, value_parser = model(), value_name = "DIR")]
    pub(super) model: PathBuf,
    /// The memory: .po, .xlf, .tmx, .tsv or .csv files, or pairs of text files (source, then
    /// translation). Untranslated and fuzzy messages do not count
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    pub(super) memory: Vec<PathBuf>,
    /// The new model directory. It appears if the model is better on the part of the memory that is
    /// held out, and no worse on general text. If it is an adaptation of the same model already, it
    /// is adapted further, and replaced by what is better. A folder of its name with .work holds
    /// what is done so far; run the same command again to resume
    #[arg(long, short, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// General text, which the model must not unlearn: two files or a .tsv, or one text of the
    /// source language, which the model translates [default: from or into German and English the
    /// corpus inside the program; otherwise the sources of the memory]
    #[arg(long, num_args = 1..=2, value_name = "FILE")]
    pub(super) general: Vec<PathBuf>,
    /// Number of pairs of general text for each pair of the memory
    #[arg(long, value_name = "N", default_value_t = 3.0, value_parser = positive())]
    pub(super) mix: f64,
    /// Number of updates [default: by the size of the memory]
    #[arg(long, value_name = "N", value_parser = at_least(1))]
    pub(super) updates: Option<usize>,
    /// The minutes that the updates may take
    #[arg(long, value_name = "M", value_parser = positive())]
    pub(super) minutes: Option<f64>,
    /// Device on which to train; scores are computed on the CPU
    #[arg(long, default_value = "auto", value_name = "DEVICES")]
    pub(super) device: DeviceNames,
    /// The languages from which and into which the memory translates, such as `en de` [default:
    /// those in the name of the model]
    #[arg(long, num_args = 2, value_name = "LANGUAGE")]
    pub(super) languages: Vec<String>,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default()
            .reads(&self.memory)
            .reads(&self.general)
            .reads_models([&self.model])
            .replaces_folder(&self.out)
            .replaces_folder(self.out.with_added_extension("work")))
    }
}

/// Parses a number above 0 that is not infinite.
fn positive() -> impl TypedValueParser<Value = f64> {
    clap::builder::StringValueParser::new().try_map(|text| {
        let number = text
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite() && *number > 0.0);
        number.ok_or("a number above 0 is needed, such as 10")
    })
}
