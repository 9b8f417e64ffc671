//! The commands, one file or folder per command.

pub mod adapt;
pub mod attention;
pub mod average;
pub mod completions;
pub mod config;
pub mod devices;
pub mod distill;
pub mod eval_bleu;
pub mod export;
pub mod gather;
pub mod import;
pub mod inspect;
pub mod models;
pub mod plot;
pub mod quantize;
pub mod score;
#[cfg(feature = "serve")]
pub mod serve;
pub mod settings;
pub mod shortlist;
pub mod train;
pub mod translate;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use burn::tensor::Device;
use burnformer_core::ComputeType;
use burnformer_data::corpus::Side;
use burnformer_infer::{
    LanguageError, Languages, LengthPenalty, SettingsError, Shortlist, TranslateOptions,
    Translator, load_settings,
};
use clap::builder::RangedU64ValueParser;
use serde_json::{Value, json};

use crate::device::{DeviceName, check_models};
use crate::embedded;
use crate::output::{note, say, wrong_usage};
use crate::shards::digest_of_file;
use crate::texts::check_pipes;
use crate::values::{compute_type, model, text};

/// The options of commands that run a model: how and where it computes.
#[derive(clap::Args)]
struct Computing {
    /// Type of the numbers in matrix products: float32, or on a CPU int8, which is faster and
    /// changes results a little, and bfloat16, which is between them on processors that have it
    /// [default: the model's; see `quantize`]
    #[arg(long, value_name = "TYPE", value_parser = compute_type())]
    compute: Option<ComputeType>,
    /// Device on which to compute
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
}

impl Computing {
    /// Loads a model directory, or several as an ensemble; without any, the model inside the
    /// program.
    fn load(&self, models: &[impl AsRef<Path>]) -> Result<Translator> {
        let device = self.device.open()?;
        if models.is_empty() {
            let model = embedded::default_model()?;
            return load_checked(&[model], &device, self.compute);
        }
        load_checked(models, &device, self.compute)
    }

    /// Everything besides the text that decides translations: the options, and the manifests of
    /// `models` (without models, of the embedded one). Manifests contain the hashes of the model's
    /// files. `languages` come from the command line.
    fn identity(
        &self,
        models: &[PathBuf],
        options: &TranslateOptions,
        languages: [&Option<String>; 2],
    ) -> Result<Value> {
        let default = models
            .is_empty()
            .then_some(Path::new(embedded::DEFAULT_MODEL));
        let default = default.map(embedded::model_dir).transpose()?;
        let digests = models
            .iter()
            .chain(&default)
            .map(|folder: &PathBuf| digest_of_file(&folder.join("manifest.json")))
            .collect::<Result<Vec<_>>>()?;
        Ok(json!({
            "models": digests,
            "search": options.search,
            "protections": options.protections,
            "languages": languages,
            "longest": options.longest,
            "compute": self.compute.map(ComputeType::name),
        }))
    }
}

/// Loads `models` on a `device` that computes their layers as the CPU does.
fn load_checked(
    models: &[impl AsRef<Path>],
    device: &Device,
    compute: Option<ComputeType>,
) -> Result<Translator> {
    check_models(device, models)?;
    Ok(Translator::load_as(models, device, compute)?)
}

/// The model of a command that has no other argument.
#[derive(clap::Args)]
struct OneModel {
    /// The model directory; embedded:de-en and embedded:en-de are inside the program
    #[arg(value_parser = model(), required_unless_present = "named")]
    model: Option<PathBuf>,
    /// The same as MODEL
    #[arg(id = "named", long = "model", short = 'm', value_parser = model(), value_name = "MODEL", conflicts_with = "model")]
    named: Option<PathBuf>,
}

impl OneModel {
    fn dir(&self) -> Result<&PathBuf> {
        self.model
            .as_ref()
            .or(self.named.as_ref())
            .context("no model")
    }
}

/// Notes the command that translates a file with the new model in `dir`. `tuned` are the languages of
/// the texts, if it was fine-tuned from a model that must be told them.
fn note_translate(dir: &Path, tuned: Option<[String; 2]>) {
    let settings = load_settings(dir).ok();
    let directions = settings.map_or_else(Vec::new, |settings| settings.directions);
    let named = match directions.len() {
        0 => tuned,
        1 => None,
        _ => directions.into_iter().next(),
    };
    let languages = named.map_or_else(String::new, |[source, target]| {
        format!(" --source-language {source} --target-language {target}")
    });
    note(format_args!(
        "next: burnformer translate --model {}{languages} --input FILE",
        dir.display()
    ));
}

/// The options of commands that search for translations.
#[derive(clap::Args)]
struct Searching {
    /// Number of hypotheses of the beam search; 1 is greedy search [default: the model's; with
    /// --nbest at least its number]
    #[arg(long, aliases = ["beam-size", "num-beams"], value_parser = between(1, 1000))]
    beam: Option<usize>,
    /// α of the length penalty ((5 + n) / 6)^α, where n is the number of tokens [default: the
    /// model's]
    #[arg(long)]
    alpha: Option<f64>,
    /// If a translation repeats itself, search again [default: the model's; false for imported
    /// models]
    #[arg(long, value_name = "BOOL")]
    second_search: Option<bool>,
    /// Search again for a translation that changes a number, or loses a placeholder or an address
    /// [default: the model's; false for imported models]
    #[arg(long, value_name = "BOOL")]
    keep_parts: Option<bool>,
    #[command(flatten)]
    languages: LanguageArgs,
}

