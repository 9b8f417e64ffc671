//! Sampled translations.

use super::*;

#[test]
fn samples_are_a_function_of_seed_source_and_number() {
    let model = TableModel::new(50, 2);
    let settings = |seed| SearchSettings {
        sampling: Some(Sampling {
            seed,
            ..Sampling::default()
        }),
        n_best: 4,
        ..SearchSettings::default()
    };
    let first = run(&model, &settings(1));
    assert_eq!(run(&model, &settings(1)), first);
    assert_ne!(run(&model, &settings(2)), first);
    assert!(
        first
            .windows(2)
            .all(|pair| pair[0].tokens != pair[1].tokens)
    );
    let keyed = |key| Request {
        key: Some(key),
        ..Request::new(SOURCE.to_vec())
    };
    let requests = [keyed(1), keyed(2), keyed(1)];
    let found = search(&model, &requests, &settings(1), &Batching::default()).expect("searches");
    assert_eq!(found[0], found[2]);
    assert_ne!(found[0], found[1]);
}

#[test]
fn sampled_tokens_are_among_the_top_k() {
    let model = TableModel::new(30, 4);
    let sampling = Some(Sampling {
        top_k: 3,
        temperature: 2.0,
        ..Sampling::default()
    });
    let settings = SearchSettings {
        sampling,
        n_best: 16,
        ..SearchSettings::default()
    };
    for hypothesis in run(&model, &settings) {
        for (index, &token) in hypothesis.tokens.iter().enumerate() {
            let mut logits = model.logits(&SOURCE, &hypothesis.tokens[..index]);
            logits[..2].fill(f32::NEG_INFINITY);
            let better = logits
                .iter()
                .filter(|&&x| x > logits[token as usize])
                .count();
            assert!(better < 3, "token {token} has rank {better}");
        }
    }
}
