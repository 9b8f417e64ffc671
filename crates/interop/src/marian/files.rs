//! The files of a Marian model: weights, vocabularies and decoder options.

use std::path::{Path, PathBuf};

use burnformer_core::TransformerConfig;
use burnformer_infer::{SearchSettings, Shortlist};

use super::bin::is_bin;
use super::decoder::{self, Suppressed};
use super::shortlist::{self, Sides, is_shortlist};
use super::yaml::{self, Options};
use crate::embeddings::{filled, unused};
use crate::error::{InteropError, Result};
use crate::files::{names, read_file, read_optional, start};
use crate::pretrained::Files;
use crate::text_files::{TextFiles, listed, named, of_sides, pieces, sentencepiece, texts};

/// Marian's special tokens: the name, the name in files of Nematus, and the usual id.
const CLOSING: (&str, &str, usize) = ("</s>", "eos", 0);
const UNKNOWN: (&str, &str, usize) = ("<unk>", "UNK", 1);
const COPY_VOCABULARIES: &str =
    "copy it beside the model, or name the files of both sides: `import --vocabs SOURCE TARGET`";
const NAME_VOCABULARIES: &str = "name them in this order: `import --vocabs SOURCE TARGET`, or in a decoder.yml with `vocabs: [SOURCE, TARGET]`";

/// The files of a model.
pub(super) struct Folder {
    /// The weights.
    pub model: PathBuf,
    /// The decoder options and their file; empty if there is none.
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
    /// The ids of the target that Marian never generates, unless its options allow it.
    pub suppressed: Suppressed,
}

/// Returns whether `path` is a model of Marian, or a folder of models.
pub(crate) fn recognizes(path: &Path) -> bool {
    if path.is_dir() {
        names(path).is_ok_and(|names| !models(path, &names).is_empty())
    } else {
        is_model(path)
    }
}

