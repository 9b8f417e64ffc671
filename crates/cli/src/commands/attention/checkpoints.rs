use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use burnformer_infer::Translator;
use burnformer_view::{AttentionMatrix, HeadGrid, Panel};

use super::args::Args;
use crate::output;

/// Number of maps per row of the picture.
const COLUMNS: usize = 6;

/// Draws one head (without a choice, the mean of the last layer) after each checkpoint of `run`. The target is the same in
/// all maps: that of the command line, or the translation by the last checkpoint.
pub fn draw(args: &Args, run: &Path) -> Result<()> {
    let folders = checkpoints(run)?;
    let source = args.sentence.as_deref().context("--checkpoints draws one sentence")?;
    let load = |folder: &PathBuf| args.computing.load(&[folder]);
    let last = load(&folders[folders.len() - 1])?;
    let target = match &args.target {
        Some(target) => target.clone(),
        None => last.translate(&[source], &last.options())?.remove(0).text,
    };
    let mut maps = Vec::new();
    for folder in &folders[..folders.len() - 1] {
        maps.push((name(folder), map(args, &load(folder)?, source, &target)?.1));
    }
    let (panel, matrix) = map(args, &last, source, &target)?;
    maps.push((name(&folders[folders.len() - 1]), matrix));
    let layer = args.layer.unwrap_or(panel.layers.len());
    let head = args.head.map_or("mean of heads".to_string(), |head| format!("head {head}"));
    let caption = format!("{}, layer {layer}, {head}: {source} → {target}", run.display());
    let rows = maps.chunks(COLUMNS).map(<[_]>::to_vec).collect();
    let grid = HeadGrid::of(&panel, rows).with_caption(caption);
    output::draw(&grid, &args.picture)
}

/// The checkpoints of `run`, in order.
fn checkpoints(run: &Path) -> Result<Vec<PathBuf>> {
    let folder = run.join("checkpoints");
    let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    // Not those that a killed process left: `step-000100.partial`.
    let step = |path: &PathBuf| name(path).strip_prefix("step ")?.parse::<u64>().ok();
    let mut found: Vec<PathBuf> = paths.into_iter().filter(|path| step(path).is_some()).collect();
    found.sort_by_key(step);
    ensure!(!found.is_empty(), "{}: no checkpoints", folder.display());
    Ok(found)
}

/// `step 100` for the folder `step-000100`.
fn name(folder: &Path) -> String {
    let name =
        folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match name.strip_prefix("step-") {
        Some(step) => format!("step {}", step.trim_start_matches('0')),
        None => name,
    }
}

/// The chosen kind of attention, and the weights of the chosen head.
fn map(
    args: &Args,
    translator: &Translator,
    source: &str,
    target: &str,
) -> Result<(Panel, AttentionMatrix)> {
    let sentence = args.sentence(translator, source, target)?;
    let panel = args.panel(&sentence)?;
    let layer = args.layer.map_or(panel.layers.len().saturating_sub(1), |layer| layer - 1);
    let matrix = panel.weights(layer, args.head.map(|head| head - 1));
    Ok((panel.clone(), matrix.context("the layer has no heads")?))
}
