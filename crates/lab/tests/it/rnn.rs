//! The recurrent baseline against PyTorch's GRU in float64 (`tests/reference/README.md`), and its
//! invariance to padding, neighbours and caching.

use crate::of_core::{Tensors, folder, tensors, within};
use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::rnn::{Rnn, RnnConfig};
use burnformer_core::{
    EmbeddingSharing, Mode, Seq2Seq, Seq2SeqConfig, label_smoothed_cross_entropy, named_gradients,
    with_parameters,
};

fn config() -> RnnConfig {
    let json = std::fs::read(folder().join("rnn.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let size = |key: &str| json[key].as_u64().unwrap() as usize;
    RnnConfig {
        d_model: size("d_model"),
        d_hidden: size("d_hidden"),
        d_attention: size("d_attention"),
        dropout: 0.0,
        ..RnnConfig::tiny(size("vocab_size"))
    }
}

fn model(device: &Device) -> Rnn {
    let model = config().init(0, device).unwrap();
    with_parameters(model, tensors("rnn.init.safetensors")).unwrap()
}

fn ids(case: &Tensors, key: &str, device: &Device) -> Tensor<2, Int> {
    Tensor::from_data(case[key].clone(), device)
}

fn scalar(tensor: Tensor<1>) -> f64 {
    f64::from(tensor.into_scalar::<f32>())
}

/// Asserts that `actual` is within 1e-4 of the largest expected number, at the indices where `real`
/// returns true.
fn assert_near(
    name: &str,
    actual: &TensorData,
    expected: &TensorData,
    real: impl Fn(usize) -> bool,
) {
    assert_eq!(actual.shape(), expected.shape(), "{name}");
    let scale = expected.iter::<f64>().fold(1e-6_f64, |m, x| m.max(x.abs()));
    let pairs = actual.iter::<f64>().zip(expected.iter::<f64>()).enumerate();
    for (index, (a, b)) in pairs.filter(|&(index, _)| real(index)) {
        assert!(
            (a - b).abs() <= within(1e-4) * scale,
            "{name} {index}: {a}, not {b}"
        );
    }
}

#[test]
fn logits_attention_losses_and_gradients_match_pytorch() {
    let device = Device::default().autodiff();
    let case = tensors("rnn.case.safetensors");
    let model = model(&device);
    let source = ids(&case, "source", &device);
    let input = ids(&case, "target_input", &device);
    let targets: Vec<i64> = case["target_output"].iter::<i64>().collect();
    let logits = model.forward(source.clone(), input.clone(), Mode::training(0, 0));
    let vocab = config().target_vocab;
    assert_near("logits", &logits.to_data(), &case["logits"], |index| {
        targets[index / vocab] != 0
    });
    let weights = model.attention(source, input).cross[0].to_data();
    let keys = weights.shape()[3];
    assert_near(
        "attention",
        &weights,
        &case["attention.cross"],
        |index: usize| targets[index / keys] != 0,
    );
    let outputs = ids(&case, "target_output", &device);
    let sums = label_smoothed_cross_entropy(logits, outputs, 0, 0.1);
    let tokens = targets.iter().filter(|&&id| id != 0).count() as f64;
    let expected = |key: &str| case[key].iter::<f64>().next().unwrap();
    let smoothed = scalar(sums.smoothed.clone()) / tokens;
    assert!(
        (smoothed - expected("loss_smoothed")).abs() < within(1e-5),
        "{smoothed}"
    );
    assert!((scalar(sums.nll) / tokens - expected("nll")).abs() < within(1e-5));
    let gradients = named_gradients(&model, &(sums.smoothed / tokens).backward());
    assert_eq!(gradients.len(), tensors("rnn.init.safetensors").len());
    for (name, actual) in &gradients {
        assert_near(name, actual, &case[&format!("grad.{name}")], |_| true);
    }
}

#[test]
fn cached_steps_match_the_whole_pass() {
    let device = Device::default();
    let case = tensors("rnn.case.safetensors");
    let model = model(&device);
    let source = ids(&case, "source", &device);
    let target = ids(&case, "target_input", &device);
    let [rows, len] = target.dims();
    let whole = model.forward(source.clone(), target.clone(), Mode::Inference);
    for chunk in [1, 2] {
        let mut cache = model.start(source.clone());
        for start in (0..len).step_by(chunk) {
            let end = (start + chunk).min(len);
            let tokens = target.clone().slice([0..rows, start..end]);
            let step = model.decode_step(tokens, &mut *cache);
            let expected = whole
                .clone()
                .slice([0..rows, end - 1..end])
                .reshape(step.dims());
            let worst: f64 = (step - expected).abs().max().into_scalar();
            assert!(worst < within(1e-5), "{start} {worst}");
        }
    }
}

#[test]
fn padding_and_neighbours_do_not_change_the_output() {
    let device = Device::default();
    let model = model(&device);
    let target = [1, 6, 3];
    let alone = Tensor::<2, Int>::from_ints([[7, 9, 4, 2]], &device);
    let actual = model.forward(alone, Tensor::from_ints([target], &device), Mode::Inference);
    let together = [
        [5, 2, 0, 0, 0, 0, 0],
        [7, 9, 4, 2, 0, 0, 0],
        [3, 4, 5, 6, 7, 8, 2],
    ];
    let together = Tensor::<2, Int>::from_ints(together, &device);
    let targets = Tensor::from_ints([[1, 9, 0], target, [1, 4, 5]], &device);
    let other = model
        .forward(together, targets, Mode::Inference)
        .slice(1..2);
    let worst: f64 = (actual - other).abs().max().into_scalar();
    assert!(worst < within(1e-5), "{worst}");
}

#[test]
fn no_position_sees_a_later_one() {
    let device = Device::default();
    let model = model(&device);
    let source = Tensor::<2, Int>::from_ints([[7, 9, 4, 2]], &device);
    let logits = |target: [i64; 5]| {
        model.forward(
            source.clone(),
            Tensor::from_ints([target], &device),
            Mode::Inference,
        )
    };
    let difference = (logits([1, 6, 3, 8, 9]) - logits([1, 6, 3, 5, 4])).abs();
    let before: f32 = difference.clone().slice([0..1, 0..3]).max().into_scalar();
    let after: f32 = difference.slice([0..1, 3..5]).max().into_scalar();
    assert!(before == 0.0 && after > 0.0, "{before} {after}");
}

#[test]
fn dropout_is_a_function_of_seed_update_and_position() {
    let device = Device::default();
    let model = RnnConfig {
        dropout: 0.3,
        ..RnnConfig::tiny(30)
    }
    .init(0, &device)
    .unwrap();
    let ids = Tensor::<2, Int>::ones([2, 6], &device);
    let run = |mode| model.forward(ids.clone(), ids.clone(), mode);
    let worst = |a: Tensor<3>, b: Tensor<3>| (a - b).abs().max().into_scalar::<f32>();
    let one = run(Mode::training(5, 1));
    assert_eq!(worst(one.clone(), run(Mode::training(5, 1))), 0.0);
    assert!(worst(one.clone(), run(Mode::training(5, 2))) > 0.0);
    assert!(worst(one, run(Mode::Inference)) > 0.0);
}

#[test]
fn the_parameter_count_matches_the_built_model() {
    use burn::module::Module;
    let base = RnnConfig {
        d_hidden: 24,
        d_attention: 20,
        ..RnnConfig::tiny(40)
    };
    let configs = [
        base.clone(),
        RnnConfig {
            sharing: EmbeddingSharing::Target,
            source_vocab: 50,
            ..base.clone()
        },
        RnnConfig {
            sharing: EmbeddingSharing::None,
            target_vocab: 60,
            ..base
        },
    ];
    for config in configs {
        let built = config.init(0, &Device::default()).unwrap().num_params();
        assert_eq!(built, config.parameter_count(), "{config:?}");
    }
}
