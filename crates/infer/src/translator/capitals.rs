//! Sources all in capitals, which a model seldom learned from: they are translated in small letters as well.

use rayon::prelude::*;

use super::load::Translator;
use super::options::{LongSources, TranslateOptions};
use crate::calibration::probability;
use crate::doubt::repeats;
use crate::error::InferError;
use crate::hypothesis::Hypothesis;
use crate::search::{Request, search_counting};

impl Translator {
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
            let sources = forms(&text)?.map(|text| self.tokenizers.source.encode(&text));
            Some(sources.map(|source| (place, Request { source, ..request.clone() })))
        };
        requests.par_iter().enumerate().filter_map(small).flatten_iter().collect()
    }

    /// Searches for the `small` requests, and puts what is more probable than the hypotheses at its place into `all`.
    ///
    /// # Errors
    /// Those of [`search`](crate::search()).
    pub(super) fn try_small_letters(
        &self,
        small: &[(usize, Request)],
        options: &TranslateOptions,
        all: &mut [Vec<Hypothesis>],
    ) -> Result<(), InferError> {
        let small = small.iter().filter(|(place, _)| *place < all.len()).cloned();
        let (places, mut requests): (Vec<usize>, Vec<Request>) = small.unzip();
        let truncated = TranslateOptions { long_sources: LongSources::Truncate, ..options.clone() };
        self.prepare(&mut requests, &truncated);
        let found =
            search_counting(&*self.model, &requests, &options.search, &options.batching, &|_| ())?;
        for (place, mut found) in places.into_iter().zip(found) {
            let [small, given] = [&found[0], &all[place][0]];
            if probability(small) > probability(given) && !repeats(&small.tokens) {
                found.iter_mut().for_each(|own| own.is_raised = true);
                all[place] = found;
            }
        }
        Ok(())
    }
}

/// `text` in small letters, and so with a first capital, if it has at least two letters and all of them are capitals.
fn forms(text: &str) -> Option<[String; 2]> {
    let letters = || text.chars().filter(|letter| letter.is_alphabetic());
    let is_raised = letters().nth(1).is_some() && letters().all(char::is_uppercase);
    is_raised.then(|| {
        let small = text.to_lowercase();
        let first = small.find(char::is_alphabetic).expect("there are letters");
        let (before, rest) = small.split_at(first);
        let (letter, rest) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
        let sentence = [before, &letter.to_uppercase(), rest].concat();
        [small, sentence]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_all_in_capitals_has_other_forms() {
        let forms = |text| forms(text).map(|forms| forms.join("|"));
        assert_eq!(forms("7 WO? ÄRGER!").as_deref(), Some("7 wo? ärger!|7 Wo? ärger!"));
        for text in ["", "7", "I", "A 7", "Wo", "ÄRGEr", "東京"] {
            assert_eq!(forms(text), None, "{text}");
        }
    }
}
