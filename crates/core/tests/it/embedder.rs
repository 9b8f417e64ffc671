//! The needs of a program that builds other models from the layers: biases on both sides, prompts
//! of different lengths, other norms and gates, and mistakes that are named.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Bool, Device, Distribution, Int, Tensor, TensorData};
use burnformer_core::{
    AttentionBias, Decoder, DecoderBias, DecoderConfig, DecoderLayerConfig, DropoutConfig,
    EncodedSource, EncoderConfig, LayerConfig, LayerNormConfig, LinearConfig, Mode,
    MultiHeadAttentionConfig, NormKind, NormPosition, PositionWiseFeedForwardConfig,
    PositionalEncoding, PositionalEncodingConfig, RandomKey, label_smoothed_cross_entropy,
    look_ahead_mask, parameter_sizes,
};

const WIDTH: usize = 16;
const RUN: Mode = Mode::Inference;

fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Device::default())
}

fn worst<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    (a - b).abs().max().into_scalar()
}

fn attention() -> MultiHeadAttentionConfig {
    MultiHeadAttentionConfig::new(WIDTH, 4)
}

fn network() -> PositionWiseFeedForwardConfig {
    PositionWiseFeedForwardConfig::new(WIDTH, 24)
}

fn encoder(window: Option<usize>) -> burnformer_core::Encoder {
    let layer = LayerConfig::new(attention(), network()).with_norm(NormPosition::Pre);
    let config = EncoderConfig::new(layer, 2).with_window(window);
    config.init_with_key(RandomKey::new(1), &Device::default())
}

fn decoder(window: Option<usize>, cross: bool) -> Decoder {
    let layer = LayerConfig::new(attention(), network()).with_norm(NormPosition::Pre);
    let layer = DecoderLayerConfig::new(layer).with_cross_attention(cross.then(attention));
    let config = DecoderConfig::new(layer, 2).with_window(window);
    config.init_with_key(RandomKey::new(2), &Device::default())
}

/// `true` where `hides` says so of row, query and key.
fn mask(
    [rows, queries, keys]: [usize; 3],
    hides: impl Fn(usize, usize, usize) -> bool,
) -> Tensor<4, Bool> {
    let hides = &hides;
    let row_values =
        |row| (0..queries).flat_map(move |query| (0..keys).map(move |key| hides(row, query, key)));
    let values: Vec<bool> = (0..rows).flat_map(row_values).collect();
    Tensor::from_data(
        TensorData::new(values, [rows, 1, queries, keys]),
        &Device::default(),
    )
}

/// A large negative score is what hides a key, so that both biases have one meaning.
fn as_scores(mask: Tensor<4, Bool>) -> AttentionBias {
    AttentionBias::Additive {
        scores: mask.float() * -1e9,
        mask: None,
    }
}

/// At 60 positions a window of 10 is one mask, at 80 and beyond it is computed in blocks.
#[test]
fn a_windowed_encoder_takes_every_bias_at_every_length() {
    for len in [1, 20, 60, 63, 64, 80, 130] {
        let x = random([2, len, WIDTH]);
        let hidden = mask([2, len, len], |row, query, key| {
            key > query || row == 1 && key == 2
        });
        let padding = mask([2, 1, len], |row, _, key| {
            row == 1 && key + 3 > len && key > 0
        });
        for hidden in [hidden, padding, look_ahead_mask(0, len, &Device::default())] {
            let bias = AttentionBias::Mask(hidden.clone());
            let windowed = encoder(Some(10)).forward(x.clone(), &bias, RUN);
            let near = mask([1, len, len], |_, query: usize, key| {
                query.abs_diff(key) > 10
            });
            let whole = AttentionBias::Mask(hidden.clone().bool_or(near));
            let plain = encoder(None).forward(x.clone(), &whole, RUN);
            assert!(worst(windowed.clone(), plain) < 1e-4, "{len}");
            let scores = encoder(Some(10)).forward(x.clone(), &as_scores(hidden), RUN);
            assert!(worst(windowed, scores) < 1e-4, "{len}, as scores");
        }
    }
}

