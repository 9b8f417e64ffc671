//! The arguments of `train`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_train::RunMode;
use burnformer_train::config::preset_names;
use clap::builder::PossibleValuesParser;

use crate::commands::model;
use crate::device::DeviceNames;
use crate::files_in_use::{FilesInUse, UsesFiles};

/// Arguments of `train`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// The preset to start from (`burnformer config presets` says what each is for) [default: the
    /// one that --config names, otherwise speedrun]
    #[arg(long, short, value_parser = PossibleValuesParser::new(preset_names()))]
    pub(super) preset: Option<String>,
    /// TOML file of settings that replace settings of the preset (`burnformer config` explains
    /// every key). The config.toml of a run contains all settings and repeats that run
    #[arg(long, short)]
    pub(super) config: Option<PathBuf>,
    /// Model directory (imported or trained here) to fine-tune: the run starts from its weights and
    /// keeps its tokenisers and sizes; the same as --set training.from. embedded:de-en and
    /// embedded:en-de are inside the program
    #[arg(long, value_parser = model(), value_name = "DIR")]
    pub(super) from: Option<PathBuf>,
    /// Training text: two files, which are translations of each other line by line, or one TSV
    /// file; plain, .gz or .zst. `-` is standard input. What comes through standard input or
    /// another pipe is copied into the run's folder [default: the embedded corpus,
    /// embedded:tatoeba-de-en/train.de and .en]
    #[arg(long, num_args = 1.., value_names = ["SOURCE", "TARGET"])]
    pub(super) train: Vec<PathBuf>,
    /// More training text, and how many of its sentence pairs are drawn for each pair of --train,
    /// for example mine.de mine.en 2.5 or mine.tsv 2.5; may be given several times
    #[arg(long, num_args = 2..=3, value_names = ["SOURCE", "TARGET", "WEIGHT"])]
    pub(super) mix: Vec<PathBuf>,
    /// The languages of the texts, such as en fr, for a model of several languages that --from
    /// names
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"])]
    pub(super) languages: Vec<String>,
    /// Validation text, in the same forms as the training text
    #[arg(long, num_args = 1.., value_names = ["SOURCE", "TARGET"])]
    pub(super) valid: Vec<PathBuf>,
    /// Test text, in the same forms, which is scored after training
    #[arg(long, num_args = 1.., value_names = ["SOURCE", "TARGET"])]
    pub(super) test: Vec<PathBuf>,
    /// Change one setting, for example --set model.dropout=0.3; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Device on which to compute; several devices share the batches of each update: cuda:all, or
    /// cuda:0,cuda:1
    #[arg(long, default_value = "auto", value_name = "DEVICES")]
    pub(in crate::commands) device: DeviceNames,
    /// The run's folder [default: runs/PRESET, with a number if that folder exists]
    #[arg(long, short)]
    pub(super) out: Option<PathBuf>,
    /// Continue the run in --out, or otherwise the run under runs/ that was written last (with
    /// --preset NAME, the last one of those called NAME, NAME-2, NAME-3 …)
    #[arg(long)]
    pub(super) resume: bool,
    /// The minutes that the updates may take, such as 30; the same as --set training.max_minutes
    #[arg(long, value_name = "M")]
    pub(super) minutes: Option<f64>,
    /// Largest amount of memory to use, in GB; the same as --set training.max_memory
    #[arg(long, value_name = "GB")]
    pub(super) max_memory: Option<f64>,
    /// Open the texts, make some updates that are not kept, print the configuration, the number of
    /// parameters, the memory, the time of the run and when its first score comes, and stop
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default()
            .reads(&self.config)
            .reads(&self.train)
            .reads(&self.mix)
            .reads(&self.valid)
            .reads(&self.test)
            .reads_models(&self.from))
    }
}

impl Args {
    pub(super) fn mode(&self) -> RunMode {
        if self.resume {
            RunMode::Resume
        } else {
            RunMode::New
        }
    }

    /// The folder of the run that is resumed.
    pub(super) fn run_to_resume<'a>(&self, folder: &'a Path) -> Option<&'a Path> {
        self.resume.then_some(folder)
    }
}
