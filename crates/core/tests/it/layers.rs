//! Layers by themselves, for models of one's own.

use burn::module::Module;
use burn::tensor::{Device, Distribution, Int, Tensor};
use burnformer_core::{
    Activation, AttentionMaps, ComputeType, Decoder, DecoderLayer, Encoder, EncoderLayer,
    LayerNorm, Linear, Memory, Mode, MultiHeadAttention, MultiHeadAttentionConfig, NormPosition,
    PositionWiseFeedForward, PositionalEncoding, RandomKey, ResidualNorm, SelfAttentionMask,
    Transformer, TransformerConfig, look_ahead_mask, named_parameters, padding_mask,
};

const D_MODEL: usize = 16;

fn random<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), &Device::default())
}

fn worst<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    (a - b).abs().max().into_scalar()
}

/// Asserts that `layer` gives the rows of a batch of sequences, of one sequence and of a batch of batches the same
/// numbers.
macro_rules! assert_any_leading_dimensions {
    ($name:literal, $layer:expr) => {{
        let x = random([3, 5, D_MODEL]);
        let layer = $layer;
        let expected = layer(x.clone());
        let [_, _, width] = expected.dims();
        let layer = $layer;
        let one = layer(x.clone().slice(1..2).reshape([5, D_MODEL]));
        assert!(worst(one, expected.clone().slice(1..2).reshape([5, width])) < 1e-6, $name);
        let layer = $layer;
        let four = layer(x.reshape([1, 3, 5, D_MODEL]));
        assert!(worst(four, expected.reshape([1, 3, 5, width])) < 1e-6, $name);
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
    let network = PositionWiseFeedForward::new(D_MODEL, 24, Activation::Gelu, key, &device);
    assert_any_leading_dimensions!("feed-forward", |x| network.forward(x, Mode::Inference));
    for positions in
        [PositionalEncoding::sinusoidal(), PositionalEncoding::learned(9, D_MODEL, key, &device)]
    {
        assert_any_leading_dimensions!("positions", |x| positions.forward(x, 2));
    }
    for position in [NormPosition::Pre, NormPosition::Post] {
        let residual = ResidualNorm::new(position, 0.0);
        assert_any_leading_dimensions!("residual connection", |x| {
            residual.forward(x, &norm, Mode::Inference, |x| network.forward(x, Mode::Inference))
        });
    }
}

fn config() -> TransformerConfig {
    TransformerConfig { d_ff: 24, norm: NormPosition::Pre, ..TransformerConfig::tiny(12) }
        .with_width(D_MODEL, 4)
}

fn attention(key: RandomKey) -> MultiHeadAttention {
    MultiHeadAttention::new(D_MODEL, 4, key, &Device::default())
}

fn feed_forward(key: RandomKey) -> PositionWiseFeedForward {
    PositionWiseFeedForward::new(D_MODEL, 24, Activation::Relu, key, &Device::default())
}

fn ids() -> Tensor<2, Int> {
    Tensor::from_ints([[5, 6, 7, 2], [8, 2, 0, 0]], &Device::default())
}

#[test]
fn an_encoder_of_parts_is_that_of_the_configuration() {
    let (device, key) = (Device::default(), RandomKey::new(3));
    let layer = |n| {
        let key = key.fold(n);
        let residual = ResidualNorm::new(NormPosition::Pre, 0.1);
        EncoderLayer::new(attention(key.fold(0)), feed_forward(key.fold(1)), residual, &device)
    };
    let norm = LayerNorm::new(D_MODEL, LayerNorm::EPSILON, &device);
    let own = Encoder::new(vec![layer(0), layer(1)], Some(norm), None);
    let expected = Encoder::from_config(&config(), key, &device);
    let (x, padding) = (random([2, 4, D_MODEL]), padding_mask(&ids(), 0));
    let run = |encoder: &Encoder| encoder.forward(x.clone(), Some(&padding), Mode::Inference);
    run(&own).into_data().assert_eq(&run(&expected).into_data(), true);
}

#[test]
fn a_decoder_of_parts_is_that_of_the_configuration() {
    let (device, key) = (Device::default(), RandomKey::new(3));
    let layer = |n| {
        let key = key.fold(n);
        let attentions = [attention(key.fold(0)), attention(key.fold(1))];
        let residual = ResidualNorm::new(NormPosition::Pre, 0.1);
        DecoderLayer::new(attentions, feed_forward(key.fold(2)), residual, &device)
    };
    let norm = LayerNorm::new(D_MODEL, LayerNorm::EPSILON, &device);
    let own = Decoder::new(vec![layer(0), layer(1)], Some(norm), None);
    let expected = Decoder::from_config(&config(), key, &device);
    let memory = Memory { states: random([2, 4, D_MODEL]), padding: padding_mask(&ids(), 0) };
    let x = random([2, 3, D_MODEL]);
    let run = |decoder: &Decoder| {
        decoder.forward(x.clone(), &mut decoder.start(&memory), Mode::Inference)
    };
    run(&own).into_data().assert_eq(&run(&expected).into_data(), true);
}

#[test]
fn a_decoder_layer_alone_continues_what_its_cache_holds() {
    let (device, key) = (Device::default(), RandomKey::new(5));
    let attentions = [attention(key.fold(0)), attention(key.fold(1))];
    let residual = ResidualNorm::new(NormPosition::Post, 0.0);
    let layer = DecoderLayer::new(attentions, feed_forward(key.fold(2)), residual, &device);
    let (memory, padding) = (random([2, 4, D_MODEL]), padding_mask(&ids(), 0));
    let x = random([2, 3, D_MODEL]);
    let mask = SelfAttentionMask::Dense(Some(look_ahead_mask(0, 3, &device)));
    let mut cache = layer.start(memory.clone());
    let whole = layer.forward(x.clone(), &mut cache, &mask, Some(&padding), Mode::Inference);
    let mut cache = layer.start(memory);
    for place in 0..3 {
        let position = x.clone().slice([0..2, place..place + 1]);
        let mask = SelfAttentionMask::Dense(None);
        let step = layer.forward(position, &mut cache, &mask, Some(&padding), Mode::Inference);
        let expected = whole.clone().slice([0..2, place..place + 1]);
        assert!(worst(step, expected) < 1e-5, "position {place}");
    }
}

#[test]
#[should_panic(expected = "5 heads do not divide 16 features")]
fn heads_that_do_not_divide_the_width_panic() {
    MultiHeadAttention::new(D_MODEL, 5, RandomKey::new(1), &Device::default());
}

#[test]
fn vectors_in_the_place_of_embeddings_go_the_same_way() {
    let device = Device::default();
    let config = TransformerConfig { dropout: 0.2, ..config() };
    let model = config.init(1, &device).unwrap();
    let mode = Mode::training(1, 1);
    let expected = model.encode(ids(), mode);
    let vectors = model.embeddings.source(ids());
    let memory = model.encode_embedded(vectors, Some(padding_mask(&ids(), config.pad)), mode);
    memory.states.to_data().assert_eq(&expected.states.into_data(), true);
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
    memory.states.to_data().assert_eq(&expected.states.into_data(), true);
    let whole = model.decode_embedded(x, &mut model.start_decoding(&memory), Mode::Inference);
    assert_eq!(whole.dims(), [2, 4, D_MODEL]);
}

/// A decoder-only model of two layers.
fn language_model() -> Decoder {
    let (device, key) = (Device::default(), RandomKey::new(9));
    let layer = |n| {
        let key = key.fold(n);
        let residual = ResidualNorm::new(NormPosition::Pre, 0.0);
        let network = feed_forward(key.fold(1));
        DecoderLayer::without_cross_attention(attention(key.fold(0)), network, residual, &device)
    };
    let norm = LayerNorm::new(D_MODEL, LayerNorm::EPSILON, &device);
    Decoder::new(vec![layer(0), layer(1)], Some(norm), None)
}

#[test]
fn a_decoder_alone_sees_the_past_only_and_continues_its_cache() {
    let model = language_model();
    let x = random([2, 5, D_MODEL]);
    let whole = |x: Tensor<3>| model.forward(x, &mut model.start_without_source(), Mode::Inference);
    let states = whole(x.clone());
    let changed = x.clone().slice_assign([0..2, 4..5], random([2, 1, D_MODEL]) * 7.0);
    let others = whole(changed);
    let first = |x: &Tensor<3>| x.clone().slice([0..2, 0..4]);
    assert_eq!(worst(first(&states), first(&others)), 0.0);
    assert!(worst(states.clone(), others) > 0.1);
    let mut cache = model.start_without_source();
    for place in 0..5 {
        let step = x.clone().slice([0..2, place..place + 1]);
        let step = model.forward(step, &mut cache, Mode::Inference);
        let expected = states.clone().slice([0..2, place..place + 1]);
        assert!(worst(step, expected) < 1e-5, "position {place}");
    }
    // Rows can be reordered and dropped, and nothing else is to be selected.
    cache.select_rows(&[1]);
    cache.select_sentences(&[1]);
    let last = random([1, 1, D_MODEL]);
    let next = model.forward(last.clone(), &mut cache, Mode::Inference);
    let longer = Tensor::cat(vec![x.slice([1..2, 0..5]), last], 1);
    assert!(worst(next, whole(longer).slice([0..1, 5..6])) < 1e-5);
}

#[test]
fn a_decoder_attends_to_a_memory_of_another_width() {
    let (device, key) = (Device::default(), RandomKey::new(5));
    let sizes = MultiHeadAttentionConfig::new(D_MODEL, 4);
    let cross = sizes.with_memory_width(Some(6)).init_with_key(key.fold(1), &device);
    let attentions = [attention(key.fold(0)), cross];
    let residual = ResidualNorm::new(NormPosition::Post, 0.0);
    let layer = DecoderLayer::new(attentions, feed_forward(key.fold(2)), residual, &device);
    let x = random([2, 3, D_MODEL]);
    let run = |memory| {
        let mask = SelfAttentionMask::Dense(Some(look_ahead_mask(0, 3, &device)));
        let mut cache = layer.start(memory);
        layer.forward(x.clone(), &mut cache, &mask, None, Mode::Inference)
    };
    let memory = random([2, 4, 6]);
    let states = run(memory.clone());
    assert_eq!(states.dims(), [2, 3, D_MODEL]);
    assert!(worst(states, run(memory * 3.0)) > 1e-3);
}

#[test]
fn attention_of_a_configuration_is_that_of_new_and_has_no_biases_if_none_are_wanted() {
    let (device, key) = (Device::default(), RandomKey::new(5));
    let sizes = || MultiHeadAttentionConfig::new(D_MODEL, 4);
    let x = random([2, 3, D_MODEL]);
    let run = |own: &MultiHeadAttention| own.forward(x.clone(), x.clone(), None, Mode::Inference);
    let expected = run(&attention(key));
    let found = run(&sizes().init_with_key(key, &device));
    found.into_data().assert_eq(&expected.to_data(), true);
    // Biases are zeros at first, and the weights do not depend on them.
    let without = sizes().with_bias(false).init_with_key(key, &device);
    assert_eq!(without.num_params(), 4 * D_MODEL * D_MODEL);
    assert!(worst(run(&without), expected) < 1e-6);
    // Two layers of one configuration are not the same layer.
    let [one, other] = [(); 2].map(|()| sizes().init(&device));
    assert!(worst(run(&one), run(&other)) > 1e-3);
}

#[test]
fn an_epsilon_reaches_every_norm_of_a_layer() {
    let (device, key) = (Device::default(), RandomKey::new(5));
    let residual = || ResidualNorm::new(NormPosition::Pre, 0.0);
    let layer = |epsilon| {
        let (own, network) = (attention(key.fold(0)), feed_forward(key.fold(1)));
        EncoderLayer::new(own, network, residual(), &device).with_epsilon(epsilon)
    };
    let config = TransformerConfig { layer_norm_eps: 0.3, dropout: 0.0, ..config() };
    let expected = EncoderLayer::from_config(&config, key, &device);
    let (x, mask) = (random([2, 3, D_MODEL]), SelfAttentionMask::Dense(None));
    let run = |layer: &EncoderLayer| layer.forward(x.clone(), &mask, Mode::Inference);
    run(&layer(0.3)).into_data().assert_eq(&run(&expected).into_data(), true);
    assert!(worst(run(&layer(0.3)), run(&layer(1e-5))) > 1e-3);
}

/// Burn's own way to save a module.
#[test]
fn a_model_goes_through_a_record_of_burn_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::default();
    let path = folder.path().join("model");
    let model = config().init(1, &device).unwrap();
    model.clone().save_file(&path).unwrap();
    let loaded = config().init(2, &device).unwrap().try_load_file(&path).unwrap();
    assert_eq!(named_parameters(&loaded), named_parameters(&model));
    let run = |model: &Transformer| model.forward(ids(), ids(), Mode::Inference);
    run(&loaded).into_data().assert_eq(&run(&model).into_data(), true);
    let other = TransformerConfig { d_ff: 8, ..config() }.init(2, &device).unwrap();
    assert!(other.try_load_file(&path).is_err(), "another shape is refused");
}

#[test]
#[should_panic(expected = "3 heads do not divide 100 features")]
fn a_configuration_refuses_heads_that_do_not_divide_the_width() {
    let _ = TransformerConfig::tiny(20).with_width(100, 3);
}

#[test]
fn recording_gives_the_weights_of_every_layer_and_the_same_states() {
    let device = Device::default();
    let encoder = Encoder::from_config(&config(), RandomKey::new(3), &device);
    let (x, mut weights) = (random([2, 4, D_MODEL]), Vec::new());
    let padding = padding_mask(&ids(), 0);
    let states = encoder.forward(x.clone(), Some(&padding), Mode::Inference);
    let recorded =
        encoder.forward_recording(x.clone(), Some(&padding), Mode::Inference, &mut weights);
    assert!(worst(recorded, states) < 1e-5);
    assert_eq!(weights.len(), 2);
    let sums = weights[1].clone().sum_dim(3);
    assert!(worst(sums.clone(), sums.ones_like()) < 1e-5);
    let (model, mut maps) = (language_model(), AttentionMaps::default());
    let states = model.forward(x.clone(), &mut model.start_without_source(), Mode::Inference);
    let mut cache = model.start_without_source();
    let recorded = model.forward_recording(x, &mut cache, Mode::Inference, &mut maps);
    assert!(worst(recorded, states) < 1e-5);
    assert_eq!([maps.decoder_self.len(), maps.cross.len()], [2, 0]);
}

#[test]
#[should_panic(expected = "the cache has a source")]
fn a_layer_with_cross_attention_needs_a_cache_with_a_source() {
    let decoder = Decoder::from_config(&config(), RandomKey::new(3), &Device::default());
    let mut cache = decoder.start_without_source();
    decoder.forward(random([2, 3, D_MODEL]), &mut cache, Mode::Inference);
}

/// Without a check, projections to no features would be built.
#[test]
#[should_panic(expected = "has 0 heads; it needs at least one")]
fn no_heads_are_refused_with_given_widths_too() {
    let config = MultiHeadAttentionConfig::new(16, 0).with_d_k(Some(4)).with_d_v(Some(4));
    config.init_with_key(RandomKey::new(1), &Device::default());
}
