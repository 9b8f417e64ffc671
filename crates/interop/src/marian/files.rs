//! The files of a Marian model: its weights, its vocabularies and the options of its decoder.

use std::path::{Path, PathBuf};

use burnformer_core::TransformerConfig;
use burnformer_infer::{LengthPenalty, SearchSettings, Shortlist};

use super::bin::is_bin;
use super::shortlist::{self, Sides, is_shortlist};
use super::yaml::{self, Options};
use crate::embeddings::{filled, unused};
use crate::error::{InteropError, Result};
use crate::files::{names, read_file, read_optional, start};
use crate::pretrained::Files;
use crate::text_files::{TextFiles, listed, named, of_sides, pieces, sentencepiece, texts};

/// The names of Marian's special tokens, each with the one that it has at its usual id in files of
/// Nematus.
const CLOSING: (&str, &str, usize) = ("</s>", "eos", 0);
const UNKNOWN: (&str, &str, usize) = ("<unk>", "UNK", 1);
const NAME_VOCABULARIES: &str = "name them in this order: `import --vocabs SOURCE TARGET`, or in a decoder.yml with `vocabs: [SOURCE, TARGET]`";

/// The files of a model.
pub(super) struct Folder {
    /// The weights.
    pub model: PathBuf,
    /// The decoder's options with the path of their file; empty if there is none.
    decoder: (PathBuf, Options),
    /// The vocabularies of source and target.
    vocabularies: [PathBuf; 2],
    /// The binary lexical shortlist, if there is one.
    shortlist: Option<PathBuf>,
}

/// The vocabularies of a model.
pub(super) struct Vocabularies {
    /// The tokeniser files of a model directory.
    pub texts: Files,
    /// The id of `</s>` on both sides.
    pub closing: u32,
    /// The id of the target's unknown token.
    pub unknown: u32,
}

/// Returns whether `path` is a model of Marian, or a folder that contains models.
pub(crate) fn recognizes(path: &Path) -> bool {
    match path.is_dir() {
        true => names(path).is_ok_and(|names| !models(path, &names).is_empty()),
        false => is_model(path),
    }
}

fn is_model(path: &Path) -> bool {
    let (begins, name) = (start(path, 8), path.to_string_lossy());
    let is_optimizer = name.contains("optimizer");
    (name.ends_with(".npz") && begins.starts_with(b"PK") || is_bin(&begins)) && !is_optimizer
}

fn models(dir: &Path, names: &[String]) -> Vec<PathBuf> {
    names
        .iter()
        .map(|name| dir.join(name))
        .filter(|path| is_model(path))
        .collect()
}

/// The file name of the path `name`. Its folders are ignored, so that nothing outside of a model's
/// folder is read.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn read_options(path: &Path) -> Result<Options> {
    let text = String::from_utf8(read_file(path)?).map_err(|e| InteropError::damaged(path, e))?;
    Options::read(&text).map_err(|message| InteropError::damaged(path, message))
}

/// The files with options of a decoder in `dir`.
fn decoders(dir: &Path, names: &[String]) -> Result<Vec<(String, Options)>> {
    let is_one = |name: &&String| {
        let is_yaml = name.ends_with(".yml") || name.ends_with(".yaml");
        is_yaml && (name.contains("decoder") || name.starts_with("config"))
    };
    let read = |name: &String| Ok((name.clone(), read_options(&dir.join(name))?));
    names.iter().filter(is_one).map(read).collect()
}

/// Finds the model file: `path` if it is a file; in a folder, the only model, or the model that the
/// decoder file names. Among several decoder files, `decoder.*` is taken.
fn model(path: &Path, names: &[String], decoders: &[(String, Options)]) -> Result<PathBuf> {
    if !path.is_dir() {
        return match is_model(path) {
            true => Ok(path.into()),
            false => Err(InteropError::damaged(
                path,
                "it is neither a .npz nor a .bin of Marian",
            )),
        };
    }
    let usual = decoders
        .iter()
        .find(|(name, _)| name.starts_with("decoder."));
    let decoder = if let [one] = decoders {
        Some(one)
    } else {
        usual
    };
    let listed_models = decoder.map_or(&[][..], |(_, options)| options.list("models"));
    let found = models(path, names);
    match (listed_models, &found[..]) {
        ([_, _, ..], _) => {
            let what = format!(
                "an ensemble of {} models in one directory",
                listed_models.len()
            );
            let remedy = "import each by the name of its file; `translate --model A --model B` translates with both";
            Err(InteropError::unsupported(path, what, remedy))
        }
        (_, [one]) => Ok(one.clone()),
        ([name], _) if names.iter().any(|known| known == base(name)) => {
            model(&path.join(base(name)), names, decoders)
        }
        _ => {
            let wanted = format!("single .npz or .bin file of Marian, but {}", listed(&found));
            Err(InteropError::missing(path, wanted, "name the file itself"))
        }
    }
}

