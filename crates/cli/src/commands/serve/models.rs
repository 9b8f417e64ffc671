//! The models of the server, each with the files of its pair of languages.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_core::ComputeType;
use burnformer_core::model_dir;
use burnformer_infer::{Glossary, InferError, Shortlist, TranslationMemory, Translator};
use burnformer_server::{Engine, LanguagePair, MemorySource, ModelSource, TranslatorEngine};
use burnformer_translation::memory_files;

use super::args::Args;
use crate::device::check_models;
use crate::embedded;
use crate::output::{say, wrong_usage};

/// The text of the page about the models inside the program.
pub(super) const ABOUT_EMBEDDED: &str = "The two small models inside this program have learnt from short everyday \
     sentences, those of Tatoeba. They translate such sentences well, and long, technical or literary ones badly.";

/// The models named by `args`, otherwise the models inside the program, with their other files.
///
/// # Errors
/// Returns an error if a file belongs to no model, or a file or model cannot be read.
pub(super) fn sources(args: &Args) -> Result<Vec<ModelSource>> {
    let device = args.computing.device.open()?;
    let models = if args.model.is_empty() {
        embedded_models()?
    } else {
        args.model.clone()
    };
    let pairs: Vec<&LanguagePair> = models.iter().map(|(pair, _)| pair).collect();
    check_files("--glossary", &args.glossary, &pairs)?;
    check_files("--shortlist", &args.shortlist, &pairs)?;
    check_files("--memory", &args.memory, &pairs)?;
    models
        .iter()
        .map(|(pair, dir)| source(args, &device, pair, dir))
        .collect()
}

/// The models inside the program.
fn embedded_models() -> Result<Vec<(LanguagePair, PathBuf)>> {
    embedded::PAIRS
        .into_iter()
        .map(|pair: &str| {
            let dir = embedded::model_dir(Path::new(&format!("embedded:{pair}")))?;
            Ok((pair.parse().map_err(anyhow::Error::msg)?, dir))
        })
        .collect()
}

/// Checks that the `files` of the option `name` are for `pairs`, and that no pair has two files
/// unless they are memories.
fn check_files(
    name: &str,
    files: &[(LanguagePair, PathBuf)],
    pairs: &[&LanguagePair],
) -> Result<()> {
    for (index, (pair, _)) in files.iter().enumerate() {
        let fault = match files[..index].iter().any(|(other, _)| other == pair) {
            _ if !pairs.contains(&pair) => format!(": no --model translates {pair}; name one"),
            true if name != "--memory" => " is given twice; give one file for each pair".into(),
            _ => continue,
        };
        return Err(wrong_usage(format!("{name} {pair}{fault}")));
    }
    Ok(())
}

/// The model of `pair` in `dir`, with the other files of the pair.
fn source(args: &Args, device: &Device, pair: &LanguagePair, dir: &Path) -> Result<ModelSource> {
    check_models(device, &[dir])?;
    let glossary = files_of(pair, &args.glossary)
        .next()
        .map(|file| Glossary::load(file))
        .transpose()?;
    let shortlist = files_of(pair, &args.shortlist)
        .next()
        .map(|file| Shortlist::load(file))
        .transpose()?;
    let memories: Vec<PathBuf> = files_of(pair, &args.memory).cloned().collect();
    let loader = Loader {
        dir: dir.into(),
        pair: pair.clone(),
        device: device.clone(),
        compute: args.computing.compute,
        glossary: glossary.map(Arc::new),
        shortlist: shortlist.map(Arc::new),
        memory: load_memory(pair, &memories)?,
    };
    model_dir::load_config(dir)?;
    let weights = dir.join("model.safetensors");
    let bytes = std::fs::metadata(&weights)
        .with_context(|| weights.display().to_string())?
        .len();
    Ok(ModelSource {
        pair: pair.clone(),
        name: dir.into(),
        bytes,
        glossary: loader.glossary.clone(),
        memory: loader.memory.as_ref().map(|memory| MemorySource {
            name: names_of(&memories),
            segments: memory.len(),
        }),
        load: Arc::new(move || loader.load().map_err(|error| error.to_string())),
    })
}

/// What a model needs to be loaded.
struct Loader {
    dir: PathBuf,
    pair: LanguagePair,
    device: Device,
    compute: Option<ComputeType>,
    glossary: Option<Arc<Glossary>>,
    shortlist: Option<Arc<Shortlist>>,
    memory: Option<Arc<TranslationMemory>>,
}

impl Loader {
    fn load(&self) -> Result<Arc<dyn Engine>, InferError> {
        let translator = Translator::load_as(&[&self.dir], &self.device, self.compute)?;
        if let Some(glossary) = &self.glossary {
            translator.check_glossary(glossary)?;
        }
        let engine = TranslatorEngine::new(translator, &self.pair)?
            .with_memory(self.memory.clone())
            .with_shortlist(self.shortlist.clone())?;
        Ok(Arc::new(engine))
    }
}

/// The files of `pair`.
fn files_of<'a>(
    pair: &LanguagePair,
    files: &'a [(LanguagePair, PathBuf)],
) -> impl Iterator<Item = &'a PathBuf> {
    files
        .iter()
        .filter(move |(known, _)| known == pair)
        .map(|(_, file)| file)
}

fn load_memory(pair: &LanguagePair, files: &[PathBuf]) -> Result<Option<Arc<TranslationMemory>>> {
    if files.is_empty() {
        return Ok(None);
    }
    let languages = [Some(&*pair.source), Some(&*pair.target)];
    let memory = memory_files::load(files, languages, &mut |note| say(note))?;
    Ok(Some(Arc::new(memory)))
}

/// The last parts of the paths of `files`. Clients learn no folder of the server.
fn names_of(files: &[PathBuf]) -> String {
    let names: Vec<_> = files
        .iter()
        .filter_map(|file| file.file_name())
        .map(|name| name.to_string_lossy())
        .collect();
    names.join(", ")
}
