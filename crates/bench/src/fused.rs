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

type Attention = fn(
    Tensor<3>,
    Tensor<3>,
    Tensor<3>,
    usize,
    Option<Tensor<4, Bool>>,
    Option<DropoutMask>,
) -> Tensor<3>;
type Loss = fn(Tensor<2>, Tensor<1, Int>, u32, f64) -> (Tensor<1>, Tensor<1>);
type Wiring = fn(Tensor<3>, Tensor<3>, Tensor<1>, Tensor<1>, f64, Option<DropoutMask>) -> Tensor<3>;
type Dropped = fn(Tensor<3>, Option<DropoutMask>) -> Tensor<3>;
type Linear = fn(Tensor<2>, Tensor<2>, Option<Tensor<1>>) -> Tensor<2>;
type Embedding = fn(Tensor<2>, Tensor<2, Int>, f64) -> Tensor<3>;
type Update = fn(Moving<2>, Tensor<2>, AdamStep) -> Moving<2>;

fn attention(args: &Args) -> Result<()> {
    let (batch, heads, len, width) = (170, 4, 24, 256);
    let [query, key, value] = [0; 3].map(|_| leaf([batch, len, width]));
    let padding: Vec<bool> = (0..batch * len).map(|i| i % len > 20).collect();
    let padding = TensorData::new(padding, [batch, 1, 1, len]);
    let padding = Tensor::<4, Bool>::from_data(padding, &device());
    let both = [kernels::attention as Attention, reference::attention];
    report(args, "attention, 170x4x24x64", both, |attention| {
        attention(query.clone(), key.clone(), value.clone(), heads, Some(padding.clone()), None)
    })
}

fn cross_entropy(args: &Args) -> Result<()> {
    let (rows, vocab) = (4096, 8000);
    let values = RandomKey::new(1).normal(rows * vocab);
    let ids: Vec<i64> = (0..rows as i64).map(|row| row * 7 % vocab as i64).collect();
    let targets = Tensor::<1, Int>::from_data(TensorData::new(ids, [rows]), &device());
    let time = |loss: Loss| {
        // As in a model, nothing but the loss holds the logits.
        let logits = TensorData::new(values.clone(), [rows, vocab]);
        let logits = Tensor::<2>::from_data(logits, &device()).require_grad();
        with_backward(|| loss(logits, targets.clone(), 0, 0.1).0)
    };
    let both =
        [kernels::label_smoothed_cross_entropy as Loss, reference::label_smoothed_cross_entropy];
    compare(args, "label-smoothed cross-entropy, 4096x8000", both, time)
}

fn norm(args: &Args) -> Result<()> {
    let shape = [32, 128, 256];
    let (x, y) = (leaf(shape), leaf(shape));
    let (weight, bias) = (leaf([256]), leaf([256]));
    let both = [kernels::residual_dropout_norm as Wiring, reference::residual_dropout_norm];
    for (name, mask) in [("norm(x + y)", None), ("norm(x + dropout(y))", Some(mask()))] {
        report(args, &format!("{name}, 4096x256"), both, |wiring| {
            wiring(x.clone(), y.clone(), weight.clone(), bias.clone(), 1e-5, mask)
        })?;
    }
    Ok(())
}

fn dropout(args: &Args) -> Result<()> {
    let x = leaf([32, 128, 256]);
    let both = [kernels::dropout as Dropped, reference::dropout];
    report(args, "dropout, 4096x256", both, |dropout| dropout(x.clone(), Some(mask())))
}

fn linear(args: &Args) -> Result<()> {
    let plain = [kernels::linear as Linear, reference::linear];
    let relu = [kernels::linear_relu as Linear, reference::linear_relu];
    for (name, input, output, both) in [
        ("linear", 256, 256, plain),
        ("linear and ReLU", 256, 1024, relu),
        ("linear", 1024, 256, plain),
    ] {
        let (x, weight, bias) = (leaf([4096, input]), leaf([output, input]), leaf([output]));
        report(args, &format!("{name}, 4096x{input} to {output}"), both, |linear| {
            linear(x.clone(), weight.clone(), Some(bias.clone()))
        })?;
    }
    Ok(())
}

fn embedding(args: &Args) -> Result<()> {
    let weight = leaf([8000, 256]);
    let ids: Vec<i64> = (0..4096).map(|i| i * i * 31 % 8000).collect();
    let ids = Tensor::<2, Int>::from_data(TensorData::new(ids, [32, 128]), &device());
    let both = [kernels::embedding as Embedding, reference::embedding];
    report(args, "embedding, 4096 of 8000x256", both, |embedding| {
        embedding(weight.clone(), ids.clone(), 16.0)
    })
}

fn adam(args: &Args) -> Result<()> {
    let shape = [8000, 256];
    let (rate, beta_1, beta_2, epsilon) = (1e-3, 0.9, 0.98, 1e-9);
    let step = AdamStep { rate, beta_1, beta_2, epsilon, time: 7, gradient_scale: 0.5 };
    let gradient = leaf(shape).inner();
    let time = |update: Update| {
        let [parameter, first, second] = [0; 3].map(|_| leaf(shape).inner() * 2.0);
        let moving = Moving { parameter, first, second: second.square() };
        let start = Instant::now();
        let moved = update(moving, gradient.clone(), step);
        (moved, start.elapsed()).1
    };
    let both = [kernels::adam_step as Update, reference::adam_step];
    compare(args, "Adam step, 8000x256", both, time)
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

/// Times `run` with the fused and with the other version, from the start of forward to the end of backward.
fn report<F: Copy, const D: usize>(
    args: &Args,
    name: &str,
    both: [F; 2],
    run: impl Fn(F) -> Tensor<D>,
) -> Result<()> {
    compare(args, name, both, |version| with_backward(|| run(version)))
}

/// Prints the medians of both versions, and their ratio.
fn compare<F: Copy>(
    args: &Args,
    name: &str,
    [fused, reference]: [F; 2],
    time: impl Fn(F) -> Duration,
) -> Result<()> {
    if args.name.as_deref().is_some_and(|wanted| !name.contains(wanted)) {
        return Ok(());
    }
    // The first round is not counted.
    let rounds = (0..=args.rounds).map(|_| (time(fused), time(reference))).skip(1);
    let (fused, reference): (Vec<_>, Vec<_>) =
        rounds.map(|(a, b)| (a.as_secs_f64() * 1e3, b.as_secs_f64() * 1e3)).unzip();
    let [fused, reference] = [fused, reference].map(|times| median(&sorted(times)));
    print(format_args!("| {name} | {fused:.2} | {reference:.2} | {:.1} |", reference / fused))
}

fn with_backward<const D: usize>(run: impl FnOnce() -> Tensor<D>) -> Duration {
    let start = Instant::now();
    let output = run();
    let grads = output.backward();
    let time = start.elapsed();
    drop(grads);
    time
}
