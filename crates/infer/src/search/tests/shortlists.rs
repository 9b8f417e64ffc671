//! Searches among the tokens of a shortlist.

use proptest::prelude::*;

use burnformer_data::corpus::Side;

use super::*;

const VOCAB: usize = 12;

fn searches() -> Vec<SearchSettings> {
    let sampling = Sampling {
        seed: 5,
        top_k: 3,
        ..Sampling::default()
    };
    let sampled = SearchSettings {
        n_best: 3,
        sampling: Some(sampling),
        ..SearchSettings::default()
    };
    let transformers = SearchSettings {
        beam_rule: BeamRule::Transformers,
        ..beam_of(3)
    };
    let marian = SearchSettings {
        beam_rule: BeamRule::Marian,
        ..beam_of(3)
    };
    let searches = [
        SearchSettings::greedy(),
        beam_of(4),
        transformers,
        marian,
        sampled,
    ];
    searches
        .into_iter()
        .map(|settings| SearchSettings {
            max_length: Some(7),
            ..settings
        })
        .collect()
}

fn listed(source: &[u32], list: &[u32]) -> Request {
    Request {
        shortlist: Some(list.to_vec()),
        ..Request::new(source.to_vec())
    }
}

fn find(
    model: &dyn StepModel,
    requests: &[Request],
    settings: &SearchSettings,
) -> Vec<Vec<Hypothesis>> {
    search(model, requests, settings, &Batching::default()).expect("searches")
}

#[test]
fn a_shortlist_of_all_tokens_changes_nothing() {
    let all: Vec<u32> = (0..VOCAB as u32).rev().collect();
    for (seed, settings) in (0..).zip(searches()) {
        let model = TableModel::new(VOCAB, seed);
        let free = many();
        let with = |request: &Request| Request {
            shortlist: Some(all.clone()),
            ..request.clone()
        };
        let restricted: Vec<Request> = free.iter().map(with).collect();
        assert_eq!(
            find(&model, &restricted, &settings),
            find(&model, &free, &settings)
        );
    }
}

#[test]
fn probabilities_are_normalised_over_the_listed_tokens() {
    let model = TableModel::new(VOCAB, 3);
    let list = [2, 5, 7, 8];
    let found = find(&model, &[listed(&SOURCE, &list)], &beam_of(4)).remove(0);
    for hypothesis in &found {
        for (index, &token) in hypothesis.tokens.iter().enumerate() {
            let logits = model.logits(&SOURCE, &hypothesis.tokens[..index]);
            let sum: f64 = list
                .iter()
                .map(|&id| f64::from(logits[id as usize]).exp())
                .sum();
            let expected = f64::from(logits[token as usize]) - sum.ln();
            assert!((f64::from(hypothesis.log_probs[index]) - expected).abs() < 1e-5);
        }
    }
}

#[test]
fn an_ensemble_averages_the_probabilities_among_the_listed_tokens() {
    let member = |seed| -> Box<dyn StepModel> { Box::new(TableModel::new(VOCAB, seed)) };
    let ensemble = Ensemble::new(vec![member(1), member(2)]).expect("fits");
    let requests = [
        listed(&SOURCE, &[2, 5, 9]),
        listed(&[7, 2], &[3, 4, 6, 7, 8]),
    ];
    let together = find(&ensemble, &requests, &beam_of(3));
    for (request, hypotheses) in requests.iter().zip(&together) {
        assert_eq!(
            find(&ensemble, std::slice::from_ref(request), &beam_of(3))[0],
            *hypotheses
        );
    }
    let first = &together[0][0];
    let probability = |seed| {
        let logits = TableModel::new(VOCAB, seed).logits(&SOURCE, &[]);
        let sum: f64 = [2, 5, 9]
            .iter()
            .map(|&id: &usize| f64::from(logits[id]).exp())
            .sum();
        f64::from(logits[first.tokens[0] as usize]).exp() / sum
    };
    let mean = (probability(1) + probability(2)) / 2.0;
    assert!((f64::from(first.log_probs[0]) - mean.ln()).abs() < 1e-5);
}

#[test]
fn a_listed_token_outside_the_vocabulary_is_refused() {
    let model = TableModel::new(VOCAB, 1);
    let requests = [Request::new(SOURCE.to_vec()), listed(&SOURCE, &[5, 12])];
    let error = search(&model, &requests, &beam_of(2), &Batching::default()).unwrap_err();
    assert!(matches!(
        error,
        InferError::Sentence {
            sentence: 2,
            error: SentenceError::UnknownId {
                side: Side::Target,
                id: 12,
                ..
            }
        }
    ));
}

/// Sentences, some with a list, some with a prefix and some with a term.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    let ids = |count| prop::collection::vec(3u32..VOCAB as u32, count);
    let term = prop::option::of((3u32..VOCAB as u32).prop_map(|id| {
        let phrase = Phrase {
            tokens: vec![id],
            begin: Edge::Anywhere,
            end: Edge::Anywhere,
        };
        Terms {
            phrases: vec![vec![phrase]],
            ..Terms::default()
        }
    }));
    let request = (ids(1..6), prop::option::of(ids(0..6)), ids(0..3), term);
    let request = request.prop_map(|(source, shortlist, prefix, terms)| Request {
        shortlist,
        prefix,
        terms: terms.unwrap_or_default(),
        ..Request::new(source)
    });
    prop::collection::vec(request, 1..12)
}

proptest! {
    #[test]
    fn translations_keep_to_their_shortlists_in_any_batch(
        requests in requests(),
        seed in 0..50u64,
        which in 0..3usize,
        max_sentences in 1..12usize,
    ) {
        let model = TableModel::new(VOCAB, seed);
        let settings = &searches()[which];
        let batching = Batching { max_sentences, ..Batching::default() };
        let together = search(&model, &requests, settings, &batching).expect("searches");
        for (request, hypotheses) in requests.iter().zip(&together) {
            let alone = find(&model, std::slice::from_ref(request), settings).remove(0);
            prop_assert_eq!(&alone, hypotheses);
            let terms: Vec<u32> =
                request.terms.phrases.iter().flatten().flat_map(|phrase| phrase.tokens.clone()).collect();
            for hypothesis in hypotheses {
                let tokens = &hypothesis.tokens;
                prop_assert!(tokens.starts_with(&request.prefix));
                prop_assert!(terms.iter().all(|id| tokens.contains(id)));
                let Some(list) = &request.shortlist else { continue };
                let is_allowed = |id: &u32| {
                    *id == 2 || [list, &request.prefix, &terms].iter().any(|ids| ids.contains(id))
                };
                prop_assert!(tokens.iter().all(is_allowed), "{tokens:?} of {request:?}");
            }
        }
    }
}
