//! Results of a search whose translations the length limit cuts.

use super::*;

#[test]
fn a_beam_cut_by_the_limit_returns_n_best_hypotheses() {
    let mut mixed = 0;
    for seed in 0..20 {
        let pair = || {
            vec![seed, seed + 100]
                .into_iter()
                .map(|seed| TableModel::new(30, seed))
        };
        let ensemble = Ensemble::new(pair().map(|model| Box::new(model) as _).collect());
        let models: [&dyn StepModel; 2] = [&TableModel::new(30, seed), &ensemble.expect("fits")];
        for (model, limit) in models
            .into_iter()
            .flat_map(|model| [(model, 1), (model, 2), (model, 5)])
        {
            let settings = SearchSettings {
                max_length: Some(limit),
                ..beam_of(10)
            };
            let found = run(model, &settings);
            assert_eq!(found.len(), 10, "{seed} {limit}");
            let (closed, cut): (Vec<_>, Vec<_>) = found
                .iter()
                .partition(|hypothesis| hypothesis.finish == FinishReason::EndOfSentence);
            mixed += usize::from(!closed.is_empty() && !cut.is_empty());
            assert!(
                found.iter().take(closed.len()).eq(closed.iter().copied()),
                "the closed come first"
            );
            assert!(
                closed
                    .iter()
                    .all(|hypothesis| hypothesis.tokens.last() == Some(&2))
            );
            assert!(
                cut.iter().all(|hypothesis| hypothesis.tokens.len() == limit
                    && !hypothesis.tokens.contains(&2))
            );
            for part in [closed, cut] {
                assert!(part.is_sorted_by(|a, b| a.score >= b.score && a.tokens != b.tokens));
            }
            let best = run(
                model,
                &SearchSettings {
                    n_best: 1,
                    ..settings
                },
            );
            assert_eq!(best, found[..1]);
        }
    }
    assert!(mixed > 20, "{mixed} searches had hypotheses of both kinds");
}

/// Sequences of 3 and 4 that repeat no pair and can grow no further.
fn longest_without_a_repeated_pair() -> Vec<Vec<u32>> {
    let mut open = vec![vec![3], vec![4]];
    let mut ended = Vec::new();
    while let Some(tokens) = open.pop() {
        let last = tokens[tokens.len() - 1];
        let next = [3, 4]
            .into_iter()
            .filter(|&id| !tokens.windows(2).any(|pair| pair == [last, id]));
        let grown: Vec<Vec<u32>> = next.map(|id| [&tokens[..], &[id]].concat()).collect();
        if grown.is_empty() {
            ended.push(tokens);
        }
        open.extend(grown);
    }
    ended.sort();
    ended
}

#[test]
fn hypotheses_without_an_allowed_token_are_returned_as_cut() {
    let ends = longest_without_a_repeated_pair();
    let model = TableModel::new(5, 3);
    let suppress = vec![2];
    for sampling in [
        None,
        Some(Sampling {
            temperature: 3.0,
            ..Sampling::default()
        }),
    ] {
        let samples = sampling.is_some();
        let settings = SearchSettings {
            sampling,
            suppress: suppress.clone(),
            no_repeat_ngram: 2,
            ..beam_of(400)
        };
        let found = run(&model, &settings);
        assert!(
            found
                .iter()
                .all(|hypothesis| hypothesis.finish == FinishReason::Limit)
        );
        let mut tokens: Vec<Vec<u32>> = found
            .into_iter()
            .map(|hypothesis| hypothesis.tokens)
            .collect();
        if samples {
            assert_eq!(tokens.len(), 400);
        }
        tokens.sort();
        tokens.dedup();
        assert_eq!(
            tokens, ends,
            "of different lengths: some end while others grow"
        );
    }
}
