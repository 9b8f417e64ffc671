//! Fused operations beside their references in plain tensors.

use std::time::{Duration, Instant};

use anyhow::Result;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burnformer::output::print;
use burnformer_kernels::{self as kernels, AdamStep, DropoutMask, Moving, RandomKey, reference};

use crate::setting::{median, sorted};

/// Arguments of the benchmark `fused`.
#[derive(clap::Args)]
pub struct Args {
    /// Measure only operations with this text in their name
    name: Option<String>,
    /// Number of rounds; in each one the fused operation and its reference run once, and the medians count
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
}

/// Times each operation on the CPU, forward and backward, and prints a row for each.
pub fn run(args: Args) -> Result<()> {
    print("| operation, size | fused, ms | reference, ms | ratio |\n|---|---|---|---|")?;
    let operations = [attention, cross_entropy, norm, dropout, linear, embedding, adam];
    operations.into_iter().try_for_each(|operation| operation(&args))
}

fn attention(args: &Args) -> Result<()> {
    let (batch, heads, len, width) = (170, 4, 24, 256);
    let [query, key, value] = [0; 3].map(|_| leaf([batch, len, width]));
    let padding: Vec<bool> = (0..batch * len).map(|i| i % len > 20).collect();
    let padding = TensorData::new(padding, [batch, 1, 1, len]);
    let padding = Tensor::<4, Bool>::from_data(padding, &device());
    let run = |attention: Attention| {
        let start = Instant::now();
        let hidden = Some(padding.clone());
        let output = attention(query.clone(), key.clone(), value.clone(), heads, hidden, None);
        (output, start)
    };
    report(args, "attention, 170x4x24x64", || run(kernels::attention), || run(reference::attention))
}

type Attention = fn(
    Tensor<3>,
    Tensor<3>,
    Tensor<3>,
    usize,
    Option<Tensor<4, Bool>>,
    Option<DropoutMask>,
) -> Tensor<3>;

fn cross_entropy(args: &Args) -> Result<()> {
    let (rows, vocab) = (4096, 8000);
    let values = RandomKey::new(1).normal(rows * vocab);
    let ids: Vec<i64> = (0..rows as i64).map(|row| row * 7 % vocab as i64).collect();
    let targets = Tensor::<1, Int>::from_data(TensorData::new(ids, [rows]), &device());
    type Loss = fn(Tensor<2>, Tensor<1, Int>, u32, f64) -> (Tensor<1>, Tensor<1>);
    let run = |loss: Loss| {
        // As in a model, nothing but the loss holds the logits.
        let logits = TensorData::new(values.clone(), [rows, vocab]);
        let logits = Tensor::<2>::from_data(logits, &device()).require_grad();
        let start = Instant::now();
        let (smoothed, _) = loss(logits, targets.clone(), 0, 0.1);
        (smoothed, start)
    };
    report(
        args,
        "label-smoothed cross-entropy, 4096x8000",
        || run(kernels::label_smoothed_cross_entropy),
        || run(reference::label_smoothed_cross_entropy),
    )
}

fn norm(args: &Args) -> Result<()> {
    let shape = [32, 128, 256];
    let (x, y) = (leaf(shape), leaf(shape));
    let (weight, bias) = (leaf([256]), leaf([256]));
    type Wiring =
        fn(Tensor<3>, Tensor<3>, Tensor<1>, Tensor<1>, f64, Option<DropoutMask>) -> Tensor<3>;
    let run = |wiring: Wiring, mask| {
        let start = Instant::now();
        let output = wiring(x.clone(), y.clone(), weight.clone(), bias.clone(), 1e-5, mask);
        (output, start)
    };
    for (name, mask) in [("norm(x + y)", None), ("norm(x + dropout(y))", Some(mask()))] {
        report(
            args,
            &format!("{name}, 4096x256"),
            || run(kernels::residual_dropout_norm, mask),
            || run(reference::residual_dropout_norm, mask),
        )?;
    }
    Ok(())
}

fn dropout(args: &Args) -> Result<()> {
    let x = leaf([32, 128, 256]);
    let run = |dropout: fn(Tensor<3>, Option<DropoutMask>) -> Tensor<3>| {
        let start = Instant::now();
        (dropout(x.clone(), Some(mask())), start)
    };
    report(args, "dropout, 4096x256", || run(kernels::dropout), || run(reference::dropout))
}

