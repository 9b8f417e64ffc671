//! Greedy and beam search beside an enumeration of every translation.

use super::*;

#[test]
fn a_beam_as_wide_as_the_tree_finds_every_translation_in_order() {
    for (seed, penalty) in [(1, 0.0), (2, 0.6), (3, 1.0), (4, 2.0)] {
        let model = TableModel::new(6, seed);
        let settings = SearchSettings { max_length: Some(4), ..SearchSettings::beam(64, penalty) };
        let found = run(&model, &settings);
        let divisor = |n| settings.length_penalty.divisor(n);
        let mut expected = enumerate(&model, 4);
        expected.iter_mut().for_each(|(tokens, score)| *score /= divisor(tokens.len()));
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (closed, cut) = found.split_at(expected.len());
        assert!(cut.len() == 24 && cut.iter().all(|own| own.finish == FinishReason::Limit));
        for (own, (tokens, score)) in closed.iter().zip(&expected) {
            assert_eq!(&own.tokens, tokens);
            assert!((own.score - score).abs() < 1e-5);
        }
    }
}

#[test]
fn stopping_early_loses_nothing_that_the_whole_search_finds() {
    // Settings differ in the limit alone; the bound log P / lp(limit) must not cut off a better end.
    for seed in 0..50 {
        let model = TableModel::new(5, seed);
        let settings = SearchSettings { max_length: Some(5), ..SearchSettings::beam(30, 1.0) };
        let found = run(&model, &settings);
        let score = |(tokens, total): &(Vec<u32>, f64)| {
            total / settings.length_penalty.divisor(tokens.len())
        };
        let best = enumerate(&model, 5).iter().map(score).fold(f64::NEG_INFINITY, f64::max);
        assert!((found[0].score - best).abs() < 1e-5, "{seed}");
    }
}

#[test]
fn a_beam_of_one_takes_the_most_probable_token_each_time() {
    for seed in 0..20 {
        let model = TableModel::new(9, seed);
        let mut tokens: Vec<u32> = Vec::new();
        while tokens.last() != Some(&2) && tokens.len() < 53 {
            let logits = model.logits(&SOURCE, &tokens);
            let best = (2..9).max_by(|&a, &b| logits[a as usize].total_cmp(&logits[b as usize]));
            tokens.extend(best);
        }
        let found = run(&model, &SearchSettings::greedy());
        assert_eq!(found[0].tokens, tokens, "{seed}");
        let total: f64 = model.log_probs(&SOURCE, &tokens).iter().sum();
        assert!((found[0].score - total).abs() < 1e-5);
    }
}

#[test]
fn hypotheses_are_sorted_distinct_and_scored_as_said() {
    let penalties = [LengthPenalty::None, LengthPenalty::Average, LengthPenalty::Gnmt(0.6)];
    for length_penalty in penalties {
        let settings = SearchSettings { length_penalty, ..SearchSettings::beam(5, 0.6) };
        let model = TableModel::new(20, 7);
        let found = run(&model, &settings);
        assert!(found.is_sorted_by(|a, b| a.score >= b.score && a.tokens != b.tokens));
        for own in &found {
            let expected = model.log_probs(&SOURCE, &own.tokens);
            assert!(
                own.log_probs.iter().zip(&expected).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5)
            );
            let score = expected.iter().sum::<f64>() / length_penalty.divisor(own.tokens.len());
            assert!((own.score - score).abs() < 1e-5);
        }
    }
}

#[test]
fn fewer_hypotheses_are_the_first_of_more() {
    let settings = SearchSettings::beam(6, 0.6);
    let model = TableModel::new(20, 3);
    let all = run(&model, &settings);
    let two = run(&model, &SearchSettings { n_best: 2, ..settings });
    assert_eq!(two, all[..2]);
}

#[test]
fn grouping_changes_no_translation() {
    let model = TableModel::new(8, 11);
    let sampling = Some(Sampling { top_k: 4, ..Sampling::default() });
    let beam = SearchSettings { no_repeat_ngram: 2, min_length: 2, ..SearchSettings::beam(4, 0.6) };
    let sample = SearchSettings { sampling, n_best: 3, ..SearchSettings::default() };
    for settings in [SearchSettings::greedy(), beam, sample] {
        let alone = Batching { max_sentences: 1, max_tokens: 1 };
        let expected = search(&model, &many(), &settings, &alone).expect("searches");
        for (max_sentences, max_tokens) in [(3, 100), (64, 4096), (40, 17)] {
            let batching = Batching { max_sentences, max_tokens };
            let found = search(&model, &many(), &settings, &batching).expect("searches");
            assert_eq!(found, expected);
            let reversed: Vec<Request> = many().into_iter().rev().collect();
            let mut found = search(&model, &reversed, &settings, &batching).expect("searches");
            found.reverse();
            assert_eq!(found, expected);
        }
    }
}
