//! Restricted self-attention in blocks against the same attention under a whole mask: values,
//! gradients, and the models that use it.

use burn::tensor::{Bool, Device, Distribution, Int, Tensor, TensorData};
use burnformer_core::{
    AttentionBias, AttentionInputs, Dropout, Mode, Seq2Seq, TransformerConfig, Window,
    WindowBlocks, scaled_dot_product_attention, window_attention,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Case {
    batch: usize,
    len: usize,
    heads: usize,
    window: Window,
    /// Real positions of each sentence; 0 hides every key.
    real: Vec<usize>,
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1..4usize, 1..90usize, 1..3usize, 0..40usize, any::<bool>());
    sizes.prop_flat_map(|(batch, len, heads, radius, causal)| {
        let window = Window { radius, causal };
        proptest::collection::vec(0..=len, batch).prop_map(move |real| Case {
            batch,
            len,
            heads,
            window,
            real,
        })
    })
}

const D_K: usize = 4;
const D_V: usize = 6;

impl Case {
    fn padding(&self, device: &Device) -> Tensor<4, Bool> {
        let hidden = |&real: &usize| (0..self.len).map(move |index| index >= real);
        let hidden: Vec<bool> = self.real.iter().flat_map(hidden).collect();
        Tensor::from_data(
            TensorData::new(hidden, [self.batch, 1, 1, self.len]),
            device,
        )
    }

    fn random(&self, d: usize, device: &Device) -> Tensor<3> {
        let shape = [self.batch, self.len, self.heads * d];
        Tensor::random(shape, Distribution::Normal(0.0, 1.0), device).require_grad()
    }

    fn split(&self, x: &Tensor<3>) -> Tensor<4> {
        let [batch, len, width] = x.dims();
        x.clone()
            .reshape([batch, len, self.heads, width / self.heads])
            .swap_dims(1, 2)
    }
}

fn distance(a: Tensor<3>, b: Tensor<3>) -> f32 {
    (a - b).abs().max().into_scalar()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn blocks_equal_the_dense_mask_in_values_and_gradients(case in cases()) {
        let device = Device::default().autodiff();
        let padding = case.padding(&device);
        let inputs = [D_K, D_K, D_V].map(|d| case.random(d, &device));
        let blocks = WindowBlocks::new(case.window, case.len, Some(&padding), &device);
        let dropout = Dropout::new(0.0);
        let operands = AttentionInputs::new(inputs.clone(), case.heads);
        let actual = window_attention(operands, &blocks, &dropout, Mode::Inference);
        let mask = case.window.dense_mask(case.len, Some(&padding), &device);
        let [q, k, v] = inputs.each_ref().map(|x| case.split(x));
        let mask = AttentionBias::Mask(mask);
        let whole = scaled_dot_product_attention(q, k, v, &mask, &dropout, Mode::Inference);
        let whole = whole.context.swap_dims(1, 2).reshape([case.batch, case.len, case.heads * D_V]);
        prop_assert!(distance(actual.clone(), whole.clone()) < 1e-5);
        let without_gradients = {
            let device = Device::default();
            let padding = case.padding(&device);
            let blocks = WindowBlocks::new(case.window, case.len, Some(&padding), &device);
            let operands = AttentionInputs::new(inputs.clone().map(Tensor::inner), case.heads);
            window_attention(operands, &blocks, &dropout, Mode::Inference)
        };
        prop_assert!(distance(without_gradients, actual.clone().inner()) < 1e-5);
        let towards = Tensor::random(actual.dims(), Distribution::Normal(0.0, 1.0), &device);
        let actual = (actual * towards.clone()).sum().backward();
        let whole = (whole * towards).sum().backward();
        for input in &inputs {
            let (actual, whole) = (input.grad(&actual).unwrap(), input.grad(&whole).unwrap());
            prop_assert!(distance(actual, whole) < 1e-4);
        }
    }
}

#[test]
fn without_padding_the_mask_is_the_window() {
    let device = Device::default().autodiff();
    let case = Case {
        batch: 2,
        len: 50,
        heads: 1,
        window: Window {
            radius: 5,
            causal: true,
        },
        real: vec![50, 50],
    };
    let inputs = [D_K, D_K, D_V].map(|d| case.random(d, &device));
    let attend = |padding: Option<&Tensor<4, Bool>>| {
        let blocks = WindowBlocks::new(case.window, case.len, padding, &device);
        let dropout = Dropout::new(0.0);
        let operands = AttentionInputs::new(inputs.clone(), case.heads);
        window_attention(operands, &blocks, &dropout, Mode::Inference)
    };
    assert_eq!(
        distance(attend(None), attend(Some(&case.padding(&device)))),
        0.0
    );
}

fn windowed() -> TransformerConfig {
    TransformerConfig {
        attention_window: Some(3),
        ..TransformerConfig::tiny(30)
    }
}

