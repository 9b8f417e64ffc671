//! Decoders and their layers by themselves.

use burn::tensor::{Device, Tensor};
use burnformer_core::{
    AttentionBias, ClosingNorm, Conventions, Decoder, DecoderBias, DecoderConfig,
    DecoderLayerConfig, EncodedSource, HistoryNorm, LayerCache, Mode, NormPosition, RandomKey,
    Seq2SeqCache, TargetSublayer, TransformerConfig, look_ahead_mask, padding_mask,
};

use super::{D_MODEL, NONE, config, decoder_layer, ids, language_model, random, worst};

#[test]
fn a_decoder_from_its_config_equals_the_model() {
    let (device, key) = (Device::default(), RandomKey::new(3));
    let layer = decoder_layer();
    let pre_norm = layer.layer.clone().with_norm(NormPosition::Pre);
    let layer = DecoderLayerConfig {
        layer: pre_norm,
        ..layer
    };
    let decoder = DecoderConfig::new(layer, 2).init_with_key(key, &device);
    let expected = config().decoder().init_with_key(key, &device);
    let source = EncodedSource {
        states: random([2, 4, D_MODEL]),
        padding: padding_mask(&ids(), 0),
    };
    let x = random([2, 3, D_MODEL]);
    let run = |decoder: &Decoder| {
        decoder.forward(
            x.clone(),
            &mut decoder.start(&source),
            &NONE,
            Mode::Inference,
        )
    };
    run(&decoder)
        .into_data()
        .assert_eq(&run(&expected).into_data(), true);
}

#[test]
fn a_decoder_layer_continues_its_cache() {
    let device = Device::default();
    let layer = decoder_layer().init(&device);
    let (memory, padding) = (random([2, 4, D_MODEL]), padding_mask(&ids(), 0));
    let x = random([2, 3, D_MODEL]);
    let target = AttentionBias::Mask(look_ahead_mask(0, 3, &device));
    let source = AttentionBias::Mask(padding);
    let bias = DecoderBias {
        target,
        source: source.clone(),
    };
    let mut cache = layer.start(memory.clone());
    let whole = layer.forward(x.clone(), &mut cache, &bias, Mode::Inference);
    let mut cache = layer.start(memory);
    for index in 0..3 {
        let position = x.clone().slice([0..2, index..index + 1]);
        let bias = DecoderBias {
            source: source.clone(),
            ..NONE
        };
        let step = layer.forward(position, &mut cache, &bias, Mode::Inference);
        let expected = whole.clone().slice([0..2, index..index + 1]);
        assert!(worst(step, expected) < 1e-5, "position {index}");
    }
}

#[test]
fn a_decoder_sees_only_the_past_and_continues_its_cache() {
    let model = language_model();
    let x = random([2, 5, D_MODEL]);
    let whole =
        |x: Tensor<3>| model.forward(x, &mut model.start_without_source(), &NONE, Mode::Inference);
    let states = whole(x.clone());
    let changed = x
        .clone()
        .slice_assign([0..2, 4..5], random([2, 1, D_MODEL]) * 7.0);
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
#[should_panic(expected = "the cache has a source")]
fn a_layer_with_cross_attention_needs_a_cache_with_a_source() {
    let decoder = config().decoder().init(&Device::default());
    let mut cache = decoder.start_without_source();
    decoder.forward(random([2, 3, D_MODEL]), &mut cache, &NONE, Mode::Inference);
}

/// A target as a whole is computed as in training. Step by step, only the first position is:
/// attention then sees keys and values of unnormalised inputs, the first one's included.
#[test]
fn keys_before_the_norm_count_from_the_second_step_on() {
    let device = Device::default();
    let pre_norm = decoder_layer().layer.with_norm(NormPosition::Pre);
    let layer = |history_norm| {
        DecoderLayerConfig::new(pre_norm.clone())
            .with_history_norm(history_norm)
            .init_with_key(RandomKey::new(4), &device)
    };
    let [always, first] = [HistoryNorm::Always, HistoryNorm::FirstToken].map(layer);
    let x = random([2, 3, D_MODEL]) * 3.0;
    let bias = DecoderBias {
        target: AttentionBias::Mask(look_ahead_mask(0, 3, &device)),
        ..NONE
    };
    let [whole, other] = [&always, &first].map(|layer| {
        let mut cache = LayerCache::without_source();
        layer.forward(x.clone(), &mut cache, &bias, Mode::Inference)
    });
    assert_eq!(worst(whole.clone(), other), 0.0);
    let mut cache = LayerCache::without_source();
    for index in 0..3 {
        let position = x.clone().slice([0..2, index..index + 1]);
        let step = first.forward(position, &mut cache, &NONE, Mode::Inference);
        let expected = whole.clone().slice([0..2, index..index + 1]);
        let difference = worst(step, expected);
        assert_eq!(difference < 1e-5, index == 0, "{index}: {difference}");
    }
    let TargetSublayer::SelfAttention(attention) = &first.self_attention else {
        panic!("self-attention");
    };
    let (keys, values) = cache.target.key_values();
    let raw = attention.key_values(x);
    assert!(worst(keys, raw.key) < 1e-5);
    assert!(worst(values, raw.value) < 1e-5);
}

#[test]
fn a_pre_norm_stack_may_end_without_a_norm() {
    let device = Device::default();
    let layer = |norm, closing| {
        let layer = decoder_layer().layer.with_norm(norm).with_closing(closing);
        let decoder = DecoderConfig::new(DecoderLayerConfig::new(layer), 1);
        decoder.init_with_key(RandomKey::new(4), &device)
    };
    assert!(
        layer(NormPosition::Pre, ClosingNorm::Present)
            .norm
            .is_some()
    );
    assert!(layer(NormPosition::Pre, ClosingNorm::Absent).norm.is_none());
    assert!(
        layer(NormPosition::Post, ClosingNorm::Present)
            .norm
            .is_none()
    );
    let config = TransformerConfig {
        norm: NormPosition::Pre,
        ..config()
    };
    let bare = TransformerConfig {
        conventions: Conventions {
            closing_norm: ClosingNorm::Absent,
            ..Conventions::default()
        },
        ..config.clone()
    };
    // A scale and a bias for each stack.
    assert_eq!(
        config.parameter_count() - bare.parameter_count(),
        4 * D_MODEL
    );
}