#[test]
fn an_additive_bias_reaches_every_layer_of_both_stacks() {
    let (len, source_len) = (5, 7);
    let slopes: Vec<f32> = (0..4 * len * len)
        .map(|i| {
            let (head, query, key): (usize, usize, usize) =
                (i / (len * len), i / len % len, i % len);
            -(query.abs_diff(key) as f32) / f32::powi(2.0, head as i32)
        })
        .collect();
    let scores =
        Tensor::<1>::from_floats(&slopes[..], &Device::default()).reshape([1, 4, len, len]);
    let alibi = AttentionBias::Additive { scores, mask: None };
    let x = random([2, len, WIDTH]);
    let encoder = encoder(None);
    let by_hand = encoder
        .layers
        .iter()
        .fold(x.clone(), |x, layer| layer.forward(x, &alibi, RUN));
    let by_hand = encoder.norm.as_ref().unwrap().forward(by_hand);
    assert_eq!(worst(encoder.forward(x.clone(), &alibi, RUN), by_hand), 0.0);
    // The decoder runs once as a whole and once step by step, with a bias of the source too.
    let states = random([2, source_len, WIDTH]);
    let padding = mask([2, 1, source_len], |row, _, key| row == 0 && key > 4);
    let source = EncodedSource { states, padding };
    let decoder = decoder(None, true);
    let AttentionBias::Additive { scores, .. } = &alibi else {
        unreachable!()
    };
    let source_bias = AttentionBias::Additive {
        scores: random([2, 4, 1, source_len]),
        mask: None,
    };
    let bias = DecoderBias {
        target: alibi.clone(),
        source: source_bias.clone(),
    };
    let whole = decoder.forward(x.clone(), &mut decoder.start(&source), &bias, RUN);
    let mut cache = decoder.start(&source);
    for index in 0..len {
        let step = scores.clone().narrow(2, index, 1).narrow(3, 0, index + 1);
        let target = AttentionBias::Additive {
            scores: step,
            mask: None,
        };
        let bias = DecoderBias {
            target,
            source: source_bias.clone(),
        };
        let step = decoder.forward(x.clone().narrow(1, index, 1), &mut cache, &bias, RUN);
        assert!(
            worst(step, whole.clone().narrow(1, index, 1)) < 1e-4,
            "position {index}"
        );
    }
    let none = DecoderBias::default();
    let other = decoder.forward(x, &mut decoder.start(&source), &none, RUN);
    assert!(worst(other, whole) > 1e-3);
}

/// Prompts of 3 and 5 tokens, filled at the beginning, then two further steps.
#[test]
fn prompts_of_different_lengths_share_a_batch() {
    for window in [None, Some(3)] {
        let model = decoder(window, false);
        let (long, short) = (random([1, 7, WIDTH]), random([1, 5, WIDTH]));
        let alone = |x: Tensor<3>| {
            model.forward(
                x,
                &mut model.start_without_source(),
                &DecoderBias::default(),
                RUN,
            )
        };
        let filled = Tensor::cat(vec![random([1, 2, WIDTH]), short.clone()], 1);
        let batch = Tensor::cat(vec![long.clone(), filled], 0);
        let mut cache = model.start_without_source();
        let mut parts = Vec::new();
        for range in [0..5, 5..6, 6..7] {
            let hidden = mask([2, 1, range.end], |row, _, key| row == 1 && key < 2);
            let target = AttentionBias::Mask(hidden);
            let bias = DecoderBias {
                target,
                ..DecoderBias::default()
            };
            let part = batch.clone().slice([0..2, range, 0..WIDTH]);
            parts.push(model.forward(part, &mut cache, &bias, RUN));
        }
        let together = Tensor::cat(parts, 1);
        let row = |row, from| together.clone().slice([row..row + 1, from..7, 0..WIDTH]);
        assert!(worst(row(0, 0), alone(long)) < 1e-4, "{window:?}");
        assert!(worst(row(1, 2), alone(short)) < 1e-4, "{window:?}");
    }
}

#[test]
fn layers_have_configurations() {
    let device = Device::default();
    let linear = LinearConfig::new(4, 6).with_bias(false);
    assert_eq!(linear.init(&device).forward(random([2, 4])).dims(), [2, 6]);
    assert_eq!(linear.cost().parameters, 24);
    let norm = LayerNormConfig::new(4).with_epsilon(1e-6);
    assert_eq!(norm.init(&device).forward(random([2, 4])).dims(), [2, 4]);
    let x = random([3, 3]);
    assert_eq!(
        worst(DropoutConfig::new(0.5).init().forward(x.clone(), RUN), x),
        0.0
    );
}

