//! The vocabularies: lists of tokens in JSON, or text with one token per line.

use std::path::Path;

use crate::embeddings::filled;
use crate::error::{InteropError, Result};
use crate::files::{parse_json, read_optional};
use crate::pretrained::Files;
use crate::text_files::{TextFiles, sentencepiece, texts};
use crate::vocabulary::carried_tokenizers;

/// The names of padding.
const PADDING: [&str; 2] = ["<pad>", "<blank>"];

/// The tokens of both sides, indexed by id.
pub(super) struct Vocabularies {
    path: std::path::PathBuf,
    source: Vec<String>,
    /// The tokens of the target; `None` if they are equal to the source's.
    target: Option<Vec<String>>,
}

impl Vocabularies {
    /// Reads the vocabularies in the folder `dir`.
    ///
    /// # Errors
    /// Returns an error if a file is missing, cannot be read, or is damaged.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.to_path_buf();
        if let Some(source) = tokens(dir, "shared")? {
            return Ok(Self {
                path,
                source,
                target: None,
            });
        }
        let source = required_tokens(dir, "source")?;
        let target = required_tokens(dir, "target")?;
        let joint = source == target;
        Ok(Self {
            path,
            source,
            target: (!joint).then_some(target),
        })
    }

    fn target(&self) -> &[String] {
        self.target.as_ref().unwrap_or(&self.source)
    }

    /// The vocabularies for embeddings of `rows` rows. As in CTranslate2, the last row belongs to
    /// `unknown` if a file lacks that token.
    ///
    /// # Errors
    /// Returns [`InteropError::Damaged`] if the numbers of tokens and rows differ.
    pub fn of_rows(mut self, rows: [usize; 2], unknown: &str) -> Result<Self> {
        let lists = [Some(&mut self.source), self.target.as_mut()];
        for (tokens, rows) in lists.into_iter().zip(rows) {
            let Some(tokens) = tokens else { continue };
            if tokens.len() + 1 == rows && !tokens.iter().any(|token| token == unknown) {
                tokens.push(unknown.into());
            }
        }
        let counts = [self.source.len(), self.target().len()];
        for ((side, tokens), rows) in ["source", "target"].into_iter().zip(counts).zip(rows) {
            if tokens != rows {
                let message =
                    format!("the {side} vocabulary has {tokens} tokens, the model {rows}");
                return Err(InteropError::damaged(&self.path, message));
            }
        }
        Ok(self)
    }

    /// The id of `token`, which must be equal on both sides.
    ///
    /// # Errors
    /// Returns an error if a side lacks the token, or the ids differ.
    pub fn id(&self, token: &str) -> Result<u32> {
        let source = self.source.iter().position(|known| known == token);
        let target = self.target().iter().position(|known| known == token);
        match source {
            Some(id) if source == target => Ok(id as u32),
            _ => {
                let what = format!("a vocabulary without {token} at the same index on both sides");
                Err(InteropError::unsupported(
                    &self.path,
                    what,
                    "the model needs it",
                ))
            }
        }
    }

    pub fn padding(&self) -> Option<u32> {
        PADDING.iter().find_map(|token| self.id(token).ok())
    }

    pub fn has_padding(&self) -> bool {
        self.padding().is_some()
    }

    /// Returns the tokeniser files of a model directory: files in the format of `tokenizers` in the
    /// first of `dirs` if they have these tokens, otherwise the vocabularies with the SentencePiece
    /// models in any of `dirs`. If the vocabularies have no padding token, `<pad>` with the id
    /// `pad` is added at their end.
    ///
    /// # Errors
    /// Returns an error if a file of a tokeniser cannot be read or does not fit the vocabularies.
    pub fn files(&self, dirs: &[&Path], pad: u32, files: &TextFiles) -> Result<Files> {
        let tokens = [&self.source[..], self.target()];
        let carried = carried_tokenizers(dirs[0], tokens)?;
        if !carried.is_empty() && files.sentencepiece.is_empty() {
            return Ok(carried);
        }
        let models = sentencepiece(dirs, files, tokens)?;
        let [source, target] = tokens.map(|tokens| {
            if self.has_padding() {
                tokens.to_vec()
            } else {
                filled(tokens, pad)
            }
        });
        Ok(texts([&source, &target], models))
    }
}

fn tokens(dir: &Path, side: &str) -> Result<Option<Vec<String>>> {
    let path = dir.join(format!("{side}_vocabulary.json"));
    if let Some(bytes) = read_optional(&path)? {
        return parse_json(&path, &bytes).map(Some);
    }
    let path = dir.join(format!("{side}_vocabulary.txt"));
    let Some(bytes) = read_optional(&path)? else {
        return Ok(None);
    };
    let text = std::str::from_utf8(&bytes).map_err(|e| InteropError::damaged(&path, e))?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    // A carriage return may be a part of a token, unless every line ends with one.
    let all = text.split('\n').all(|line| line.ends_with('\r'));
    Ok(Some(
        text.split('\n')
            .map(|line| {
                if all {
                    line[..line.len() - 1].to_string()
                } else {
                    line.to_string()
                }
            })
            .collect(),
    ))
}

/// The vocabulary of the side `name` in `dir`, which must exist.
fn required_tokens(dir: &Path, name: &str) -> Result<Vec<String>> {
    let names = format!("shared_vocabulary.json or {name}_vocabulary.json");
    let remedy = "a model of CTranslate2 has its vocabularies beside model.bin";
    tokens(dir, name)?.ok_or_else(|| InteropError::missing(dir, names, remedy))
}
