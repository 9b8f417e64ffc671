use std::borrow::Cow;

use super::request::Request;
use crate::model::SpecialIds;

/// The tokens among which the search of a sentence chooses, in the order of their logits in a row
/// of the model.
#[derive(Clone, Debug)]
pub(crate) enum Choices {
    /// All tokens below this number.
    All(usize),
    /// These, in ascending order.
    Listed(Vec<u32>),
}

impl Choices {
    /// The choices of `request`, over `vocab` tokens: its shortlist, with `</s>` and the tokens
    /// that it asks for.
    pub fn of(request: &Request, special: SpecialIds, vocab: usize) -> Self {
        let Some(shortlist) = &request.shortlist else { return Self::All(vocab) };
        let terms = request.terms.phrases.iter().flatten().flat_map(|phrase| &phrase.tokens);
        let asked = request.prefix.iter().chain(terms).chain([&special.eos]);
        let mut ids: Vec<u32> = shortlist.iter().chain(asked).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        Self::Listed(ids)
    }

    /// The number of logits in a row.
    pub fn len(&self) -> usize {
        match self {
            Self::All(vocab) => *vocab,
            Self::Listed(ids) => ids.len(),
        }
    }

    /// The tokens in ascending order.
    pub fn ids(&self) -> Cow<'_, [u32]> {
        match self {
            Self::All(vocab) => (0..*vocab as u32).collect(),
            Self::Listed(ids) => ids.into(),
        }
    }

    /// The index of the logit of the token `id` in a row, if it is a choice.
    pub fn position(&self, id: u32) -> Option<usize> {
        match self {
            Self::All(vocab) => Some(id as usize).filter(|position| position < vocab),
            Self::Listed(ids) => ids.binary_search(&id).ok(),
        }
    }

    /// The token whose logit is at `position` in a row.
    pub fn id(&self, position: u32) -> u32 {
        match self {
            Self::All(_) => position,
            Self::Listed(ids) => ids[position as usize],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{Edge, Phrase, Terms};

    const SPECIAL: SpecialIds = SpecialIds { pad: 0, bos: 1, eos: 2 };

    #[test]
    fn what_a_request_asks_for_is_among_its_choices() {
        let phrase = Phrase { tokens: vec![8, 5], begin: Edge::Anywhere, end: Edge::Anywhere };
        let request = Request {
            prefix: vec![7],
            terms: Terms { phrases: vec![vec![phrase]], ..Terms::default() },
            shortlist: Some(vec![5, 3]),
            ..Request::new(vec![4])
        };
        let choices = Choices::of(&request, SPECIAL, 9);
        assert_eq!(*choices.ids(), [2, 3, 5, 7, 8]);
        assert_eq!((choices.len(), choices.id(3)), (5, 7));
        assert_eq!([5, 6].map(|id| choices.position(id)), [Some(2), None]);
    }

    #[test]
    fn without_a_shortlist_every_token_is_a_choice() {
        let choices = Choices::of(&Request::new(vec![4]), SPECIAL, 4);
        assert_eq!((choices.len(), choices.id(3)), (4, 3));
        assert_eq!([3, 4].map(|id| choices.position(id)), [Some(3), None]);
        assert_eq!(*choices.ids(), [0, 1, 2, 3]);
    }
}
