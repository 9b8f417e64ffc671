//! Translations that have to contain terms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use burnformer_data::corpus::Side;

use super::*;

const VOCAB: usize = 12;

/// Tokens from 9 on continue a word, and tokens from 5 on end within one.
fn edges() -> Arc<WordEdges> {
    let from = |first| (0..VOCAB).map(|id| id >= first).collect();
    Arc::new(WordEdges {
        continues: from(9),
        is_open: from(5),
        closing: vec![4],
    })
}

/// A term with these phrases, each of which is a whole word, and one that can always follow.
fn term(phrases: &[&[u32]], begin: Edge) -> Vec<Phrase> {
    let phrase = |begin: Edge| {
        move |tokens: &&[u32]| Phrase {
            tokens: tokens.to_vec(),
            begin,
            end: Edge::Word,
        }
    };
    let free = phrases[..1].iter().map(phrase(Edge::Anywhere));
    free.chain(phrases[1..].iter().map(phrase(begin))).collect()
}

fn request(source: Vec<u32>, phrases: Vec<Vec<Phrase>>) -> Request {
    Request {
        terms: Terms {
            phrases,
            edges: Some(edges()),
            ..Terms::default()
        },
        ..Request::new(source)
    }
}

/// Returns whether `tokens` have the phrase as a word, found by trying every position.
fn has(tokens: &[u32], phrase: &Phrase) -> bool {
    let edges = edges();
    let len = phrase.tokens.len();
    (0..(tokens.len() + 1).saturating_sub(len)).any(|at| {
        let before = at.checked_sub(1).map(|at| tokens[at] as usize);
        let after = tokens.get(at + len).map(|&id| id as usize);
        tokens[at..at + len] == phrase.tokens
            && (phrase.begin == Edge::Anywhere || before.is_none_or(|id| !edges.is_open[id]))
            && (phrase.end == Edge::Anywhere || after.is_none_or(|id| !edges.continues[id]))
    })
}

fn assert_has_terms(request: &Request, hypothesis: &Hypothesis) {
    let tokens = hypothesis
        .tokens
        .strip_suffix(&[2])
        .unwrap_or(&hypothesis.tokens);
    for phrases in &request.terms.phrases {
        assert!(
            phrases.iter().any(|phrase| has(tokens, phrase)),
            "{request:?} {hypothesis:?}"
        );
    }
    assert!(tokens.starts_with(&request.prefix));
}

fn phrase() -> impl Strategy<Value = Vec<u32>> {
    (3u32..9, prop::collection::vec(3u32..VOCAB as u32, 0..3))
        .prop_map(|(first, rest)| [vec![first], rest].concat())
}

fn any_request() -> impl Strategy<Value = Request> {
    let list =
        (prop::collection::vec(phrase(), 1..4), any::<bool>()).prop_map(|(phrases, word)| {
            let phrases: Vec<&[u32]> = phrases.iter().map(|tokens| &tokens[..]).collect();
            term(&phrases, if word { Edge::Word } else { Edge::Anywhere })
        });
    let ids = |count| prop::collection::vec(3u32..VOCAB as u32, count);
    let parts = (ids(1..6), prop::collection::vec(list, 0..4), ids(0..3));
    parts.prop_map(|(source, phrases, prefix)| Request {
        prefix,
        ..request(source, phrases)
    })
}

fn any_settings() -> impl Strategy<Value = SearchSettings> {
    let rules = prop_oneof![
        Just(BeamRule::Gnmt),
        Just(BeamRule::Transformers),
        Just(BeamRule::Marian)
    ];
    let ends = prop_oneof![Just(AtLimit::Cut), Just(AtLimit::Close)];
    (1usize..6, rules, ends, 3usize..12, 0usize..3, 0usize..3).prop_map(
        |(beam, beam_rule, at_limit, limit, no_repeat_ngram, min_length)| SearchSettings {
            beam_rule,
            at_limit,
            max_length: Some(limit),
            no_repeat_ngram,
            min_length,
            ..beam_of(beam)
        },
    )
}

/// Counts how often sentences are divided into batches: once for each round.
struct Rounds {
    model: TableModel,
    count: AtomicUsize,
}

impl StepModel for Rounds {
    fn source_vocab(&self) -> usize {
        self.model.source_vocab()
    }

    fn target_vocab(&self) -> usize {
        self.model.target_vocab()
    }

    fn special(&self) -> SpecialIds {
        self.model.special()
    }

    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_> {
        self.model.start(sources)
    }

    fn parallelism(&self) -> Option<usize> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.model.parallelism()
    }
}

/// The word at the end of the prefix is a term, and the model continues it.
#[test]
fn a_term_that_the_model_continues_behind_a_prefix_still_fits() {
    let phrases = vec![
        term(&[&[7], &[5, 5]], Edge::Anywhere),
        term(&[&[3]], Edge::Anywhere),
        term(&[&[3]], Edge::Anywhere),
    ];
    let request = Request {
        prefix: vec![6, 3],
        ..request(vec![7, 10], phrases)
    };
    let settings = SearchSettings {
        max_length: Some(4),
        ..beam_of(1)
    };
    for seed in 700..760 {
        let model = TableModel::new(VOCAB, seed);
        let requests = [request.clone()];
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        assert_has_terms(&request, found[0].first().expect("a hypothesis"));
    }
}