fn linear(args: &Args) -> Result<()> {
    type Linear = fn(Tensor<2>, Tensor<2>, Option<Tensor<1>>) -> Tensor<2>;
    for (name, input, output, fused, reference) in [
        ("linear", 256, 256, kernels::linear as Linear, reference::linear as Linear),
        ("linear and ReLU", 256, 1024, kernels::linear_relu, reference::linear_relu),
        ("linear", 1024, 256, kernels::linear, reference::linear),
    ] {
        let (x, weight, bias) = (leaf([4096, input]), leaf([output, input]), leaf([output]));
        let run = |linear: Linear| {
            let start = Instant::now();
            (linear(x.clone(), weight.clone(), Some(bias.clone())), start)
        };
        report(
            args,
            &format!("{name}, 4096x{input} to {output}"),
            || run(fused),
            || run(reference),
        )?;
    }
    Ok(())
}

fn embedding(args: &Args) -> Result<()> {
    let weight = leaf([8000, 256]);
    let ids: Vec<i64> = (0..4096).map(|i| i * i * 31 % 8000).collect();
    let ids = Tensor::<2, Int>::from_data(TensorData::new(ids, [32, 128]), &device());
    let run = |embedding: fn(Tensor<2>, Tensor<2, Int>, f64) -> Tensor<3>| {
        let start = Instant::now();
        (embedding(weight.clone(), ids.clone(), 16.0), start)
    };
    report(
        args,
        "embedding, 4096 of 8000x256",
        || run(kernels::embedding),
        || run(reference::embedding),
    )
}

fn adam(args: &Args) -> Result<()> {
    let shape = [8000, 256];
    let step = AdamStep {
        rate: 1e-3,
        beta_1: 0.9,
        beta_2: 0.98,
        epsilon: 1e-9,
        time: 7,
        gradient_scale: 0.5,
    };
    let gradient = leaf(shape).inner();
    let time = |update: fn(Moving<2>, Tensor<2>, AdamStep) -> Moving<2>| {
        let [parameter, first, second] = [0; 3].map(|_| leaf(shape).inner() * 2.0);
        let moving = Moving { parameter, first, second: second.square() };
        let start = Instant::now();
        let moved = update(moving, gradient.clone(), step);
        (moved, start.elapsed()).1
    };
    compare(args, "Adam step, 8000x256", || time(kernels::adam_step), || time(reference::adam_step))
}

fn device() -> Device {
    Device::flex().autodiff()
}

fn leaf<const D: usize>(shape: [usize; D]) -> Tensor<D> {
    let values = RandomKey::new(1).normal(shape.iter().product());
    Tensor::from_data(TensorData::new(values, shape), &device()).require_grad()
}

fn mask() -> DropoutMask {
    DropoutMask::new(RandomKey::new(3), 0.1)
}

/// Times both versions from the start of forward to the end of backward.
fn report<const D: usize>(
    args: &Args,
    name: &str,
    fused: impl Fn() -> (Tensor<D>, Instant),
    reference: impl Fn() -> (Tensor<D>, Instant),
) -> Result<()> {
    compare(args, name, || with_backward(&fused), || with_backward(&reference))
}

fn compare(
    args: &Args,
    name: &str,
    fused: impl Fn() -> Duration,
    reference: impl Fn() -> Duration,
) -> Result<()> {
    if args.name.as_deref().is_some_and(|wanted| !name.contains(wanted)) {
        return Ok(());
    }
    // The first round is not counted.
    let rounds = (0..=args.rounds).map(|_| (fused(), reference())).skip(1);
    let (fused, reference): (Vec<_>, Vec<_>) =
        rounds.map(|(a, b)| (a.as_secs_f64() * 1e3, b.as_secs_f64() * 1e3)).unzip();
    let [fused, reference] = [fused, reference].map(|times| median(&sorted(times)));
    print(format_args!("| {name} | {fused:.2} | {reference:.2} | {:.1} |", reference / fused))
}

fn with_backward<const D: usize>(run: &impl Fn() -> (Tensor<D>, Instant)) -> Duration {
    let (output, start) = run();
    let grads = output.backward();
    let time = start.elapsed();
    drop(grads);
    time
}
