//! Statements of the paper about its parts, checked by that name.

use burn::tensor::module::conv1d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Bool, Device, Distribution, Int, Tensor, TensorData};
use burnformer_core::{
    Activation, AttentionBias, AttentionKind, Context, Dropout, MhaInput, Mode,
    MultiHeadAttentionConfig, PositionWiseFeedForwardConfig, PositionalEncoding, Precision,
    RandomKey, Recorder, Seq2Seq, TransformerConfig, look_ahead_mask, scaled_dot_product_attention,
};

fn random<const D: usize>(shape: [usize; D], seed: u64, device: &Device) -> Tensor<D> {
    let values = RandomKey::new(seed).normal(shape.iter().product());
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn worst<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    (a - b).abs().max().into_scalar()
}

/// §3.2.1, footnote 4: q·k of d_k independent unit-variance components has variance d_k.
#[test]
fn scaling_by_root_d_k_keeps_the_variance_of_scores_near_1() {
    let device = Device::default();
    for d_k in [16, 64, 256] {
        let (query, key) = (
            random([64, d_k], 1, &device),
            random([512, d_k], 2, &device),
        );
        let scores = query.matmul(key.transpose()) / (d_k as f64).sqrt();
        let variance: f32 = (scores.clone() * scores).mean().into_scalar();
        assert!((variance - 1.0).abs() < 0.1, "d_k {d_k}: {variance}");
    }
}

/// The numbers in `column` of the first table under `heading` of the guide's page, row by row.
fn numbers_of_the_page(heading: &str, column: usize) -> Vec<f32> {
    let page = include_str!("../../../../docs/guide/paper.md");
    let (_, after) = page.split_once(heading).expect("the page has the heading");
    let table = after.lines().skip_while(|line| !line.starts_with('|'));
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    let cells = rows.flat_map(|row| row.split('|').nth(column + 1).expect("a cell").split(','));
    cells
        .map(|number| number.trim().parse().expect("a number"))
        .collect()
}

#[test]
fn the_picture_of_the_model_names_files_that_exist() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let picture = include_str!("../../../../docs/images/model.svg");
    let texts = picture.split('>').filter_map(|text| text.split('<').next());
    let words = texts.flat_map(|text| text.split([' ', ',']));
    let files: Vec<&str> = words.filter(|word| word.ends_with(".rs")).collect();
    let missing: Vec<&&str> = files
        .iter()
        .filter(|file| !folder.join(file).is_file())
        .collect();
    assert!(files.len() > 10 && missing.is_empty(), "{missing:?}");
}

/// §3.2.1 and §3.2.3: the guide's example. The numbers on its page do not come from this program.
#[test]
fn attention_matches_the_documented_numbers() {
    let device = Device::default();
    let [query, key, value] = [1, 2, 3].map(|column| {
        let numbers = numbers_of_the_page("## Attention by hand", column);
        Tensor::<4>::from_data(TensorData::new(numbers, [1, 1, 3, 2]), &device)
    });
    let attended = scaled_dot_product_attention(
        query,
        key,
        value,
        &AttentionBias::Mask(look_ahead_mask(0, 3, &device)),
        &Dropout::new(0.0),
        Mode::Inference,
    );
    let heading = "A row of Q·Kᵀ";
    for (column, found) in [(4, attended.weights), (5, attended.context)] {
        let expected = numbers_of_the_page(heading, column);
        let found: Vec<f32> = found.into_data().iter::<f32>().collect();
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected).abs() <= 0.5e-4 + 1e-6,
                "{found} for {expected}"
            );
        }
    }
}

