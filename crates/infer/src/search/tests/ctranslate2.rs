//! The rule of CTranslate2, beside CTranslate2's search written down step by step.

use std::collections::BTreeSet;

use super::*;

/// The search of CTranslate2 4.8.1 (`BeamSearch::search` and the processors of logits in
/// `src/decoding.cc` and `src/decoding_utils.cc`): a step takes the best 2k candidates, of which
/// the first k may end and the others take their places.
fn as_ctranslate2(
    model: &TableModel,
    prefix: &[u32],
    settings: &SearchSettings,
) -> Vec<(Vec<u32>, f64)> {
    let k = settings.beam_size;
    let LengthPenalty::Power(alpha) = settings.length_penalty else {
        panic!("CTranslate2 has one length penalty");
    };
    let forced = if settings.prefix_bias > 0.0 {
        &[]
    } else {
        prefix
    };
    let limit = settings.max_length.expect("a limit");
    let mut alive = vec![(Vec::new(), 0.0)];
    let mut results: Vec<(Vec<u32>, f64)> = Vec::new();
    let mut top_finished = false;
    for step in 0..limit {
        let mut candidates: Vec<(Vec<u32>, f64)> = Vec::new();
        for (tokens, total) in &alive {
            for (id, log_prob) in distribution(model, tokens, prefix, settings) {
                candidates.push(([&tokens[..], &[id]].concat(), total + log_prob));
            }
        }
        candidates.sort_by(|a, b| b.1.total_cmp(&a.1));
        candidates.truncate(2 * k);
        if let Some(&next) = forced.get(step) {
            let (tokens, total) = &alive[0];
            candidates = vec![([&tokens[..], &[next]].concat(), *total)];
        }
        let is_eos = |tokens: &[u32]| tokens.last() == Some(&2);
        let is_last = step + 1 == limit;
        let mut next_alive = Vec::new();
        let mut others = candidates.iter().skip(k).filter(|other| !is_eos(&other.0));
        for (slot, (tokens, total)) in candidates.iter().take(k).enumerate() {
            // `</s>` of a secondary candidate after a forced prefix is replaced by nothing.
            if !forced.is_empty() && step == forced.len() && slot > 0 && is_eos(tokens) {
                continue;
            }
            if is_eos(tokens) && step >= forced.len() || is_last {
                top_finished |= slot == 0;
                let score = total / (tokens.len() as f64).powf(alpha);
                results.push((tokens.clone(), score));
                next_alive.extend(others.next().cloned());
            } else {
                next_alive.push((tokens.clone(), *total));
            }
        }
        let is_finished = if alpha == 0.0 {
            top_finished && results.len() >= settings.n_best
        } else {
            results.len() >= (k as f64 * settings.patience).round() as usize
        };
        if is_last || is_finished {
            break;
        }
        alive = next_alive;
    }
    results.sort_by(|a, b| b.1.total_cmp(&a.1));
    results.truncate(settings.n_best);
    results
}

