//! Terms as target tokens.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use burnformer_data::Tokenizer;
use burnformer_terminology::{Glossary, Term, longest};
use burnformer_text::{is_in_word, small_in_place};
use rayon::prelude::*;

use super::Translator;
use super::error::TermError;
use crate::search::{Edge, Phrase, Terms, WordEdges};

/// Signs before a word without a space, as in `(word)` and `half-word`.
const OPENING_SIGNS: [&str; 6] = ["(", "\"", "-", "/", "“", "„"];
/// Signs that end a sentence.
const SENTENCE_ENDS: [char; 10] = ['.', '!', '?', '…', '。', '！', '？', '।', '؟', '።'];
/// A word in front of other words.
const SAMPLE_WORD: &str = "a";

impl Translator {
    /// Returns the terms for a translation with one of the targets of each wanted term, as whole
    /// words. `source` is the ids of the source, without
    /// [languages](crate::TranslateOptions::languages). Of more than
    /// [`MAX_TERMS`](crate::MAX_TERMS) terms, only the longest are kept.
    ///
    /// # Errors
    /// Returns a [`TermError`] if the model's vocabulary cannot write a term.
    pub fn terms(&self, wanted: &[Term], source: &[u32]) -> Result<Terms, TermError> {
        if wanted.is_empty() {
            return Ok(Terms::default());
        }
        let all = wanted.len();
        let wanted = longest(wanted.to_vec());
        let target = &self.tokenizers.target;
        let edges = self.edges.get_or_init(|| Arc::new(edges(target)));
        let mut all_phrases = Vec::new();
        for term in &wanted {
            let mut term_phrases = Vec::new();
            for text in &term.targets {
                term_phrases.extend(phrases(target, text)?);
            }
            all_phrases.push(term_phrases);
        }
        let spans = spans(&self.tokenizers.source, source, &wanted);
        Ok(Terms {
            phrases: all_phrases,
            spans,
            edges: Some(edges.clone()),
            left_out: all - wanted.len(),
        })
    }

    /// Checks that the model can write every term of `glossary`.
    ///
    /// # Errors
    /// Returns a [`TermError`] with the location of the first term that the model cannot write.
    pub fn check_glossary(&self, glossary: &Glossary) -> Result<(), TermError> {
        let entries: Vec<_> = glossary.entries().collect();
        let checks = entries.par_iter().map(|entry| {
            let wanted = Term {
                source: String::new(),
                targets: entry.targets.clone(),
            };
            self.terms(&[wanted], &[]).map_err(|error| TermError {
                location: Some(entry.location.clone()),
                ..error
            })
        });
        let checked: Vec<_> = checks.map(|check| check.map(drop)).collect();
        checked.into_iter().collect()
    }
}

/// For each wanted term, the tokens of its occurrence in `source` as a word: the first, or the next
/// one if the same term is wanted again. The range is empty if there is none.
fn spans(tokenizer: &Tokenizer, source: &[u32], wanted: &[Term]) -> Vec<Range<usize>> {
    let mut text = String::new();
    let mut ends = Vec::with_capacity(source.len());
    for &id in source {
        text.push_str(&text_of(tokenizer, id));
        ends.push(text.len());
    }
    // A source in capitals is also searched for in small letters.
    let text = small_in_place(&text);
    let mut all = Vec::with_capacity(wanted.len());
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for Term { source, .. } in wanted {
        let from = seen.get(&**source).copied().unwrap_or(0);
        let Some(at) = find(&text, &small_in_place(source), from) else {
            all.push(0..0);
            continue;
        };
        let end = at + source.len();
        seen.insert(source, end);
        let first = ends.partition_point(|&end| end <= at);
        let last = ends.partition_point(|&of_token| of_token < end);
        all.push(first..last + 1);
    }
    all
}

/// The first position of `term` as a whole word in `text`, from the byte `from` on.
fn find(text: &str, term: &str, from: usize) -> Option<usize> {
    text.match_indices(term)
        .filter(|&(at, _)| !term.is_empty() && at >= from)
        .find(|&(at, _)| {
            let before = &text[..at];
            let after = &text[at + term.len()..];
            !(is_within_word(term, after) || is_within_word(before, term))
        })
        .map(|(at, _)| at)
}

