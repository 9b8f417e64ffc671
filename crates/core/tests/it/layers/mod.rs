//! Layers by themselves, for models of one's own.

mod attention;
mod decoder;

use burn::module::Module;
use burn::tensor::{Device, Distribution, Int, Tensor};
use burnformer_core::{
    Activation, AttentionBias, AttentionKind, ComputeType, Context, Decoder, DecoderBias,
    DecoderConfig, DecoderLayerConfig, Encoder, EncoderConfig, EncoderLayer, LayerConfig,
    LayerNorm, Linear, Mode, MultiHeadAttention, MultiHeadAttentionConfig, NormPosition,
    PositionWiseFeedForwardConfig, PositionalEncoding, PositionalEncodingConfig, RandomKey,
    Recorder, ResidualNorm, Seq2Seq, Transformer, TransformerConfig, look_ahead_mask,
    named_parameters, padding_mask,
};

const D_MODEL: usize = 16;
/// A bias that hides and adds nothing.
const NONE: DecoderBias = DecoderBias {
    target: AttentionBias::None,
    source: AttentionBias::None,
};

fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Device::default())
}

fn worst<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    (a - b).abs().max().into_scalar()
}

/// Asserts that `layer` gives the rows of a batch of sequences, of one sequence and of a batch of
/// batches the same numbers.
macro_rules! assert_any_leading_dimensions {
    ($name:literal, $layer:expr) => {{
        let x = random([3, 5, D_MODEL]);
        let layer = $layer;
        let expected = layer(x.clone());
        let [_, _, width] = expected.dims();
        let layer = $layer;
        let one = layer(x.clone().slice(1..2).reshape([5, D_MODEL]));
        assert!(
            worst(one, expected.clone().slice(1..2).reshape([5, width])) < 1e-6,
            $name
        );
        let layer = $layer;
        let four = layer(x.reshape([1, 3, 5, D_MODEL]));
        assert!(
            worst(four, expected.reshape([1, 3, 5, width])) < 1e-6,
            $name
        );
    }};
}

#[test]
fn layers_take_any_leading_dimensions() {
    let (device, key) = (Device::default(), RandomKey::new(1));
    let linear = Linear::new(D_MODEL, 24, key, &device);
    assert_any_leading_dimensions!("linear", |x| linear.forward(x));
    assert_any_leading_dimensions!("linear and ReLU", |x| linear.forward_relu(x));
    let mut packed = linear.clone();
    packed.pack(ComputeType::Float32);
    assert_any_leading_dimensions!("packed linear", |x| packed.forward(x));
    let norm = LayerNorm::new(D_MODEL, LayerNorm::EPSILON, &device);
    assert_any_leading_dimensions!("norm", |x| norm.forward(x));
    let network = network().with_activation(Activation::Gelu).init(&device);
    assert_any_leading_dimensions!("feed-forward", |x| network.forward(x, Mode::Inference));
    let learned = PositionalEncodingConfig::new(D_MODEL).with_learned(Some(9));
    for positions in [
        PositionalEncoding::sinusoidal(),
        learned.init_with_key(key, &device),
    ] {
        assert_any_leading_dimensions!("positions", |x| positions.forward(x, 2));
    }
    for position in [NormPosition::Pre, NormPosition::Post] {
        let residual = ResidualNorm::new(position, 0.0);
        assert_any_leading_dimensions!("residual connection", |x| {
            residual.forward(x, &norm, Mode::Inference, |x| {
                network.forward(x, Mode::Inference)
            })
        });
    }
}

fn config() -> TransformerConfig {
    TransformerConfig {
        d_ff: 24,
        norm: NormPosition::Pre,
        ..TransformerConfig::tiny(12)
    }
    .with_width(D_MODEL, 4)
}

fn sizes() -> MultiHeadAttentionConfig {
    MultiHeadAttentionConfig::new(D_MODEL, 4)
}

fn attention(key: RandomKey) -> MultiHeadAttention {
    sizes().init_with_key(key, &Device::default())
}

fn network() -> PositionWiseFeedForwardConfig {
    PositionWiseFeedForwardConfig::new(D_MODEL, 24)
}

fn ids() -> Tensor<2, Int> {
    Tensor::from_ints([[5, 6, 7, 2], [8, 2, 0, 0]], &Device::default())
}