/// `[1, len]` ids from 3 up.
fn ids(len: usize, device: &Device) -> Tensor<2, Int> {
    let ids: Vec<i32> = (0..len as i32).map(|index| 3 + index * 7 % 27).collect();
    Tensor::from_data(TensorData::new(ids, [1, len]), device)
}

#[test]
fn blocks_encode_a_long_source_like_the_dense_mask() {
    let device = Device::default();
    let model = windowed().init(1, &device).unwrap();
    let len = 100;
    let padding = Tensor::<2, Int>::zeros([1, len], &device)
        .equal_elem(1)
        .reshape([1, 1, 1, len]);
    let x = Tensor::random([1, len, 128], Distribution::Normal(0.0, 1.0), &device);
    let actual = model
        .encoder
        .forward(x.clone(), &Some(padding.clone()).into(), Mode::Inference);
    let window = Window {
        radius: 3,
        causal: false,
    };
    let whole = AttentionBias::Mask(window.dense_mask(len, Some(&padding), &device));
    let layers = model.encoder.layers.iter();
    let whole = layers.fold(x, |x, layer| layer.forward(x, &whole, Mode::Inference));
    let worst = distance(actual, whole);
    assert!(worst < 1e-5, "{worst}");
}

/// Steps attend to a cache that holds the window alone; the whole pass attends in blocks.
#[test]
fn steps_with_a_cache_equal_a_long_pass_in_blocks() {
    let device = Device::default();
    let model = windowed().init(1, &device).unwrap();
    let len = 70;
    let memory = model.encode(ids(9, &device), Mode::Inference);
    let target = ids(len, &device);
    let whole = model.logits(model.decode(target.clone(), &memory, Mode::Inference));
    for chunks in [&[1][..], &[5], &[5, 1, 1]] {
        let mut cache = model.start_decoding(&memory);
        let mut end = 0;
        for chunk in chunks.iter().cycle() {
            let start = end;
            end += chunk;
            if end > len {
                break;
            }
            let step = model.decode_step(target.clone().slice([0..1, start..end]), &mut cache);
            let expected = whole
                .clone()
                .slice([0..1, end - 1..end])
                .reshape(step.dims());
            let worst: f32 = (step - expected).abs().max().into_scalar();
            assert!(worst < 1e-5, "{chunks:?} {start} {worst}");
            assert_eq!(cache.len(), end);
        }
    }
}

#[test]
fn recorded_weights_of_a_window_are_dense() {
    let device = Device::default();
    let model = windowed().init(1, &device).unwrap();
    let maps = model.attention(ids(80, &device), ids(70, &device));
    assert_eq!(maps.encoder_self[0].dims(), [1, 4, 80, 80]);
    assert_eq!(maps.decoder_self[1].dims(), [1, 4, 70, 70]);
    let far: f32 = maps.encoder_self[0]
        .clone()
        .slice([0..1, 0..4, 0..1, 4..80])
        .sum()
        .into_scalar();
    assert_eq!(far, 0.0);
}

/// `cargo xtask test training_cost -- --ignored --nocapture` prints the exponents.
#[test]
#[ignore = "measures time, on a machine that does nothing else"]
fn training_cost_grows_with_the_length_and_not_with_its_square() {
    let device = Device::default().autodiff();
    let (window, heads, width) = (
        Window {
            radius: 32,
            causal: false,
        },
        8,
        512,
    );
    let seconds = |len: usize, blocks: bool| {
        let shape = [1, len, width];
        let inputs = [1, 2, 3].map(|_| Tensor::random(shape, Distribution::Default, &device));
        let sight = WindowBlocks::new(window, len, None, &device);
        let mask = window.dense_mask(len, None, &device);
        let pass = || {
            let inputs = inputs.clone().map(Tensor::require_grad);
            let operands = AttentionInputs::new(inputs.clone(), heads);
            let context = if blocks {
                let dropout = Dropout::new(0.0);
                window_attention(operands, &sight, &dropout, Mode::Inference)
            } else {
                let hidden = Some(mask.clone());
                burnformer_kernels::attention(AttentionInputs { hidden, ..operands }, None)
            };
            let gradients = context.sum().backward();
            inputs
                .iter()
                .for_each(|x| drop(x.grad(&gradients).unwrap().into_data()));
        };
        pass();
        let time = |_| {
            let start = std::time::Instant::now();
            pass();
            start.elapsed().as_secs_f64()
        };
        (0..3).map(time).fold(f64::INFINITY, f64::min)
    };
    let exponent = |blocks| {
        let times = [1024, 4096].map(|len| seconds(len, blocks));
        println!("blocks {blocks}: {times:?} s at 1024 and 4096 positions");
        (times[1] / times[0]).ln() / 4f64.ln()
    };
    let (blocks, whole) = (exponent(true), exponent(false));
    println!("exponents: {blocks:.2} in blocks, {whole:.2} under the whole mask");
    assert!(blocks < 1.4 && whole > 1.7, "{blocks} {whole}");
}
