use super::*;
use crate::model::table::TableModel;
use crate::{
    AtLimit, BeamRule, Ensemble, FinishReason, InferError, LengthPenalty, Sampling, SpecialIds,
};

const SOURCE: [u32; 3] = [4, 3, 2];

fn run(model: &dyn StepModel, settings: &SearchSettings) -> Vec<Hypothesis> {
    let requests = [Request::new(SOURCE.to_vec())];
    search(model, &requests, settings, &Batching::default()).expect("searches").remove(0)
}

/// Requests of many lengths, a few of them empty or alike.
fn many() -> Vec<Request> {
    let source = |i: u32| (0..i * 7 % 11).map(|j| 3 + (i / 2 * 5 + j * j) % 5).collect();
    (0..40).map(|i| Request::new(source(i))).collect()
}

/// Every closed sequence of at most `limit` tokens with its log-probability.
fn enumerate(model: &TableModel, limit: usize) -> Vec<(Vec<u32>, f64)> {
    let mut open = vec![Vec::new()];
    let mut closed = Vec::new();
    for _ in 0..limit {
        let next = |id| move |tokens: &Vec<u32>| [&tokens[..], &[id]].concat();
        closed.extend(open.iter().map(next(2)));
        open = (3..model.vocab as u32)
            .flat_map(|id| open.iter().map(next(id)).collect::<Vec<_>>())
            .collect();
    }
    let scored = |tokens: Vec<u32>| {
        let total = model.log_probs(&SOURCE, &tokens).iter().sum();
        (tokens, total)
    };
    closed.into_iter().map(scored).collect()
}

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
            let found =
                search(&model, std::slice::from_ref(request), &settings, &Batching::default());
            for own in &found.expect("searches")[0] {
                let ended = usize::from(own.finish == FinishReason::EndOfSentence);
                assert!(own.tokens.len() - ended >= 6 && own.tokens.len() <= 12);
                let mut bigrams: Vec<&[u32]> = own.tokens.windows(2).collect();
                bigrams.sort();
                assert!(bigrams.is_sorted_by(|a, b| a < b), "{:?}", own.tokens);
            }
        }
    }
}

#[test]
fn a_forced_prefix_begins_every_hypothesis_and_counts() {
    let model = TableModel::new(12, 9);
    for sampling in [None, Some(Sampling::default())] {
        let settings = SearchSettings { sampling, ..SearchSettings::beam(4, 0.6) };
        let request =
            |prefix: &[u32]| Request { prefix: prefix.to_vec(), ..Request::new(SOURCE.to_vec()) };
        let requests = [request(&[7, 7, 5]), request(&[]), request(&[11])];
        let found = search(&model, &requests, &settings, &Batching::default()).expect("searches");
        for (request, found) in requests.iter().zip(&found) {
            assert_eq!(found.len(), 4);
            for own in found {
                assert!(own.tokens.starts_with(&request.prefix));
                let total: f64 = model.log_probs(&SOURCE, &own.tokens).iter().sum();
                let score = total / settings.length_penalty.divisor(own.tokens.len());
                assert!((own.score - score).abs() < 1e-5);
            }
        }
    }
}

#[test]
fn constraints_that_forbid_all_end_the_search() {
    let settings = SearchSettings { suppress: vec![2, 3, 4, 5], ..SearchSettings::beam(2, 0.6) };
    let request = Request { prefix: vec![3], ..Request::new(SOURCE.to_vec()) };
    let model = TableModel::new(6, 1);
    let found = search(&model, &[request], &settings, &Batching::default()).expect("searches");
    assert_eq!(found[0].len(), 1);
    assert_eq!((&found[0][0].tokens[..], found[0][0].finish), (&[3][..], FinishReason::Limit));
}

#[test]
fn a_beam_that_cannot_finish_returns_what_lives() {
    let settings =
        SearchSettings { suppress: vec![2], max_length: Some(3), ..SearchSettings::beam(4, 0.6) };
    let found = run(&TableModel::new(20, 1), &settings);
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|h| h.tokens.len() == 3 && h.finish == FinishReason::Limit));
    assert!(found.is_sorted_by(|a, b| a.score >= b.score));
}

