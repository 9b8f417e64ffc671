//! Multi-head attention by itself.

use burn::module::Module;
use burn::tensor::{Bool, Device, Distribution, Tensor, TensorData};
use burnformer_core::{
    AttentionBias, AttentionKind, Context, MhaInput, Mode, MultiHeadAttention,
    MultiHeadAttentionConfig, RandomKey, Recorder, TransformerConfig,
};

use super::{D_MODEL, attention, random, sizes, worst};

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
        let recorder = Recorder::default();
        let context = Context::from(Mode::Inference).recorded_by(&recorder);
        let output = attention.forward(
            MhaInput::new(query.clone(), memory).mask(mask.clone()),
            context,
        );
        (
            output,
            recorder.weights(AttentionKind::SelfAttention).remove(0),
        )
    };
    let (output, weights) = run(memory.clone());
    let input = MhaInput::new(query.clone(), memory.clone()).mask(mask.clone());
    let fused = attention.forward(input, Mode::Inference);
    assert!(worst(output, fused) < 1e-5);
    for n in 0..4 {
        let seen = head(&weights, n).slice([0..2, 0..1, 0..3, n..n + 1]);
        assert_eq!(seen.abs().max().into_scalar::<f32>(), 0.0);
    }
    // Only head 2 does not notice a change of key 2.
    let changed = memory
        .clone()
        .slice_assign([0..2, 2..3], random([2, 1, D_MODEL]));
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
        let input = MhaInput::new(query.clone(), memory.clone()).bias(bias.clone());
        attention.forward(input, Mode::Inference)
    };
    let plain = run(&AttentionBias::None);
    let additive = |scores| AttentionBias::Additive { scores, mask: None };
    let zeros = Tensor::<4>::zeros([1, 4, 1, 5], &device).require_grad();
    let biased = run(&additive(zeros.clone()));
    assert!(worst(biased.clone(), plain.clone()) < 1e-5);
    let gradient = zeros
        .grad(&(biased.clone() * biased).sum().backward())
        .unwrap();
    assert!(gradient.abs().max().into_scalar::<f32>() > 1e-4);
    // The same number for every key changes nothing; a large one for one key of one head does.
    assert!(
        worst(
            run(&additive(Tensor::ones([1, 1, 3, 1], &device) * 3.0)),
            plain.clone()
        ) < 1e-4
    );
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

#[test]
#[should_panic(expected = "5 heads do not divide 16 features")]
fn heads_that_do_not_divide_the_width_panic() {
    MultiHeadAttentionConfig::new(D_MODEL, 5).init(&Device::default());
}

#[test]
fn attention_without_bias_has_no_bias() {
    let (device, key) = (Device::default(), RandomKey::new(5));
    let x = random([2, 3, D_MODEL]);
    let run = |layer: &MultiHeadAttention| {
        layer.forward(MhaInput::self_attention(x.clone()), Mode::Inference)
    };
    let expected = run(&attention(key));
    // Biases are zeros at first, and the weights do not depend on them.
    let without = sizes().with_bias(false).init_with_key(key, &device);
    assert_eq!(without.num_params(), 4 * D_MODEL * D_MODEL);
    assert!(worst(run(&without), expected) < 1e-6);
    // Two layers of one configuration are not the same layer.
    let [one, other] = [(); 2].map(|()| sizes().init(&device));
    assert!(worst(run(&one), run(&other)) > 1e-3);
}

/// Without a check, projections to no features would be built.
#[test]
#[should_panic(expected = "has 0 heads; it needs at least one")]
fn zero_heads_panic_with_given_widths_too() {
    let config = MultiHeadAttentionConfig::new(16, 0)
        .with_d_k(Some(4))
        .with_d_v(Some(4));
    config.init_with_key(RandomKey::new(1), &Device::default());
}

#[test]
#[should_panic(expected = "3 heads do not divide 100 features")]
fn a_configuration_refuses_heads_that_do_not_divide_the_width() {
    let _ = TransformerConfig::tiny(20).with_width(100, 3);
}
