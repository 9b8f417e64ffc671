use std::fs::File;
use std::io;
use std::path::PathBuf;

use anyhow::{Context, Result};
use burnformer_text::counted;

use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::{check_name, note, unwritable};
use crate::shards;

/// Arguments of `gather`.
#[derive(clap::Args)]
#[command(after_help = include_str!("gather.txt"))]
pub struct Args {
    /// The output of a command with --shard. The files OUT.1-of-N to OUT.N-of-N become OUT, if all
    /// are there, are whole, and were made from one text by the same models and options
    out: PathBuf,
    /// The number of shards
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    shards: u64,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default()
            .reads(shards::paths(&self.out, self.shards))
            .writes([&self.out]))
    }
}

/// Joins the outputs of all shards. The file is written atomically.
///
/// # Errors
/// Returns an error if an output is missing or belongs to another text, or the file cannot be
/// written.
pub fn run(args: Args) -> Result<()> {
    check_name(&args.out)?;
    let paths = shards::outputs(&args.out, args.shards)?;
    let joined = burnformer_files::write_with(&args.out, |file| {
        paths
            .iter()
            .try_for_each(|path| io::copy(&mut File::open(path)?, file).map(|_| ()))
    });
    let out = args.out.display();
    joined.with_context(|| unwritable(&out))?;
    note(format_args!(
        "{out}: joined from {}",
        counted(paths.len(), "shard")
    ));
    Ok(())
}
