//! Lengths, repeated sequences, forbidden tokens and forced prefixes.

use super::*;

#[test]
fn no_ngram_repeats_and_no_translation_is_too_short_or_too_long() {
    let model = TableModel::new(8, 5);
    for sampling in [None, Some(Sampling::default())] {
        let settings = SearchSettings {
            no_repeat_ngram: 2,
            min_length: 6,
            max_length: Some(12),
            sampling,
            ..SearchSettings::beam(4, 0.6)
        };
        for request in many().iter().filter(|request| !request.source.is_empty()) {
            let found = search(
                &model,
                std::slice::from_ref(request),
                &settings,
                &Batching::default(),
            );
            for hypothesis in &found.expect("searches")[0] {
                let ended = usize::from(hypothesis.finish == FinishReason::EndOfSentence);
                assert!(hypothesis.tokens.len() - ended >= 6 && hypothesis.tokens.len() <= 12);
                let mut bigrams: Vec<&[u32]> = hypothesis.tokens.windows(2).collect();
                bigrams.sort();
                assert!(
                    bigrams.is_sorted_by(|a, b| a < b),
                    "{:?}",
                    hypothesis.tokens
                );
            }
        }
    }
}

#[test]
fn a_forced_prefix_begins_every_hypothesis_and_counts() {
    let model = TableModel::new(12, 9);
    for sampling in [None, Some(Sampling::default())] {
        let settings = SearchSettings {
            sampling,
            ..SearchSettings::beam(4, 0.6)
        };
        let request = |prefix: &[u32]| Request {
            prefix: prefix.to_vec(),
            ..Request::new(SOURCE.to_vec())
        };
        let requests = [request(&[7, 7, 5]), request(&[]), request(&[11])];
        let found = search(&model, &requests, &settings, &Batching::default()).expect("searches");
        for (request, found) in requests.iter().zip(&found) {
            assert_eq!(found.len(), 4);
            for hypothesis in found {
                assert!(hypothesis.tokens.starts_with(&request.prefix));
                let total: f64 = model.log_probs(&SOURCE, &hypothesis.tokens).iter().sum();
                let score = total / settings.length_penalty.divisor(hypothesis.tokens.len());
                assert!((hypothesis.score - score).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn constraints_that_forbid_all_end_the_search() {
    let settings = SearchSettings {
        suppress: vec![2, 3, 4, 5],
        ..SearchSettings::beam(2, 0.6)
    };
    let request = Request {
        prefix: vec![3],
        ..Request::new(SOURCE.to_vec())
    };
    let model = TableModel::new(6, 1);
    let found = search(&model, &[request], &settings, &Batching::default()).expect("searches");
    assert_eq!(found[0].len(), 1);
    assert_eq!(
        (&found[0][0].tokens[..], found[0][0].finish),
        (&[3][..], FinishReason::Limit)
    );
}

#[test]
fn a_beam_that_cannot_finish_returns_live_hypotheses() {
    let settings = SearchSettings {
        suppress: vec![2],
        max_length: Some(3),
        ..SearchSettings::beam(4, 0.6)
    };
    let found = run(&TableModel::new(20, 1), &settings);
    assert_eq!(found.len(), 4);
    assert!(
        found
            .iter()
            .all(|h| h.tokens.len() == 3 && h.finish == FinishReason::Limit)
    );
    assert!(found.is_sorted_by(|a, b| a.score >= b.score));
}

#[test]
fn first_and_last_tokens_hold_in_every_kind_of_search() {
    let model = TableModel::new(12, 3);
    let searches = [
        SearchSettings::greedy(),
        SearchSettings::beam(4, 0.6),
        SearchSettings {
            beam_rule: BeamRule::Transformers,
            ..SearchSettings::beam(3, 1.0)
        },
        SearchSettings {
            sampling: Some(Sampling::default()),
            ..SearchSettings::beam(4, 0.6)
        },
    ];
    for (settings, listed) in searches
        .into_iter()
        .flat_map(|it| [(it.clone(), false), (it, true)])
    {
        let settings = SearchSettings {
            forced_bos: Some(7),
            begin_suppress: vec![4, 5, 6, 8],
            end_tokens: vec![9, 10],
            min_length: 3,
            ..settings
        };
        let mut requests = many();
        requests.retain(|request| !request.source.is_empty());
        for (index, request) in requests.iter_mut().enumerate() {
            request.prefix = vec![11; index % 3];
            request.shortlist = listed.then(|| vec![3, 4, 5, 6]);
        }
        let found = search(&model, &requests, &settings, &Batching::default()).expect("searches");
        for (request, found) in requests.iter().zip(&found) {
            let forced = [&request.prefix[..], &[7][request.prefix.len().min(1)..]].concat();
            for tokens in found.iter().map(|hypothesis| &hypothesis.tokens) {
                assert!(tokens.starts_with(&forced), "{tokens:?}");
                assert!(![4, 5, 6, 8].contains(&tokens[forced.len()]), "{tokens:?}");
                let mut ends = tokens.iter().map(|id| [2, 9, 10].contains(id));
                let first = ends.position(|is_end| is_end).unwrap_or(tokens.len() - 1);
                assert!(first + 1 == tokens.len() && first >= 3, "{tokens:?}");
            }
        }
    }
}

#[test]
fn no_ngram_of_the_source_is_copied() {
    let model = TableModel::new(9, 2);
    for (n, beam) in [(1, 1), (1, 4), (2, 1), (2, 4), (3, 2)] {
        let settings = SearchSettings {
            no_repeat_source_ngram: n,
            max_length: Some(14),
            ..SearchSettings::beam(beam, 0.0)
        };
        for request in many().iter().filter(|request| !request.source.is_empty()) {
            let source = request.source_with_eos(2);
            let requests = std::slice::from_ref(request);
            let found = search(&model, requests, &settings, &Batching::default());
            for hypothesis in &found.expect("searches")[0] {
                let mut grams = hypothesis.tokens.windows(n);
                assert!(!grams.any(|gram| source.windows(n).any(|other| other == gram)));
            }
        }
    }
}

#[test]
fn token_ids_of_settings_are_inside_the_vocabulary() {
    let model = TableModel::new(8, 1);
    let bad = [
        (
            "suppress",
            SearchSettings {
                suppress: vec![3, 8],
                ..SearchSettings::default()
            },
        ),
        (
            "begin_suppress",
            SearchSettings {
                begin_suppress: vec![8],
                ..SearchSettings::default()
            },
        ),
        (
            "forced_bos",
            SearchSettings {
                forced_bos: Some(8),
                ..SearchSettings::default()
            },
        ),
        (
            "end_tokens",
            SearchSettings {
                end_tokens: vec![99],
                ..SearchSettings::default()
            },
        ),
    ];
    for (name, settings) in bad {
        let error = search(&model, &many(), &settings, &Batching::default()).unwrap_err();
        assert!(error.to_string().starts_with(name), "{error}");
    }
}