/// The languages of a model of several languages.
#[derive(clap::Args)]
struct LanguageArgs {
    /// The language to translate from, for a model of several languages: `en`, `eng`, `en-GB` or as
    /// its vocabulary writes it (eng_Latn)
    #[arg(long, value_name = "CODE")]
    source_language: Option<String>,
    /// The language to translate into, likewise
    #[arg(long, value_name = "CODE")]
    target_language: Option<String>,
    /// Also translate pairs of languages that the model was not trained on (zero-shot)
    #[arg(long)]
    zero_shot: bool,
}

impl Searching {
    /// The search options of `translator` for `n_best` translations of each sentence of the
    /// language `from`, modified by `change`.
    fn options(
        &self,
        translator: &Translator,
        from: Option<&str>,
        n_best: usize,
        change: impl FnOnce(&mut TranslateOptions),
    ) -> Result<TranslateOptions> {
        let languages = self.languages.of_model(translator, from)?;
        let mut options = TranslateOptions {
            languages,
            ..translator.options()
        };
        if let Some(alpha) = self.alpha {
            options.search.length_penalty = LengthPenalty::Gnmt(alpha);
        }
        let protections = &mut options.protections;
        protections.second_search = self.second_search.unwrap_or(protections.second_search);
        protections.keep_parts = self.keep_parts.unwrap_or(protections.keep_parts);
        change(&mut options);
        let set = options.search.set_n_best(n_best, self.beam);
        set.map_err(of_options)?;
        Ok(options)
    }
}

impl LanguageArgs {
    /// The languages and tokens of `translator` for a text in the language `from`, and in the
    /// chosen target language.
    fn of_model(&self, translator: &Translator, from: Option<&str>) -> Result<Languages> {
        let to = self.target_language.as_deref();
        let optional =
            |LanguageError { side, what }| wrong_usage(format_args!("--{side}-language: {what}"));
        let languages = if self.zero_shot {
            translator.zero_shot_languages(from, to)
        } else {
            translator.languages(from, to)
        };
        let languages = languages.map_err(optional)?;
        let tags = translator.tokenizers().source.target_tags();
        if let ([tag, _, ..], [[], []]) = (&tags[..], languages.tokens()) {
            say(format_args!(
                "warning: the model translates into several languages, and lines that do not begin with one, such as \
                 >>{tag}<<, leave it to chance; name it with --target-language"
            ));
        }
        Ok(languages)
    }

    /// The codes of the source and target language.
    fn codes(&self) -> [&Option<String>; 2] {
        [&self.source_language, &self.target_language]
    }
}

/// The names of search settings and the options that set them.
const OPTIONS: [(&str, &str); 7] = [
    ("length_penalty.gnmt", "--alpha"),
    ("beam_size", "--beam"),
    ("n_best", "--nbest"),
    ("min_length", "--min-length"),
    ("max_length", "--max-length"),
    ("sampling.temperature", "--temperature"),
    ("sampling.top_p", "--top-p"),
];

/// The option that sets `name`; otherwise `name`.
fn option_of(name: &'static str) -> &'static str {
    OPTIONS
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(name, |(_, option)| option)
}

/// The error of a search, with the names of options instead of settings.
fn of_options(mut error: SettingsError) -> anyhow::Error {
    match &mut error {
        SettingsError::Value { name, .. } => *name = option_of(name),
        SettingsError::Above { name, most, .. } => {
            *name = option_of(name);
            *most = option_of(most);
        }
        SettingsError::Key { .. } | SettingsError::File(..) => {}
    }
    wrong_usage(error)
}

/// The texts of the two sides. They must not be the same pipe.
fn of_sides<'a>(source: &'a Path, target: Option<&'a Path>) -> Result<Vec<(&'a Path, Side)>> {
    let texts = [(Some(source), Side::Source), (target, Side::Target)];
    let texts = texts
        .into_iter()
        .filter_map(|(path, side)| Some((path?, side)));
    let texts: Vec<(&Path, Side)> = texts.collect();
    check_pipes(texts.iter().map(|(path, _)| *path))?;
    Ok(texts)
}

/// The shortlist in the file of `--shortlist`, if given. It must belong to the model.
fn shortlist(translator: &Translator, path: Option<&Path>) -> Result<Option<Arc<Shortlist>>> {
    path.map(|path: &Path| {
        let shortlist = Shortlist::load(path)?;
        translator
            .check_shortlist(&shortlist)
            .with_context(|| path.display().to_string())?;
        Ok(Arc::new(shortlist))
    })
    .transpose()
}

/// Parses a whole number of at least `least`.
fn at_least(least: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..)
}

/// Parses a whole number from `least` to `most`.
fn between(least: u64, most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=most)
}