#[test]
fn an_encoder_from_its_config_equals_the_model() {
    let (device, key) = (Device::default(), RandomKey::new(3));
    let layer = LayerConfig::new(sizes(), network()).with_norm(NormPosition::Pre);
    let encoder = EncoderConfig::new(layer.clone(), 2).init_with_key(key, &device);
    let expected = config().encoder().init_with_key(key, &device);
    let (x, padding) = (random([2, 4, D_MODEL]), padding_mask(&ids(), 0));
    let bias = AttentionBias::Mask(padding.clone());
    let run = |encoder: &Encoder| encoder.forward(x.clone(), &bias, Mode::Inference);
    let states = run(&encoder);
    states
        .to_data()
        .assert_eq(&run(&expected).into_data(), true);
    // Layer by layer.
    let by_hand = (0..2).fold(x.clone(), |x, n| {
        layer
            .init_with_key(key.fold(n), &device)
            .forward(x, &bias, Mode::Inference)
    });
    let by_hand = LayerNorm::new(D_MODEL, LayerNorm::EPSILON, &device).forward(by_hand);
    by_hand.into_data().assert_eq(&states.into_data(), true);
}

fn decoder_layer() -> DecoderLayerConfig {
    DecoderLayerConfig::new(LayerConfig::new(sizes(), network()))
        .with_cross_attention(Some(sizes()))
}

/// A layer of a Transformer passes its bias on.
#[test]
fn an_encoder_layer_takes_an_additive_bias() {
    let layer = LayerConfig::new(sizes(), network()).init(&Device::default());
    let x = random([2, 3, D_MODEL]);
    let run = |by: f64| {
        let scores = random([1, 4, 3, 3]) * by;
        let mask = Some(look_ahead_mask(0, 3, &Device::default()));
        layer.forward(
            x.clone(),
            &AttentionBias::Additive { scores, mask },
            Mode::Inference,
        )
    };
    assert!(worst(run(0.0), run(3.0)) > 1e-3);
    // The first position sees itself alone.
    let first = |x: Tensor<3>| x.slice([0..2, 0..1]);
    assert!(worst(first(run(0.0)), first(run(3.0))) < 1e-5);
}

/// An encoder of ones own, with one layer and heads of another width.
#[test]
fn the_parts_of_a_transformer_can_be_replaced() {
    let device = Device::default();
    let mut model = config().init(1, &device).unwrap();
    let layer = LayerConfig::new(sizes().with_d_k(Some(3)), network());
    model.encoder = EncoderConfig::new(layer, 1).init(&device);
    let memory = model.encode(ids(), Mode::Inference);
    let x = model
        .source_position
        .forward(model.embeddings.source(ids()), 0);
    let expected = model
        .encoder
        .forward(x, &Some(memory.padding).into(), Mode::Inference);
    memory
        .states
        .into_data()
        .assert_eq(&expected.into_data(), true);
    assert_eq!(
        model.forward(ids(), ids(), Mode::Inference).dims()[..2],
        [2, 4]
    );
}

#[test]
fn an_encoder_with_a_look_ahead_mask_sees_no_later_position() {
    let device = Device::default();
    let encoder = config().encoder().init(&device);
    let (x, mask) = (random([2, 4, D_MODEL]), look_ahead_mask(0, 4, &device));
    let bias = AttentionBias::Mask(mask);
    let first = |x: Tensor<3>| encoder.forward(x, &bias, Mode::Inference).narrow(1, 0, 3);
    let changed = Tensor::cat(
        vec![x.clone().narrow(1, 0, 3), random([2, 1, D_MODEL]) + 1.0],
        1,
    );
    assert!(worst(first(x), first(changed)) < 1e-5);
}

#[test]
fn vectors_instead_of_embeddings_give_the_same_result() {
    let device = Device::default();
    let config = TransformerConfig {
        dropout: 0.2,
        ..config()
    };
    let model = config.init(1, &device).unwrap();
    let mode = Mode::training(1, 1);
    let expected = model.encode(ids(), mode);
    let vectors = model.embeddings.source(ids());
    let memory = model.encode_embedded(vectors, Some(padding_mask(&ids(), config.pad)), mode);
    memory
        .states
        .to_data()
        .assert_eq(&expected.states.into_data(), true);
    let target = Tensor::<2, Int>::from_ints([[1, 4, 5], [1, 6, 7]], &device);
    let expected = model.decode(target.clone(), &memory, mode);
    let mut cache = model.start_decoding(&memory);
    let found = model.decode_embedded(model.embeddings.target(target), &mut cache, mode);
    found.into_data().assert_eq(&expected.into_data(), true);
    assert_eq!(cache.len(), 3);
}

