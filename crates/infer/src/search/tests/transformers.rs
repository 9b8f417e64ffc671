//! The rule of transformers, and translations that are closed at the limit.

use super::*;

/// Beam search of transformers 5.24 (`GenerationMixin._beam_search`), written down step by step.
/// The tokens `ends` end a hypothesis.
fn as_transformers(
    model: &TableModel,
    settings: &SearchSettings,
    ends: &[u32],
) -> Vec<(Vec<u32>, f64)> {
    let k = settings.beam_size;
    let limit = settings.max_length.expect("a limit");
    let LengthPenalty::Power(alpha) = settings.length_penalty else {
        panic!("{:?}", settings.length_penalty)
    };
    let mut running = vec![(Vec::new(), 0.0)];
    let mut finished = Vec::new();
    for n in 1..=limit {
        let log_prob = |tokens: &Vec<u32>, id: u32| {
            *model
                .log_probs(&SOURCE, &[&tokens[..], &[id]].concat())
                .last()
                .expect("a token")
        };
        let mut all: Vec<(Vec<u32>, f64)> = Vec::new();
        for (tokens, total) in &running {
            let next = |id| ([&tokens[..], &[id]].concat(), total + log_prob(tokens, id));
            all.extend((2..model.vocab as u32).map(next));
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate((1 + ends.len()) * k);
        let ends =
            |tokens: &[u32]| tokens.last().is_some_and(|last| ends.contains(last)) || n == limit;
        let score =
            |(tokens, total): &(Vec<u32>, f64)| (tokens.clone(), total / (n as f64).powf(alpha));
        finished.extend(
            all[..k]
                .iter()
                .filter(|(tokens, _)| ends(tokens))
                .map(score),
        );
        finished.sort_by(|a, b| b.1.total_cmp(&a.1));
        finished.truncate(k);
        running = all
            .into_iter()
            .filter(|(tokens, _)| !ends(tokens))
            .take(k)
            .collect();
        let settled = |total: f64| match settings.early_stopping {
            EarlyStopping::Full => true,
            EarlyStopping::Current => total / (n as f64).powf(alpha) <= finished[k - 1].1,
            EarlyStopping::Never => total / (limit as f64).powf(alpha) <= finished[k - 1].1,
        };
        let best = running.first();
        if best.is_none_or(|best| finished.len() == k && settled(best.1)) {
            break;
        }
    }
    finished
}

#[test]
fn the_transformers_rule_matches_transformers() {
    for seed in 0..60 {
        let model = TableModel::new(7, seed);
        let alpha = f64::from(seed as u32 % 3) / 2.0;
        let stops = [
            EarlyStopping::Current,
            EarlyStopping::Full,
            EarlyStopping::Never,
        ];
        let settings = SearchSettings {
            length_penalty: LengthPenalty::Power(alpha),
            beam_rule: BeamRule::Transformers,
            early_stopping: stops[seed as usize / 3 % 3],
            end_tokens: vec![5; seed as usize / 9 % 2],
            max_length: Some(6),
            ..SearchSettings::beam(3, 0.0)
        };
        let ends = [&[2], &settings.end_tokens[..]].concat();
        let expected = as_transformers(&model, &settings, &ends);
        let found = run(&model, &settings);
        assert_eq!(found.len(), expected.len());
        for (hypothesis, (tokens, score)) in found.iter().zip(&expected) {
            assert_eq!((&hypothesis.tokens, seed), (tokens, seed));
            assert!((hypothesis.score - score).abs() < 1e-5, "{seed}");
        }
    }
}

#[test]
fn the_last_allowed_token_is_a_free_eos() {
    let free = SearchSettings {
        max_length: Some(4),
        ..SearchSettings::beam(4, 0.6)
    };
    let closing = SearchSettings {
        at_limit: AtLimit::Close,
        ..free
    };
    for seed in 0..20 {
        let found = run(&TableModel::new(9, seed), &closing);
        assert!(
            found
                .iter()
                .all(|hypothesis| hypothesis.tokens.last() == Some(&2)),
            "{seed}"
        );
        let last = found
            .iter()
            .filter(|hypothesis| hypothesis.tokens.len() == 4);
        assert!(
            last.clone()
                .all(|hypothesis| hypothesis.log_probs[3] == 0.0),
            "{seed}"
        );
        assert!(
            found
                .iter()
                .all(|hypothesis| hypothesis.finish == FinishReason::EndOfSentence)
        );
    }
}
