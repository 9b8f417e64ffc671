//! The attention weights of a pair of texts, and links from each part of a translation to the
//! source, in bytes of the texts.

use std::ops::Range;

use burnformer_data::corpus::Side;
use burnformer_data::{Tokenizer, Tokenizers};
pub use burnformer_text::Link as TextLink;

use super::Translator;
use super::options::{Languages, MAX_SENTENCE_TOKENS};
use crate::attention::{Attention, MAX_LINKED_TOKENS, pieces, strongest};
use crate::error::{InferError, Result};
use crate::model::SpecialIds;
use crate::search::{check_lengths, check_pairs, with_eos};
use burnformer_text::{is_in_capitals, small_in_place};

impl Translator {
    /// Returns the attention weights of every layer and head while the model predicts `target` as
    /// the translation of `source` between `languages`. Their tokens are the first ones of a side.
    ///
    /// # Errors
    /// Returns [`SentenceError::TooLong`](crate::SentenceError::TooLong) if a side has more tokens
    /// than the model has positions, or more than [`MAX_SENTENCE_TOKENS`], since the weights grow
    /// with the product of the lengths, and [`InferError::NoAttention`] for an ensemble.
    pub fn attention(
        &self,
        source: &str,
        target: &str,
        languages: &Languages,
    ) -> Result<Attention> {
        let Tokenizers {
            source: reader,
            target: writer,
        } = &self.tokenizers;
        let [before_source, before_target] = languages.tokens();
        let source = [before_source, &self.encode_source(source, languages)].concat();
        let target = [before_target, &writer.encode(target)].concat();
        let SpecialIds { bos, eos, .. } = self.model.special();
        check_lengths(Side::Source, [&source], eos, MAX_SENTENCE_TOKENS)?;
        check_lengths(Side::Target, [&target], eos, MAX_SENTENCE_TOKENS)?;
        let sources = [with_eos(&source, eos)];
        let targets = [with_eos(&target, eos)];
        check_pairs(&*self.model, &sources, &targets)?;
        let [source] = sources;
        let [target] = targets;
        let weights = self
            .model
            .attention(&source, &target)
            .ok_or(InferError::NoAttention)?;
        let input: Vec<u32> = [bos]
            .iter()
            .chain(&target[..target.len() - 1])
            .copied()
            .collect();
        let special = [&[bos, eos], before_source, before_target].concat();
        Ok(Attention {
            source: pieces(reader, &source, &special),
            target_input: pieces(writer, &input, &special),
            target_output: pieces(writer, &target, &special),
            weights,
        })
    }

    /// Links each token of `target`, a translation of `source`, to its most attended source token,
    /// by the mean of the heads of the last decoder layer at the positions that predict the tokens.
    ///
    /// Ranges are exact if the tokeniser decodes a text without change. If it normalises text (as
    /// SentencePiece models do), they are ranges of the normalised text, scaled to the length of
    /// the given text. At most the first [`MAX_LINKED_TOKENS`] tokens of each text are linked, or
    /// fewer if the model accepts fewer. The list is empty for a model without cross-attention, and
    /// if one of the texts is empty.
    ///
    /// # Errors
    /// Returns the errors of [`attention`](Self::attention), except in these cases.
    pub fn links(
        &self,
        source: &str,
        target: &str,
        languages: &Languages,
    ) -> Result<Vec<TextLink>> {
        if self.settings.protections.small_letters
            && [source, target].into_iter().all(is_in_capitals)
        {
            // Cross-attention aligns lower-case text better.
            let [source, target] = [source, target].map(small_in_place);
            return self.links_of(&source, &target, languages);
        }
        self.links_of(source, target, languages)
    }

    fn links_of(&self, source: &str, target: &str, languages: &Languages) -> Result<Vec<TextLink>> {
        let [before_source, before_target] = languages.tokens();
        let most = MAX_LINKED_TOKENS
            .min(self.model.max_positions().unwrap_or(usize::MAX))
            .saturating_sub(1 + before_source.len().max(before_target.len()));
        let reader = &self.tokenizers.source;
        let writer = &self.tokenizers.target;
        let mut read = self.encode_source(source, languages);
        let mut target_tokens = writer.encode(target);
        [&mut read, &mut target_tokens]
            .into_iter()
            .for_each(|ids| ids.truncate(most));
        let eos = self.model.special().eos;
        let reading = with_eos(&[before_source, &read].concat(), eos);
        let writing = with_eos(&[before_target, &target_tokens].concat(), eos);
        check_pairs(
            &*self.model,
            std::slice::from_ref(&reading),
            std::slice::from_ref(&writing),
        )?;
        let Some(weights) = self.model.cross_attention(&reading, &writing) else {
            return Ok(Vec::new());
        };
        let sources = spans(reader, source, most);
        let targets = spans(writer, target, most);
        debug_assert_eq!(before_target.len() + targets.len() + 1, weights.queries);
        let columns = before_source.len()..before_source.len() + read.len();
        let mut links = Vec::new();
        for (query, target) in (before_target.len()..weights.queries).zip(targets) {
            // The language and `</s>` of the source do not count.
            let strongest = strongest(&weights.row(query)[columns.clone()]);
            if let Some(source) = strongest.and_then(|index| sources.get(index)) {
                let source = source.clone();
                links.push(TextLink { source, target });
            }
        }
        Ok(links)
    }
}

