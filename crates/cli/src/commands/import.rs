use std::path::PathBuf;

use anyhow::Result;
use burnformer_interop::hub::ModelName;
use burnformer_interop::{Format, TextFiles};

use crate::conversion::convert;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::named;
use crate::output::{note, wrong_usage};
use crate::values::one_of;

/// Arguments of `import`.
#[derive(clap::Args)]
#[command(allow_missing_positional = true, after_help = include_str!("import.txt"))]
pub struct Args {
    /// Format of the model [default: recognised from its files]
    #[arg(value_parser = one_of(Format::ALL, Format::name))]
    format: Option<Format>,
    /// The other system's model: a folder, a file of Marian, a package (.argosmodel of Argos
    /// Translate, .zip of OPUS-MT), or a name: hf:OWNER/NAME or hf:OWNER/NAME@REVISION is fetched
    /// from the Hugging Face hub, firefox:de-en from the list of Firefox's models
    path: PathBuf,
    /// The file of Marian's weights, where the folder has several (of `--keep-best`, for example)
    #[arg(long, value_name = "FILE", requires = "out")]
    weights: Option<PathBuf>,
    /// The new model directory [default for a name: the user's cache, where every command finds it
    /// by the name]
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Marian's vocabularies (.spm, .yml), of the source and of the target or one for both, where
    /// neither a decoder.yml nor their names tell which is which
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    vocabs: Vec<PathBuf>,
    /// The SentencePiece models, of the source and of the target or one for both [default: those
    /// beside the model]
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    sentencepiece: Vec<PathBuf>,
    /// Import a model that has no tokeniser: it can be inspected and exported, and translates no
    /// text
    #[arg(long)]
    no_tokenizer: bool,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default()
            .reads_files_of(&self.path)
            .reads(&self.vocabs)
            .reads(&self.sentencepiece))
    }
}

/// Converts a model of another system into a model directory.
///
/// # Errors
/// Returns an error if the model cannot be read or expressed here, or the model directory cannot be
/// written.
pub fn run(args: Args) -> Result<()> {
    let (path, out) = match (args.path.to_str().and_then(ModelName::parse), args.out) {
        (Some(name), None) => {
            let name = name?;
            let dir = named::model(&name, &|| true)?;
            note(format_args!(
                "{name} is in {}; --model {name} names it",
                dir.display()
            ));
            return Ok(());
        }
        (Some(name), Some(out)) => (named::fetch(&name?, &|| true)?.folder, out),
        (None, Some(out)) => (args.path, out),
        (None, None) => {
            return Err(wrong_usage(
                "--out is missing: name the new model directory",
            ));
        }
    };
    let path = match args.weights {
        Some(file) => path.join(file),
        None => path,
    };
    let files = TextFiles {
        vocabularies: args.vocabs,
        sentencepiece: args.sentencepiece,
    };
    let (format, config) = convert(args.format, &path, &out, &files, args.no_tokenizer)?;
    let parameters = config.parameter_count();
    let out = out.display();
    note(format_args!(
        "{format}: {parameters} parameters of {} in {out}",
        path.display()
    ));
    Ok(())
}
