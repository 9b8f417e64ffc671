//! Copies of source text for unknown tokens of translations.

use crate::attention::strongest;
use crate::hypothesis::Hypothesis;
use crate::search::with_eos;
use crate::translator::Translator;
use crate::translator::request::TextRequest;

impl Translator {
    /// The texts of the unknown tokens of the source of `request`.
    pub(super) fn unknown_texts(&self, request: &TextRequest) -> Vec<String> {
        let reader = &self.tokenizers.source;
        let has_unknown =
            request.search.source.contains(&reader.special_ids().unk) && !request.text.is_empty();
        if has_unknown {
            reader.unknown_texts(&request.text)
        } else {
            Vec::new()
        }
    }

    /// The text of the source of `request`, without its first `skipped` ids.
    pub(super) fn source_text(&self, request: &TextRequest, skipped: usize) -> String {
        let ids = request.search.source.get(skipped..).unwrap_or_default();
        self.tokenizers
            .source
            .decode_copying(ids, &self.unknown_texts(request))
    }

    /// Copies source text for the unknown tokens of `all`, the translations of `requests`.
    ///
    /// Each copies its most attended unknown source token, by the mean of the heads of the last
    /// layer, or its most attended word if the source has no unknown token. Without attention,
    /// copies follow the order of the source.
    pub(super) fn copy_unknown(&self, requests: &[TextRequest], all: &mut [Vec<Hypothesis>]) {
        let unk = self.tokenizers.target.special_ids().unk;
        for (request, found) in requests.iter().zip(all) {
            for hypothesis in found
                .iter_mut()
                .filter(|hypothesis| hypothesis.tokens.contains(&unk))
            {
                hypothesis.copies = self.copies(request, &hypothesis.tokens, unk);
            }
        }
    }

    fn copies(&self, request: &TextRequest, tokens: &[u32], unk: u32) -> Vec<String> {
        let eos = self.model.special().eos;
        let source = with_eos(&request.search.source, eos);
        let target = with_eos(tokens, eos);
        let context = &request.search.context;
        let weights = context.cross_attention(&*self.model, &source, &target);
        let texts = self.copied_texts(request, &source);
        let mut copies = Vec::new();
        for query in (0..tokens.len()).filter(|&query| tokens[query] == unk) {
            let index = match &weights {
                Some(weights) => {
                    let row = weights.row(query);
                    strongest(&texts.iter().map(|&(key, _)| row[key]).collect::<Vec<_>>())
                }
                None => texts
                    .len()
                    .checked_sub(1)
                    .map(|last| copies.len().min(last)),
            };
            let copy = index.map(|index| texts[index].1.clone());
            copies.push(copy.unwrap_or_default());
        }
        copies
    }

    /// The positions in `source`, the ids of `request`, with text to copy.
    fn copied_texts(&self, request: &TextRequest, source: &[u32]) -> Vec<(usize, String)> {
        let reader = &self.tokenizers.source;
        let unk = reader.special_ids().unk;
        let unknown = (0..source.len()).filter(|&key| source[key] == unk);
        let texts: Vec<_> = unknown.zip(self.unknown_texts(request)).collect();
        if !texts.is_empty() {
            return texts;
        }
        let source_tokens = &source[..source.len() - 1];
        let text = reader.decode(source_tokens);
        let words: Vec<&str> = text.split_whitespace().collect();
        reader
            .words_of(source_tokens)
            .into_iter()
            .enumerate()
            .filter_map(|(key, word)| Some((key, (*words.get(word)?).to_owned())))
            .collect()
    }
}

#[cfg(test)]
mod tests;
