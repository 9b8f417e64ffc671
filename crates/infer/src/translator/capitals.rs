//! Sources all in capitals, which a model seldom learned from: they are translated in small letters as well.

use rayon::prelude::*;

use super::load::Translator;
use super::options::{LongSources, TranslateOptions};
use crate::calibration::probability;
use crate::doubt::repeats;
use crate::hypothesis::Hypothesis;
use crate::search::{Request, search_counting};

impl Translator {
    /// The number of searches for a translation of `source`: the two forms of one in capitals are searched for as well.
    pub fn searches(&self, source: &str, options: &TranslateOptions) -> usize {
        if options.search.small_letters && is_in_capitals(source) { 3 } else { 1 }
    }

    /// Those of `requests` whose source is all in capitals, with their places, in small letters and with a first capital, if
    /// `options` say so. What a prefix or terms prescribe must not be raised, so that such a request is left out.
    pub(super) fn in_small_letters(
        &self,
        requests: &[Request],
        options: &TranslateOptions,
    ) -> Vec<(usize, Request)> {
        if !options.search.small_letters {
            return Vec::new();
        }
        let small = |(place, request): (usize, &Request)| {
            let is_free = request.prefix.is_empty() && request.terms.is_empty();
            let text = is_free.then(|| self.tokenizers.source.decode(&request.source))?;
            let small = |text: String| {
                let source = self.tokenizers.source.encode(&text);
                (place, Request { source, ..request.clone() })
            };
            is_in_capitals(&text).then(|| forms(&text).map(small))
        };
        requests.par_iter().enumerate().filter_map(small).flatten_iter().collect()
    }

    /// Searches for the `small` requests, and puts what is more probable than the hypotheses at its place into `all`. If that
    /// fails, they stay.
    pub(super) fn try_small_letters(
        &self,
        small: &[(usize, Request)],
        options: &TranslateOptions,
        all: &mut [Vec<Hypothesis>],
    ) {
        let small = small.iter().filter(|(place, _)| *place < all.len()).cloned();
        let (places, mut requests): (Vec<usize>, Vec<Request>) = small.unzip();
        let truncated = TranslateOptions { long_sources: LongSources::Truncate, ..options.clone() };
        self.prepare(&mut requests, &truncated);
        let found =
            search_counting(&*self.model, &requests, &options.search, &options.batching, &|_| ());
        for ((place, request), mut found) in
            places.into_iter().zip(&requests).zip(found.unwrap_or_default())
        {
            let [small, given] = [&found[0], &all[place][0]];
            let is_loop = repeats(&small.tokens) && !repeats(&request.source);
            if probability(small) > probability(given) && !is_loop {
                found.iter_mut().for_each(|own| own.is_raised = true);
                all[place] = found;
            }
        }
    }
}

/// Whether `text` is all in capitals: it has at least two, and no small letter but ß, which has none.
pub(super) fn is_in_capitals(text: &str) -> bool {
    let is_small = |letter: char| letter.is_lowercase() && letter != 'ß';
    text.chars().filter(|letter| letter.is_uppercase()).nth(1).is_some() && !text.contains(is_small)
}

/// `text` in small letters, each of as many bytes as its capital, so that every part stays at its place.
pub(super) fn small_in_place(text: &str) -> String {
    let small = |letter: char| {
        let mut small = letter.to_lowercase();
        let first = small.next().filter(|first| first.len_utf8() == letter.len_utf8());
        first.filter(|_| small.next().is_none()).unwrap_or(letter)
    };
    text.chars().map(small).collect()
}

/// `text`, which is all in capitals, in small letters, and so with a first capital.
fn forms(text: &str) -> [String; 2] {
    let small = text.to_lowercase();
    let first = small.find(char::is_alphabetic).unwrap_or(0);
    let (before, rest) = small.split_at(first);
    let (letter, rest) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
    let sentence = [before, &letter.to_uppercase(), rest].concat();
    [small, sentence]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_all_in_capitals_has_other_forms() {
        for text in ["7 WO? ÄRGER!", "DIE STRAßE", "DER HUND 東 IST GUT"] {
            assert!(is_in_capitals(text), "{text}");
        }
        for text in ["", "7", "I", "A 7", "Wo", "ÄRGEr", "東京", "ß"] {
            assert!(!is_in_capitals(text), "{text}");
        }
        assert_eq!(forms("7 WO? ÄRGER!"), ["7 wo? ärger!", "7 Wo? ärger!"]);
    }

    #[test]
    fn small_letters_stay_in_their_places() {
        assert_eq!(small_in_place("GRÜN, İẞ!"), "grün, İẞ!");
    }
}