/// §3.2.1: without the division by √d_k the softmax of large scores has "extremely small
/// gradients".
/// The numbers on the guide's page do not come from this program.
#[test]
fn the_gradient_of_an_unscaled_softmax_vanishes() {
    const KEYS: usize = 10;
    let device = Device::default();
    let column = |column| numbers_of_the_page("**√d_k (§3.2.1).**", column);
    let [widths, expected @ ..] = [0, 1, 2, 3, 4].map(column);
    for (row, d_k) in widths.into_iter().enumerate() {
        let key = random([250, 1, KEYS, d_k as usize], 1, &device);
        let query = random([250, 1, KEYS, d_k as usize], 2, &device);
        for (without, scale) in [1.0, d_k.sqrt()].into_iter().enumerate() {
            let attended = scaled_dot_product_attention(
                query.clone() * scale,
                key.clone(),
                key.clone(),
                &AttentionBias::None,
                &Dropout::new(0.0),
                Mode::Inference,
            );
            let weights: Vec<f32> = attended.weights.into_data().iter::<f32>().collect();
            let [mut largest, mut norm] = [0.0; 2];
            for p in weights.chunks(KEYS) {
                largest += p.iter().copied().fold(0.0, f32::max);
                let entry = |i: usize, j: usize| p[i] * (f32::from(u8::from(i == j)) - p[j]);
                let squares = (0..KEYS * KEYS).map(|ij| entry(ij / KEYS, ij % KEYS).powi(2));
                norm += squares.sum::<f32>().sqrt();
            }
            for (found, column) in [(largest, without), (norm, 2 + without)] {
                let found = found * KEYS as f32 / weights.len() as f32;
                let expected = expected[column][row];
                assert!(
                    (found - expected).abs() < 0.02,
                    "d_k {d_k}: {found} for {expected}"
                );
            }
        }
    }
}

/// §3.5: "for any fixed offset k, PE(pos+k) can be represented as a linear function of PE(pos)": a
/// rotation of each pair of sine and cosine by k·ω, the same at every position.
#[test]
fn a_shifted_encoding_is_a_rotation() {
    const D: usize = 8;
    let device = Device::default();
    let zeros = Tensor::<2>::zeros([40, D], &device);
    let encoded = PositionalEncoding::sinusoidal()
        .forward(zeros, 0)
        .into_data();
    let encoded: Vec<f32> = encoded.iter::<f32>().collect();
    for k in [1, 5, 13] {
        for position in 0..40 - k {
            for pair in 0..D / 2 {
                let omega = 10_000f64.powf(-2.0 * pair as f64 / D as f64);
                let (sin_k, cos_k) = (k as f64 * omega).sin_cos();
                let at = |position: usize, part| f64::from(encoded[position * D + 2 * pair + part]);
                let [sin, cos] = [0, 1].map(|part| at(position, part));
                let rotated = [cos_k * sin + sin_k * cos, -sin_k * sin + cos_k * cos];
                for (part, expected) in rotated.into_iter().enumerate() {
                    let found = at(position + k, part);
                    assert!(
                        (found - expected).abs() < 1e-6,
                        "{position} + {k}, pair {pair}"
                    );
                }
            }
        }
    }
}

/// §3.3: "Another way of describing this is as two convolutions with kernel size 1."
#[test]
fn the_feed_forward_network_equals_two_convolutions_of_kernel_1() {
    let device = Device::default();
    for activation in [Activation::Relu, Activation::Gelu, Activation::Silu] {
        let config = PositionWiseFeedForwardConfig::new(128, 512).with_activation(activation);
        let network = config.init_with_key(RandomKey::new(3), &device);
        let x = random([2, 7, 128], 4, &device);
        let convolve = |x: Tensor<3>, layer: &burnformer_core::Linear| {
            let weight = layer.weight.val().unsqueeze_dim::<3>(2);
            let bias = layer.bias.as_ref().map(|b| b.val());
            conv1d(x, weight, bias, ConvOptions::new([1], [0], [1], 1))
        };
        let inner = activation.forward(convolve(x.clone().swap_dims(1, 2), &network.inner));
        let expected = convolve(inner, &network.outer).swap_dims(1, 2);
        assert!(worst(network.forward(x, Mode::Inference), expected) < 1e-4);
    }
}