/// The decoder's options for `model`, in order of preference: a file with its name, `decoder.yml`,
/// or a file whose options name it.
fn decoder_of(
    dir: &Path,
    model: &str,
    names: &[String],
    mut decoders: Vec<(String, Options)>,
) -> Result<(PathBuf, Options)> {
    let rank = |(name, options): &(String, Options)| {
        let mut models = options.list("models").iter().map(|name| base(name));
        let unusual = usize::from(!name.starts_with("decoder."));
        match () {
            () if *name == format!("{model}.decoder.yml") => 0,
            () if models.clone().any(|name| name == model) => 1 + unusual,
            () if models.any(|other| names.iter().any(|name| name == other)) => usize::MAX,
            () => 3 + unusual,
        }
    };
    decoders.retain(|decoder| rank(decoder) != usize::MAX);
    decoders.sort_by_key(rank);
    match &decoders[..] {
        [] => Ok((dir.into(), Options::default())),
        [first, second, ..] if rank(first) == rank(second) => {
            let wanted = format!("single file of options, but {} and {}", first.0, second.0);
            let remedy = "leave the one that belongs to the model, as decoder.yml";
            Err(InteropError::missing(dir, wanted, remedy))
        }
        [first, ..] => Ok((dir.join(&first.0), first.1.clone())),
    }
}

impl Folder {
    /// Finds the files of the model at `path`, which is the file of the weights or their folder.
    pub fn find(path: &Path, files: &TextFiles) -> Result<Self> {
        let dir = if path.is_dir() {
            path
        } else {
            path.parent().unwrap_or(Path::new("."))
        };
        let names = names(dir)?;
        let decoders = decoders(dir, &names)?;
        let model = model(path, &names, &decoders)?;
        let name = model
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let decoder = decoder_of(dir, &name, &names, decoders)?;
        let vocabularies = vocabularies(dir, &name, &names, &decoder.1, files)?;
        let is_lexical = |name: &&String| name.contains("lex") && name.ends_with(".bin");
        let shortlist = decoder.1.list("shortlist").first().map(|name| base(name));
        let shortlist = shortlist.or(names.iter().find(is_lexical).map(String::as_str));
        let shortlist = shortlist.map(|name| dir.join(name));
        let is_binary = |path: &PathBuf| is_shortlist(&start(path, 8));
        Ok(Self {
            model,
            decoder,
            vocabularies,
            shortlist: shortlist.filter(is_binary),
        })
    }

    /// The vocabularies for a model with the sizes in `config`.
    pub fn vocabularies(
        &self,
        config: &TransformerConfig,
        files: &TextFiles,
    ) -> Result<Vocabularies> {
        let [source, target] = &self.vocabularies;
        let (source_tokens, source_model) = tokens(source, config.source_vocab)?;
        let (target_tokens, target_model) = tokens(target, config.target_vocab)?;
        let closing = [(source, &source_tokens), (target, &target_tokens)];
        let [closing, other] = closing.map(|(path, tokens)| special(path, tokens, CLOSING));
        let (closing, other) = (closing?, other?);
        if closing != other {
            let what = format!("</s> with the ids {closing} and {other} on the two sides");
            return Err(InteropError::unsupported(source, what, NAME_VOCABULARIES));
        }
        let unknown = special(target, &target_tokens, UNKNOWN)?;
        let both = [&source_tokens, &target_tokens].map(|tokens| filled(tokens, config.pad));
        let dir = self.model.parent().unwrap_or(Path::new("."));
        let models = match source_model.zip(target_model) {
            Some((source, target)) => Some([source, target]),
            None => sentencepiece(&[dir], files, [&source_tokens, &target_tokens])?,
        };
        Ok(Vocabularies {
            texts: texts([&both[0], &both[1]], models),
            closing,
            unknown,
        })
    }

    /// The lexical shortlist, for vocabularies of `sizes`.
    pub fn shortlist(&self, sizes: [usize; 2]) -> Result<Option<Shortlist>> {
        let [source, target] = &self.vocabularies;
        let sides = if source == target {
            Sides::Shared
        } else {
            Sides::Separate
        };
        let read = |path: &PathBuf| shortlist::read(path, &read_file(path)?, sizes, sides);
        self.shortlist.as_ref().map(read).transpose()
    }

