//! The tokens that may follow a hypothesis.

use std::borrow::Cow;

use super::request::Request;
use super::terms::WordEdges;
use crate::model::SpecialIds;
use crate::settings::SearchSettings;

/// Sets the logit of the token `id` to −∞, if it is one of the `choices`.
fn forbid(logits: &mut [f32], choices: &TokenChoices, id: u32) {
    if let Some(position) = choices.position(id) {
        logits[position] = f32::NEG_INFINITY;
    }
}

/// Sets the logits of tokens that may not follow `tokens` by the `settings` to −∞. `logits` has one
/// logit per choice.
///
/// The log-probabilities of other tokens are not normalised again, as in fairseq.
pub(super) fn forbid_by_settings(
    logits: &mut [f32],
    tokens: &[u32],
    settings: &SearchSettings,
    special: SpecialIds,
    choices: &TokenChoices,
) {
    let mut ban = |id| forbid(logits, choices, id);
    ban(special.pad);
    if special.bos != special.eos && !settings.end_tokens.contains(&special.bos) {
        ban(special.bos);
    }
    settings.suppress.iter().copied().for_each(&mut ban);
    if tokens.len() < settings.min_length {
        ban(special.eos);
        settings.end_tokens.iter().copied().for_each(&mut ban);
    }
    for sequence in &settings.suppress_sequences {
        if let Some((&last, before)) = sequence.split_last()
            && tokens.ends_with(before)
        {
            ban(last);
        }
    }
    repeats(tokens, tokens, settings.no_repeat_ngram).for_each(ban);
}

/// Sets the logits of tokens that may not follow `tokens` in a translation of `request` to −∞.
pub(super) fn forbid_by_request(
    logits: &mut [f32],
    tokens: &[u32],
    request: &Request,
    settings: &SearchSettings,
    eos: u32,
    choices: &TokenChoices,
) {
    let mut ban = |id| forbid(logits, choices, id);
    if tokens.len() == first_free(request, settings) {
        settings.begin_suppress.iter().copied().for_each(&mut ban);
    }
    if settings.no_repeat_source_ngram > 0 {
        let source = request.source_with_eos(eos);
        repeats(&source, tokens, settings.no_repeat_source_ngram).for_each(&mut ban);
    }
    request.context.separator.into_iter().for_each(&mut ban);
    if let Some(edges) = &request.prefix_edges
        && settings.prefix_bias == 0.0
        && tokens.len() == request.prefix.len()
    {
        end_word(logits, edges, choices, eos);
    }
}

/// The number of forced tokens at the beginning of a translation.
fn first_free(request: &Request, settings: &SearchSettings) -> usize {
    match forced_prefix(request, settings).len() {
        0 => usize::from(settings.forced_bos.is_some()),
        forced => forced,
    }
}

/// Lowers the `logits` of `seen` tokens by the factor `penalty` of their values above `zero`.
/// Values above it are divided.
pub(super) fn penalise(
    logits: &mut [f32],
    seen: impl Iterator<Item = u32>,
    penalty: f64,
    zero: f64,
    choices: &TokenChoices,
) {
    let mut positions: Vec<usize> = seen.filter_map(|id| choices.position(id)).collect();
    positions.sort_unstable();
    positions.dedup();
    for position in positions {
        let value = f64::from(logits[position]) - zero;
        let lowered = if value < 0.0 {
            value * penalty
        } else {
            value / penalty
        };
        logits[position] = (zero + lowered) as f32;
    }
}

/// Sets the logits of word continuations to −∞.
pub(super) fn end_word(logits: &mut [f32], edges: &WordEdges, choices: &TokenChoices, eos: u32) {
    for (position, logit) in (0..).zip(logits) {
        let id = choices.id(position);
        if id != eos && edges.continues(id) {
            *logit = f32::NEG_INFINITY;
        }
    }
}