/// §3.5: sinusoids "may allow the model to extrapolate to sequence lengths longer than the ones
/// encountered during training".
#[test]
fn sinusoids_accept_any_length() {
    let device = Device::default();
    let model = TransformerConfig::tiny(30).init(0, &device).unwrap();
    assert_eq!(model.max_positions(), None);
    let long = Tensor::<2, Int>::ones([1, 1500], &device);
    let logits = model.forward(long.clone(), long, Mode::Inference);
    assert_eq!(logits.dims(), [1, 1500, 30]);
    assert!(logits.sum().into_scalar::<f32>().is_finite());
}

/// §3.2.2: with d_k = d_v = d_model / h, the cost does not depend on the number of heads.
#[test]
fn the_number_of_heads_does_not_change_the_number_of_parameters() {
    let counts = [1, 2, 4, 8].map(|h| {
        TransformerConfig::tiny(10)
            .with_width(128, h)
            .parameter_count()
    });
    assert!(counts.iter().all(|&c| c == counts[0]));
}

#[test]
fn the_parameter_count_equals_the_built_model() {
    use burnformer_core::{
        Conventions, EmbeddingSharing, NormKind, NormPosition, OutputBias, Positions, TargetHistory,
    };
    type Change = fn(&mut TransformerConfig);
    let changes: [Change; 14] = [
        |_| (),
        |c| c.norm = NormPosition::Pre,
        |c| (c.d_k, c.d_v) = (7, 9),
        |c| (c.positions, c.max_positions) = (Positions::Learned, 33),
        |c| (c.sharing, c.source_vocab) = (EmbeddingSharing::Target, 50),
        |c| (c.sharing, c.target_vocab) = (EmbeddingSharing::None, 60),
        |c| c.attention_window = Some(3),
        |c| c.qk_norm = true,
        |c| c.norm_kind = NormKind::Scale,
        |c| c.norm_kind = NormKind::Rms,
        |c| c.conventions.output_bias = OutputBias::PerPiece,
        |c| c.conventions.target_history = TargetHistory::Ssru,
        |c| {
            c.conventions = Conventions {
                decoder_heads: Some(c.heads / 2),
                ..c.conventions
            }
        },
        |c| {
            c.conventions = Conventions {
                decoder_d_ff: Some(24),
                ..c.conventions
            }
        },
    ];
    type Preset = fn(usize) -> TransformerConfig;
    let presets: [Preset; 4] = [
        TransformerConfig::tiny,
        TransformerConfig::small,
        |vocab| TransformerConfig {
            encoder_layers: 1,
            decoder_layers: 2,
            ..TransformerConfig::base(vocab)
        },
        |vocab| TransformerConfig {
            encoder_layers: 2,
            decoder_layers: 1,
            ..TransformerConfig::big(vocab)
        },
    ];
    for preset in presets {
        for change in changes {
            let mut config = preset(40);
            change(&mut config);
            let model = config.init(0, &Device::default()).unwrap();
            let built = burnformer_core::parameter_sizes(&model)
                .iter()
                .map(|(_, size)| size)
                .sum::<usize>();
            assert_eq!(built, config.parameter_count(), "{config:?}");
        }
    }
}

