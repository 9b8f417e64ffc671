//! SentencePiece models with the ids that a vocabulary gives their pieces.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use burnformer_sentencepiece::SentencePiece;

use super::languages::{code_of_language, code_of_tag};
use super::special_ids::TokenizerFiles;
use super::{TokenizerError, TokenizerSpecialIds};
use crate::error::Result;
use crate::special::{BOS_TOKEN, EOS_TOKEN, PAD_TOKEN, UNK_TOKEN};

/// The padding token of other systems.
const BLANK_TOKEN: &str = "<blank>";
/// The character that stands for a space in pieces.
const SPACE: &str = "\u{2581}";

/// A model, and the ids of its pieces.
#[derive(Clone)]
pub(super) struct SentencePieceTokenizer {
    model: SentencePiece,
    model_bytes: Vec<u8>,
    vocab_bytes: Vec<u8>,
    ids: HashMap<String, u32>,
    /// The tokens by their ids; an id without a token has an empty text.
    tokens: Vec<String>,
    /// Ids of tokens that name languages and are not pieces, as in M2M100 (`__fr__`) and NLLB
    /// (`fra_Latn`).
    languages: HashSet<u32>,
    pub special: TokenizerSpecialIds,
}

impl SentencePieceTokenizer {
    /// See [`Tokenizer::from_sentencepiece`](super::Tokenizer::from_sentencepiece).
    pub fn new(name: &Path, model: Vec<u8>, vocab: Option<(&Path, Vec<u8>)>) -> Result<Self> {
        let parsed = SentencePiece::from_bytes(name, &model).map_err(TokenizerError::from)?;
        let (vocab_name, vocab_bytes) = match vocab {
            Some((name, bytes)) => (name, bytes),
            None => (name, own_vocabulary(&parsed)),
        };
        let ids: HashMap<String, u32> = serde_json::from_slice(&vocab_bytes)
            .map_err(|error| invalid(vocab_name, error.to_string()))?;
        let tokens = by_id(&ids).map_err(|message| invalid(vocab_name, message))?;
        let special = special_ids(&ids, &parsed).map_err(|message| invalid(vocab_name, message))?;
        let languages = languages(&ids, &parsed);
        Ok(Self {
            model: parsed,
            model_bytes: model,
            vocab_bytes,
            ids,
            tokens,
            languages,
            special,
        })
    }

    pub fn files(&self) -> TokenizerFiles {
        TokenizerFiles::SentencePiece {
            model: self.model_bytes.clone(),
            vocab: self.vocab_bytes.clone(),
        }
    }

    pub fn vocab_size(&self) -> usize {
        self.tokens.len()
    }

    pub fn token(&self, id: u32) -> Option<&str> {
        let token = self.tokens.get(id as usize)?;
        (!token.is_empty()).then_some(token)
    }

    pub fn id(&self, token: &str) -> Option<u32> {
        self.ids.get(token).copied()
    }

    pub fn normalize(&self, text: &str) -> String {
        self.model.normalize(text)
    }

    /// Encodes `text` as ids. Pieces are looked up by their text, because a piece that the model
    /// does not know may be a token of the vocabulary.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let (language, text) = self.language(text);
        let pieces = self.encode_untagged(text);
        language.into_iter().chain(pieces).collect()
    }

    /// Encodes the whole of `text` in pieces.
    pub fn encode_untagged(&self, text: &str) -> Vec<u32> {
        let pieces = self.model.encode_pieces(text);
        pieces.iter().map(|piece| self.id_of(piece)).collect()
    }

    /// Returns the pieces of `text` without a token.
    pub fn unknown_texts(&self, text: &str) -> Vec<String> {
        let pieces = self.model.encode_pieces(self.language(text).1);
        let unknown = pieces
            .iter()
            .filter(|piece| self.id_of(piece) == self.special.unk);
        unknown
            .map(|piece| piece.replace(SPACE, " ").trim().to_owned())
            .collect()
    }

    /// Returns the id of a piece of a text.
    fn id_of(&self, piece: &str) -> u32 {
        let id = self
            .id(piece)
            .filter(|&id| !self.is_special(id) && code_of_tag(piece).is_none());
        id.filter(|id| !self.languages.contains(id))
            .unwrap_or(self.special.unk)
    }

    /// Returns the id of the target language that `text` begins with, and the rest of it.
    fn language<'a>(&self, text: &'a str) -> (Option<u32>, &'a str) {
        let end = text
            .strip_prefix(">>")
            .and_then(|rest| rest.find("<<"))
            .map(|at| at + 4);
        let tag = end.and_then(|end| Some((self.id(&text[..end])?, &text[end..])));
        tag.map_or((None, text), |(id, rest)| (Some(id), rest))
    }

    /// Returns the id of the token `>>code<<`, which names a target language at the start of a
    /// source.
    pub fn target_tag(&self, code: &str) -> Option<u32> {
        self.id(&format!(">>{code}<<"))
    }

    /// Returns the id of the token that names the language `code` as the first token of its side.
    pub fn language_token(&self, code: &str) -> Option<u32> {
        let ids = [self.id(&format!("__{code}__")), self.id(code)];
        ids.into_iter()
            .flatten()
            .find(|id| self.languages.contains(id))
    }

    /// Returns the codes that [`language_token`](Self::language_token) knows, in the order of their
    /// ids.
    pub fn language_codes(&self) -> Vec<String> {
        let language_tokens = (0..)
            .zip(&self.tokens)
            .filter(|(id, _)| self.languages.contains(id));
        language_tokens
            .filter_map(|(_, token)| code_of_language(token).map(str::to_owned))
            .collect()
    }

    /// Returns the codes that [`target_tag`](Self::target_tag) knows, in the order of their ids.
    pub fn target_tags(&self) -> Vec<String> {
        self.tokens
            .iter()
            .filter_map(|token| code_of_tag(token).map(str::to_owned))
            .collect()
    }

    /// Returns whether `id` is a special token, which no text may have.
    fn is_special(&self, id: u32) -> bool {
        let TokenizerSpecialIds { pad, eos, unk, .. } = self.special;
        [pad, eos, unk].contains(&id) || self.id(BOS_TOKEN) == Some(id)
    }

    /// Returns the text of `ids`, without special tokens, with the spaces at its end and the next
    /// of `copies` for each unknown token.
    pub fn decode(&self, ids: &[u32], copies: &[String]) -> String {
        let mut copies = copies.iter().map(String::as_str);
        let mut tokens = Vec::with_capacity(ids.len());
        for &id in ids {
            if id == self.special.unk {
                tokens.extend(copies.next());
            } else if !self.is_special(id) && !self.languages.contains(&id) {
                tokens.extend(self.token(id));
            }
        }
        self.model.decode_pieces(&tokens).replace(SPACE, " ")
    }
}