/// Returns whether a word continues from the end of `before` to the start of `after`.
fn is_within_word(before: &str, after: &str) -> bool {
    before.chars().next_back().is_some_and(is_in_word)
        && after.chars().next().is_some_and(is_in_word)
}

/// The phrases of `text`: after a space or at the beginning, and directly after a sign.
fn phrases(tokenizer: &Tokenizer, text: &str) -> Result<Vec<Phrase>, TermError> {
    let alone = tokenizer.encode(text);
    let after_word = tokenizer.encode(&format!("{SAMPLE_WORD} {text}"));
    let after_sign = OPENING_SIGNS
        .iter()
        .map(|sign| (sign, tokenizer.encode(&format!("{sign}{text}"))));
    let mut sequences = vec![alone.clone()];
    sequences.extend(without_first(tokenizer, SAMPLE_WORD, &after_word));
    sequences.extend(after_sign.filter_map(|(sign, ids)| without_first(tokenizer, sign, &ids)));
    let mut phrases: Vec<Phrase> = Vec::new();
    for phrase in sequences
        .into_iter()
        .filter_map(|tokens| phrase(tokenizer, text, tokens))
    {
        if !phrases.contains(&phrase) {
            phrases.push(phrase);
        }
    }
    if phrases.iter().any(|phrase| phrase.begin == Edge::Anywhere) {
        Ok(phrases)
    } else {
        let written = tokenizer.decode(&alone);
        Err(TermError {
            location: None,
            term: text.into(),
            written,
        })
    }
}

/// The rest of `ids` after the tokens of `first`, the beginning of their text.
fn without_first(tokenizer: &Tokenizer, first: &str, ids: &[u32]) -> Option<Vec<u32>> {
    let count = (1..ids.len()).find(|&count| tokenizer.decode(&ids[..count]) == first)?;
    Some(ids[count..].to_vec())
}

/// `tokens` as a phrase, if they decode to the separate word `text`.
fn phrase(tokenizer: &Tokenizer, text: &str, tokens: Vec<u32>) -> Option<Phrase> {
    let &first = tokens.first()?;
    let &last = tokens.last()?;
    let joined = tokenizer.decode(&[tokenizer.encode(SAMPLE_WORD), tokens.clone()].concat());
    let begin = match joined.strip_prefix(SAMPLE_WORD)? {
        rest if rest.strip_prefix(' ') == Some(text) => Edge::Anywhere,
        rest if rest == text => edge(tokenizer, first, text.chars().next()),
        _ => return None,
    };
    Some(Phrase {
        tokens,
        begin,
        end: edge(tokenizer, last, text.chars().next_back()),
    })
}

/// The edge at the token `id` with the outer character `c`.
fn edge(tokenizer: &Tokenizer, id: u32, c: Option<char>) -> Edge {
    let is_byte = text_of(tokenizer, id).contains(char::REPLACEMENT_CHARACTER);
    if is_byte || c.is_some_and(is_in_word) {
        Edge::Word
    } else {
        Edge::Anywhere
    }
}

/// The word boundaries of tokens. Bytes and tokens without text may begin and end within words.
/// Bytes are decoded together with their neighbours, and a wrong one spoils the others.
fn edges(tokenizer: &Tokenizer) -> WordEdges {
    let texts: Vec<String> = (0..tokenizer.vocab_size() as u32)
        .map(|id| text_of(tokenizer, id))
        .collect();
    let within =
        |c: Option<char>| c.is_none_or(|c| c == char::REPLACEMENT_CHARACTER || is_in_word(c));
    WordEdges {
        continues: texts
            .iter()
            .map(|text| within(text.chars().next()))
            .collect(),
        is_open: texts
            .iter()
            .map(|text| within(text.chars().next_back()))
            .collect(),
        closing: (0..)
            .zip(&texts)
            .filter(|(_, text)| text.ends_with(SENTENCE_ENDS))
            .map(|(id, _)| id)
            .collect(),
    }
}

