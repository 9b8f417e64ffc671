//! The files of a Marian model: its weights, its vocabularies and the options of its decoder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use burnformer_core::TransformerConfig;
use burnformer_infer::{LengthPenalty, SearchSettings, Shortlist};
use burnformer_sentencepiece::SentencePiece;

use super::shortlist::{self, Sides, is_shortlist};
use super::yaml::{self, Options};
use crate::error::{InteropError, Result};
use crate::files::read_file;
use crate::{padding, vocabulary};

/// The beginning of the names of the decoder's options.
const DECODER: [&str; 2] = ["decoder", "config"];
/// The unknown token of Marian's vocabularies.
pub(super) const UNKNOWN: u32 = 1;

/// The pieces of a SentencePiece model in the order of their ids; `None` if `bytes` are not one.
pub(super) fn pieces(bytes: &[u8]) -> Option<Vec<String>> {
    let model = SentencePiece::from_bytes("model.spm", bytes).ok()?;
    (0..model.len() as u32).map(|id| model.piece(id).map(str::to_string)).collect()
}

/// The paths of the files.
pub(super) struct Folder {
    /// The weights.
    pub model: PathBuf,
    /// The decoder's options, empty if there are none.
    decoder: String,
    /// The vocabularies of source and target; a single one if they are equal.
    vocabularies: Vec<PathBuf>,
    /// The binary lexical shortlist, if there is one.
    shortlist: Option<PathBuf>,
}

impl Folder {
    /// Finds the files of the model at `path`, which is the file of the weights or their folder.
    pub fn find(path: &Path) -> Result<Self> {
        let is_model = |name: &str| {
            (name.ends_with(".npz") || name.ends_with(".bin")) && !name.starts_with("lex")
        };
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let names = names(folder)?;
        let decoder = names.iter().find(|name| {
            name.ends_with(".yml")
                && !name.contains("vocab")
                && DECODER.iter().any(|start| name.starts_with(start))
        });
        let decoder = match decoder {
            Some(name) => String::from_utf8_lossy(&read_file(&folder.join(name))?).into_owned(),
            None => String::new(),
        };
        let model = match path.is_dir() {
            false => path.to_path_buf(),
            true => {
                let listed = yaml::list(&decoder, "models");
                let mut models = names.iter().filter(|name| is_model(name));
                let named = listed.first().map(|name| beside(folder, name));
                let one =
                    models.next().filter(|_| models.next().is_none()).map(|name| folder.join(name));
                named.or(one).ok_or_else(|| InteropError::Missing {
                    path: path.into(),
                    wanted: "single .npz or .bin file of Marian".into(),
                    remedy: "name the file itself",
                })?
            }
        };
        let begins = read_start(&model)?;
        if !begins.starts_with(b"PK") && !super::bin::is_bin(&begins) {
            return Err(InteropError::damaged(&model, "it is neither a .npz nor a .bin of Marian"));
        }
        let listed = yaml::list(&decoder, "vocabs");
        let vocabularies = match listed.is_empty() {
            false => listed.iter().map(|name| beside(folder, name)).collect(),
            true => {
                let vocabulary = |name: &&String| {
                    name.ends_with(".spm") || name.contains("vocab") && name.ends_with(".yml")
                };
                names.iter().filter(vocabulary).map(|name| folder.join(name)).collect()
            }
        };
        let listed = yaml::list(&decoder, "shortlist").into_iter().next();
        let shortlist = match listed {
            Some(name) => Some(beside(folder, &name)),
            None => names.iter().find(|name| is_lexical(name)).map(|name| folder.join(name)),
        };
        let is_binary = |path: &PathBuf| read_start(path).is_ok_and(|begins| is_shortlist(&begins));
        Ok(Self { model, decoder, vocabularies, shortlist: shortlist.filter(is_binary) })
    }