fn beam_of(beam_size: usize) -> SearchSettings {
    SearchSettings::beam(beam_size, 0.6)
}

#[test]
fn a_beam_that_the_limit_cuts_returns_as_many_as_were_asked_for() {
    let mut mixed = 0;
    for seed in 0..20 {
        let pair = || vec![seed, seed + 100].into_iter().map(|seed| TableModel::new(30, seed));
        let ensemble = Ensemble::new(pair().map(|model| Box::new(model) as _).collect());
        let models: [&dyn StepModel; 2] = [&TableModel::new(30, seed), &ensemble.expect("fits")];
        for (model, limit) in
            models.into_iter().flat_map(|model| [(model, 1), (model, 2), (model, 5)])
        {
            let settings = SearchSettings { max_length: Some(limit), ..beam_of(10) };
            let found = run(model, &settings);
            assert_eq!(found.len(), 10, "{seed} {limit}");
            let (closed, cut): (Vec<_>, Vec<_>) =
                found.iter().partition(|own| own.finish == FinishReason::EndOfSentence);
            mixed += usize::from(!closed.is_empty() && !cut.is_empty());
            assert!(
                found.iter().take(closed.len()).eq(closed.iter().copied()),
                "the closed come first"
            );
            assert!(closed.iter().all(|own| own.tokens.last() == Some(&2)));
            assert!(cut.iter().all(|own| own.tokens.len() == limit && !own.tokens.contains(&2)));
            for part in [closed, cut] {
                assert!(part.is_sorted_by(|a, b| a.score >= b.score && a.tokens != b.tokens));
            }
            let best = run(model, &SearchSettings { n_best: 1, ..settings });
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
        let next =
            [3, 4].into_iter().filter(|&id| !tokens.windows(2).any(|pair| pair == [last, id]));
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
fn hypotheses_that_nothing_may_follow_are_returned_as_cut() {
    let ends = longest_without_a_repeated_pair();
    let model = TableModel::new(5, 3);
    let suppress = vec![2];
    for sampling in [None, Some(Sampling { temperature: 3.0, ..Sampling::default() })] {
        let samples = sampling.is_some();
        let settings = SearchSettings {
            sampling,
            suppress: suppress.clone(),
            no_repeat_ngram: 2,
            ..beam_of(400)
        };
        let found = run(&model, &settings);
        assert!(found.iter().all(|own| own.finish == FinishReason::Limit));
        let mut tokens: Vec<Vec<u32>> = found.into_iter().map(|own| own.tokens).collect();
        if samples {
            assert_eq!(tokens.len(), 400);
        }
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens, ends, "of different lengths: some end while others grow");
    }
}

#[test]
fn samples_are_a_function_of_seed_source_and_number() {
    let model = TableModel::new(50, 2);
    let settings = |seed| SearchSettings {
        sampling: Some(Sampling { seed, ..Sampling::default() }),
        n_best: 4,
        ..SearchSettings::default()
    };
    let first = run(&model, &settings(1));
    assert_eq!(run(&model, &settings(1)), first);
    assert_ne!(run(&model, &settings(2)), first);
    assert!(first.windows(2).all(|pair| pair[0].tokens != pair[1].tokens));
    let keyed = |key| Request { key: Some(key), ..Request::new(SOURCE.to_vec()) };
    let requests = [keyed(1), keyed(2), keyed(1)];
    let found = search(&model, &requests, &settings(1), &Batching::default()).expect("searches");
    assert_eq!(found[0], found[2]);
    assert_ne!(found[0], found[1]);
}

#[test]
fn sampled_tokens_are_among_the_top_k() {
    let model = TableModel::new(30, 4);
    let sampling = Some(Sampling { top_k: 3, temperature: 2.0, ..Sampling::default() });
    let settings = SearchSettings { sampling, n_best: 16, ..SearchSettings::default() };
    for own in run(&model, &settings) {
        for (place, &token) in own.tokens.iter().enumerate() {
            let mut logits = model.logits(&SOURCE, &own.tokens[..place]);
            logits[..2].fill(f32::NEG_INFINITY);
            let better = logits.iter().filter(|&&x| x > logits[token as usize]).count();
            assert!(better < 3, "token {token} has rank {better}");
        }
    }
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
            SpecialIds { pad: 0, bos: 1, eos: 2 }
        }
        fn start(&self, _: &[&[u32]]) -> Box<dyn crate::Decoding + '_> {
            panic!("the model was run")
        }
    }
    let requests = [Request::new(vec![]), Request::new(vec![2])];
    let found = search(&Untouchable, &requests, &SearchSettings::default(), &Batching::default());
    assert_eq!(found.expect("searches"), vec![vec![Hypothesis::empty()]; 2]);
    let settings = SearchSettings { n_best: 3, sampling: Some(Sampling::default()), ..beam_of(1) };
    let found = search(&Untouchable, &requests, &settings, &Batching::default());
    assert_eq!(found.expect("searches"), vec![vec![Hypothesis::empty(); 3]; 2]);
}