fn is_model(path: &Path) -> bool {
    let begins = start(path, 8);
    let name = path.to_string_lossy();
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

/// The file name of the path `name`, without folders: only the model's folder is read.
fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn read_options(path: &Path) -> Result<Options> {
    let text = String::from_utf8(read_file(path)?).map_err(|e| InteropError::damaged(path, e))?;
    Options::read(&text).map_err(|message| InteropError::damaged(path, message))
}

/// The files of decoder options in `dir`.
fn decoders(dir: &Path, names: &[String]) -> Result<Vec<(String, Options)>> {
    names
        .iter()
        .filter(|name| {
            let is_yaml = name.ends_with(".yml") || name.ends_with(".yaml");
            is_yaml && (name.contains("decoder") || name.starts_with("config"))
        })
        .map(|name| Ok((name.clone(), read_options(&dir.join(name))?)))
        .collect()
}

/// Finds the model file: `path` if it is a file; in a folder, the only model, or the model in the
/// decoder options. Of several option files, `decoder.*` wins.
fn model(path: &Path, names: &[String], decoders: &[(String, Options)]) -> Result<PathBuf> {
    if !path.is_dir() {
        return if is_model(path) {
            Ok(path.into())
        } else {
            Err(InteropError::damaged(
                path,
                "it is neither a .npz nor a .bin of Marian",
            ))
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
            let remedy = "choose one with `import --weights FILE`, or name the file itself";
            Err(InteropError::missing(path, wanted, remedy))
        }
    }
}

/// The decoder options for `model`, in order of preference: a file with its name, `decoder.yml`, or
/// a file that names it.
fn decoder_of(
    dir: &Path,
    model: &str,
    names: &[String],
    mut decoders: Vec<(String, Options)>,
) -> Result<(PathBuf, Options)> {
    decoders.retain(|decoder| rank(decoder, model, names) != usize::MAX);
    decoders.sort_by_key(|decoder| rank(decoder, model, names));
    match &decoders[..] {
        [] => Ok((dir.into(), Options::default())),
        [first, second, ..] if rank(first, model, names) == rank(second, model, names) => {
            let wanted = format!("single file of options, but {} and {}", first.0, second.0);
            let remedy = "leave the one that belongs to the model, as decoder.yml";
            Err(InteropError::missing(dir, wanted, remedy))
        }
        [first, ..] => Ok((dir.join(&first.0), first.1.clone())),
    }
}

impl Folder {
    /// Finds the files of the model at `path`, the file of the weights or its folder.
    ///
    /// # Errors
    /// Returns an error if a file is missing, or it is not clear which one is meant.
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
        let shortlist = decoder.1.list("shortlist").first().map(|name| base(name));
        let shortlist = shortlist.or(names
            .iter()
            .find(|name| name.contains("lex") && name.ends_with(".bin"))
            .map(String::as_str));
        let shortlist = shortlist.map(|name| dir.join(name));
        Ok(Self {
            model,
            decoder,
            vocabularies,
            shortlist: shortlist.filter(|path| is_shortlist(&start(path, 8))),
        })
    }

    /// The vocabularies for a model with the sizes in `config`.
    ///
    /// # Errors
    /// Returns an error if a vocabulary is missing, cannot be read, or has another size.
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
        let closing = closing?;
        let other = other?;
        if closing != other {
            let what = format!("</s> with the ids {closing} and {other} on the two sides");
            return Err(InteropError::unsupported(source, what, NAME_VOCABULARIES));
        }
        let suppressed = Suppressed {
            unknown: special(target, &target_tokens, UNKNOWN)?,
            control: match target_model {
                Some(_) => control_characters(&target_tokens),
                None => Vec::new(),
            },
        };
        let both = [&source_tokens, &target_tokens].map(|tokens| filled(tokens, config.pad));
        let dir = self.model.parent().unwrap_or(Path::new("."));
        let models = match source_model.zip(target_model) {
            Some((source, target)) => Some([source, target]),
            None => sentencepiece(&[dir], files, [&source_tokens, &target_tokens])?,
        };
        Ok(Vocabularies {
            texts: texts([&both[0], &both[1]], models),
            closing,
            suppressed,
        })
    }

    /// The lexical shortlist, for vocabularies of `sizes`, which have `padded` tokens in the model
    /// directory.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or does not fit the vocabularies.
    pub fn shortlist(&self, sizes: [usize; 2], padded: usize) -> Result<Option<Shortlist>> {
        let [source, target] = &self.vocabularies;
        let sides = if source == target {
            Sides::Shared
        } else {
            Sides::Separate
        };
        self.shortlist
            .as_ref()
            .map(|path| shortlist::read(path, &read_file(path)?, sizes, padded, sides))
            .transpose()
    }

    /// The search settings in the decoder options, and notes for the user.
    ///
    /// # Errors
    /// Returns an error if an option is not supported.
    pub fn search(&self, suppressed: &Suppressed) -> Result<(SearchSettings, Vec<String>)> {
        let (path, options) = &self.decoder;
        let search = decoder::settings(path, options, suppressed)?;
        let mut notes = decoder::notes(options);
        notes.extend(self.shortlist_note().map(String::from));
        Ok((search, notes))
    }

    /// A note on the lexical shortlist, if the options or the folder have one.
    fn shortlist_note(&self) -> Option<&'static str> {
        let is_named = !self.decoder.1.list("shortlist").is_empty();
        match (&self.shortlist, is_named) {
            (Some(_), _) => Some(
                "the lexical shortlist is in shortlist.safetensors, for `translate --shortlist`; without it every token of \
                 the vocabulary can be chosen",
            ),
            (None, true) => Some(
                "the lexical shortlist is not read, because it is not binary: every token of the vocabulary can be chosen",
            ),
            (None, false) => None,
        }
    }
}

/// The vocabularies of source and target: named by the user, in the decoder options, in the
/// training options, or recognised by their names.
fn vocabularies(
    dir: &Path,
    model: &str,
    names: &[String],
    decoder: &Options,
    files: &TextFiles,
) -> Result<[PathBuf; 2]> {
    let training = dir.join(format!("{model}.yml"));
    let mut listed_files = listed_vocabularies(dir, decoder);
    if listed_files.is_empty() && read_optional(&training)?.is_some() {
        listed_files = listed_vocabularies(dir, &read_options(&training)?);
        // Files may have other names than in training.
        if !listed_files.iter().all(|path| path.is_file()) {
            listed_files.clear();
        }
    }
    let mut candidates: Vec<PathBuf> = names
        .iter()
        .filter(|name| is_yaml(name) && name.contains("vocab") || name.ends_with(".vocab"))
        .map(|name| dir.join(name))
        .collect();
    if candidates.is_empty() {
        let models = names.iter().filter(|name| name.ends_with(".spm"));
        candidates = models.map(|name| dir.join(name)).collect();
    }
    let pair = match (&files.vocabularies[..], &listed_files[..]) {
        ([], []) => of_sides(&candidates),
        ([], listed) => named(listed),
        (given, _) => named(given),
    };
    let several = if listed_files.is_empty() {
        candidates
    } else {
        listed_files
    };
    let wanted = || {
        format!(
            "telling the side of each vocabulary among [{}]",
            listed(&several)
        )
    };
    let both = pair.ok_or_else(|| InteropError::missing(dir, wanted(), NAME_VOCABULARIES))?;
    let is_named_by_user = !files.vocabularies.is_empty();
    match both.iter().find(|path| !path.is_file()) {
        Some(absent) if !is_named_by_user => {
            let wanted = format!("vocabulary {}", listed(std::slice::from_ref(absent)));
            Err(InteropError::missing(dir, wanted, COPY_VOCABULARIES))
        }
        _ => Ok(both),
    }
}