    /// The search settings in the decoder's options, with Marian's defaults for those that are
    /// missing. `unknown` is the id of the unknown token.
    pub fn search(&self, unknown: u32) -> Result<(SearchSettings, Vec<String>)> {
        let (path, options) = &self.decoder;
        let damaged = |message: String| InteropError::damaged(path, message);
        let number = |key| options.number::<f64>(key).map_err(damaged);
        let mut warnings = Vec::new();
        if number("word-penalty")?.unwrap_or(0.0) != 0.0 {
            warnings.push("word-penalty is unknown here and was left out".into());
        }
        if self.shortlist.is_some() {
            warnings.push(
                "the lexical shortlist is in shortlist.safetensors, for `translate --shortlist`; without it every token of \
                 the vocabulary can be chosen"
                    .into(),
            );
        } else if !options.list("shortlist").is_empty() {
            warnings.push(
                "the lexical shortlist is not read, for it is no binary one: every token of the vocabulary can be chosen"
                    .into(),
            );
        }
        let search = SearchSettings {
            beam_size: options.number("beam-size").map_err(damaged)?.unwrap_or(12),
            length_penalty: LengthPenalty::Power(number("normalize")?.unwrap_or(0.0)),
            max_length_factor: number("max-length-factor")?.unwrap_or(3.0),
            max_length_extra: 0,
            suppress: if options.is("allow-unk") {
                vec![]
            } else {
                vec![unknown]
            },
            ..SearchSettings::default()
        };
        search.validate()?;
        Ok((search, warnings))
    }
}

/// The vocabularies of source and target: those that were named; those in the options of the
/// decoder, or of the training; those whose names tell.
fn vocabularies(
    dir: &Path,
    model: &str,
    names: &[String],
    decoder: &Options,
    files: &TextFiles,
) -> Result<[PathBuf; 2]> {
    let training = dir.join(format!("{model}.yml"));
    let in_dir = |options: &Options| -> Vec<PathBuf> {
        options
            .list("vocabs")
            .iter()
            .map(|name| dir.join(base(name)))
            .collect()
    };
    let mut listed_files = in_dir(decoder);
    if listed_files.is_empty() && read_optional(&training)?.is_some() {
        listed_files = in_dir(&read_options(&training)?);
        // The names of the training's files are not always those of the model's.
        listed_files = if listed_files.iter().all(|path| path.is_file()) {
            listed_files
        } else {
            vec![]
        };
    }
    let beside = |is_one: &dyn Fn(&str) -> bool| -> Vec<PathBuf> {
        names
            .iter()
            .filter(|name| is_one(name))
            .map(|name| dir.join(name))
            .collect()
    };
    let is_text = |name: &str| {
        [".yml", ".yaml", ".json"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let lists = beside(&|name| is_text(name) && name.contains("vocab") || name.ends_with(".vocab"));
    let models = beside(&|name| name.ends_with(".spm"));
    let found = if lists.is_empty() { models } else { lists };
    let of_both = match (&files.vocabularies[..], &listed_files[..]) {
        ([], []) => of_sides(&found),
        ([], listed) => named(listed),
        (given, _) => named(given),
    };
    let several = if listed_files.is_empty() {
        found
    } else {
        listed_files
    };
    let wanted = || {
        format!(
            "telling whose each vocabulary is among [{}]",
            listed(&several)
        )
    };
    of_both.ok_or_else(|| InteropError::missing(dir, wanted(), NAME_VOCABULARIES))
}

/// The id of the special token `name` among `tokens`, by Marian's rule
/// (`src/data/default_vocab.cpp`).
fn special(
    path: &Path,
    tokens: &[String],
    (name, before, usual): (&str, &str, usize),
) -> Result<u32> {
    let is_usual = |token: &&String| *token == before || **token == unused(usual);
    let at_usual = tokens.get(usual).filter(is_usual).map(|_| usual);
    let index = at_usual.or_else(|| tokens.iter().position(|token| token == name));
    let missing = || InteropError::damaged(path, format!("it has no token {name}"));
    Ok(index.ok_or_else(missing)? as u32)
}

/// The tokens of the vocabulary `path`, at most `rows`, and its content if it is a SentencePiece
/// model.
fn tokens(path: &Path, rows: usize) -> Result<(Vec<String>, Option<Vec<u8>>)> {
    let damaged = |message: String| InteropError::damaged(path, message);
    let bytes = read_file(path)?;
    let name = path.to_string_lossy();
    let is_model = name.ends_with(".spm");
    let tokens = if is_model {
        pieces(&bytes).ok_or_else(|| damaged("it is no SentencePiece model".into()))?
    } else {
        let text = std::str::from_utf8(&bytes).map_err(|e| InteropError::damaged(path, e))?;
        let is_listed = [".yml", ".yaml", ".json"]
            .iter()
            .any(|end| name.ends_with(end));
        let tokens = if is_listed {
            yaml::vocabulary(text).map_err(damaged)?
        } else {
            text.lines().map(str::to_string).enumerate().collect()
        };
        let last = tokens.keys().next_back().copied().unwrap_or(0);
        if last > 2 * tokens.len() {
            return Err(damaged(format!("id {last} of {} tokens", tokens.len())));
        }
        let token = |id: usize| tokens.get(&id).cloned().unwrap_or_else(|| unused(id));
        (0..=last).map(token).collect()
    };
    match tokens.len() > rows {
        true => Err(damaged(format!(
            "it has {} tokens, the model {rows}",
            tokens.len()
        ))),
        false => Ok((tokens, is_model.then_some(bytes))),
    }
}