#[test]
fn an_empty_source_is_translated_by_its_prefix() {
    let model = TableModel::new(12, 9);
    let prefix = [7, 7, 5];
    let request =
        |source: &[u32]| Request { prefix: prefix.to_vec(), ..Request::new(source.into()) };
    for sampling in [None, Some(Sampling::default())] {
        // Neither constraint concerns a prefix or the end that follows it.
        let settings = SearchSettings { sampling, min_length: 9, no_repeat_ngram: 1, ..beam_of(4) };
        let requests = [request(&[]), Request::new(SOURCE.to_vec()), request(&[2])];
        let found = search(&model, &requests, &settings, &Batching::default()).expect("searches");
        for own in [&found[0], &found[2]].into_iter().flatten() {
            assert_eq!((&own.tokens[..3], own.tokens[3..].to_vec()), (&prefix[..], vec![2]));
            assert_eq!(own.finish, FinishReason::EndOfSentence);
            let total: f64 = model.log_probs(&[2], &own.tokens).iter().sum();
            assert!((own.score - total / settings.length_penalty.divisor(4)).abs() < 1e-5);
        }
        assert_eq!(found[0].len(), if settings.sampling.is_some() { 4 } else { 1 });
    }
}

#[test]
fn a_prefix_that_fills_the_limit_is_the_translation() {
    let model = TableModel::new(12, 9);
    for sampling in [None, Some(Sampling::default())] {
        let settings = SearchSettings { sampling, max_length: Some(3), ..beam_of(2) };
        for source in [&SOURCE[..], &[]] {
            let request = Request { prefix: vec![7, 7, 5], ..Request::new(source.to_vec()) };
            let found = search(&model, &[request], &settings, &Batching::default());
            let best = &found.expect("searches")[0][0];
            assert_eq!((&best.tokens[..], best.finish), (&[7, 7, 5][..], FinishReason::Limit));
        }
    }
}

fn refused(requests: &[Request], settings: &SearchSettings) -> InferError {
    let model = TableModel { positions: Some(8), ..TableModel::new(6, 1) };
    search(&model, requests, settings, &Batching::default()).unwrap_err()
}