    /// The vocabularies as files of a model directory.
    pub fn texts(&self, config: &TransformerConfig) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut texts = BTreeMap::new();
        let (source, target) = match &self.vocabularies[..] {
            [one] => (one, one),
            [source, target] => (source, target),
            others => {
                return Err(InteropError::Missing {
                    path: self.model.clone(),
                    wanted: format!(
                        "vocabulary, or one for each side, among {} files",
                        others.len()
                    ),
                    remedy: "put the .spm or .yml files beside it, and a decoder.yml whose vocabs name them in order",
                });
            }
        };
        let before = [config.source_vocab, config.target_vocab];
        for (side, path, rows) in [("source", source, before[0]), ("target", target, before[1])] {
            let bytes = read_file(path)?;
            let tokens = tokens(path, &bytes)?;
            if tokens.len() > rows {
                let message = format!("it has {} tokens, the model {rows}", tokens.len());
                return Err(InteropError::damaged(path, message));
            }
            let name = if side == "source" { "vocab.json" } else { "target_vocab.json" };
            let json = vocabulary::json(&padding::filled(&tokens, config.pad));
            if texts.get("vocab.json") != Some(&json) {
                texts.insert(name.to_string(), json);
            }
            // One model of pieces for both sides is the source's.
            let is_new = texts.get("source.spm") != Some(&bytes);
            if path.extension().is_some_and(|kind| kind == "spm") && is_new {
                texts.insert(format!("{side}.spm"), bytes);
            }
        }
        Ok(texts)
    }

    /// The lexical shortlist, for vocabularies of `sizes`.
    pub fn shortlist(&self, sizes: [usize; 2]) -> Result<Option<Shortlist>> {
        let sides = match &self.vocabularies[..] {
            [source, target] if source != target => Sides::Separate,
            _ => Sides::Shared,
        };
        let read = |path: &PathBuf| shortlist::read(path, &read_file(path)?, sizes, sides);
        self.shortlist.as_ref().map(read).transpose()
    }

    /// The search settings in the decoder's options, with Marian's defaults for those that are missing.
    pub fn search(&self) -> Result<(SearchSettings, Vec<String>)> {
        let options = Options::read(&self.decoder);
        let mut remarks = Vec::new();
        let normalize = options.number::<f64>("normalize").unwrap_or(0.0);
        if options.number::<f64>("word-penalty").unwrap_or(0.0) != 0.0 {
            remarks.push("word-penalty is unknown here and was left out".into());
        }
        if self.shortlist.is_some() {
            remarks.push(
                "the lexical shortlist is in shortlist.safetensors, for `translate --shortlist`; without it every token of \
                 the vocabulary can be chosen"
                    .into(),
            );
        } else if !yaml::list(&self.decoder, "shortlist").is_empty() {
            remarks.push(
                "the lexical shortlist is not read, for it is no binary one: every token of the vocabulary can be chosen"
                    .into(),
            );
        }
        let search = SearchSettings {
            beam_size: options.number("beam-size").unwrap_or(12),
            length_penalty: LengthPenalty::Power(normalize),
            max_length_factor: options.number("max-length-factor").unwrap_or(3.0),
            max_length_extra: 0,
            suppress: if options.is("allow-unk") { vec![] } else { vec![UNKNOWN] },
            ..SearchSettings::default()
        };
        search.validate()?;
        Ok((search, remarks))
    }
}

/// Whether a file of this name is a binary lexical shortlist.
fn is_lexical(name: &str) -> bool {
    name.starts_with("lex") && name.ends_with(".bin")
}

/// The path of the file `name` in `folder`. Folders in `name` are ignored, so that nothing outside of `folder` is read.
fn beside(folder: &Path, name: &str) -> PathBuf {
    folder.join(Path::new(name).file_name().unwrap_or_default())
}

/// The names of the files in `folder`, in alphabetical order.
fn names(folder: &Path) -> Result<Vec<String>> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let io = |error| InteropError::io(folder, error);
    let entries = fs::read_dir(folder).map_err(io)?;
    let names =
        entries.map(|entry| Ok(entry.map_err(io)?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// The first bytes of a file.
fn read_start(path: &Path) -> Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let io = |error| InteropError::io(path, error);
    fs::File::open(path).map_err(io)?.take(8).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

fn tokens(path: &Path, bytes: &[u8]) -> Result<Vec<String>> {
    if path.extension().is_some_and(|kind| kind == "spm") {
        return pieces(bytes)
            .ok_or_else(|| InteropError::damaged(path, "it is no SentencePiece model"));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| InteropError::damaged(path, error))?;
    let tokens = yaml::vocabulary(text).map_err(|line| {
        InteropError::damaged(path, format!("line {line} is not a token with its id"))
    })?;
    let last = tokens.keys().next_back().copied().unwrap_or(0);
    if last > 2 * tokens.len() {
        return Err(InteropError::damaged(path, format!("id {last} of {} tokens", tokens.len())));
    }
    let token = |id: usize| tokens.get(&id).cloned().unwrap_or_else(|| format!("<unused{id}>"));
    Ok((0..=last).map(token).collect())
}
