//! The coverage penalty.

use super::*;
use crate::search::coverage::rank;

#[test]
fn the_penalty_is_the_one_of_gnmt() {
    // Two target tokens and `</s>` over the source 4 3 `</s>`. The sums are 1.2, 0.3 and 0.5 (Wu et
    // al., 2016, equation 14).
    let table = [[0.9, 0.1, 0.0], [0.3, 0.1, 0.1], [0.0, 0.1, 0.4]];
    let model = Attending::new(TableModel::new(8, 1), move |query, key| table[query][key]);
    let requests = [Request::new(SOURCE.to_vec())];
    let settings = SearchSettings {
        coverage_penalty: 0.2,
        ..SearchSettings::default()
    };
    let hypothesis = Hypothesis {
        tokens: vec![5, 6, 2],
        score: -1.0,
        ..Hypothesis::default()
    };
    let mut all = vec![vec![hypothesis]];
    rank(&model, &requests, &settings, &mut all).expect("attention");
    let expected = -1.0 + 0.2 * (0.3f64.ln() + 0.5f64.ln());
    let score = all[0][0].score;
    assert!((score - expected).abs() < 1e-6, "{score} {expected}");
}

#[test]
fn the_best_sum_of_both_wins() {
    let settings = SearchSettings {
        beam_size: 4,
        n_best: 4,
        max_length: Some(6),
        ..SearchSettings::default()
    };
    let penalised = SearchSettings {
        coverage_penalty: 2.0,
        n_best: 1,
        ..settings.clone()
    };
    let requests = [Request::new(SOURCE.to_vec())];
    let mut changed = 0;
    for seed in 0..40 {
        let table = burnformer_core::RandomKey::new(seed).uniform(18);
        let model = Attending::new(TableModel::new(8, seed), move |query, key| {
            table[query * SOURCE.len() + key]
        });
        let without = run(&model, &settings);
        let found = run(&model, &penalised).remove(0);
        // The score is the one of the search, and the penalty.
        let total: f64 = model.inner.log_probs(&SOURCE, &found.tokens).iter().sum();
        let mut again = vec![vec![Hypothesis {
            score: settings.score(total, found.tokens.len()),
            ..found.clone()
        }]];
        rank(&model, &requests, &penalised, &mut again).expect("attention");
        assert!((again[0][0].score - found.score).abs() < 1e-5, "{seed}");
        // No hypothesis of the search without the penalty has a better one.
        let mut others = vec![without.clone()];
        rank(&model, &requests, &penalised, &mut others).expect("attention");
        assert!(found.score >= others[0][0].score, "{seed}");
        changed += usize::from(found.tokens != without[0].tokens);
    }
    assert!(changed > 0, "no order changed");
}

#[test]
fn a_model_without_attention_is_refused() {
    let settings = SearchSettings {
        coverage_penalty: 0.5,
        ..SearchSettings::default()
    };
    let requests = [Request::new(SOURCE.to_vec())];
    let model = TableModel::new(8, 1);
    let error = search(&model, &requests, &settings, &Batching::default()).unwrap_err();
    assert!(matches!(error, InferError::NoAttention), "{error}");
}
