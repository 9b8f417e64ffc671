//! The rule of Marian, beside Marian's search written down step by step.

use std::collections::BTreeMap;

use super::*;

/// The beam search of Marian 1.12 (`src/translator/beam_search.cpp` and `history.h`): the state of
/// the search is a beam that shrinks, and a list of all final hypotheses with their scores.
fn as_marian(
    model: &TableModel,
    source: &[u32],
    settings: &SearchSettings,
    allowed: &[u32],
) -> Vec<(Vec<u32>, f64)> {
    let LengthPenalty::Power(normalize) = settings.length_penalty else {
        panic!("Marian has one length penalty");
    };
    let width = source.len() as f32;
    let mut beam = vec![(Vec::new(), 0.0)];
    let mut beam_size = settings.beam_size;
    let mut final_hypotheses = Vec::new();
    for n in 1.. {
        let mut all: Vec<(Vec<u32>, f64)> = Vec::new();
        for (tokens, total) in &beam {
            let logits = model.logits(source, tokens);
            let sum: f64 = allowed
                .iter()
                .map(|&id| f64::from(logits[id as usize]).exp())
                .sum();
            all.extend(allowed.iter().filter(|&&id| id >= 2).map(|&id| {
                let log_prob = f64::from(logits[id as usize]) - sum.ln();
                ([&tokens[..], &[id]].concat(), total + log_prob)
            }));
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(beam_size);
        let is_last = n as f32 >= settings.max_length_factor as f32 * width;
        let score =
            |total: f64| (total - settings.word_penalty * n as f64) / (n as f64).powf(normalize);
        let (ended, open): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(tokens, _)| tokens.last() == Some(&2));
        let last = if is_last { &open[..] } else { &[] };
        final_hypotheses.extend(
            ended
                .iter()
                .chain(last)
                .map(|(tokens, total)| (tokens.clone(), score(*total))),
        );
        if is_last || open.is_empty() {
            break;
        }
        beam_size -= ended.len();
        beam = open;
    }
    final_hypotheses.sort_by(|a, b| b.1.total_cmp(&a.1));
    final_hypotheses
}

/// Settings over all of Marian's options of a search.
fn settings(seed: u64) -> SearchSettings {
    let choose = |of: &[f64], by: u64| of[(seed / by) as usize % of.len()];
    let beam = choose(&[1.0, 2.0, 3.0, 6.0], 1) as usize;
    SearchSettings {
        beam_rule: BeamRule::Marian,
        length_penalty: LengthPenalty::Power(choose(&[0.0, 0.6, 1.0, 1.7], 4)),
        word_penalty: choose(&[0.0, 0.4, -0.7], 3),
        max_length_factor: choose(&[1.0, 0.4, 1.1, 2.5, 0.0], 7),
        max_length_extra: 0,
        ..SearchSettings::beam(beam, 0.0)
    }
}

fn check_as_marian(found: &[Hypothesis], expected: &[(Vec<u32>, f64)], case: &str) {
    assert_eq!(found.len(), expected.len(), "{case}");
    for (hypothesis, (tokens, score)) in found.iter().zip(expected) {
        assert_eq!(&hypothesis.tokens, tokens, "{case}");
        assert!((hypothesis.score - score).abs() < 1e-5, "{case}");
        let closed = tokens.last() == Some(&2);
        assert_eq!(
            hypothesis.finish == FinishReason::EndOfSentence,
            closed,
            "{case}"
        );
    }
}

#[test]
fn the_marian_rule_finds_marians_list_in_marians_order_in_any_batch() {
    let all: Vec<u32> = (0..9).collect();
    let mut cut_before_closed = 0;
    let mut lengths = BTreeMap::new();
    for seed in 0..240 {
        let model = TableModel::new(9, seed);
        let settings = settings(seed);
        let requests: Vec<Request> = many()
            .into_iter()
            .filter(|request| !request.source.is_empty())
            .collect();
        let batching = Batching {
            max_sentences: 1 + seed as usize % 9,
            ..Batching::default()
        };
        let found = search(&model, &requests, &settings, &batching).expect("searches");
        for (request, found) in requests.iter().zip(&found) {
            let source = request.source_with_eos(2);
            let expected = as_marian(&model, &source, &settings, &all);
            check_as_marian(found, &expected, &format!("{seed} {source:?}"));
            let is_cut = |hypothesis: &Hypothesis| hypothesis.finish == FinishReason::Limit;
            cut_before_closed += usize::from(!found.is_sorted_by_key(is_cut));
            *lengths.entry(found[0].tokens.len()).or_insert(0) += 1;
        }
    }
    assert!(cut_before_closed > 100, "{cut_before_closed}");
    assert!(lengths.len() > 10, "{lengths:?}");
}

#[test]
fn the_marian_rule_holds_for_shortlists() {
    let list = [0, 2, 3, 5, 7];
    for seed in 0..60 {
        let model = TableModel::new(9, seed);
        let settings = settings(seed);
        let request = Request {
            shortlist: Some(list.to_vec()),
            ..Request::new(SOURCE.to_vec())
        };
        let found = search(&model, &[request], &settings, &Batching::default()).expect("searches");
        let expected = as_marian(&model, &SOURCE, &settings, &list);
        check_as_marian(&found[0], &expected, &seed.to_string());
    }
}

#[test]
fn the_length_limit_of_marian_is_the_first_length_not_below_the_product() {
    let limit = |max_length_factor, source_len| {
        let settings = SearchSettings {
            max_length_factor,
            ..settings(0)
        };
        settings.limit(source_len, None)
    };
    // In float64, 1.1 × 10 is above 11.
    assert_eq!(limit(1.1, 10), 11);
    assert_eq!(limit(1.5, 7), 11);
    assert_eq!(limit(3.0, 7), 21);
    assert_eq!(limit(0.0, 7), 1);
}