#[test]
fn bad_requests_are_refused_by_sentence() {
    let good = Request::new(SOURCE.to_vec());
    let settings = SearchSettings::default();
    let second = |request| refused(&[good.clone(), request], &settings);
    let with_prefix = |prefix: &[u32]| Request { prefix: prefix.to_vec(), ..good.clone() };
    assert!(matches!(
        second(Request::new(vec![3, 6])),
        InferError::UnknownId { sentence: 2, side: "source", id: 6, vocab: 6 }
    ));
    assert!(matches!(
        second(with_prefix(&[9])),
        InferError::UnknownId { sentence: 2, side: "target", id: 9, vocab: 6 }
    ));
    assert!(matches!(
        second(Request::new(vec![3; 8])),
        InferError::SourceTooLong { sentence: 2, length: 9, limit: 8 }
    ));
    assert!(matches!(
        second(with_prefix(&[3; 8])),
        InferError::PrefixTooLong { sentence: 2, length: 8, limit: 7 }
    ));
    assert!(matches!(second(with_prefix(&[3, 2])), InferError::PrefixToken { sentence: 2, id: 2 }));
    let suppress = SearchSettings { suppress: vec![6], ..settings.clone() };
    assert!(matches!(refused(&[], &suppress), InferError::Setting { name: "suppress", .. }));
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
            SpecialIds { pad: 0, bos: 1, eos: 2 }
        }
        fn start(&self, _: &[&[u32]]) -> Box<dyn crate::Decoding + '_> {
            Box::new(Self)
        }
    }
    let requests = [Request::new(vec![]), Request::new(SOURCE.to_vec())];
    let error = search(&Broken, &requests, &SearchSettings::default(), &Batching::default());
    assert!(matches!(error, Err(InferError::NotFinite { sentence: 2, step: 0 })));
}

/// Beam search of transformers 5.23 (`GenerationMixin._beam_search`), written down step by step.
fn as_transformers(model: &TableModel, k: usize, alpha: f64, limit: usize) -> Vec<(Vec<u32>, f64)> {
    let (mut running, mut finished) = (vec![(Vec::new(), 0.0)], Vec::new());
    for n in 1..=limit {
        let log_prob = |tokens: &Vec<u32>, id: u32| {
            *model.log_probs(&SOURCE, &[&tokens[..], &[id]].concat()).last().expect("a token")
        };
        let mut all: Vec<(Vec<u32>, f64)> = Vec::new();
        for (tokens, total) in &running {
            let next = |id| ([&tokens[..], &[id]].concat(), total + log_prob(tokens, id));
            all.extend((2..model.vocab as u32).map(next));
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(2 * k);
        let ends = |tokens: &[u32]| tokens.last() == Some(&2) || n == limit;
        let score =
            |(tokens, total): &(Vec<u32>, f64)| (tokens.clone(), total / (n as f64).powf(alpha));
        finished.extend(all[..k].iter().filter(|(tokens, _)| ends(tokens)).map(score));
        finished.sort_by(|a, b| b.1.total_cmp(&a.1));
        finished.truncate(k);
        running = all.into_iter().filter(|(tokens, _)| !ends(tokens)).take(k).collect();
        let settled = |best: f64| finished.len() == k && best <= finished[k - 1].1;
        if running.first().is_none_or(|best| settled(best.1 / (n as f64).powf(alpha))) {
            break;
        }
    }
    finished
}

#[test]
fn the_rule_of_transformers_closes_and_stops_as_transformers_does() {
    for seed in 0..60 {
        let (model, alpha, k) = (TableModel::new(7, seed), f64::from(seed as u32 % 3) / 2.0, 3);
        let settings = SearchSettings {
            length_penalty: LengthPenalty::Power(alpha),
            beam_rule: BeamRule::Transformers,
            max_length: Some(6),
            ..SearchSettings::beam(k, 0.0)
        };
        let expected = as_transformers(&model, k, alpha, 6);
        let found = run(&model, &settings);
        assert_eq!(found.len(), expected.len());
        for (own, (tokens, score)) in found.iter().zip(&expected) {
            assert_eq!((&own.tokens, seed), (tokens, seed));
            assert!((own.score - score).abs() < 1e-5, "{seed}");
        }
    }
}

#[test]
fn the_last_token_that_the_limit_allows_closes_for_nothing() {
    let free = SearchSettings { max_length: Some(4), ..SearchSettings::beam(4, 0.6) };
    let closing = SearchSettings { at_limit: AtLimit::Close, ..free };
    for seed in 0..20 {
        let found = run(&TableModel::new(9, seed), &closing);
        assert!(found.iter().all(|own| own.tokens.last() == Some(&2)), "{seed}");
        let last = found.iter().filter(|own| own.tokens.len() == 4);
        assert!(last.clone().all(|own| own.log_probs[3] == 0.0), "{seed}");
        assert!(found.iter().all(|own| own.finish == FinishReason::EndOfSentence));
    }
}
