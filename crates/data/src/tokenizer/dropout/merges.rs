//! The merges of a tokeniser, and segmentations that leave out some of them.

use std::collections::HashMap;

use burnformer_sentencepiece::merge::{self, merge};
use serde_json::Value;
use tokenizers::models::ModelWrapper;
use tokenizers::models::bpe::BPE;

use crate::error::{DataError, Result};
use crate::special;
use crate::tokenizer::layout::{byte_token, empty};
use crate::tokenizer::{Kind, Tokenizer, TokenizerSettings, pipeline};

/// Two neighbouring tokens.
type Pair = (u32, u32);

/// The merges of one tokeniser.
#[derive(Debug)]
pub(super) struct Merges {
    tokenizer: tokenizers::Tokenizer,
    /// The spelling of each token, by its id.
    pub(super) spellings: Vec<Spelling>,
    characters: HashMap<char, u32>,
    /// The token of each byte.
    bytes: Vec<u32>,
    /// The rank of each merge, the first of which is done first, and the token that it gives.
    pub(super) merges: HashMap<Pair, (u32, u32)>,
}

/// The spelling of a token.
#[derive(Clone, Debug)]
pub(super) enum Spelling {
    /// No text: a special token, or no token at all.
    Nothing,
    /// A byte of a character that the vocabulary lacks.
    Byte(u8),
    /// A text.
    Text(String),
}

impl Merges {
    pub(super) fn of(tokenizer: &Tokenizer, side: &'static str) -> Result<Self> {
        let refused = |kind| DataError::NoBpeDropout { side, kind };
        let Kind::HuggingFace(inner) = &tokenizer.kind else {
            return Err(refused("a SentencePiece model"));
        };
        let ModelWrapper::BPE(model) = inner.get_model() else {
            return Err(refused("a unigram or other model without merges"));
        };
        let other =
            "byte-pair encoding with another normaliser, division into words or set of bytes";
        let merges =
            is_trained_here(inner)?.then(|| Self::read(inner, model, tokenizer.vocab_size));
        merges.flatten().ok_or_else(|| refused(other))
    }

    /// The merges of `model`; `None` if it lacks a byte or the result of a merge.
    fn read(inner: &tokenizers::Tokenizer, model: &BPE, vocab_size: usize) -> Option<Self> {
        let bytes: Vec<u32> =
            (0..=255).map(|byte| inner.token_to_id(&byte_token(byte))).collect::<Option<_>>()?;
        let mut spellings = vec![Spelling::Nothing; vocab_size];
        let vocab = model.get_vocab();
        for (text, &id) in &vocab {
            spellings[id as usize] = Spelling::Text(text.clone());
        }
        bytes.iter().zip(0..).for_each(|(&id, byte)| spellings[id as usize] = Spelling::Byte(byte));
        special::TOKENS.iter().zip(&mut spellings).for_each(|(_, it)| *it = Spelling::Nothing);
        let character = |(text, &id): (&String, &u32)| {
            let mut characters = text.chars();
            characters.next().filter(|_| characters.next().is_none()).map(|c| (c, id))
        };
        let characters = vocab.iter().filter_map(character).collect();
        let json = serde_json::to_value(model).expect("a model that was parsed can be written");
        let merge = |(rank, merge): (u32, &Value)| {
            let (left, right) = (merge[0].as_str()?, merge[1].as_str()?);
            let id = |text: &str| vocab.get(text).copied();
            Some(((id(left)?, id(right)?), (rank, id(&format!("{left}{right}"))?)))
        };
        let merges = (0..).zip(json["merges"].as_array()?).map(merge).collect::<Option<_>>()?;
        Some(Self { tokenizer: inner.clone(), spellings, characters, bytes, merges })
    }

