//! The layers beside `burn::nn`: the same values, the known differences, and their cost.

use std::time::Instant;

use burn::module::Param;
use burn::nn;
use burn::nn::attention::{
    MhaInput as BurnInput, MultiHeadAttention as BurnAttention,
    MultiHeadAttentionConfig as BurnAttentionConfig, generate_autoregressive_mask,
};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::transformer::{
    TransformerDecoder, TransformerDecoderConfig, TransformerDecoderInput, TransformerEncoder,
    TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::tensor::{Bool, Device, Distribution, Int, Tensor};
use burnformer_core::{
    AttentionBias, EncoderLayer, LayerConfig, Linear, MhaInput, Mode, MultiHeadAttention,
    MultiHeadAttentionConfig, NormPosition, PositionWiseFeedForwardConfig, RandomKey, Seq2Seq,
    TransformerConfig, label_smoothed_cross_entropy,
};

fn random(shape: [usize; 3], device: &Device) -> Tensor<3> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

fn worst<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    (a - b).abs().max().into_scalar()
}

/// Gives a map of Burn (`[in, out]`) the weights of ours (`[out, in]`).
fn copy(from: &Linear, to: &mut nn::Linear) {
    to.weight = Param::from_tensor(from.weight.val().transpose().detach());
    to.bias = from
        .bias
        .as_ref()
        .map(|bias| Param::from_tensor(bias.val().detach()));
}

fn copy_attention(from: &MultiHeadAttention, to: &mut BurnAttention) {
    copy(&from.query, &mut to.query);
    copy(&from.key, &mut to.key);
    copy(&from.value, &mut to.value);
    copy(&from.output, &mut to.output);
}

fn attention(width: usize, heads: usize) -> MultiHeadAttentionConfig {
    MultiHeadAttentionConfig::new(width, heads)
}

fn encoder_layer(width: usize, heads: usize, norm: NormPosition) -> LayerConfig {
    let network = PositionWiseFeedForwardConfig::new(width, 4 * width);
    LayerConfig::new(attention(width, heads), network).with_norm(norm)
}

fn burn_encoder(width: usize, heads: usize, layers: usize) -> TransformerEncoderConfig {
    TransformerEncoderConfig::new(width, 4 * width, heads, layers)
        .with_activation(nn::activation::ActivationConfig::Relu)
        .with_dropout(0.0)
}

/// A layer of each with the same weights.
fn same_layers(norm: NormPosition, device: &Device) -> (EncoderLayer, TransformerEncoder) {
    let ours = encoder_layer(32, 4, norm).init_with_key(RandomKey::new(3), device);
    let config = burn_encoder(32, 4, 1).with_norm_first(norm == NormPosition::Pre);
    let mut theirs = config.init(device);
    let layer = &mut theirs.layers[0];
    copy_attention(&ours.self_attention, &mut layer.mha);
    copy(&ours.feed_forward.inner, &mut layer.pwff.linear_inner);
    copy(&ours.feed_forward.outer, &mut layer.pwff.linear_outer);
    (ours, theirs)
}

/// Hides the last `hidden` of `len` keys: `[batch, len]`.
fn padding(batch: usize, len: usize, hidden: usize, device: &Device) -> Tensor<2, Bool> {
    let indices = Tensor::<1, Int>::arange(0..len as i64, device).reshape([1, len]);
    indices
        .greater_equal_elem((len - hidden) as i64)
        .repeat_dim(0, batch)
}

#[test]
fn attention_equals_burn_in_values_and_gradients() {
    let device = Device::default().autodiff();
    let ours = attention(32, 4).init_with_key(RandomKey::new(1), &device);
    let mut theirs = BurnAttentionConfig::new(32, 4)
        .with_dropout(0.0)
        .init(&device);
    copy_attention(&ours, &mut theirs);
    let [query, memory] = [random([3, 5, 32], &device), random([3, 7, 32], &device)];
    let [query, memory] = [query.require_grad(), memory.require_grad()];
    let hidden = padding(3, 7, 2, &device);
    let mask = hidden.clone().reshape([3, 1, 1, 7]);
    let input = MhaInput::new(query.clone(), memory.clone()).mask(mask);
    let a = ours.forward(input, Mode::Inference);
    let input = BurnInput::new(query.clone(), memory.clone(), memory.clone()).mask_pad(hidden);
    let b = theirs.forward(input).context;
    assert!(worst(a.clone(), b.clone()) < 1e-5);
    let [a, b] = [a.square().sum().backward(), b.square().sum().backward()];
    for leaf in [query, memory] {
        let [a, b] = [&a, &b].map(|gradients| leaf.grad(gradients).expect("a leaf"));
        assert!(worst(a, b) < 1e-4);
    }
}

