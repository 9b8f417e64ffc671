//! Search over real models: what caching, batching and ensembles must not change.

use crate::common::{NAMES, Reference};
use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{ComputeType, Mode};
use burnformer_infer::{
    Batching, Ensemble, NeuralModel, Request, Sampling, SearchSettings, StepModel, search,
};

const TARGET: [u32; 9] = [14, 6, 12, 22, 9, 3, 7, 23, 13];

fn tensor(ids: &[u32]) -> Tensor<2, Int> {
    let values: Vec<i64> = ids.iter().map(|&id| i64::from(id)).collect();
    Tensor::from_data(TensorData::new(values, [1, ids.len()]), &Device::default())
}

#[test]
fn cached_steps_give_the_logits_of_the_whole_pass() {
    for reference in NAMES.map(Reference::load) {
        let (config, model) = reference.fitted();
        let source = reference.requests()[3].source.clone();
        let input = [&[1], &TARGET[..]].concat();
        let whole = model.forward(tensor(&source), tensor(&input), Mode::Inference);
        let whole: Vec<f32> = whole.into_data().iter::<f32>().collect();
        let vocab = config.tokens().target_vocab;
        let wrapped = NeuralModel::new(config, model, &Device::default());
        let mut decoding = wrapped.start(&[&source]);
        for (&token, expected) in input.iter().zip(whole.chunks_exact(vocab)) {
            let actual = decoding.step(&[token]);
            let worst = actual
                .iter()
                .zip(expected)
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f32::max);
            assert!(worst < 1e-5, "{} {worst}", reference.name);
        }
    }
}

#[test]
fn reordered_rows_continue_unchanged() {
    for reference in NAMES.map(Reference::load) {
        continue_reordered(&reference.model());
    }
}

fn continue_reordered(model: &NeuralModel) {
    let sources = [&[5u32, 6, 7, 2][..], &[9, 8, 2], &[11, 2]];
    let mut together = model.start(&sources);
    together.step(&[1, 1, 1]);
    together.reorder(&[0, 0, 2, 2], Some(&[0, 2]));
    together.step(&[5, 6, 7, 8]);
    together.reorder(&[1, 0, 2, 3], None);
    let logits = together.step(&[9, 10, 11, 12]);
    let rows = [
        (0, [1, 6, 9]),
        (0, [1, 5, 10]),
        (2, [1, 7, 11]),
        (2, [1, 8, 12]),
    ];
    for ((source, tokens), actual) in rows.into_iter().zip(logits.chunks_exact(24)) {
        let mut alone = model.start(&[sources[source]]);
        let [_, _, expected] = tokens.map(|token| alone.step(&[token]));
        let worst = actual
            .iter()
            .zip(&expected)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(worst < 1e-5, "{worst}");
    }
}

/// Sources of 0 to 12 tokens.
fn requests() -> Vec<Request> {
    let source = |i: u32| {
        (0..i * 5 % 13)
            .map(|j| 3 + (i * 7 + j * (i + 3)) % 21)
            .collect()
    };
    (0..24).map(|i| Request::new(source(i))).collect()
}

#[test]
fn neighbours_order_and_batch_size_change_no_translation() {
    let sampling = Some(Sampling {
        top_p: 0.9,
        ..Sampling::default()
    });
    let sample = SearchSettings {
        sampling,
        n_best: 2,
        ..SearchSettings::default()
    };
    for (reference, compute) in NAMES
        .iter()
        .flat_map(|name| ComputeType::ALL.map(|c| (name, c)))
    {
        let reference = Reference::load(reference);
        let model = reference.model_in(compute);
        for settings in [
            SearchSettings::greedy(),
            SearchSettings::beam(4, 0.6),
            sample.clone(),
        ] {
            let run = |requests: &[Request], max_sentences, max_tokens| {
                let batching = Batching {
                    max_sentences,
                    max_tokens,
                };
                search(&model, requests, &settings, &batching).unwrap()
            };
            let expected = run(&requests(), 1, 1);
            for (n, max_sentences, max_tokens) in [(5, 64, 4096), (7, 5, 4096), (11, 64, 40)] {
                // Multiplying places by a number prime to 24 shuffles them.
                let index = |i: usize| i * n % 24;
                let shuffled: Vec<Request> =
                    (0..24).map(|i| requests()[index(i)].clone()).collect();
                for (i, actual) in run(&shuffled, max_sentences, max_tokens).iter().enumerate() {
                    assert_eq!(actual.len(), expected[index(i)].len());
                    for (actual, expected) in actual.iter().zip(&expected[index(i)]) {
                        assert_eq!(
                            actual.tokens, expected.tokens,
                            "{} {compute:?}",
                            reference.name
                        );
                        let near = (actual.score - expected.score).abs() < 1e-5;
                        assert!(near, "{} {compute:?}", reference.name);
                    }
                }
            }
        }
    }
}

#[test]
fn an_ensemble_of_different_models_searches_and_forces_alike() {
    let members = ["paper", "learned_dk", "window", NAMES[NAMES.len() - 1]]
        .map(|name| Box::new(Reference::load(name).model()) as Box<dyn StepModel>);
    let ensemble = Ensemble::new(members.into_iter().collect()).unwrap();
    assert_eq!(ensemble.max_positions(), Some(32));
    let requests = Reference::load("paper").requests();
    let settings = SearchSettings::beam(4, 0.6);
    let found = search(&ensemble, &requests, &settings, &Batching::default()).unwrap();
    let sources: Vec<&[u32]> = requests.iter().map(|r| &r.source[..]).collect();
    let targets: Vec<&[u32]> = found.iter().map(|h| &h[0].tokens[..]).collect();
    for (forced, found) in ensemble
        .target_log_probs(&sources, &targets)
        .iter()
        .zip(&found)
    {
        let pairs = forced.iter().zip(&found[0].log_probs);
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
    }
    // All four learned to reverse.
    assert_eq!(found[0][0].tokens, [14, 6, 12, 2]);
}

/// Fewer bits round every product a little; what the fitted models learned, to reverse a sequence,
/// they still do.
#[test]
fn fewer_bits_barely_change_log_probabilities() {
    for reference in NAMES.map(Reference::load) {
        let requests = reference.requests();
        let sources: Vec<&[u32]> = requests.iter().map(|r| &r.source[..]).collect();
        let settings = SearchSettings::beam(4, 0.6);
        let model = reference.model();
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        let targets: Vec<&[u32]> = found.iter().map(|h| &h[0].tokens[..]).collect();
        let exact = model.target_log_probs(&sources, &targets);
        for (compute, bound) in [(ComputeType::Int8, 0.3), (ComputeType::BFloat16, 0.1)] {
            let rounded = reference
                .model_in(compute)
                .target_log_probs(&sources, &targets);
            let differences = exact.iter().flatten().zip(rounded.iter().flatten());
            let worst = differences.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let name = reference.name;
            assert!(worst < bound, "{name} {compute:?} {worst}");
            assert!(
                worst > 0.0 || name == "rnn",
                "{name} {compute:?} computed in float32"
            );
        }
    }
}
