//! A translation depends on its sentence alone: not on batch size, order or neighbours.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::common::{NAMES, Reference};
use burnformer_infer::{
    Batching, Hypothesis, NeuralModel, Request, Sampling, SearchSettings, search,
};
use proptest::prelude::*;

static MODELS: LazyLock<Vec<NeuralModel>> = LazyLock::new(|| {
    NAMES
        .iter()
        .map(|name| Reference::load(name).model())
        .collect()
});

fn searches() -> Vec<SearchSettings> {
    let sampling = Sampling {
        seed: 5,
        top_k: 7,
        ..Sampling::default()
    };
    let sampled = SearchSettings {
        n_best: 2,
        sampling: Some(sampling),
        ..SearchSettings::default()
    };
    // Only the best of a beam is compared: the order of its equals may depend on the last bit.
    let beam = SearchSettings {
        n_best: 1,
        ..SearchSettings::beam(4, 0.6)
    };
    vec![SearchSettings::greedy(), beam, sampled]
}

/// A dozen sentences of one to twelve ordinary ids, some of them twice, some empty.
fn sentences() -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(3..24u32, 0..13), 1..13)
}

/// An order of the sentences, cut into groups, each with its own batching.
fn groups() -> impl Strategy<Value = (Vec<usize>, Vec<(usize, usize, usize)>)> {
    let order = Just((0..12).collect::<Vec<usize>>()).prop_shuffle();
    (
        order,
        prop::collection::vec((1..7usize, 1..9usize, 1..60usize), 1..6),
    )
}

fn translate(
    model: &NeuralModel,
    sentences: &[&Vec<u32>],
    settings: &SearchSettings,
    batching: Batching,
) -> Vec<Vec<Hypothesis>> {
    let requests: Vec<Request> = sentences
        .iter()
        .map(|ids| Request::new(ids.to_vec()))
        .collect();
    search(model, &requests, settings, &batching).unwrap()
}

/// The largest difference of two log-probabilities. Padding changes how float32 sums are cut into
/// vectors, so that their last bits differ: the first difference found was 7e-7 in one
/// log-probability.
const TOLERANCE: f64 = 1e-4;

fn agree(actual: &[Hypothesis], expected: &[Hypothesis]) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * (1.0 + b.abs());
    let same = |(actual, expected): (&Hypothesis, &Hypothesis)| {
        let log_probs = actual.log_probs.iter().zip(&expected.log_probs);
        actual.tokens == expected.tokens
            && actual.finish == expected.finish
            && near(actual.score, expected.score)
            && log_probs
                .into_iter()
                .all(|(&a, &b)| near(a.into(), b.into()))
    };
    actual.len() == expected.len() && actual.iter().zip(expected).all(same)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..Default::default() })]

    /// Tokens are equal, log-probabilities and scores to within [`TOLERANCE`].
    #[test]
    fn a_translation_is_the_same_in_every_grouping(
        sentences in sentences(),
        (order, groups) in groups(),
        which in 0..NAMES.len(),
    ) {
        let model = &MODELS[which];
        let alone = Batching { max_sentences: 1, max_tokens: 1 };
        for settings in searches() {
            let mut expected = HashMap::new();
            for sentence in &sentences {
                let actual = translate(model, &[sentence], &settings, alone).remove(0);
                expected.insert(sentence.clone(), actual);
            }
            let mut rest: Vec<&Vec<u32>> =
                order.iter().filter_map(|&index| sentences.get(index)).collect();
            for &(size, max_sentences, max_tokens) in groups.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let group: Vec<&Vec<u32>> = rest.drain(..size.min(rest.len())).collect();
                let batching = Batching { max_sentences, max_tokens };
                let together = translate(model, &group, &settings, batching);
                for (sentence, actual) in group.iter().zip(&together) {
                    let expected = &expected[*sentence];
                    prop_assert!(agree(actual, expected), "{actual:?} is not {expected:?}");
                }
            }
        }
    }
}
