//! The models of the server, each with the files of its pair of languages.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_core::ComputeType;
use burnformer_core::model_dir;
use burnformer_infer::{
    Glossary, InferError, Shortlist, TranslationMemory, Translator, load_settings,
};
use burnformer_server::{Engine, LanguagePair, MemorySource, ModelSource, TranslatorEngine};
use burnformer_translation::translation_memory;

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
        named_models(&args.model)?
    };
    let pairs: Vec<&LanguagePair> = models.iter().map(|(pair, _)| pair).collect();
    check_files("--glossary", &args.glossary, &pairs)?;
    check_files("--shortlist", &args.shortlist, &pairs)?;
    check_files("--memory", &args.memory, &pairs)?;
    let mut shared: Vec<Arc<Shared>> = Vec::new();
    let mut sources = Vec::new();
    for (pair, dir) in &models {
        let known = shared.iter().find(|known| known.dir == *dir).cloned();
        let translator = known.unwrap_or_else(|| {
            let new = Arc::new(Shared::new(args, &device, dir));
            shared.push(new.clone());
            new
        });
        let pairs = models.iter().filter(|(_, other)| other == dir).count();
        sources.push(source(args, pair, translator, pairs)?);
    }
    Ok(sources)
}

/// The models that `given` names. A model without a pair has those that it was trained on.
fn named_models(given: &[(Option<LanguagePair>, PathBuf)]) -> Result<Vec<(LanguagePair, PathBuf)>> {
    let mut models = Vec::new();
    for (pair, dir) in given {
        if let Some(pair) = pair {
            models.push((pair.clone(), dir.clone()));
            continue;
        }
        let directions = load_settings(dir.as_path())?.directions;
        if directions.is_empty() {
            let dir = dir.display();
            return Err(wrong_usage(format!(
                "--model {dir}: does not say what it translates: write de-en={dir}"
            )));
        }
        for [source, target] in directions {
            models.push((LanguagePair { source, target }, dir.clone()));
        }
    }
    Ok(models)
}

/// A translator that several pairs of languages share, as long as one of them is loaded.
struct Shared {
    dir: PathBuf,
    device: Device,
    compute: Option<ComputeType>,
    loaded: Mutex<Weak<Translator>>,
}

impl Shared {
    fn new(args: &Args, device: &Device, dir: &Path) -> Self {
        Self {
            dir: dir.into(),
            device: device.clone(),
            compute: args.computing.compute,
            loaded: Mutex::default(),
        }
    }

    /// The translator, loaded if it is not.
    fn load(&self) -> Result<Arc<Translator>, InferError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(translator) = loaded.upgrade() {
            return Ok(translator);
        }
        let translator = Translator::load_as(&[&self.dir], &self.device, self.compute)?;
        let translator = Arc::new(translator);
        *loaded = Arc::downgrade(&translator);
        Ok(translator)
    }
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
        if !pairs.contains(&pair) {
            let fault = format!("{name} {pair}: no --model translates {pair}; name one");
            return Err(wrong_usage(fault));
        }
        let is_repeated = files[..index].iter().any(|(other, _)| other == pair);
        if is_repeated && name != "--memory" {
            let fault = format!("{name} {pair} is given twice; give one file for each pair");
            return Err(wrong_usage(fault));
        }
    }
    Ok(())
}

/// The model of `pair` and its other files. `pairs` pairs share the model, and each counts its part
/// of the memory.
fn source(
    args: &Args,
    pair: &LanguagePair,
    model: Arc<Shared>,
    pairs: usize,
) -> Result<ModelSource> {
    let dir = model.dir.clone();
    check_models(&model.device, &[&dir])?;
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
        model,
        pair: pair.clone(),
        zero_shot: args.zero_shot,
        glossary: glossary.map(Arc::new),
        shortlist: shortlist.map(Arc::new),
        memory: load_memory(pair, &memories)?,
    };
    model_dir::load_config(dir.as_path())?;
    let weights = dir.join("model.safetensors");
    let bytes = std::fs::metadata(&weights)
        .with_context(|| weights.display().to_string())?
        .len();
    Ok(ModelSource {
        pair: pair.clone(),
        name: dir,
        bytes: bytes / pairs as u64,
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
    model: Arc<Shared>,
    pair: LanguagePair,
    zero_shot: bool,
    glossary: Option<Arc<Glossary>>,
    shortlist: Option<Arc<Shortlist>>,
    memory: Option<Arc<TranslationMemory>>,
}

impl Loader {
    fn load(&self) -> Result<Arc<dyn Engine>, InferError> {
        let translator = self.model.load()?;
        if let Some(glossary) = &self.glossary {
            translator.check_glossary(glossary)?;
        }
        let LanguagePair { source, target } = &self.pair;
        let languages = if self.zero_shot && !translator.directions().is_empty() {
            translator.zero_shot_languages(Some(source), Some(target))?
        } else {
            translator.languages_of_pair(source, target)?
        };
        let engine = TranslatorEngine::new(translator, languages)
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
    let memory = translation_memory::load(files, languages, &mut |note| say(note))?;
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