/// The tokens that would make the last of `tokens` an n-gram of `text`.
fn repeats<'a>(text: &'a [u32], tokens: &'a [u32], n: usize) -> impl Iterator<Item = u32> + 'a {
    let seen = if n == 0 || tokens.len() + 1 < n {
        &[]
    } else {
        text
    };
    let context = &tokens[(tokens.len() + 1)
        .saturating_sub(n.max(1))
        .min(tokens.len())..];
    let grams = seen.windows(n.max(1));
    grams
        .filter(move |gram| gram[..n - 1] == *context)
        .map(move |gram| gram[n - 1])
}

/// The part of the prefix of `request` that is forced: all of it, or with a bias the languages.
pub(super) fn forced_prefix<'a>(request: &'a Request, settings: &SearchSettings) -> &'a [u32] {
    if settings.prefix_bias > 0.0 {
        &request.prefix[..request.languages]
    } else {
        &request.prefix
    }
}

/// The forced token of the request at `step`, if any: a token of its prefix, or `</s>` after the
/// prefix of an empty source.
pub(super) fn forced_by_request(
    request: &Request,
    settings: &SearchSettings,
    step: usize,
    eos: u32,
) -> Option<u32> {
    let prefix = forced_prefix(request, settings);
    let after_all = request.is_empty(eos) && step == prefix.len();
    prefix.get(step).copied().or(after_all.then_some(eos))
}

/// The tokens that the search of a sentence chooses from, in the order of their logits in a row.
#[derive(Clone, Debug)]
pub(super) enum TokenChoices {
    /// All tokens below this number.
    All(usize),
    /// The listed tokens, in ascending order.
    Listed(Vec<u32>),
}

