//! The model against numbers of an independent PyTorch program in float64
//! (`tests/reference/README.md`): values, gradients, ten updates, and what padding must not change.

use std::collections::BTreeMap;

use crate::common::case::{Case, NAMES, scalar};
use crate::common::{Tensors, within};
use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{
    Mode, Seq2Seq, Seq2SeqCache, named_gradients, named_parameters, with_parameters,
};

#[test]
fn memory_logits_and_attention_match_the_reference() {
    let device = Device::default();
    for case in NAMES.map(Case::load) {
        let model = case.model(&device);
        let source = case.ids("source", &device);
        let target = case.ids("target_input", &device);
        let memory = model.encode(source.clone(), Mode::Inference);
        let memory = case.distance("memory", memory.states.into_data(), "source", 1);
        assert!(memory < within(1e-4), "{} memory {memory}", case.name);
        let logits = case.logits(&model, &device).into_data();
        let logits = case.distance("logits", logits, "target_output", 1);
        assert!(logits < within(1e-4), "{} logits {logits}", case.name);
        let maps = model.attention(source, target);
        let kinds = [
            ("encoder", "self", "source", &maps.encoder_self),
            ("decoder", "self", "target_output", &maps.decoder_self),
            ("decoder", "cross", "target_output", &maps.cross),
        ];
        for (stack, kind, ids, layers) in kinds {
            for (n, weights) in layers.iter().enumerate() {
                let suffix = format!("{stack}.layers.{n}.{kind}_attention");
                let key = case
                    .case
                    .keys()
                    .find(|k| k.starts_with("attention.") && k.contains(&suffix));
                let key = key.unwrap_or_else(|| panic!("no {suffix} in {:?}", case.case.keys()));
                let distance = case.distance(key, weights.to_data(), ids, 2);
                assert!(distance < within(1e-4), "{} {key} {distance}", case.name);
            }
        }
    }
}

#[test]
fn losses_and_gradients_match_the_reference() {
    let device = Device::default().autodiff();
    for case in NAMES.map(Case::load) {
        let model = case.model(&device);
        let sums = case.loss(&model, &device);
        let smoothed = scalar(&sums.smoothed) / case.tokens();
        let nll = scalar(&sums.nll) / case.tokens();
        assert!(
            (smoothed - case.scalar("loss_smoothed")).abs() < within(1e-5),
            "{}",
            case.name
        );
        assert!(
            (nll - case.scalar("nll")).abs() < within(1e-5),
            "{}",
            case.name
        );
        let gradients = (sums.smoothed / case.tokens()).backward();
        let gradients = named_gradients(&model, &gradients);
        assert_eq!(gradients.len(), case.init.len(), "{}", case.name);
        for (name, actual) in &gradients {
            let expected = case.case[&format!("grad.{name}")].iter::<f64>();
            let worst = actual
                .iter::<f64>()
                .zip(expected)
                .map(|(a, b)| (a - b).abs());
            let worst = worst.fold(0.0, f64::max);
            assert!(worst < within(1e-4), "{} grad.{name} {worst}", case.name);
        }
    }
}

/// Adam as the reference runs it, on plain numbers: lr = 0.1·d^−½·min(t^−½, t·4^−3/2).
#[test]
fn ten_updates_follow_the_reference() {
    let device = Device::default().autodiff();
    for case in NAMES.map(Case::load) {
        let mut model = case.model(&device);
        let mut moments: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let expected: Vec<f64> = case.case["trajectory_loss"].iter::<f64>().collect();
        for (step, expected) in expected.into_iter().enumerate() {
            let loss = case.loss(&model, &device).smoothed / case.tokens();
            let actual = scalar(&loss);
            assert!(
                (actual - expected).abs() < within(1e-4),
                "{} {step}: {actual} {expected}",
                case.name
            );
            let gradients = named_gradients(&model, &loss.backward());
            let values = named_parameters(&model);
            let values = adam(
                values,
                &gradients,
                &mut moments,
                step + 1,
                case.config.d_model,
            );
            model = with_parameters(model, values).unwrap();
        }
    }
}

fn adam(
    values: Tensors,
    gradients: &Tensors,
    moments: &mut BTreeMap<String, Vec<(f64, f64)>>,
    t: usize,
    d_model: usize,
) -> Tensors {
    let t = t as f64;
    let lr = 0.1 * (d_model as f64).powf(-0.5) * t.powf(-0.5).min(t * 4f64.powf(-1.5));
    let step = |(name, value): (String, TensorData)| {
        let moments = moments
            .entry(name.clone())
            .or_insert_with(|| vec![(0.0, 0.0); value.num_elements()]);
        let gradient = gradients[&name].iter::<f64>();
        let next = value.iter::<f64>().zip(gradient).zip(moments);
        let next = next.map(|((x, g), (m, v))| {
            *m = 0.9 * *m + 0.1 * g;
            *v = 0.98 * *v + 0.02 * g * g;
            let (m, v) = (*m / (1.0 - 0.9f64.powf(t)), *v / (1.0 - 0.98f64.powf(t)));
            (x - lr * m / (v.sqrt() + 1e-9)) as f32
        });
        (
            name,
            TensorData::new::<f32, _>(next.collect(), value.shape().to_vec()),
        )
    };
    values.into_iter().map(step).collect()
}