/// The rank of a file of decoder options for `model`, the lowest first; `usize::MAX` if it belongs
/// to another model among `names`.
fn rank((name, options): &(String, Options), model: &str, names: &[String]) -> usize {
    let mut models = options.list("models").iter().map(|name| base(name));
    let unusual = usize::from(!name.starts_with("decoder."));
    if *name == format!("{model}.decoder.yml") {
        0
    } else if models.clone().any(|name| name == model) {
        1 + unusual
    } else if models.any(|other| names.iter().any(|name| name == other)) {
        usize::MAX
    } else {
        3 + unusual
    }
}

/// The id of the special token `name` among `tokens`, by Marian's rule
/// (`src/data/default_vocab.cpp`).
fn special(
    path: &Path,
    tokens: &[String],
    (name, before, usual): (&str, &str, usize),
) -> Result<u32> {
    let at_usual = tokens
        .get(usual)
        .filter(|token| *token == before || **token == unused(usual))
        .map(|_| usual);
    let index = at_usual.or_else(|| tokens.iter().position(|token| token == name));
    Ok(index.ok_or_else(|| InteropError::damaged(path, format!("it has no token {name}")))? as u32)
}

/// The ids of the pieces `<0x00>` to `<0x1F>`.
fn control_characters(pieces: &[String]) -> Vec<u32> {
    let control: Vec<String> = (0..0x20).map(|byte| format!("<0x{byte:02X}>")).collect();
    (0..)
        .zip(pieces)
        .filter_map(|(id, piece)| control.contains(piece).then_some(id))
        .collect()
}

/// The vocabularies in `options`, as files in `dir`.
fn listed_vocabularies(dir: &Path, options: &Options) -> Vec<PathBuf> {
    options
        .list("vocabs")
        .iter()
        .map(|name| dir.join(base(name)))
        .collect()
}

/// Returns whether `name` is the name of a YAML or JSON file.
fn is_yaml(name: &str) -> bool {
    [".yml", ".yaml", ".json"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// The tokens of the vocabulary `path`, at most `rows`, and its content if it is a SentencePiece
/// model. Like Marian with `dim-vocabs`, this leaves out further tokens of a list, which has the
/// most frequent first.
fn tokens(path: &Path, rows: usize) -> Result<(Vec<String>, Option<Vec<u8>>)> {
    let damaged = |message: String| InteropError::damaged(path, message);
    let bytes = read_file(path)?;
    let name = path.to_string_lossy();
    let is_model = name.ends_with(".spm");
    let tokens = if is_model {
        pieces(&bytes).ok_or_else(|| damaged("it is no SentencePiece model".into()))?
    } else {
        let text = std::str::from_utf8(&bytes).map_err(|e| InteropError::damaged(path, e))?;
        let tokens = if is_yaml(&name) {
            yaml::vocabulary(text).map_err(damaged)?
        } else {
            text.lines().map(str::to_string).enumerate().collect()
        };
        let last = tokens.keys().next_back().copied().unwrap_or(0);
        if last > 2 * tokens.len() {
            return Err(damaged(format!("id {last} of {} tokens", tokens.len())));
        }
        (0..=last)
            .take(rows)
            .map(|id| tokens.get(&id).cloned().unwrap_or_else(|| unused(id)))
            .collect()
    };
    if tokens.len() > rows {
        Err(damaged(format!(
            "it has {} tokens, the model {rows}",
            tokens.len()
        )))
    } else {
        Ok((tokens, is_model.then_some(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the n-best lists of Marian 1.12.42 have every other piece.
    #[test]
    fn of_byte_pieces_the_control_characters_are_suppressed() {
        let letters = ["</s>", "<unk>", "<0x1f>", "0x0A", "\u{2581}a"].map(String::from);
        let bytes = (0..=255).map(|byte: u8| format!("<0x{byte:02X}>"));
        let pieces: Vec<String> = letters.into_iter().chain(bytes).collect();
        let expected: Vec<u32> = (5..5 + 32).collect();
        assert_eq!(control_characters(&pieces), expected);
    }
}
