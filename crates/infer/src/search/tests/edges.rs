//! Empty sources, prefixes at the limit, and requests that are refused.

use burnformer_data::corpus::Side;

use super::*;

/// 64 sentences with 1,000 hypotheses each would take 64,000 rows of logits.
#[test]
fn batches_shrink_with_the_beam() {
    let sizes = |beam| {
        let settings = beam_of(beam);
        let batching = Batching::default();
        let model = TableModel::new(9, 1);
        let searcher = Searcher {
            model: &model,
            settings: &settings,
            batching: &batching,
        };
        let all = searcher.batches((0..64).collect(), &vec![vec![3; 10]; 64]);
        all.iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!([sizes(4), sizes(16)], [[64], [64]]);
    assert_eq!(sizes(100), [vec![10; 6], vec![4]].concat());
    assert_eq!(sizes(1000), [1; 64]);
}

#[test]
fn an_empty_source_is_translated_without_the_model() {
    struct Untouchable;
    impl StepModel for Untouchable {
        fn source_vocab(&self) -> usize {
            9
        }
        fn target_vocab(&self) -> usize {
            9
        }
        fn special(&self) -> SpecialIds {
            SpecialIds {
                pad: 0,
                bos: 1,
                eos: 2,
            }
        }
        fn start(&self, _: &[&[u32]]) -> Box<dyn crate::Decoding + '_> {
            panic!("the model was run")
        }
    }
    let requests = [Request::new(vec![]), Request::new(vec![2])];
    let found = search(
        &Untouchable,
        &requests,
        &SearchSettings::default(),
        &Batching::default(),
    );
    assert_eq!(
        found.expect("searches"),
        vec![vec![Hypothesis::default()]; 2]
    );
    let settings = SearchSettings {
        n_best: 3,
        sampling: Some(Sampling::default()),
        ..beam_of(1)
    };
    let found = search(&Untouchable, &requests, &settings, &Batching::default());
    assert_eq!(
        found.expect("searches"),
        vec![vec![Hypothesis::default(); 3]; 2]
    );
}

#[test]
fn an_empty_source_is_translated_by_its_prefix() {
    let model = TableModel::new(12, 9);
    let prefix = [7, 7, 5];
    let request = |source: &[u32]| Request {
        prefix: prefix.to_vec(),
        ..Request::new(source.into())
    };
    for sampling in [None, Some(Sampling::default())] {
        // Neither constraint concerns a prefix or the end that follows it.
        let settings = SearchSettings {
            sampling,
            min_length: 9,
            no_repeat_ngram: 1,
            ..beam_of(4)
        };
        let requests = [request(&[]), Request::new(SOURCE.to_vec()), request(&[2])];
        let found = search(&model, &requests, &settings, &Batching::default()).expect("searches");
        for hypothesis in [&found[0], &found[2]].into_iter().flatten() {
            assert_eq!(
                (&hypothesis.tokens[..3], hypothesis.tokens[3..].to_vec()),
                (&prefix[..], vec![2])
            );
            assert_eq!(hypothesis.finish, FinishReason::EndOfSentence);
            let total: f64 = model.log_probs(&[2], &hypothesis.tokens).iter().sum();
            assert!((hypothesis.score - total / settings.length_penalty.divisor(4)).abs() < 1e-5);
        }
        assert_eq!(
            found[0].len(),
            if settings.sampling.is_some() { 4 } else { 1 }
        );
    }
}

#[test]
fn a_prefix_that_fills_the_limit_is_the_translation() {
    let model = TableModel::new(12, 9);
    for sampling in [None, Some(Sampling::default())] {
        let settings = SearchSettings {
            sampling,
            max_length: Some(3),
            ..beam_of(2)
        };
        for source in [&SOURCE[..], &[]] {
            let request = Request {
                prefix: vec![7, 7, 5],
                ..Request::new(source.to_vec())
            };
            let found = search(&model, &[request], &settings, &Batching::default());
            let best = &found.expect("searches")[0][0];
            assert_eq!(
                (&best.tokens[..], best.finish),
                (&[7, 7, 5][..], FinishReason::Limit)
            );
        }
    }
}

fn refused(requests: &[Request], settings: &SearchSettings) -> InferError {
    let model = TableModel {
        positions: Some(8),
        ..TableModel::new(6, 1)
    };
    search(&model, requests, settings, &Batching::default()).unwrap_err()
}

#[test]
fn bad_requests_are_refused_by_sentence() {
    let good = Request::new(SOURCE.to_vec());
    let settings = SearchSettings::default();
    let second = |request| refused(&[good.clone(), request], &settings);
    let with_prefix = |prefix: &[u32]| Request {
        prefix: prefix.to_vec(),
        ..good.clone()
    };
    assert!(matches!(
        second(Request::new(vec![3, 6])),
        InferError::Sentence {
            sentence: 2,
            error: SentenceError::UnknownId {
                side: Side::Source,
                id: 6,
                vocab: 6
            }
        }
    ));
    assert!(matches!(
        second(with_prefix(&[9])),
        InferError::Sentence {
            sentence: 2,
            error: SentenceError::UnknownId {
                side: Side::Target,
                id: 9,
                vocab: 6
            }
        }
    ));
    assert!(matches!(
        second(Request::new(vec![3; 8])),
        InferError::Sentence {
            sentence: 2,
            error: SentenceError::TooLong {
                side: Side::Source,
                length: 9,
                limit: 8
            }
        }
    ));
    assert!(matches!(
        second(with_prefix(&[3; 8])),
        InferError::Sentence {
            sentence: 2,
            error: SentenceError::PrefixTooLong {
                length: 8,
                limit: 7
            }
        }
    ));
    assert!(matches!(
        second(with_prefix(&[3, 2])),
        InferError::Sentence {
            sentence: 2,
            error: SentenceError::PrefixToken(2)
        }
    ));
    let suppress = SearchSettings {
        suppress: vec![6],
        ..settings.clone()
    };
    assert!(matches!(
        refused(&[], &suppress),
        InferError::Settings(SettingsError::Value {
            name: "suppress",
            ..
        })
    ));
}

#[test]
fn logits_that_are_no_numbers_are_an_error() {
    struct Broken;
    impl crate::Decoding for Broken {
        fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
            vec![f32::NAN; tokens.len() * 6]
        }
        fn reorder(&mut self, _: &[usize], _: Option<&[usize]>) {}
    }
    impl StepModel for Broken {
        fn source_vocab(&self) -> usize {
            6
        }
        fn target_vocab(&self) -> usize {
            6
        }
        fn special(&self) -> SpecialIds {
            SpecialIds {
                pad: 0,
                bos: 1,
                eos: 2,
            }
        }
        fn start(&self, _: &[&[u32]]) -> Box<dyn crate::Decoding + '_> {
            Box::new(Self)
        }
    }
    let requests = [Request::new(vec![]), Request::new(SOURCE.to_vec())];
    let error = search(
        &Broken,
        &requests,
        &SearchSettings::default(),
        &Batching::default(),
    );
    assert!(matches!(
        error,
        Err(InferError::Sentence {
            sentence: 2,
            error: SentenceError::NotFinite(0)
        })
    ));
}
