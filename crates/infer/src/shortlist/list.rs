use serde::{Deserialize, Serialize};

use super::error::{Result, ShortlistError};

/// The vocabularies of a shortlist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vocabularies {
    /// The numbers of tokens of source and target.
    pub sizes: [usize; 2],
    /// The identities of the tokenisers of source and target, such as hashes; equal if both sides
    /// share one. `None` if unknown.
    pub tokenizers: Option<[String; 2]>,
}

impl Vocabularies {
    /// Vocabularies with unknown tokenisers.
    pub fn of_sizes(sizes: [usize; 2]) -> Self {
        Self {
            sizes,
            tokenizers: None,
        }
    }

    /// Returns whether source and target share one tokeniser. A token can then be its own
    /// translation.
    pub fn are_shared(&self) -> bool {
        self.tokenizers
            .as_ref()
            .is_some_and(|[source, target]| source == target)
    }

    /// Checks that `model` has these vocabularies. Tokenisers are compared if both are known.
    ///
    /// # Errors
    /// Returns [`ShortlistError::Vocabulary`] if a size differs, and [`ShortlistError::Tokenizer`]
    /// if a tokeniser differs.
    pub fn check(&self, model: &Self) -> Result<()> {
        for (index, side) in ["source", "target"].into_iter().enumerate() {
            let shortlist = self.sizes[index];
            let model_size = model.sizes[index];
            if shortlist != model_size {
                return Err(ShortlistError::Vocabulary {
                    side,
                    shortlist,
                    model: model_size,
                });
            }
            let names = self.tokenizers.iter().zip(&model.tokenizers);
            if names
                .into_iter()
                .any(|(ours, theirs)| ours[index] != theirs[index])
            {
                return Err(ShortlistError::Tokenizer(side));
            }
        }
        Ok(())
    }
}

/// The likely translations of each source token, and the most frequent target tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortlist {
    pub(crate) vocabularies: Vocabularies,
    /// The most frequent target tokens, in ascending order.
    pub(crate) frequent: Vec<u32>,
    /// The start of each source token's translations in `tokens`, and the end of the last token's.
    pub(crate) offsets: Vec<u32>,
    /// The translations of one source token after the other, in ascending order for each.
    pub(crate) tokens: Vec<u32>,
}

impl Shortlist {
    /// A shortlist of the `frequent` target tokens and the translations of each source token, in
    /// any order. Source tokens beyond the end of `translations` have none.
    ///
    /// # Errors
    /// Returns [`ShortlistError::UnknownId`] if a target token is outside its vocabulary, or if
    /// `translations` is longer than the source vocabulary.
    pub fn new(
        vocabularies: Vocabularies,
        frequent: Vec<u32>,
        translations: Vec<Vec<u32>>,
    ) -> Result<Self> {
        let [source_vocab, target_vocab] = vocabularies.sizes;
        if translations.len() > source_vocab {
            let id = source_vocab as u32;
            return Err(ShortlistError::UnknownId {
                side: "source",
                id,
                vocab: source_vocab,
            });
        }
        let mut offsets = vec![0];
        let mut tokens = Vec::new();
        let missing = source_vocab - translations.len();
        for list in translations.into_iter().chain(vec![Vec::new(); missing]) {
            tokens.extend(sorted(list, target_vocab)?);
            offsets.push(tokens.len() as u32);
        }
        Ok(Self {
            frequent: sorted(frequent, target_vocab)?,
            vocabularies,
            offsets,
            tokens,
        })
    }

    /// The vocabularies.
    pub fn vocabularies(&self) -> &Vocabularies {
        &self.vocabularies
    }

    /// The most frequent target tokens, allowed in every sentence, in ascending order.
    pub fn frequent(&self) -> &[u32] {
        &self.frequent
    }