#[test]
fn without_padding_every_vector_is_seen() {
    let device = Device::default();
    let model = config().init(1, &device).unwrap();
    let x = random([2, 4, D_MODEL]);
    let memory = model.encode_embedded(x.clone(), None, Mode::Inference);
    let nothing = padding_mask(&Tensor::ones([2, 4], &device), 0);
    let expected = model.encode_embedded(x.clone(), Some(nothing), Mode::Inference);
    memory
        .states
        .to_data()
        .assert_eq(&expected.states.into_data(), true);
    let whole = model.decode_embedded(x, &mut model.start_decoding(&memory), Mode::Inference);
    assert_eq!(whole.dims(), [2, 4, D_MODEL]);
}

/// A decoder-only model of two layers.
fn language_model() -> Decoder {
    let layer =
        DecoderLayerConfig::new(LayerConfig::new(sizes(), network()).with_norm(NormPosition::Pre));
    DecoderConfig::new(layer, 2).init_with_key(RandomKey::new(9), &Device::default())
}

#[test]
fn an_epsilon_reaches_every_norm_of_a_layer() {
    let (device, key) = (Device::default(), RandomKey::new(5));
    let layer = |epsilon| {
        let layer = LayerConfig::new(sizes(), network()).with_norm(NormPosition::Pre);
        layer.with_epsilon(epsilon).init_with_key(key, &device)
    };
    let config = TransformerConfig {
        layer_norm_eps: 0.3,
        dropout: 0.0,
        ..config()
    };
    let expected = config.encoder().layer.init_with_key(key, &device);
    let x = random([2, 3, D_MODEL]);
    let run =
        |layer: &EncoderLayer| layer.forward(x.clone(), &AttentionBias::None, Mode::Inference);
    run(&layer(0.3))
        .into_data()
        .assert_eq(&run(&expected).into_data(), true);
    assert!(worst(run(&layer(0.3)), run(&layer(1e-5))) > 1e-3);
}

/// Burn's own way to save a module.
#[test]
fn a_model_round_trips_through_a_burn_record() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::default();
    let path = folder.path().join("model");
    let model = config().init(1, &device).unwrap();
    model.clone().save_file(&path).unwrap();
    let loaded = config()
        .init(2, &device)
        .unwrap()
        .try_load_file(&path)
        .unwrap();
    assert_eq!(named_parameters(&loaded), named_parameters(&model));
    let run = |model: &Transformer| model.forward(ids(), ids(), Mode::Inference);
    run(&loaded)
        .into_data()
        .assert_eq(&run(&model).into_data(), true);
    let other = TransformerConfig {
        d_ff: 8,
        ..config()
    }
    .init(2, &device)
    .unwrap();
    assert!(
        other.try_load_file(&path).is_err(),
        "another shape is refused"
    );
}

#[test]
fn recording_gives_the_weights_of_every_layer_and_the_same_states() {
    let device = Device::default();
    let encoder = config().encoder().init(&device);
    let (x, recorder) = (random([2, 4, D_MODEL]), Recorder::default());
    let bias = AttentionBias::Mask(padding_mask(&ids(), 0));
    let states = encoder.forward(x.clone(), &bias, Mode::Inference);
    let looking = Context::from(Mode::Inference).recorded_by(&recorder);
    let recorded = encoder.forward(x.clone(), &bias, looking);
    assert!(worst(recorded, states) < 1e-5);
    let weights = recorder.weights(AttentionKind::SelfAttention);
    assert_eq!(weights.len(), 2);
    let sums = weights[1].clone().sum_dim(3);
    assert!(worst(sums.clone(), sums.ones_like()) < 1e-5);
    let (model, recorder) = (language_model(), Recorder::default());
    let run = |x: Tensor<3>, context: Context<'_>| {
        model.forward(x, &mut model.start_without_source(), &NONE, context)
    };
    let states = run(x.clone(), Mode::Inference.into());
    let recorded = run(x, Context::from(Mode::Inference).recorded_by(&recorder));
    assert!(worst(recorded, states) < 1e-5);
    let counts = [AttentionKind::SelfAttention, AttentionKind::Cross];
    assert_eq!(counts.map(|kind| recorder.weights(kind).len()), [2, 0]);
}

#[derive(Module, Debug)]
struct SharedEmbeddings {
    linear: Linear,
}

#[derive(Module, Debug)]
struct Holder {
    mine: SharedEmbeddings,
}

/// The core has a type of this name with fields that count as fields of its holder.
#[test]
fn a_users_type_keeps_its_field_name() {
    let linear = Linear::new(2, 2, RandomKey::new(1), &Device::default());
    let holder = Holder {
        mine: SharedEmbeddings { linear },
    };
    let names: Vec<String> = named_parameters(&holder).into_keys().collect();
    assert_eq!(names, ["mine.linear.bias", "mine.linear.weight"]);
}
