//! Products in 16 bits beside those in float32, on the reference's models (`tests/reference/README.md`): how
//! far loss and gradients move, and what stays in 32 bits.

mod common;

use burn::tensor::{Bool, DType, Device, Distribution, Int, Tensor, TensorData};
use burnformer_core::{
    Activation, Dropout, Mode, Model, Precision, Rnn, RnnConfig, TransformerConfig, Window,
    WindowBlocks, label_smoothed_cross_entropy, named_gradients, named_parameters,
    window_attention, with_parameters,
};
use common::case::{Case, NAMES, scalar};
use common::{Tensors, folder, tensors};

const HALVES: [Precision; 2] = [Precision::BFloat16, Precision::Float16];

/// Loss and gradients.
type Result = (f64, Tensors);

fn transformer(case: &Case, precision: Precision) -> Result {
    let device = Device::default().autodiff();
    let mut model = case.model(&device);
    model.compute_in(precision);
    let loss = case.loss(&model, &device).smoothed / case.tokens();
    (scalar(&loss), named_gradients(&model, &loss.backward()))
}

fn rnn(precision: Precision) -> Result {
    let device = Device::default().autodiff();
    let (mut model, case) = (rnn_model(&device), tensors("rnn.case.safetensors"));
    model.compute_in(precision);
    let ids = |key: &str| Tensor::<2, Int>::from_data(case[key].clone(), &device);
    let logits = model.forward(ids("source"), ids("target_input"), Mode::training(0, 0));
    let tokens = case["target_output"].iter::<i64>().filter(|&id| id != 0).count() as f64;
    let loss = label_smoothed_cross_entropy(logits, ids("target_output"), 0, 0.1).smoothed / tokens;
    (scalar(&loss), named_gradients(&model, &loss.backward()))
}