/// Burn's mask is a large negative number: a query without a visible key gets the mean of the
/// hidden values there, and zeros here.
#[test]
fn a_query_without_keys_gives_zeros_here_and_a_mean_in_burn() {
    let device = Device::default();
    let ours = attention(32, 4)
        .with_bias(false)
        .init_with_key(RandomKey::new(1), &device);
    let mut theirs = BurnAttentionConfig::new(32, 4)
        .with_dropout(0.0)
        .init(&device);
    copy_attention(&ours, &mut theirs);
    let x = random([1, 5, 32], &device);
    let hidden = padding(1, 5, 5, &device);
    let mask = hidden.clone().reshape([1, 1, 1, 5]);
    let output = ours.forward(
        MhaInput::self_attention(x.clone()).mask(mask),
        Mode::Inference,
    );
    assert_eq!(output.abs().max().into_scalar::<f32>(), 0.0);
    let output = theirs
        .forward(BurnInput::self_attn(x.clone()).mask_pad(hidden))
        .context;
    let mean = theirs.output.forward(theirs.value.forward(x.mean_dim(1)));
    assert!(worst(output, mean.repeat_dim(1, 5)) < 1e-5);
}

#[test]
fn encoder_layers_equal_burn() {
    let device = Device::default();
    for norm in [NormPosition::Post, NormPosition::Pre] {
        let (ours, theirs) = same_layers(norm, &device);
        let x = random([2, 9, 32], &device);
        let hidden = padding(2, 9, 3, &device);
        let bias = AttentionBias::Mask(hidden.clone().reshape([2, 1, 1, 9]));
        let a = ours.forward(x.clone(), &bias, Mode::Inference);
        let b = theirs.forward(TransformerEncoderInput::new(x).mask_pad(hidden));
        assert!(worst(a, b) < 1e-4, "{norm:?}");
    }
}

const VOCABULARY: usize = 8_000;

/// An encoder-decoder model of Burn's parts.
struct BurnModel {
    embedding: nn::Embedding,
    positions: nn::PositionalEncoding,
    encoder: TransformerEncoder,
    decoder: TransformerDecoder,
    output: nn::Linear,
}

impl BurnModel {
    fn new(width: usize, heads: usize, layers: usize, device: &Device) -> Self {
        let decoder = TransformerDecoderConfig::new(width, 4 * width, heads, layers)
            .with_activation(nn::activation::ActivationConfig::Relu)
            .with_dropout(0.0);
        Self {
            embedding: nn::EmbeddingConfig::new(VOCABULARY, width).init(device),
            positions: nn::PositionalEncodingConfig::new(width).init(device),
            encoder: burn_encoder(width, heads, layers).init(device),
            decoder: decoder.init(device),
            output: nn::LinearConfig::new(width, VOCABULARY).init(device),
        }
    }

    fn forward(&self, source: Tensor<2, Int>, target: Tensor<2, Int>) -> Tensor<3> {
        let [batch, len] = target.dims();
        let [hidden, target_hidden] = [source.clone().equal_elem(0), target.clone().equal_elem(0)];
        let embed = |tokens| self.positions.forward(self.embedding.forward(tokens));
        let input = TransformerEncoderInput::new(embed(source)).mask_pad(hidden.clone());
        let states = self.encoder.forward(input);
        let input = TransformerDecoderInput::new(embed(target), states)
            .memory_mask_pad(hidden)
            .target_mask_pad(target_hidden.clone())
            .target_mask_attn(generate_autoregressive_mask(
                batch,
                len,
                &target_hidden.device(),
            ));
        self.output.forward(self.decoder.forward(input))
    }
}

const WIDTH: usize = 512;
const HEADS: usize = 8;
const BATCH: usize = 16;
const LEN: usize = 64;

/// A computation without and with its backward pass.
type Pass = Box<dyn Fn(bool)>;

/// The computation `name` of `side`, in the sizes of the paper's base model.
fn pass(name: &str, side: &str, device: &Device) -> Pass {
    let x = random([BATCH, LEN, WIDTH], device).require_grad();
    let hidden = padding(BATCH, LEN, 8, device);
    let mask = hidden.clone().reshape([BATCH, 1, 1, LEN]);
    let end = |y: Tensor<3>, backward: bool| match backward {
        true => drop(y.sum().backward()),
        false => drop(y.slice([0..1, 0..1, 0..1]).into_data()),
    };
    match (name, side) {
        ("attention", "ours") => {
            let layer = attention(WIDTH, HEADS).init_with_key(RandomKey::new(1), device);
            Box::new(move |backward| {
                let input = MhaInput::self_attention(x.clone()).mask(mask.clone());
                end(layer.forward(input, Mode::training(1, 1)), backward);
            })
        }
        ("attention", _) => {
            let layer = BurnAttentionConfig::new(WIDTH, HEADS)
                .with_dropout(0.0)
                .init(device);
            Box::new(move |backward| {
                let input = BurnInput::self_attn(x.clone()).mask_pad(hidden.clone());
                end(layer.forward(input).context, backward);
            })
        }
        ("encoder layer", "ours") => {
            let config = encoder_layer(WIDTH, HEADS, NormPosition::Post);
            let layer = config.init_with_key(RandomKey::new(1), device);
            let bias = AttentionBias::Mask(mask);
            Box::new(move |back| end(layer.forward(x.clone(), &bias, Mode::training(1, 1)), back))
        }
        ("encoder layer", _) => {
            let layer = burn_encoder(WIDTH, HEADS, 1).init(device);
            Box::new(move |backward| {
                let input = TransformerEncoderInput::new(x.clone()).mask_pad(hidden.clone());
                end(layer.forward(input), backward);
            })
        }
        _ => model_pass(side, device),
    }
}