/// The log-probabilities of the tokens that may follow `tokens`.
fn distribution(
    model: &TableModel,
    tokens: &[u32],
    prefix: &[u32],
    settings: &SearchSettings,
) -> Vec<(u32, f64)> {
    let mut logits: Vec<f64> = model
        .logits(&SOURCE, tokens)
        .into_iter()
        .map(f64::from)
        .collect();
    for id in tokens.iter().collect::<BTreeSet<_>>() {
        let logit = &mut logits[*id as usize];
        *logit = if *logit < 0.0 {
            *logit * settings.repetition_penalty
        } else {
            *logit / settings.repetition_penalty
        };
    }
    // Padding and `<s>` are never generated here.
    let mut banned = vec![0, 1];
    if tokens.len() < settings.min_length {
        banned.push(2);
    }
    let grams = tokens.windows(settings.no_repeat_ngram.max(1));
    for gram in grams.filter(|_| settings.no_repeat_ngram > 0) {
        let (last, before) = gram.split_last().expect("a gram");
        if tokens.ends_with(before) {
            banned.push(*last);
        }
    }
    for sequence in &settings.suppress_sequences {
        let (last, before) = sequence.split_last().expect("a sequence");
        if tokens.ends_with(before) {
            banned.push(*last);
        }
    }
    banned
        .iter()
        .for_each(|&id| logits[id as usize] = f64::NEG_INFINITY);
    let sum: f64 = logits.iter().map(|logit| logit.exp()).sum();
    let mut all: Vec<(u32, f64)> = (0..)
        .zip(logits)
        .map(|(id, logit)| (id, logit.exp() / sum))
        .collect();
    let beta = settings.prefix_bias;
    if let Some(&next) = prefix.get(tokens.len())
        && beta > 0.0
        && prefix.starts_with(tokens)
    {
        for (id, probability) in &mut all {
            let certain = if *id == next { beta } else { 0.0 };
            *probability = (1.0 - beta) * *probability + certain;
        }
    }
    let possible = all
        .into_iter()
        .filter(|(_, probability)| *probability > 0.0);
    possible
        .map(|(id, probability)| (id, probability.ln()))
        .collect()
}

/// Settings over the options of CTranslate2's search.
fn cases() -> Vec<(Vec<u32>, SearchSettings)> {
    let mut all = Vec::new();
    for seed in 0..240 {
        let of = |values: &[f64], shift: usize| values[(seed >> shift) % values.len()];
        let beam_size = 1 + seed % 4;
        let patience = of(&[1.0, 2.0, 1.0, 0.7], 2);
        // CTranslate2 refuses more hypotheses.
        let most = (beam_size as f64 * patience).round() as usize;
        let min_length = 1 + seed / 7 % 4;
        let settings = SearchSettings {
            beam_rule: BeamRule::Ctranslate2,
            beam_size,
            n_best: (1 + seed / 4 % beam_size).min(most),
            length_penalty: LengthPenalty::Power(of(&[1.0, 0.0, 0.4], 1)),
            patience,
            repetition_penalty: of(&[1.0, 1.5, 1.0], 3),
            no_repeat_ngram: [0, 2, 0][seed / 5 % 3],
            min_length,
            max_length: Some((3 + seed / 9 % 6).max(min_length)),
            suppress_sequences: [vec![], vec![vec![5], vec![3, 4]]][seed / 11 % 2].clone(),
            prefix_bias: of(&[0.0, 0.3, 0.9], 1),
            ..SearchSettings::default()
        };
        let prefix = [vec![], vec![4], vec![6, 3]][seed / 3 % 3].clone();
        all.push((prefix, settings));
    }
    all
}

#[test]
fn the_search_is_that_of_ctranslate2() {
    let mut lengths = BTreeSet::new();
    for (seed, (prefix, settings)) in (0..).zip(cases()) {
        let model = TableModel::new(8, seed);
        let request = Request {
            prefix: prefix.clone(),
            ..Request::new(SOURCE.to_vec())
        };
        let found = search(&model, &[request], &settings, &Batching::default());
        let found = found.expect("searches").remove(0);
        let expected = as_ctranslate2(&model, &prefix, &settings);
        let tokens: Vec<_> = found.iter().map(|it| &it.tokens).collect();
        let theirs: Vec<_> = expected.iter().map(|(tokens, _)| tokens).collect();
        assert_eq!(tokens, theirs, "{seed} {prefix:?} {settings:?}");
        for (ours, (_, theirs)) in found.iter().zip(&expected) {
            assert!(
                (ours.score - theirs).abs() < 1e-5,
                "{seed} {ours:?} {theirs}"
            );
        }
        lengths.extend(tokens.iter().map(|tokens| tokens.len()));
    }
    assert!(lengths.len() > 4, "{lengths:?}");
}