fn rnn_model(device: &Device) -> Rnn {
    let json = std::fs::read(folder().join("rnn.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let size = |key: &str| json[key].as_u64().unwrap() as usize;
    let config = RnnConfig {
        d_model: size("d_model"),
        d_hidden: size("d_hidden"),
        d_attention: size("d_attention"),
        dropout: 0.0,
        ..RnnConfig::tiny(size("vocab_size"))
    };
    with_parameters(config.init(0, device).unwrap(), tensors("rnn.init.safetensors")).unwrap()
}

/// 1 − the cosine of all gradients taken as one vector.
fn turned(own: &Tensors, expected: &Tensors) -> f64 {
    let flat = |all: &Tensors| all.values().flat_map(TensorData::iter::<f64>).collect::<Vec<_>>();
    let (a, b) = (flat(own), flat(expected));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    1.0 - dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}

/// `jumps`: how much farther the gradient may turn because rounding turned some ReLU off, or on.
fn assert_near(
    name: &str,
    precision: Precision,
    (loss, gradients): Result,
    exact: &Result,
    jumps: f64,
) {
    let (distance, turn) = ((loss - exact.0).abs(), turned(&gradients, &exact.1));
    let [most_distance, most_turn] = match precision {
        // Three bits of significand more: errors shrink eightfold, 1 − cosine by their square.
        Precision::Float16 => [2e-2 / 8.0, 1e-3 / 64.0],
        _ => [2e-2, 1e-3],
    };
    assert!(distance < most_distance, "{name} {precision} loss: {loss}, not {}", exact.0);
    assert!(turn < jumps * most_turn, "{name} {precision} gradient: 1 - cosine = {turn}");
    assert!(loss != exact.0 && turn > 0.0, "{name} {precision} was computed in float32");
    assert!(gradients.values().all(|g| g.dtype() == DType::F32), "{name} {precision}");
}

#[test]
fn products_in_16_bits_barely_move_loss_and_gradients() {
    for mut case in NAMES.map(Case::load) {
        for (activation, jumps) in [(case.config.activation, 5.0), (Activation::Gelu, 1.0)] {
            case.config.activation = activation;
            let exact = transformer(&case, Precision::Float32);
            for precision in HALVES {
                let own = transformer(&case, precision);
                assert_near(case.name, precision, own, &exact, jumps);
            }
        }
    }
    let exact = rnn(Precision::Float32);
    for precision in HALVES {
        assert_near("rnn", precision, rnn(precision), &exact, 1.0);
    }
}

#[test]
fn a_model_set_back_to_float32_computes_the_same_bits_as_ever() {
    for case in NAMES.map(Case::load) {
        let device = Device::default().autodiff();
        let fresh = case.model(&device);
        let mut model = fresh.clone();
        model.compute_in(Precision::BFloat16);
        model.compute_in(Precision::Float32);
        let bits = |model| case.logits(model, &device).into_data();
        bits(&model).assert_eq(&bits(&fresh), true);
    }
}

#[test]
fn logits_weights_and_attention_maps_are_float32() {
    let device = Device::default();
    let source = Tensor::<2, Int>::from_ints([[5, 6, 2]], &device);
    let target = Tensor::<2, Int>::from_ints([[1, 8, 9]], &device);
    let transformer = TransformerConfig::tiny(12).init(1, &device).unwrap();
    let rnn = RnnConfig::tiny(12).init(1, &device).unwrap();
    for mut model in [Model::from(transformer), Model::from(rnn)] {
        for precision in Precision::ALL {
            model.compute_in(precision);
            let logits = model.forward(source.clone(), target.clone(), Mode::Inference);
            assert_eq!(logits.dtype(), DType::F32);
            let maps = model.attention(source.clone(), target.clone());
            for weights in [maps.encoder_self, maps.decoder_self, maps.cross].concat() {
                assert_eq!(weights.dtype(), DType::F32);
                let sums = weights.sum_dim(3);
                let worst: f32 = (sums - 1.0).abs().max().into_scalar();
                assert!(worst < 1e-6, "{precision}: a row of weights sums to 1 but for {worst}");
            }
            assert!(named_parameters(&model).values().all(|w| w.dtype() == DType::F32));
        }
    }
}

#[test]
fn steps_with_a_cache_give_the_logits_of_the_whole_pass_in_16_bits_too() {
    let device = Device::default();
    let source = Tensor::<2, Int>::from_ints([[5, 6, 2], [7, 2, 0]], &device);
    let target = Tensor::<2, Int>::from_ints([[1, 8, 9], [1, 4, 5]], &device);
    let transformer = TransformerConfig::tiny(12).init(1, &device).unwrap();
    let rnn = RnnConfig::tiny(12).init(1, &device).unwrap();
    for mut model in [Model::from(transformer), Model::from(rnn)] {
        model.compute_in(Precision::BFloat16);
        // What float32 packs must not be used instead.
        model.pack();
        let whole = model.forward(source.clone(), target.clone(), Mode::Inference);
        let mut cache = model.start_decoding(source.clone());
        for place in 0..3 {
            let token = target.clone().slice([0..2, place..place + 1]);
            let step = model.decode_step(token, &mut cache);
            let expected = whole.clone().slice([0..2, place..place + 1]).reshape(step.dims());
            let worst: f32 = (step - expected).abs().max().into_scalar();
            assert!(worst < 2e-2, "{place} {worst}");
        }
    }
}

#[test]
fn attention_in_blocks_works_in_16_bits_with_and_without_gradients() {
    let window = Window { radius: 3, causal: false };
    for device in [Device::default(), Device::default().autodiff()] {
        let padding = Tensor::<4, Bool>::full([2, 1, 1, 70], false, &device);
        let blocks = WindowBlocks::new(window, 70, Some(&padding), &device);
        let x = Tensor::<3>::random([2, 70, 8], Distribution::Normal(0.0, 1.0), &device);
        let run = |dtype: DType| {
            let x = x.clone().cast(dtype);
            let (dropout, mode) = (Dropout::new(0.0), Mode::Inference);
            window_attention(x.clone(), x.clone(), x, 2, &blocks, &dropout, mode)
        };
        let half = run(DType::BF16);
        assert_eq!(half.dtype(), DType::BF16);
        let worst: f32 = (half.cast(DType::F32) - run(DType::F32)).abs().max().into_scalar();
        assert!(worst > 0.0 && worst < 5e-2, "{worst}");
    }
}

#[test]
fn the_cpu_computes_in_every_precision() {
    assert!(Precision::ALL.iter().all(|p| p.is_supported_on(&Device::default())));
    assert!(Precision::ALL.iter().all(|p| p.is_supported_on(&Device::default().autodiff())));
}
