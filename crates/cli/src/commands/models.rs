use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burnformer_interop::hub::{ModelName, Settings};

use crate::named::{self, Origin};
use crate::output::{note, print, wrong_usage};

/// Arguments of `models`.
#[derive(clap::Args)]
#[command(after_help = include_str!("models.txt"))]
pub struct Args {
    /// Remove a model, such as hf:OWNER/NAME: what was made of it, and what was downloaded for it
    /// into the hub's cache
    #[arg(long, value_name = "NAME")]
    remove: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "remove")]
    json: bool,
}

/// Lists the models that were fetched, or removes one.
///
/// # Errors
/// Returns an error if there is no such model to remove, or the output cannot be written.
pub fn run(args: Args) -> Result<()> {
    if let Some(name) = &args.remove {
        return remove(name);
    }
    let all = named::all();
    if args.json {
        let all = all
            .iter()
            .map(|(folder, origin): &(PathBuf, Origin)| {
                let mut value = serde_json::to_value(origin)?;
                value["bytes"] = size(folder).into();
                Ok::<_, anyhow::Error>(value)
            })
            .collect::<Result<Vec<_>>>()?;
        return print(serde_json::to_string_pretty(&all)?);
    }
    if all.is_empty() {
        note("no model was fetched yet: burnformer import hf:OWNER/NAME does that");
    }
    for (
        folder,
        Origin {
            name,
            revision,
            licence,
        },
    ) in all
    {
        let megabytes = size(&folder) as f64 / 1e6;
        let licence = licence.as_deref().unwrap_or("not stated");
        let short = revision.get(..12);
        let short = short.unwrap_or(&revision);
        print(format_args!(
            "{name}  {short}  {megabytes:.1} MB  licence: {licence}"
        ))?;
    }
    Ok(())
}

/// The bytes of all files in `folder`.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry: fs::DirEntry| match entry.metadata() {
            Ok(found) if found.is_dir() => size(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Removes the converted model `name` and its download.
fn remove(name: &str) -> Result<()> {
    let form = "write the name as `burnformer models` prints it, such as hf:OWNER/NAME";
    let parsed =
        ModelName::parse(name).ok_or_else(|| wrong_usage(format_args!("{name}: {form}")))?;
    let name = parsed?;
    let folders = named::all()
        .into_iter()
        .filter(|(_, origin)| origin.name == name.to_string());
    let folders: Vec<PathBuf> = folders.map(|(folder, _)| folder).collect();
    let bytes: u64 = folders.iter().map(|folder| size(folder)).sum();
    for folder in &folders {
        fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    if !burnformer_interop::hub::remove(&name, &Settings::from_env())? && folders.is_empty() {
        bail!("{name}: is not here; `burnformer models` lists what is");
    }
    note(format_args!(
        "{name}: removed ({:.1} MB, and its download)",
        bytes as f64 / 1e6
    ));
    Ok(())
}