#[test]
fn steps_with_a_cache_equal_the_whole_pass() {
    let device = Device::default();
    for case in NAMES.map(Case::load) {
        let model = case.model(&device);
        let memory = model.encode(case.ids("source", &device), Mode::Inference);
        let target = case.ids("target_input", &device);
        let [rows, len] = target.dims();
        let states = model.decode(target.clone(), &memory, Mode::Inference);
        let whole = model.logits(states);
        for chunk in [1, 2] {
            let mut cache = model.start_decoding(&memory);
            for start in (0..len).step_by(chunk) {
                let end = (start + chunk).min(len);
                let tokens = target.clone().slice([0..rows, start..end]);
                let step = model.decode_step(tokens, &mut cache);
                let expected = whole
                    .clone()
                    .slice([0..rows, end - 1..end])
                    .reshape(step.dims());
                let worst: f64 = (step - expected).abs().max().into_scalar();
                assert!(worst < within(1e-5), "{} {start} {worst}", case.name);
            }
        }
    }
}

#[test]
fn rows_of_a_cache_can_be_reordered_and_sentences_dropped() {
    let device = Device::default();
    let case = Case::load("paper");
    let model = case.model(&device);
    let memory = model.encode(case.ids("source", &device), Mode::Inference);
    let mut cache = model.start_decoding(&memory);
    let sentences = memory.states.dims()[0];
    // Two hypotheses per sentence, the second with another first token.
    let first: Vec<i64> = (0..2 * sentences)
        .map(|row| if row % 2 == 0 { 1 } else { 5 })
        .collect();
    let first = Tensor::<2, Int>::from_data(TensorData::new(first, [2 * sentences, 1]), &device);
    model.decode_step(first, &mut cache);
    // Sentence 1 alone, its hypotheses swapped.
    cache.select_rows(&[3, 2]);
    cache.select_sentences(&[1]);
    let next = Tensor::<2, Int>::from_ints([[7], [8]], &device);
    let logits = model.decode_step(next, &mut cache);
    let source = case.ids("source", &device);
    let alone = model.encode(
        source.clone().slice([1..2, 0..source.dims()[1]]),
        Mode::Inference,
    );
    for (row, target) in [[5, 7], [1, 8]].into_iter().enumerate() {
        let mut cache = model.start_decoding(&alone);
        let expected = model.decode_step(Tensor::from_ints([target], &device), &mut cache);
        let actual = logits.clone().slice([row..row + 1, 0..24]);
        let worst: f64 = (actual - expected).abs().max().into_scalar();
        assert!(worst < within(1e-5), "{row} {worst}");
    }
}

#[test]
fn padded_keys_do_not_change_the_output() {
    let device = Device::default();
    for case in NAMES.map(Case::load) {
        let model = case.model(&device);
        let short = Tensor::<2, Int>::from_ints([[7, 9, 4, 2]], &device);
        let padded = Tensor::<2, Int>::from_ints([[7, 9, 4, 2, 0, 0, 0]], &device);
        let target = Tensor::<2, Int>::from_ints([[1, 6, 3]], &device);
        let actual = model.forward(short, target.clone(), Mode::Inference);
        let other = model.forward(padded, target, Mode::Inference);
        let worst: f64 = (actual - other).abs().max().into_scalar();
        assert!(worst < within(1e-5), "{} {worst}", case.name);
    }
}

#[test]
fn no_position_sees_a_later_one() {
    let device = Device::default();
    for case in NAMES.map(Case::load) {
        let model = case.model(&device);
        let source = Tensor::<2, Int>::from_ints([[7, 9, 4, 2]], &device);
        let logits = |target: [i64; 5]| {
            let target = Tensor::<2, Int>::from_ints([target], &device);
            model.forward(source.clone(), target, Mode::Inference)
        };
        let difference = (logits([1, 6, 3, 8, 9]) - logits([1, 6, 3, 5, 4])).abs();
        let before: f32 = difference.clone().slice([0..1, 0..3]).max().into_scalar();
        let after: f32 = difference.slice([0..1, 3..5]).max().into_scalar();
        assert!(
            before == 0.0 && after > 0.0,
            "{} {before} {after}",
            case.name
        );
    }
}