/// The range of each token of `text` in bytes, up to `most` tokens: from the end of the previous
/// token to its own end, without leading white space.
fn spans(tokenizer: &Tokenizer, text: &str, most: usize) -> Vec<Range<usize>> {
    let ids = tokenizer.encode(text);
    let whole = tokenizer.decode(&ids);
    let visible = tokenizer.visible(text);
    let positions = positions_of(&visible, text);
    let mut begin = 0;
    (1..=ids.len().min(most))
        .map(|count| {
            let end = if count == ids.len() {
                text.len()
            } else {
                positions[position_in(&visible, &whole, tokenizer.decode(&ids[..count]).len())]
            };
            let end = end.max(begin);
            let blank = text[begin..end].len() - text[begin..end].trim_start().len();
            let span = begin + blank..end;
            begin = end;
            span
        })
        .collect()
}

/// The byte offset in `text` of each byte of `visible`, a part of its characters.
fn positions_of(visible: &str, text: &str) -> Vec<usize> {
    let mut positions = vec![text.len(); visible.len() + 1];
    let mut chars = visible.char_indices().peekable();
    for (position, c) in text.char_indices() {
        // A blank of another kind may stand for a space.
        if let Some((at, _)) = chars.next_if(|&(_, letter)| letter == c || letter == ' ') {
            positions[at] = position;
        }
    }
    positions
}

/// The position in `text` of byte `end` of `whole`, the decoded tokens of `text`: `end` if the two
/// are equal, otherwise the same share of the length; on a character's boundary.
fn position_in(text: &str, whole: &str, end: usize) -> usize {
    let position = if text == whole || whole.is_empty() {
        end
    } else {
        end * text.len() / whole.len()
    };
    text.floor_char_boundary(position)
}

#[cfg(test)]
mod tests {
    use burnformer_data::TokenizerSettings;

    use super::*;

    fn tokenizer() -> Tokenizer {
        let settings = TokenizerSettings {
            vocab_size: 280,
            ..TokenizerSettings::default()
        };
        Tokenizer::train(["der alte Mann und das Meer", "das alte Meer"], &settings).unwrap()
    }

    #[test]
    fn spans_cover_every_word_of_a_text_in_order() {
        for text in [
            "das alte Meer",
            "der Mann, der Größe hat 😀!",
            "a",
            "  das  Meer ",
        ] {
            let spans = spans(&tokenizer(), text, MAX_LINKED_TOKENS);
            let covered: String = spans.iter().map(|span| &text[span.clone()]).collect();
            let letters = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(letters(&covered), letters(text), "{spans:?}");
            assert!(
                spans.windows(2).all(|pair| pair[0].end <= pair[1].start),
                "{spans:?}"
            );
        }
        assert!(spans(&tokenizer(), "", MAX_LINKED_TOKENS).is_empty());
    }

    #[test]
    fn spans_include_invisible_characters() {
        let plain = "das alte Meer 😀!";
        let text: String = plain.chars().flat_map(|c| [c, '\u{AD}']).collect();
        let parts = |text: &str| {
            let visible = |span: Range<usize>| text[span].replace('\u{AD}', "").trim().to_owned();
            spans(&tokenizer(), text, MAX_LINKED_TOKENS)
                .into_iter()
                .map(visible)
                .collect::<Vec<_>>()
        };
        assert_eq!(parts(&text), parts(plain));
    }

    #[test]
    fn places_in_a_normalised_text_are_scaled_and_on_characters() {
        assert_eq!(position_in("ab cd", "ab cd", 2), 2);
        assert_eq!(position_in("ﬁﬁ", "fifi", 2), 3);
        assert_eq!(position_in("ﬁﬁ", "fifi", 1), 0);
        assert_eq!(position_in("ab", "", 7), 2);
    }
}