/// By the formulas of the papers, in float64.
#[test]
fn rms_norm_and_the_gate_equal_a_computation_by_hand() {
    let device = Device::default();
    let x = [[0.5f32, -2.0, 3.0, 1.0]];
    let norm = LayerNormConfig::new(4)
        .with_kind(NormKind::Rms)
        .with_epsilon(0.1)
        .init(&device);
    let actual = norm
        .forward(Tensor::<2>::from_floats(x, &device))
        .into_data();
    let mean: f64 = x[0].iter().map(|&v| f64::from(v).powi(2)).sum::<f64>() / 4.0;
    for (actual, x) in actual.iter::<f32>().zip(x[0]) {
        assert!((f64::from(actual) - f64::from(x) / (mean + 0.1).sqrt()).abs() < 1e-6);
    }
    assert_eq!(parameter_sizes(&norm), [("weight".to_owned(), 4)]);
    // ScaleNorm starts with vectors of length √d, and a vector of zeros stays one.
    let norm = LayerNormConfig::new(4)
        .with_kind(NormKind::Scale)
        .init(&device);
    let length = x[0]
        .iter()
        .map(|&v| f64::from(v).powi(2))
        .sum::<f64>()
        .sqrt();
    let actual = norm
        .forward(Tensor::<2>::from_floats([x[0], [0.0; 4]], &device))
        .into_data();
    for (actual, x) in actual.iter::<f32>().zip(x[0].into_iter().chain([0.0; 4])) {
        assert!((f64::from(actual) - 2.0 * f64::from(x) / length).abs() < 1e-5);
    }
    let config = network().with_gated(true).with_bias(false);
    let config = config.with_activation(burnformer_core::Activation::Silu);
    let network = config.init(&device);
    let x = random([3, WIDTH]);
    let gate = network.gate.as_ref().unwrap().forward(x.clone());
    let silu = gate.clone() / (gate.neg().exp() + 1.0);
    let by_hand = network
        .outer
        .forward(silu * network.inner.forward(x.clone()));
    assert!(worst(network.forward(x, RUN), by_hand) < 1e-5);
    let count: usize = parameter_sizes(&network).iter().map(|(_, size)| size).sum();
    assert_eq!([count, config.cost().parameters], [3 * WIDTH * 24; 2]);
}

/// The message of the panic of `run`.
fn panic_of(run: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
    panic
        .downcast_ref::<String>()
        .cloned()
        .unwrap_or_else(|| "no text".into())
}

#[test]
fn mistakes_are_named_with_their_sizes() {
    let device = Device::default();
    let learned = PositionalEncodingConfig::new(8)
        .with_learned(Some(5))
        .init(&device);
    let encode = encoder(None);
    let decode = decoder(None, false);
    let shallow = DecoderConfig::new(
        DecoderLayerConfig::new(LayerConfig::new(attention(), network())),
        1,
    );
    let shallow = shallow.init(&device);
    let ids = Tensor::<2, Int>::zeros([1, 2], &device);
    let none = DecoderBias::default();
    type Case<'a> = (Box<dyn FnOnce() + 'a>, &'static str);
    let cases: Vec<Case<'_>> = vec![
        (
            Box::new(|| drop(learned.forward(random([1, 2, 6]), 0))),
            "x has 6 features, the learned positions have 8",
        ),
        (
            Box::new(|| drop(PositionalEncoding::sinusoidal().forward(random([1, 2, 7]), 0))),
            "sinusoids need an even number of features; x has 7",
        ),
        (
            Box::new(|| {
                let mask = look_ahead_mask(0, 4, &Device::default());
                encode.forward(random([2, 5, WIDTH]), &AttentionBias::Mask(mask), RUN);
            }),
            "mask [1, 1, 4, 4] over scores [2, 4, 5, 5]",
        ),
        (
            Box::new(|| {
                let scores = random([1, 3, 5, 5]);
                let bias = AttentionBias::Additive { scores, mask: None };
                encode.forward(random([2, 5, WIDTH]), &bias, RUN);
            }),
            "bias [1, 3, 5, 5] over scores [2, 4, 5, 5]",
        ),
        (
            Box::new(|| {
                label_smoothed_cross_entropy(random([1, 2, 5]), ids.clone(), 0, 2.0);
            }),
            "label smoothing 2 is not in [0, 1)",
        ),
        (
            Box::new(|| {
                label_smoothed_cross_entropy(random([1, 3, 5]), ids.clone(), 0, 0.1);
            }),
            "targets [1, 2] for [1, 3] positions",
        ),
        (
            Box::new(|| {
                let mut cache = shallow.start_without_source();
                decode.forward(random([1, 2, WIDTH]), &mut cache, &none, RUN);
            }),
            "the decoder has 2 layers, the cache has 1",
        ),
        (
            Box::new(|| drop(encode.forward(random([1, 2, 12]), &AttentionBias::None, RUN))),
            "12",
        ),
        (
            Box::new(|| {
                drop(
                    LinearConfig::new(4, 6)
                        .init(&Device::default())
                        .forward(random([5])),
                )
            }),
            "x has 5 features, the map takes 4",
        ),
    ];
    for (run, expected) in cases {
        let message = panic_of(run);
        assert!(message.contains(expected), "{message}; expected {expected}");
    }
}