    /// The likely translations of the source token `id`, in ascending order; empty for an id
    /// outside the vocabulary.
    pub fn translations(&self, id: u32) -> &[u32] {
        let id = id as usize;
        match self.offsets.get(id..id + 2) {
            Some(&[start, end]) => &self.tokens[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The likely tokens of a translation of `source` (ids), in ascending order: the frequent ones
    /// and the translations of each source token.
    pub fn tokens_for(&self, source: &[u32]) -> Vec<u32> {
        // A bit per token: lists overlap much, and bits are in ascending order.
        let mut bits = vec![0u64; self.vocabularies.sizes[1].div_ceil(64)];
        let lists = source
            .iter()
            .map(|&id| self.translations(id))
            .chain([&self.frequent[..]]);
        for &id in lists.flatten() {
            bits[id as usize / 64] |= 1 << (id % 64);
        }
        let mut tokens =
            Vec::with_capacity(bits.iter().map(|word| word.count_ones() as usize).sum());
        for (base, mut word) in (0..).step_by(64).zip(bits) {
            while word != 0 {
                tokens.push(base + word.trailing_zeros());
                word &= word - 1;
            }
        }
        tokens
    }
}

/// The distinct `ids` in ascending order, checked to be below `vocab`.
fn sorted(mut ids: Vec<u32>, vocab: usize) -> Result<Vec<u32>> {
    ids.sort_unstable();
    ids.dedup();
    match ids.last() {
        Some(&id) if id as usize >= vocab => Err(ShortlistError::UnknownId {
            side: "target",
            id,
            vocab,
        }),
        _ => Ok(ids),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(sizes: [usize; 2], names: [&str; 2]) -> Vocabularies {
        Vocabularies {
            sizes,
            tokenizers: Some(names.map(String::from)),
        }
    }

    #[test]
    fn a_sentence_has_the_translations_of_its_tokens_and_the_frequent_ones() {
        let lists = vec![vec![], vec![70, 3, 3], vec![199, 64], vec![5]];
        let vocabularies = Vocabularies::of_sizes([6, 200]);
        let shortlist = Shortlist::new(vocabularies, vec![9, 0, 9], lists).unwrap();
        assert_eq!(shortlist.tokens_for(&[2, 1, 2]), [0, 3, 9, 64, 70, 199]);
        assert_eq!(shortlist.tokens_for(&[]), [0, 9]);
        assert_eq!(shortlist.tokens_for(&[0, 5, 6, u32::MAX]), [0, 9]);
        assert_eq!(shortlist.translations(1), [3, 70]);
    }

    #[test]
    fn ids_outside_the_vocabularies_are_refused() {
        let make =
            |frequent, lists| Shortlist::new(Vocabularies::of_sizes([2, 9]), frequent, lists);
        let target = |error| {
            matches!(
                error,
                ShortlistError::UnknownId {
                    side: "target",
                    id: 9,
                    ..
                }
            )
        };
        assert!(target(make(vec![9], vec![]).unwrap_err()));
        assert!(target(make(vec![], vec![vec![3, 9]]).unwrap_err()));
        let error = make(vec![], vec![vec![], vec![], vec![]]).unwrap_err();
        assert!(matches!(
            error,
            ShortlistError::UnknownId { side: "source", .. }
        ));
    }

    #[test]
    fn another_model_is_refused_with_the_difference() {
        let shortlist = named([5, 6], ["a", "b"]);
        assert!(shortlist.check(&shortlist).is_ok());
        assert!(shortlist.check(&Vocabularies::of_sizes([5, 6])).is_ok());
        let message = |model: Vocabularies| shortlist.check(&model).unwrap_err().to_string();
        let size = message(named([5, 7], ["a", "b"]));
        assert!(
            size.contains("target") && size.contains('6') && size.contains('7'),
            "{size}"
        );
        let tokenizer = message(named([5, 6], ["x", "b"]));
        assert!(tokenizer.contains("source tokeniser"), "{tokenizer}");
        assert!(shortlist.check(&named([4, 6], ["a", "b"])).is_err());
        assert!(!shortlist.are_shared() && named([5, 5], ["a", "a"]).are_shared());
    }
}