impl TokenChoices {
    /// The choices of `request`, over `vocab` tokens: its shortlist, the tokens of its prefix and
    /// terms, `</s>`, and the tokens that `settings` force or that end a translation.
    pub fn of(
        request: &Request,
        settings: &SearchSettings,
        special: SpecialIds,
        vocab: usize,
    ) -> Self {
        let Some(shortlist) = &request.shortlist else {
            return Self::All(vocab);
        };
        let terms = request
            .terms
            .phrases
            .iter()
            .flatten()
            .flat_map(|phrase| &phrase.tokens);
        let request_tokens = request.prefix.iter().chain(terms).chain([&special.eos]);
        let set = settings.forced_bos.iter().chain(&settings.end_tokens);
        let mut ids: Vec<u32> = shortlist
            .iter()
            .chain(request_tokens)
            .chain(set)
            .copied()
            .collect();
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

    /// The token of the logit at `position` in a row.
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

    const SPECIAL: SpecialIds = SpecialIds {
        pad: 0,
        bos: 1,
        eos: 2,
    };

    fn allowed(tokens: &[u32], settings: &SearchSettings) -> Vec<u32> {
        let mut logits = [0.0; 8];
        forbid_by_settings(
            &mut logits,
            tokens,
            settings,
            SPECIAL,
            &TokenChoices::All(8),
        );
        (0..8).filter(|&id| logits[id as usize] == 0.0).collect()
    }

    #[test]
    fn padding_and_bos_are_never_generated() {
        assert_eq!(allowed(&[], &SearchSettings::default()), [2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn an_eos_that_is_also_bos_may_follow() {
        let mut logits = [0.0; 4];
        let special = SpecialIds {
            pad: 0,
            bos: 2,
            eos: 2,
        };
        forbid_by_settings(
            &mut logits,
            &[3],
            &SearchSettings::default(),
            special,
            &TokenChoices::All(4),
        );
        assert_eq!(logits, [f32::NEG_INFINITY, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn end_word_masks_continuations() {
        let continues = (0..8).map(|id| id != 3 && id != 5).collect();
        let edges = WordEdges {
            continues,
            ..WordEdges::default()
        };
        let mut logits = [0.0; 4];
        end_word(
            &mut logits,
            &edges,
            &TokenChoices::Listed(vec![2, 3, 4, 5]),
            2,
        );
        assert_eq!(
            logits,
            [0.0, 0.0, f32::NEG_INFINITY, 0.0],
            "</s> goes on with no word"
        );
    }

    #[test]
    fn eos_waits_for_min_length() {
        let settings = SearchSettings {
            min_length: 2,
            ..SearchSettings::default()
        };
        assert!(!allowed(&[5], &settings).contains(&2));
        assert!(allowed(&[5, 6], &settings).contains(&2));
    }

    #[test]
    fn a_seen_ngram_is_not_completed_again() {
        let bigrams = SearchSettings {
            no_repeat_ngram: 2,
            ..SearchSettings::default()
        };
        assert_eq!(allowed(&[5, 6, 5, 7, 5], &bigrams), [2, 3, 4, 5]);
        assert_eq!(allowed(&[5], &bigrams), [2, 3, 4, 5, 6, 7]);
        assert_eq!(allowed(&[5, 5], &bigrams), [2, 3, 4, 6, 7]);
        let unigrams = SearchSettings {
            no_repeat_ngram: 1,
            ..SearchSettings::default()
        };
        assert_eq!(allowed(&[5, 6], &unigrams), [2, 3, 4, 7]);
        let trigrams = SearchSettings {
            no_repeat_ngram: 3,
            ..SearchSettings::default()
        };
        assert_eq!(allowed(&[5, 6, 7, 5, 6], &trigrams), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn listed_tokens_are_banned() {
        let settings = SearchSettings {
            suppress: vec![3, 7],
            min_length: 1,
            ..SearchSettings::default()
        };
        let mut logits = [0.0; 4];
        forbid_by_settings(
            &mut logits,
            &[],
            &settings,
            SPECIAL,
            &TokenChoices::Listed(vec![2, 5, 7, 8]),
        );
        assert_eq!(logits, [f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY, 0.0]);
    }

    /// `RepetitionPenaltyLogitsProcessor` of transformers 5.24.
    #[test]
    fn a_penalty_lowers_each_seen_token_once() {
        let choices = TokenChoices::Listed(vec![2, 4, 5, 7]);
        let mut logits = [-1.0, 3.0, 0.5, f32::NEG_INFINITY];
        penalise(&mut logits, [4, 2, 4, 6, 7].into_iter(), 2.0, 0.0, &choices);
        assert_eq!(logits, [-2.0, 1.5, 0.5, f32::NEG_INFINITY]);
        // As log-probabilities, which are below a normaliser of 4.
        let mut logits = [-1.0, 3.0, 0.5, f32::NEG_INFINITY];
        penalise(&mut logits, [4, 2, 4, 6, 7].into_iter(), 2.0, 4.0, &choices);
        assert_eq!(logits, [-6.0, 2.0, 0.5, f32::NEG_INFINITY]);
    }

    #[test]
    fn suppressed_ids_are_never_generated() {
        let settings = SearchSettings {
            suppress: vec![3, 7],
            ..SearchSettings::default()
        };
        assert_eq!(allowed(&[], &settings), [2, 4, 5, 6]);
    }

    #[test]
    fn the_choices_contain_the_tokens_of_prefix_and_terms() {
        let phrase = Phrase {
            tokens: vec![8, 5],
            begin: Edge::Anywhere,
            end: Edge::Anywhere,
        };
        let request = Request {
            prefix: vec![7],
            terms: Terms {
                phrases: vec![vec![phrase]],
                ..Terms::default()
            },
            shortlist: Some(vec![5, 3]),
            ..Request::new(vec![4])
        };
        let choices = TokenChoices::of(&request, &SearchSettings::default(), SPECIAL, 9);
        assert_eq!(*choices.ids(), [2, 3, 5, 7, 8]);
        assert_eq!((choices.len(), choices.id(3)), (5, 7));
        assert_eq!([5, 6].map(|id| choices.position(id)), [Some(2), None]);
    }

    #[test]
    fn without_a_shortlist_every_token_is_a_choice() {
        let choices = TokenChoices::of(
            &Request::new(vec![4]),
            &SearchSettings::default(),
            SPECIAL,
            4,
        );
        assert_eq!((choices.len(), choices.id(3)), (4, 3));
        assert_eq!([3, 4].map(|id| choices.position(id)), [Some(3), None]);
        assert_eq!(*choices.ids(), [0, 1, 2, 3]);
    }
}