/// An update of a whole model with its loss, label smoothing 0.1.
fn model_pass(side: &str, device: &Device) -> Pass {
    let tokens = Tensor::<2>::random(
        [BATCH, LEN],
        Distribution::Uniform(4.0, VOCABULARY as f64 - 1.0),
        device,
    )
    .int();
    let config = TransformerConfig {
        dropout: 0.0,
        ..TransformerConfig::base(VOCABULARY)
    };
    let loss = |loss: Tensor<1>, backward: bool| match backward {
        true => drop(loss.backward()),
        false => drop(loss.into_data()),
    };
    match side {
        "ours" => {
            let model = config.init(1, device).expect("the sizes fit");
            Box::new(move |backward| {
                let logits = model.forward(tokens.clone(), tokens.clone(), Mode::training(1, 1));
                let sums = label_smoothed_cross_entropy(logits, tokens.clone(), 0, 0.1);
                loss(sums.smoothed / (BATCH * LEN) as f64, backward);
            })
        }
        _ => {
            let model = BurnModel::new(WIDTH, HEADS, config.encoder_layers, device);
            let smoothed = CrossEntropyLossConfig::new().with_pad_tokens(Some(vec![0]));
            let smoothed = smoothed.with_smoothing(Some(0.1)).init(device);
            Box::new(move |backward| {
                let logits = model.forward(tokens.clone(), tokens.clone());
                let logits = logits.reshape([BATCH * LEN, VOCABULARY]);
                loss(
                    smoothed.forward(logits, tokens.clone().reshape([BATCH * LEN])),
                    backward,
                );
            })
        }
    }
}

/// The peak of this process's memory in MB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap_or("0");
    line.trim()
        .trim_end_matches(" kB")
        .parse::<f64>()
        .unwrap_or(0.0)
        / 1e3
}

/// One side in a separate process: milliseconds forward, and forward and backward, and its peak of
/// memory.
fn measure(name: &str, side: &str) -> [f64; 3] {
    let device = Device::default().autodiff();
    let pass = pass(name, side, &device);
    let times = [false, true].map(|backward| {
        pass(backward);
        let once = || {
            let start = Instant::now();
            pass(backward);
            start.elapsed().as_secs_f64() * 1e3
        };
        (0..if name == "model" { 3 } else { 10 })
            .map(|_| once())
            .fold(f64::INFINITY, f64::min)
    });
    [times[0], times[1], peak()]
}

/// `cargo test --release --config profile.release.package.burn-nn.opt-level=3 -p burnformer-core
/// --test it beside_burn -- --ignored --nocapture` (Burn is compiled as it would be alone) prints
/// the costs, each side in processes of its own and in turn, and the best of three of each.
#[test]
#[ignore = "a benchmark of two minutes"]
fn costs_beside_burn() {
    if let Ok(which) = std::env::var("BESIDE_BURN") {
        let (name, side) = which.split_once('/').expect("NAME/SIDE");
        println!(
            "MEASURED {:?}",
            measure(name, side).map(|x| (x * 10.0).round() / 10.0)
        );
        return;
    }
    let run = |name: &str, side: &str| -> Vec<f64> {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--nocapture", "beside_burn::costs_beside_burn"])
            .env("BESIDE_BURN", format!("{name}/{side}"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find_map(|line| line.split_once("MEASURED ["));
        let (_, numbers) = line.unwrap_or_else(|| panic!("no measurement: {text}"));
        numbers
            .trim_end_matches(']')
            .split(", ")
            .map(|x| x.parse().unwrap())
            .collect()
    };
    println!("| layer | | forward, ms | and backward, ms | peak, MB |\n|---|---|---|---|---|");
    for name in ["attention", "encoder layer", "model"] {
        let mut best = [[f64::INFINITY; 3]; 2];
        for _ in 0..3 {
            for (best, side) in best.iter_mut().zip(["ours", "burn::nn"]) {
                let measured = run(name, side);
                best.iter_mut()
                    .zip(measured)
                    .for_each(|(best, x)| *best = best.min(x));
            }
        }
        for ([forward, both, peak], side) in best.into_iter().zip(["ours", "burn::nn"]) {
            println!("| {name} | {side} | {forward:.1} | {both:.1} | {peak:.0} |");
        }
    }
}