/// The text of a token within a sentence; empty for special tokens, U+FFFD for bytes.
fn text_of(tokenizer: &Tokenizer, id: u32) -> String {
    let token = tokenizer.token(id).unwrap_or_default();
    let byte = token
        .strip_prefix("<0x")
        .and_then(|rest| rest.strip_suffix('>'));
    match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
        Some(_) => char::REPLACEMENT_CHARACTER.into(),
        None if tokenizer.decode(&[id]).is_empty() && token != "▁" => String::new(),
        None => token.replace('▁', " "),
    }
}

#[cfg(test)]
mod tests {
    use burnformer_data::TokenizerSettings;

    use super::*;

    fn tokenizer() -> Tokenizer {
        let settings = TokenizerSettings {
            vocab_size: 300,
            ..TokenizerSettings::default()
        };
        let lines = [
            "the house is small",
            "the (small) dog sees the houses",
            "\"house\"",
        ];
        Tokenizer::train(lines, &settings).unwrap()
    }

    #[test]
    fn a_term_has_phrases_after_a_space_and_after_a_sign() {
        let tokenizer = tokenizer();
        let found = phrases(&tokenizer, "small house").unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        for (phrase, begin) in found.iter().zip([Edge::Anywhere, Edge::Word]) {
            assert_eq!((phrase.begin, phrase.end), (begin, Edge::Word));
            assert_eq!(tokenizer.decode(&phrase.tokens), "small house");
        }
        let signs = phrases(&tokenizer, "(small)").unwrap();
        assert!(signs.iter().all(|phrase| phrase.begin == Edge::Anywhere));
        assert!(signs.iter().all(|phrase| phrase.end == Edge::Anywhere));
    }

    #[test]
    fn texts_outside_of_the_vocabulary_are_spelled_in_bytes() {
        let tokenizer = tokenizer();
        for text in ["Größe", "猫", "€ 5", "C++"] {
            let found = phrases(&tokenizer, text).unwrap();
            assert!(
                found
                    .iter()
                    .all(|phrase| tokenizer.decode(&phrase.tokens) == text),
                "{text}"
            );
        }
    }

    #[test]
    fn a_text_that_no_tokens_write_is_refused() {
        let error = phrases(&tokenizer(), "a\u{1}b").unwrap_err();
        assert!(matches!(error, TermError { location: None, .. }), "{error}");
        assert!(error.to_string().contains(r#""ab""#), "{error}");
    }

    #[test]
    fn edges_follow_the_texts_of_tokens() {
        let tokenizer = tokenizer();
        let edges = edges(&tokenizer);
        let of = |token: &str| {
            let id = tokenizer.id(token).unwrap() as usize;
            (edges.continues[id], edges.is_open[id])
        };
        assert_eq!(of("h"), (true, true));
        assert_eq!(of("▁the"), (false, true));
        assert_eq!(of("▁"), (false, false));
        assert_eq!(
            of("<0x2C>"),
            (true, true),
            "a byte may be a part of a character"
        );
        assert_eq!(of("</s>"), (true, true));
    }

    #[test]
    fn the_place_of_a_term_is_where_it_is_a_word() {
        let tokenizer = tokenizer();
        let source = tokenizer.encode("the houses (small) see \"house\"");
        let span = |text: &str| {
            let wanted = Term {
                source: text.into(),
                targets: Vec::new(),
            };
            let span = spans(&tokenizer, &source, &[wanted]).remove(0);
            tokenizer
                .decode(&source[span])
                .replace(['(', ')', '"'], "")
                .trim()
                .to_owned()
        };
        assert_eq!(span("house"), "house");
        assert_eq!(span("houses"), "houses");
        assert_eq!(span("small"), "small");
        assert_eq!(span("dog"), "");
        let at = spans(
            &tokenizer,
            &source,
            &[Term {
                source: "house".into(),
                ..Term::default()
            }],
        );
        assert!(
            at[0].start > source.len() / 2,
            "not that within \"houses\": {at:?}"
        );
    }
}
