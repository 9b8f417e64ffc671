//! Layers by themselves, for models of one's own.

use burn::tensor::{Device, Distribution, Int, Tensor};
use burnformer_core::{
    Activation, ComputeType, Decoder, DecoderLayer, Encoder, EncoderLayer, LayerNorm, Linear,
    Memory, Mode, MultiHeadAttention, NormPosition, PositionWiseFeedForward, PositionalEncoding,
    RandomKey, ResidualNorm, SelfAttentionMask, TransformerConfig, look_ahead_mask, padding_mask,
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
    let run = |encoder: &Encoder| encoder.forward(x.clone(), &padding, Mode::Inference, None);
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
        decoder.forward(x.clone(), &mut decoder.start(&memory), Mode::Inference, None)
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
    let whole = layer.forward(x.clone(), &mut cache, &mask, &padding, Mode::Inference, None);
    let mut cache = layer.start(memory);
    for place in 0..3 {
        let position = x.clone().slice([0..2, place..place + 1]);
        let mask = SelfAttentionMask::Dense(None);
        let step = layer.forward(position, &mut cache, &mask, &padding, Mode::Inference, None);
        let expected = whole.clone().slice([0..2, place..place + 1]);
        assert!(worst(step, expected) < 1e-5, "position {place}");
    }
}

#[test]
#[should_panic(expected = "5 heads do not divide 16 features")]
fn heads_that_do_not_divide_the_width_panic() {
    MultiHeadAttention::new(D_MODEL, 5, RandomKey::new(1), &Device::default());
}
