//! 200 updates of a model in float32 beside the same updates in float64 by an independent program
//! (`tests/reference/updates.py`).

use std::path::Path;

use burn::tensor::{Device, TensorData};
use burnformer_core::model_dir::read_tensors;
use burnformer_core::{
    Activation, EmbeddingSharing, Model, NormPosition, Seq2SeqConfig, StateDict, TransformerConfig,
    named_parameters, with_parameters,
};
use burnformer_data::Batch;
use burnformer_train::{Optimizer, OptimizerSettings, Recipe, Replicas, Updater, noam};

const UPDATES: u64 = 200;
const SENTENCES: u64 = 8;
const FACTOR: f64 = 0.3;
const WARMUP: u64 = 50;

fn tensors(name: &str) -> StateDict {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/reference")
        .join(name);
    read_tensors(&path, &std::fs::read(&path).unwrap()).unwrap()
}

/// The models `paper` and `pre_gelu_untied` of the reference.
fn config(name: &str) -> TransformerConfig {
    let paper = TransformerConfig {
        d_ff: 32,
        encoder_layers: 2,
        decoder_layers: 2,
        dropout: 0.0,
        ..TransformerConfig::base(24).with_width(16, 4)
    };
    match name {
        "paper" => paper,
        _ => TransformerConfig {
            norm: NormPosition::Pre,
            activation: Activation::Gelu,
            sharing: EmbeddingSharing::None,
            ..paper
        },
    }
}

/// Update `t` as `updates.py` makes it: words, and the same backwards as their translation.
fn batch(t: u64) -> Batch {
    let pairs = (0..SENTENCES).map(|b| {
        let word = |j| 3 + ((t * t + 5 * b * b + 3 * t * b + 7 * j * j + t * j) % 21) as u32;
        let words: Vec<u32> = (0..1 + (t + b) % 7).map(word).collect();
        let reversed: Vec<u32> = words.iter().rev().copied().collect();
        (words, reversed)
    });
    let pairs: Vec<(Vec<u32>, Vec<u32>)> = pairs.collect();
    Batch::new((0..SENTENCES as u32).collect(), &pairs)
}

/// The losses before the updates of model `name`, and the weights after them.
fn run(name: &str) -> (Vec<f64>, StateDict) {
    let device = Device::default();
    let model = config(name).build(0, &device.clone().autodiff()).unwrap();
    let init = tensors(&format!("{name}.init.safetensors"));
    let mut model: Model = with_parameters(model, init).unwrap();
    let optimizer = Optimizer::new(OptimizerSettings::default(), &model);
    let recipe = Recipe {
        label_smoothing: 0.1,
        clip_norm: 0.0,
        ..Recipe::default()
    };
    let mut updater = Updater::new(optimizer, recipe, None, &device);
    let replicas = Replicas::new(&[device]);
    let mut losses = Vec::new();
    for t in 1..=UPDATES {
        let rate = FACTOR * noam(t, 16, WARMUP);
        let (next, pending, _) = updater.update(model, &[batch(t)], t, rate, &replicas);
        model = next;
        let statistics = updater.read(&[pending])[0];
        losses.push(statistics.loss / statistics.tokens as f64);
    }
    (losses, named_parameters(&model))
}

/// The largest difference.
fn distance(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    a.zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Splits `updates.safetensors`: the losses of model `name`, and the weights.
fn expected(name: &str) -> (Vec<f64>, StateDict) {
    let (losses, weights): (StateDict, StateDict) = tensors("updates.safetensors")
        .into_iter()
        .partition(|(name, _)| name.ends_with(".losses"));
    let losses = losses[&format!("{name}.losses")].iter::<f64>();
    (losses.collect(), weights)
}

/// A key's bias adds the same number to all scores of a query. Its gradient is zero but for
/// rounding, which Adam makes as large as any other step, and nothing depends on it.
#[test]
fn two_hundred_updates_in_float32_stay_near_those_in_float64() {
    let name = "pre_gelu_untied";
    let (losses, weights) = run(name);
    let (expected_losses, expected) = expected(name);
    assert!(losses[199] < 0.6 * losses[0], "{losses:?}");
    assert!(weights.keys().eq(expected.keys()));
    let of = |(name, value): (&String, &TensorData)| {
        distance(value.iter::<f64>(), expected[name].iter::<f64>())
    };
    let (key_biases, others): (Vec<_>, Vec<_>) = weights
        .iter()
        .partition(|(name, _)| name.ends_with("key.bias"));
    let [key_biases, others] =
        [key_biases, others].map(|all| all.into_iter().map(of).fold(0.0, f64::max));
    let of_losses = distance(losses.into_iter(), expected_losses.into_iter());
    println!("losses {of_losses:.1e}, weights {others:.1e}, biases of keys {key_biases:.1e}");
    assert!(of_losses < 1e-3 && others < 1e-3, "{of_losses} {others}");
}

/// The derivative of ReLU jumps at zero. The runs part where rounding decides on which side an
/// activation lies.
#[test]
fn updates_of_a_model_with_relu_stay_near_until_an_activation_is_zero() {
    let (losses, _) = run("paper");
    let (expected, _) = expected("paper");
    let distances = losses.iter().zip(&expected).map(|(a, e)| (a - e).abs());
    let near = distances.take_while(|distance| *distance < 1e-5).count();
    println!("{near} updates");
    assert!(near > 30, "{near} updates");
}