/// By hand, for sentences of 20 and 30 tokens over the paper's base model: per layer, an attention
/// keeps its input, queries, keys, values, context and weights, a feed-forward network its input
/// and its inner layer, a residual connection two inputs.
#[test]
fn the_costs_of_the_base_model_equal_a_count_by_hand() {
    let config = TransformerConfig::base(37_000);
    let costs = |precision| config.cost(20, 30, precision);
    let attention = |weights: usize| 5 * 512 + 8 * weights;
    let rest = |connections: usize| 512 + 2048 + connections * 2 * 512;
    let kept = |times: usize| {
        let encoder = attention(20 * times) + rest(2);
        [
            6 * encoder,
            6 * (attention(30 * times) + attention(20 * times) + rest(3)),
        ]
    };
    for (precision, times) in [(Precision::Float32, 1), (Precision::BFloat16, 3)] {
        assert_eq!(costs(precision).map(|cost| cost.activations), kept(times));
    }
    let (square, network) = (512 * 512, 2 * 512 * 2048);
    let source = 6 * (4 * square + 2 * 512 * 20 + network) + 6 * 2 * square;
    let target = 6 * (6 * square + 2 * 512 * (20 + 30) + network);
    assert_eq!(
        costs(Precision::Float32).map(|cost| cost.multiplications),
        [source, target]
    );
    // A window bounds the products of self-attention: 2·3 + 1 keys in place of 20 and 30.
    let config = TransformerConfig {
        attention_window: Some(3),
        ..config
    };
    let windowed = config
        .cost(20, 30, Precision::Float32)
        .map(|cost| cost.multiplications);
    assert_eq!(
        windowed,
        [source - 6 * 2 * 512 * 13, target - 6 * 2 * 512 * 23]
    );
}

#[test]
fn a_query_without_keys_gives_zeros_and_finite_gradients() {
    let device = Device::default().autodiff();
    let make = |seed| random([1, 1, 3, 4], seed, &device).require_grad();
    let (query, key, value) = (make(1), make(2), make(3));
    let hidden = [[[
        [false, true, true],
        [true, true, true],
        [false, false, false],
    ]]];
    let mask = Tensor::<4, Bool>::from_data(TensorData::from(hidden), &device);
    let attended = scaled_dot_product_attention(
        query.clone(),
        key.clone(),
        value.clone(),
        &AttentionBias::Mask(mask),
        &Dropout::new(0.0),
        Mode::Inference,
    );
    let row = |t: &Tensor<4>| {
        t.clone()
            .slice([0..1, 0..1, 1..2])
            .abs()
            .max()
            .into_scalar::<f32>()
    };
    assert_eq!(row(&attended.weights), 0.0);
    assert_eq!(row(&attended.context), 0.0);
    let sums = attended.weights.sum_dim(3).into_data();
    let sums: Vec<f32> = sums.iter::<f32>().collect();
    assert!((sums[0] - 1.0).abs() < 1e-6 && (sums[2] - 1.0).abs() < 1e-6);
    let gradients = attended.context.sum().backward();
    for leaf in [query, key, value] {
        let gradient = leaf.grad(&gradients).unwrap();
        let all_finite = gradient.into_data().iter::<f32>().all(f32::is_finite);
        assert!(all_finite);
    }
}

#[test]
fn recorded_weights_reproduce_the_output() {
    let device = Device::default();
    let attention = MultiHeadAttentionConfig::new(128, 4).init(&device);
    let x = random([2, 5, 128], 2, &device);
    let plain = attention.forward(MhaInput::self_attention(x.clone()), Mode::Inference);
    let recorder = Recorder::default();
    let context = Context::from(Mode::Inference).recorded_by(&recorder);
    let output = attention.forward(MhaInput::self_attention(x), context);
    assert_eq!(
        recorder.weights(AttentionKind::SelfAttention)[0].dims(),
        [2, 4, 5, 5]
    );
    assert!(worst(output, plain) < 1e-6);
}

#[test]
fn dropout_is_a_function_of_seed_update_and_position() {
    let device = Device::default();
    let config = TransformerConfig {
        dropout: 0.3,
        ..TransformerConfig::tiny(30)
    };
    let model = config.init(0, &device).unwrap();
    let ids = Tensor::<2, Int>::ones([2, 6], &device);
    let run = |mode| model.forward(ids.clone(), ids.clone(), mode);
    let one = run(Mode::training(5, 1));
    // Other random draws in between change nothing.
    let _ = Tensor::<1>::random([9], Distribution::Default, &device);
    assert_eq!(worst(one.clone(), run(Mode::training(5, 1))), 0.0);
    assert!(worst(one.clone(), run(Mode::training(5, 2))) > 0.0);
    assert!(worst(one, run(Mode::Inference)) > 0.0);
}
