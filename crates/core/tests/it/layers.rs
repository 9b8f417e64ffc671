//! Layers by themselves, for models of one's own.

use burn::module::Module;
use burn::tensor::{Bool, Device, Distribution, Int, Tensor, TensorData};
use burnformer_core::{
    Activation, AttentionBias, AttentionKind, AttentionSource, ComputeType, Context, Decoder,
    DecoderBias, DecoderConfig, DecoderLayerConfig, EncodedSource, Encoder, EncoderConfig,
    EncoderLayer, LayerConfig, LayerNorm, Linear, Mode, MultiHeadAttention,
    MultiHeadAttentionConfig, NormPosition, PositionWiseFeedForwardConfig, PositionalEncoding,
    PositionalEncodingConfig, RandomKey, Recorder, ResidualNorm, Seq2Seq, Seq2SeqCache,
    Transformer, TransformerConfig, look_ahead_mask, named_parameters, padding_mask,
};

const D_MODEL: usize = 16;
/// A bias that hides and adds nothing.
const NONE: DecoderBias = DecoderBias { target: AttentionBias::None, source: AttentionBias::None };

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
    let network = network().with_activation(Activation::Gelu).init(&device);
    assert_any_leading_dimensions!("feed-forward", |x| network.forward(x, Mode::Inference));
    let learned = PositionalEncodingConfig::new(D_MODEL).with_learned(Some(9));
    for positions in [PositionalEncoding::sinusoidal(), learned.init_with_key(key, &device)] {
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
fn an_encoder_of_parts_is_that_of_the_configuration() {
    let (device, key) = (Device::default(), RandomKey::new(3));
    let layer = LayerConfig::new(sizes(), network()).with_norm(NormPosition::Pre);
    let encoder = EncoderConfig::new(layer.clone(), 2).init_with_key(key, &device);
    let expected = config().encoder().init_with_key(key, &device);
    let (x, padding) = (random([2, 4, D_MODEL]), padding_mask(&ids(), 0));
    let bias = AttentionBias::Mask(padding.clone());
    let run = |encoder: &Encoder| encoder.forward(x.clone(), &bias, Mode::Inference);
    let states = run(&encoder);
    states.to_data().assert_eq(&run(&expected).into_data(), true);
    // Layer by layer.
    let by_hand = (0..2).fold(x.clone(), |x, n| {
        layer.init_with_key(key.fold(n), &device).forward(x, &bias, Mode::Inference)
    });
    let by_hand = LayerNorm::new(D_MODEL, LayerNorm::EPSILON, &device).forward(by_hand);
    by_hand.into_data().assert_eq(&states.into_data(), true);
}

fn decoder_layer() -> DecoderLayerConfig {
    DecoderLayerConfig::new(LayerConfig::new(sizes(), network()))
        .with_cross_attention(Some(sizes()))
}

#[test]
fn a_decoder_of_parts_is_that_of_the_configuration() {
    let (device, key) = (Device::default(), RandomKey::new(3));
    let layer = decoder_layer();
    let pre_norm = layer.layer.clone().with_norm(NormPosition::Pre);
    let layer = DecoderLayerConfig { layer: pre_norm, ..layer };
    let decoder = DecoderConfig::new(layer, 2).init_with_key(key, &device);
    let expected = config().decoder().init_with_key(key, &device);
    let source =
        EncodedSource { states: random([2, 4, D_MODEL]), padding: padding_mask(&ids(), 0) };
    let x = random([2, 3, D_MODEL]);
    let run = |decoder: &Decoder| {
        decoder.forward(x.clone(), &mut decoder.start(&source), &NONE, Mode::Inference)
    };
    run(&decoder).into_data().assert_eq(&run(&expected).into_data(), true);
}

#[test]
fn a_decoder_layer_alone_continues_what_its_cache_holds() {
    let device = Device::default();
    let layer = decoder_layer().init(&device);
    let (memory, padding) = (random([2, 4, D_MODEL]), padding_mask(&ids(), 0));
    let x = random([2, 3, D_MODEL]);
    let target = AttentionBias::Mask(look_ahead_mask(0, 3, &device));
    let source = AttentionBias::Mask(padding);
    let bias = DecoderBias { target, source: source.clone() };
    let mut cache = layer.start(memory.clone());
    let whole = layer.forward(x.clone(), &mut cache, &bias, Mode::Inference);
    let mut cache = layer.start(memory);
    for index in 0..3 {
        let position = x.clone().slice([0..2, index..index + 1]);
        let bias = DecoderBias { source: source.clone(), ..NONE };
        let step = layer.forward(position, &mut cache, &bias, Mode::Inference);
        let expected = whole.clone().slice([0..2, index..index + 1]);
        assert!(worst(step, expected) < 1e-5, "position {index}");
    }
}

/// The rows of `x` (`[2, heads, 3, 5]`) of one head.
fn head(x: &Tensor<4>, head: usize) -> Tensor<4> {
    x.clone().slice([0..2, head..head + 1])
}

#[test]
fn a_mask_of_each_head_hides_other_keys_from_each() {
    let attention = attention(RandomKey::new(2));
    let (query, memory) = (random([2, 3, D_MODEL]), random([2, 5, D_MODEL]));
    // Head h does not see key h.
    let hidden: Vec<bool> = (0..4 * 5).map(|i| i / 5 == i % 5).collect();
    let mask =
        Tensor::<4, Bool>::from_data(TensorData::new(hidden, [1, 4, 1, 5]), &Device::default());
    let run = |memory: Tensor<3>| {
        let mask = Some(mask.clone());
        let recorder = Recorder::default();
        let context = Context::from(Mode::Inference).recorded_by(&recorder);
        let output = attention.forward(query.clone(), memory, mask, context);
        (output, recorder.weights(AttentionKind::SelfAttention).remove(0))
    };
    let (output, weights) = run(memory.clone());
    let fused =
        attention.forward(query.clone(), memory.clone(), Some(mask.clone()), Mode::Inference);
    assert!(worst(output, fused) < 1e-5);
    for n in 0..4 {
        let seen = head(&weights, n).slice([0..2, 0..1, 0..3, n..n + 1]);
        assert_eq!(seen.abs().max().into_scalar::<f32>(), 0.0);
    }
    // Only head 2 does not notice a change of key 2.
    let changed = memory.clone().slice_assign([0..2, 2..3], random([2, 1, D_MODEL]));
    let (_, others) = run(changed);
    let change = |n| worst(head(&weights, n), head(&others, n));
    assert_eq!(change(2), 0.0);
    assert!([0, 1, 3].map(change).iter().all(|&change| change > 1e-4));
}

#[test]
fn an_additive_bias_changes_the_scores_of_each_head_and_gets_gradients() {
    let device = Device::default().autodiff();
    let attention = sizes().init_with_key(RandomKey::new(2), &device);
    let make = |shape| Tensor::<3>::random(shape, Distribution::Normal(0.0, 1.0), &device);
    let (query, memory) = (make([2, 3, D_MODEL]), make([2, 5, D_MODEL]));
    let run = |bias: &AttentionBias| {
        let source = AttentionSource::KeyValues(attention.key_values(memory.clone(), 0));
        attention.attend(attention.queries(query.clone(), 0), source, bias, Mode::Inference)
    };
    let plain = run(&AttentionBias::None);
    let additive = |scores| AttentionBias::Additive { scores, mask: None };
    let zeros = Tensor::<4>::zeros([1, 4, 1, 5], &device).require_grad();
    let biased = run(&additive(zeros.clone()));
    assert!(worst(biased.clone(), plain.clone()) < 1e-5);
    let gradient = zeros.grad(&(biased.clone() * biased).sum().backward()).unwrap();
    assert!(gradient.abs().max().into_scalar::<f32>() > 1e-4);
    // The same number for every key changes nothing; a large one for one key of one head does.
    assert!(worst(run(&additive(Tensor::ones([1, 1, 3, 1], &device) * 3.0)), plain.clone()) < 1e-4);
    let one = zeros.clone().slice_fill([0..1, 1..2, 0..1, 0..1], 9.0);
    assert!(worst(run(&additive(one)), plain) > 1e-3);
    // A large negative number hides a key as a mask does.
    let far = zeros.slice_fill([0..1, 0..4, 0..1, 3..4], -1e9);
    let hidden = far.clone().lower_elem(-1.0);
    let masked = run(&AttentionBias::Mask(hidden.clone()));
    assert!(worst(run(&additive(far)), masked.clone()) < 1e-5);
    let both = AttentionBias::Additive {
        scores: Tensor::zeros([1, 1, 1, 1], &device),
        mask: Some(hidden),
    };
    assert!(worst(run(&both), masked) < 1e-5);
}

/// A layer of a Transformer passes its bias on.
#[test]
fn an_encoder_layer_takes_an_additive_bias() {
    let layer = LayerConfig::new(sizes(), network()).init(&Device::default());
    let x = random([2, 3, D_MODEL]);
    let run = |by: f64| {
        let scores = random([1, 4, 3, 3]) * by;
        let mask = Some(look_ahead_mask(0, 3, &Device::default()));
        layer.forward(x.clone(), &AttentionBias::Additive { scores, mask }, Mode::Inference)
    };
    assert!(worst(run(0.0), run(3.0)) > 1e-3);
    // The first position sees itself alone.
    let first = |x: Tensor<3>| x.slice([0..2, 0..1]);
    assert!(worst(first(run(0.0)), first(run(3.0))) < 1e-5);
}

#[test]
#[should_panic(expected = "5 heads do not divide 16 features")]
fn heads_that_do_not_divide_the_width_panic() {
    MultiHeadAttentionConfig::new(D_MODEL, 5).init(&Device::default());
}

/// An encoder of ones own, with one layer and heads of another width.
#[test]
fn a_transformer_takes_other_parts() {
    let device = Device::default();
    let mut model = config().init(1, &device).unwrap();
    let layer = LayerConfig::new(sizes().with_d_k(Some(3)), network());
    model.encoder = EncoderConfig::new(layer, 1).init(&device);
    let memory = model.encode(ids(), Mode::Inference);
    let x = model.source_position.forward(model.embeddings.source(ids()), 0);
    let expected = model.encoder.forward(x, &Some(memory.padding).into(), Mode::Inference);
    memory.states.into_data().assert_eq(&expected.into_data(), true);
    assert_eq!(model.forward(ids(), ids(), Mode::Inference).dims()[..2], [2, 4]);
}

#[test]
fn an_encoder_with_a_look_ahead_mask_sees_no_later_position() {
    let device = Device::default();
    let encoder = config().encoder().init(&device);
    let (x, mask) = (random([2, 4, D_MODEL]), look_ahead_mask(0, 4, &device));
    let bias = AttentionBias::Mask(mask);
    let first = |x: Tensor<3>| encoder.forward(x, &bias, Mode::Inference).narrow(1, 0, 3);
    let changed = Tensor::cat(vec![x.clone().narrow(1, 0, 3), random([2, 1, D_MODEL]) + 1.0], 1);
    assert!(worst(first(x), first(changed)) < 1e-5);
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
    let layer =
        DecoderLayerConfig::new(LayerConfig::new(sizes(), network()).with_norm(NormPosition::Pre));
    DecoderConfig::new(layer, 2).init_with_key(RandomKey::new(9), &Device::default())
}

#[test]
fn a_decoder_alone_sees_the_past_only_and_continues_its_cache() {
    let model = language_model();
    let x = random([2, 5, D_MODEL]);
    let whole =
        |x: Tensor<3>| model.forward(x, &mut model.start_without_source(), &NONE, Mode::Inference);
    let states = whole(x.clone());
    let changed = x.clone().slice_assign([0..2, 4..5], random([2, 1, D_MODEL]) * 7.0);
    let others = whole(changed);
    let first = |x: &Tensor<3>| x.clone().slice([0..2, 0..4]);
    assert_eq!(worst(first(&states), first(&others)), 0.0);
    assert!(worst(states.clone(), others) > 0.1);
    let mut cache = model.start_without_source();
    for index in 0..5 {
        let step = x.clone().slice([0..2, index..index + 1]);
        let step = model.forward(step, &mut cache, &NONE, Mode::Inference);
        let expected = states.clone().slice([0..2, index..index + 1]);
        assert!(worst(step, expected) < 1e-5, "position {index}");
    }
    // Rows can be reordered and dropped, and nothing else is to be selected.
    cache.select_rows(&[1]);
    cache.select_sentences(&[1]);
    let last = random([1, 1, D_MODEL]);
    let next = model.forward(last.clone(), &mut cache, &NONE, Mode::Inference);
    let longer = Tensor::cat(vec![x.slice([1..2, 0..5]), last], 1);
    assert!(worst(next, whole(longer).slice([0..1, 5..6])) < 1e-5);
}

#[test]
fn a_decoder_attends_to_a_memory_of_another_width() {
    let device = Device::default();
    let cross = sizes().with_memory_width(Some(6));
    let layer = decoder_layer().with_cross_attention(Some(cross)).init(&device);
    let x = random([2, 3, D_MODEL]);
    let run = |memory| {
        let target = AttentionBias::Mask(look_ahead_mask(0, 3, &device));
        let mut cache = layer.start(memory);
        layer.forward(x.clone(), &mut cache, &DecoderBias { target, ..NONE }, Mode::Inference)
    };
    let memory = random([2, 4, 6]);
    let states = run(memory.clone());
    assert_eq!(states.dims(), [2, 3, D_MODEL]);
    assert!(worst(states, run(memory * 3.0)) > 1e-3);
}

#[test]
fn attention_has_no_biases_if_none_are_wanted() {
    let (device, key) = (Device::default(), RandomKey::new(5));
    let x = random([2, 3, D_MODEL]);
    let run =
        |layer: &MultiHeadAttention| layer.forward(x.clone(), x.clone(), None, Mode::Inference);
    let expected = run(&attention(key));
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
    let layer = |epsilon| {
        let layer = LayerConfig::new(sizes(), network()).with_norm(NormPosition::Pre);
        layer.with_epsilon(epsilon).init_with_key(key, &device)
    };
    let config = TransformerConfig { layer_norm_eps: 0.3, dropout: 0.0, ..config() };
    let expected = config.encoder().layer.init_with_key(key, &device);
    let x = random([2, 3, D_MODEL]);
    let run =
        |layer: &EncoderLayer| layer.forward(x.clone(), &AttentionBias::None, Mode::Inference);
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

#[test]
#[should_panic(expected = "the cache has a source")]
fn a_layer_with_cross_attention_needs_a_cache_with_a_source() {
    let decoder = config().decoder().init(&Device::default());
    let mut cache = decoder.start_without_source();
    decoder.forward(random([2, 3, D_MODEL]), &mut cache, &NONE, Mode::Inference);
}

/// Without a check, projections to no features would be built.
#[test]
#[should_panic(expected = "has 0 heads; it needs at least one")]
fn no_heads_are_refused_with_given_widths_too() {
    let config = MultiHeadAttentionConfig::new(16, 0).with_d_k(Some(4)).with_d_v(Some(4));
    config.init_with_key(RandomKey::new(1), &Device::default());
}

#[derive(Module, Debug)]
struct SharedEmbeddings {
    linear: Linear,
}

#[derive(Module, Debug)]
struct Holder {
    mine: SharedEmbeddings,
}

/// The core has a type of this name, whose fields count as those of its holder.
#[test]
fn a_users_type_of_any_name_keeps_its_place_in_names() {
    let linear = Linear::new(2, 2, RandomKey::new(1), &Device::default());
    let holder = Holder { mine: SharedEmbeddings { linear } };
    let names: Vec<String> = named_parameters(&holder).into_keys().collect();
    assert_eq!(names, ["mine.linear.bias", "mine.linear.weight"]);
}