fn invalid(path: &Path, message: String) -> TokenizerError {
    TokenizerError::VocabularyFile(path.into(), message)
}

/// Returns the pieces of `model` by their own ids, as JSON.
fn own_vocabulary(model: &SentencePiece) -> Vec<u8> {
    let pieces = (0..model.len() as u32).filter_map(|id| Some((model.piece(id)?, id)));
    let pieces: BTreeMap<&str, u32> = pieces.collect();
    serde_json::to_vec(&pieces).expect("texts and numbers can be written")
}

/// Returns the tokens in the order of their ids.
fn by_id(ids: &HashMap<String, u32>) -> Result<Vec<String>, String> {
    let size = ids.values().max().map_or(0, |&id| id as usize + 1);
    // An embedding table has a row for every id up to the highest.
    if size > 2 * ids.len() {
        return Err(format!(
            "the highest id is {}, but there are only {} tokens",
            size - 1,
            ids.len()
        ));
    }
    let mut tokens = vec![String::new(); size];
    for (token, &id) in ids {
        let slot = &mut tokens[id as usize];
        if !slot.is_empty() {
            return Err(format!(
                "the tokens {:?} and {:?} both have the id {id}",
                token.min(slot),
                token.max(slot)
            ));
        }
        slot.clone_from(token);
    }
    Ok(tokens)
}

/// Returns the ids of the tokens of `ids` that name languages as in M2M100 and NLLB, and are not
/// pieces of `model`.
fn languages(ids: &HashMap<String, u32>, model: &SentencePiece) -> HashSet<u32> {
    let pieces: HashSet<&str> = (0..model.len() as u32)
        .filter_map(|id| model.piece(id))
        .collect();
    let language_ids = ids
        .iter()
        .filter(|(token, _)| code_of_language(token).is_some() && !pieces.contains(&token[..]));
    language_ids.map(|(_, &id)| id).collect()
}

/// Returns the special ids, found in `ids` by their usual names, or by the names of the model's
/// pieces.
fn special_ids(
    ids: &HashMap<String, u32>,
    model: &SentencePiece,
) -> Result<TokenizerSpecialIds, String> {
    let pad = model.pad_id().and_then(|id| model.piece(id));
    let eos = model.eos_id().and_then(|id| model.piece(id));
    let unk = model.unk_id().and_then(|id| model.piece(id));
    Ok(TokenizerSpecialIds {
        pad: id_of_first(ids, PAD_TOKEN, [pad, Some(BLANK_TOKEN)])?,
        bos: None,
        eos: id_of_first(ids, EOS_TOKEN, [eos, None])?,
        unk: id_of_first(ids, UNK_TOKEN, [unk, None])?,
    })
}

/// Returns the id of the token `name`, or of the first of `others` that exists.
fn id_of_first(
    ids: &HashMap<String, u32>,
    name: &str,
    others: [Option<&str>; 2],
) -> Result<u32, String> {
    let mut names = [Some(name)].into_iter().chain(others).flatten();
    names
        .find_map(|name| ids.get(name).copied())
        .ok_or_else(|| format!("it has no token {name}"))
}