    /// Another segmentation of the text of `ids`, which leaves out the merges that `left_out` says, of at most `longest`
    /// tokens; `ids` if it has more.
    pub(super) fn other(
        &self,
        ids: Vec<u32>,
        longest: usize,
        left_out: &mut impl FnMut() -> bool,
    ) -> Vec<u32> {
        let words = self.text(&ids).and_then(|text| pipeline::words(&self.tokenizer, &text).ok());
        let Some(words) = words else { return ids };
        let mut other = Vec::with_capacity(2 * ids.len());
        words.iter().for_each(|word| self.segment(word, left_out, &mut other));
        if other.len() <= longest { other } else { ids }
    }

    /// The normalised text of `ids`; `None` if one of them spells none, or bytes form no character.
    pub(super) fn text(&self, ids: &[u32]) -> Option<String> {
        let mut bytes = Vec::with_capacity(8 * ids.len());
        for &id in ids {
            match self.spellings.get(id as usize)? {
                Spelling::Nothing => return None,
                Spelling::Byte(byte) => bytes.push(*byte),
                Spelling::Text(text) => bytes.extend(text.as_bytes()),
            }
        }
        String::from_utf8(bytes).ok()
    }

    /// Number of symbols of the text of `ids` before any merge.
    pub(super) fn symbols(&self, ids: &[u32]) -> usize {
        let symbols = |&id: &u32| match self.spellings.get(id as usize) {
            Some(Spelling::Text(text)) => text.chars().count(),
            _ => 1,
        };
        ids.iter().map(symbols).sum()
    }

    /// Appends the tokens of a word to `out`: joins its symbols, in the order of the merges' ranks and from left to
    /// right, except for the merges that `left_out` says. A merge that was left out is possible again after the next.
    pub(super) fn segment(
        &self,
        word: &str,
        left_out: &mut impl FnMut() -> bool,
        out: &mut Vec<u32>,
    ) {
        out.extend(merge(&mut Dropping { merges: &self.merges, left_out }, self.base(word)));
    }

    /// The characters of a word as tokens, or the bytes of those that the vocabulary lacks.
    pub(super) fn base(&self, word: &str) -> Vec<u32> {
        let mut ids = Vec::with_capacity(word.len());
        for c in word.chars() {
            match self.characters.get(&c) {
                Some(&id) => ids.push(id),
                None => {
                    let bytes = c.encode_utf8(&mut [0; 4]).bytes().collect::<Vec<_>>();
                    ids.extend(bytes.into_iter().map(|byte| self.bytes[usize::from(byte)]));
                }
            }
        }
        ids
    }
}

/// Merges of which some are left out.
struct Dropping<'a, F> {
    merges: &'a HashMap<Pair, (u32, u32)>,
    left_out: &'a mut F,
}

impl<F: FnMut() -> bool> merge::Merges for Dropping<'_, F> {
    type Symbol = u32;

    fn find(&mut self, left: &u32, right: &u32) -> Option<(u32, u32)> {
        self.merges.get(&(*left, *right)).copied()
    }

    fn join(left: &mut u32, _: &u32, joined: u32) {
        *left = joined;
    }

    fn leaves_out(&mut self) -> bool {
        (self.left_out)()
    }
}

/// Whether normaliser, division into words and the model's form are those of the tokenisers that this crate trains, with
/// no token beside the vocabulary.
fn is_trained_here(tokenizer: &tokenizers::Tokenizer) -> Result<bool> {
    let form = |tokenizer: &tokenizers::Tokenizer| {
        let mut json = serde_json::to_value(tokenizer).expect("a tokeniser can be written");
        for part in ["vocab", "merges"] {
            json["model"][part].take();
        }
        ["normalizer", "pre_tokenizer", "added_tokens", "model"].map(|part| json[part].take())
    };
    let found = form(tokenizer);
    for split_digits in [false, true] {
        let settings = TokenizerSettings { split_digits, ..TokenizerSettings::default() };
        if form(&empty(&settings)?) == found {
            return Ok(true);
        }
    }
    Ok(false)
}