#[test]
fn a_search_has_one_round_and_one_for_each_missing_term() {
    for terms in 0..6 {
        let model = Rounds {
            model: TableModel::new(VOCAB, 3),
            count: AtomicUsize::new(0),
        };
        let phrases: Vec<_> = (0..terms)
            .map(|index| term(&[&[3 + index, 3 + index]], Edge::Word))
            .collect();
        let free = search(
            &model,
            &[Request::new(vec![3, 4, 5, 6])],
            &beam_of(2),
            &Batching::default(),
        );
        let tokens = &free.unwrap()[0][0].tokens;
        model.count.store(0, Ordering::Relaxed);
        let request = request(vec![3, 4, 5, 6], phrases);
        let missing = request.terms.missing(tokens).len();
        search(&model, &[request], &beam_of(2), &Batching::default()).unwrap();
        let rounds = model.count.load(Ordering::Relaxed);
        assert!((1..=1 + missing).contains(&rounds), "{rounds} {missing}");
        assert_eq!(rounds > 1, missing > 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_hypothesis_has_every_term_in_any_batch(
        requests in prop::collection::vec(any_request(), 1..6),
        settings in any_settings(),
        seed in 0u64..1000,
        max_sentences in 1usize..5,
    ) {
        let single = TableModel::new(VOCAB, seed);
        let members = [seed, seed + 7].map(|seed| Box::new(TableModel::new(VOCAB, seed)) as _);
        let pair = Ensemble::new(members.into()).unwrap();
        for model in [&single as &dyn StepModel, &pair] {
            let batching = Batching { max_sentences, max_tokens: 40 };
            let together = search(model, &requests, &settings, &batching).unwrap();
            for (request, found) in requests.iter().zip(&together) {
                prop_assert!(!found.is_empty());
                found.iter().for_each(|hypothesis| assert_has_terms(request, hypothesis));
                let alone = search(model, std::slice::from_ref(request), &settings, &Batching::default());
                prop_assert_eq!(&alone.unwrap()[0], found);
                let different = found.iter().enumerate().all(|(index, hypothesis)| {
                    found[..index].iter().all(|other| other.tokens != hypothesis.tokens)
                });
                prop_assert!(different, "{:?}", found);
                let best = SearchSettings { n_best: 1, ..settings.clone() };
                let best = search(model, std::slice::from_ref(request), &best, &Batching::default());
                prop_assert_eq!(&best.unwrap()[0][0], &found[0]);
                let closed: Vec<f64> = found.iter().filter(|hypothesis| hypothesis.finish == FinishReason::EndOfSentence).map(|hypothesis| hypothesis.score).collect();
                prop_assert!(closed.is_sorted_by(|a, b| a >= b), "{:?}", closed);
                let without = search(model, &[request.without_terms()], &settings, &Batching::default()).unwrap();
                let best = &without[0][0];
                if request.terms.missing(best.tokens.strip_suffix(&[2]).unwrap_or(&best.tokens)).is_empty() {
                    prop_assert_eq!(best, &found[0]);
                }
            }
        }
    }
}

#[test]
fn terms_of_others_do_not_change_requests_without_terms() {
    let model = TableModel::new(VOCAB, 5);
    let settings = SearchSettings::beam(3, 0.6);
    let free = many();
    let expected = search(&model, &free, &settings, &Batching::default()).unwrap();
    let mixed: Vec<Request> = free
        .iter()
        .flat_map(|other| {
            [
                other.clone(),
                request(vec![5, 6], vec![term(&[&[7, 9]], Edge::Word)]),
            ]
        })
        .collect();
    let found = search(&model, &mixed, &settings, &Batching::default()).unwrap();
    assert!(found.iter().step_by(2).eq(&expected));
}

#[test]
fn terms_have_the_models_scores() {
    let model = TableModel::new(VOCAB, 3);
    let request = request(SOURCE.to_vec(), vec![term(&[&[7, 9, 10]], Edge::Word)]);
    for hypothesis in &search(&model, &[request], &beam_of(4), &Batching::default()).unwrap()[0] {
        let expected = model.log_probs(&SOURCE, &hypothesis.tokens);
        assert_eq!(hypothesis.log_probs.len(), expected.len());
        assert!(
            hypothesis
                .log_probs
                .iter()
                .zip(&expected)
                .all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5)
        );
    }
}

#[test]
fn impossible_terms_are_refused() {
    let model = TableModel {
        positions: Some(8),
        ..TableModel::new(VOCAB, 1)
    };
    let refused = |request: Request, settings: &SearchSettings| {
        let requests = [Request::new(SOURCE.to_vec()), request];
        search(&model, &requests, settings, &Batching::default()).unwrap_err()
    };
    let with = |phrases| request(SOURCE.to_vec(), phrases);
    let settings = SearchSettings::default();
    let good = || term(&[&[7, 9]], Edge::Word);
    let sampled = SearchSettings {
        sampling: Some(Sampling::default()),
        ..beam_of(2)
    };
    let suppressed = SearchSettings {
        suppress: vec![9],
        ..beam_of(2)
    };
    for (request, settings, what) in [
        (with(vec![good()]), &sampled, "sampl"),
        (with(vec![good()]), &suppressed, "suppressed"),
        (
            with(vec![term(&[&[7, 2]], Edge::Word)]),
            &settings,
            "special",
        ),
        (with(vec![term(&[&[]], Edge::Word)]), &settings, "empty"),
        (with(vec![vec![]]), &settings, "follow any token"),
        (
            with(vec![term(&[&[9, 7]], Edge::Word)]),
            &settings,
            "follow any token",
        ),
        (with(vec![good(); 65]), &settings, "64"),
        (request(vec![], vec![good()]), &settings, "empty source"),
    ] {
        let error = refused(request, settings);
        assert!(
            matches!(
                error,
                InferError::Sentence {
                    sentence: 2,
                    error: SentenceError::Terms(_)
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(
            (error.sentence(), error.offset(3).sentence()),
            (Some(2), Some(5))
        );
    }
    let error = refused(with(vec![term(&[&[12]], Edge::Word)]), &settings);
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
    let error = refused(
        with(vec![good(), good(), good(), term(&[&[3]], Edge::Word)]),
        &settings,
    );
    assert!(matches!(
        error,
        InferError::Sentence {
            sentence: 2,
            error: SentenceError::TermsTooLong {
                length: 8,
                limit: 7
            }
        }
    ));
}

#[test]
fn a_missing_term_takes_the_place_of_the_word_that_attends_to_it() {
    let source = vec![4, 3, 5, 6, 2];
    let phrase = |id| {
        vec![Phrase {
            tokens: vec![id, id],
            begin: Edge::Anywhere,
            end: Edge::Anywhere,
        }]
    };
    let mut placed = 0;
    for seed in 0..40 {
        // Every target position attends to the source position of the same number.
        let model = Attending::new(TableModel::new(9, seed), |query, key| {
            f32::from(query == key)
        });
        let settings = SearchSettings {
            min_length: 4,
            ..SearchSettings::beam(3, 1.0)
        };
        let find = |terms: &Terms| {
            let request = Request {
                terms: terms.clone(),
                ..Request::new(source.clone())
            };
            search(&model, &[request], &settings, &Batching::default())
                .unwrap()
                .remove(0)
        };
        let free = find(&Terms::default()).remove(0).tokens;
        let has_pair = |tokens: &[u32], id| tokens.windows(2).position(|pair| pair == [id, id]);
        if has_pair(&free, 7).or(has_pair(&free, 8)).is_some() || free.last() != Some(&2) {
            continue;
        }
        let phrases = vec![phrase(8), phrase(7)];
        let spans = vec![3..4, 1..2];
        for found in find(&Terms {
            phrases,
            spans,
            ..Terms::default()
        }) {
            // The second term replaces the second token. The first one replaces the fourth of what
            // comes out then, unless the model says it by itself.
            assert_eq!(found.tokens[..3], [free[0], 7, 7], "{seed}: {free:?}");
            let other = has_pair(&found.tokens, 8).expect("the first term");
            assert!(other >= 3, "{seed}: {:?}", found.tokens);
            placed += usize::from(other == 3);
            let expected = model.inner.log_probs(&source, &found.tokens);
            let same =
                |(log_prob, expected): (&f32, &f64)| (f64::from(*log_prob) - expected).abs() < 1e-5;
            assert!(found.log_probs.iter().zip(&expected).all(same), "{seed}");
        }
    }
    assert!(placed > 10, "{placed}");
}

#[test]
fn a_term_at_an_unknown_place_goes_before_the_final_punctuation() {
    let mut closed = 0;
    for seed in 0..40 {
        let model = TableModel::new(VOCAB, seed);
        let find = |phrases| {
            let request = request(SOURCE.to_vec(), phrases);
            search(&model, &[request], &beam_of(4), &Batching::default())
                .unwrap()
                .remove(0)
        };
        let free = find(Vec::new()).remove(0).tokens;
        let tokens = find(vec![term(&[&[7, 9]], Edge::Word)]).remove(0).tokens;
        let Some(body) = free
            .strip_suffix(&[2])
            .filter(|body| !has(body, &term(&[&[7, 9]], Edge::Word)[0]))
        else {
            continue;
        };
        // Token 4 closes a sentence.
        let end = body.len() - body.iter().rev().take_while(|&&id| id == 4).count();
        assert_eq!(
            tokens[..end + 2],
            [&body[..end], &[7, 9]].concat(),
            "{seed}: {free:?}"
        );
        closed += usize::from(end < body.len());
    }
    assert!(closed > 0);
}
