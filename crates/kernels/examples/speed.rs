//! Times each fused operation against its plain-tensor twin, forward and backward, in one run.
//!
//! `cargo run --release -p burnformer-kernels --example speed`

use std::time::Instant;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burnformer_kernels::{self as kernels, AdamStep, DropoutMask, Moving, RandomKey, twin};

const RUNS: usize = 9;

fn main() {
    println!(
        "{:<44}{:>10}{:>10}{:>8}",
        "forward and backward, milliseconds", "fused", "twin", "ratio"
    );
    let only = std::env::args().nth(1);
    let benchmarks: [(&str, fn()); 7] = [
        ("loss", cross_entropy),
        ("norm", norm),
        ("attention", attention),
        ("dropout", dropout),
        ("linear", linear),
        ("embedding", embedding),
        ("adam", adam),
    ];
    for (name, run) in benchmarks {
        if only.as_deref().is_none_or(|only| only == name) {
            run();
        }
    }
}

fn attention() {
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
    report("attention, 170x4x24x64", || run(kernels::attention), || run(twin::attention));
}

type Attention = fn(
    Tensor<3>,
    Tensor<3>,
    Tensor<3>,
    usize,
    Option<Tensor<4, Bool>>,
    Option<DropoutMask>,
) -> Tensor<3>;

fn cross_entropy() {
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
        "label-smoothed cross-entropy, 4096x8000",
        || run(kernels::label_smoothed_cross_entropy),
        || run(twin::label_smoothed_cross_entropy),
    );
}

fn norm() {
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
            &format!("{name}, 4096x256"),
            || run(kernels::residual_dropout_norm, mask),
            || run(twin::residual_dropout_norm, mask),
        );
    }
}

fn dropout() {
    let x = leaf([32, 128, 256]);
    let run = |dropout: fn(Tensor<3>, Option<DropoutMask>) -> Tensor<3>| {
        let start = Instant::now();
        (dropout(x.clone(), Some(mask())), start)
    };
    report("dropout, 4096x256", || run(kernels::dropout), || run(twin::dropout));
}

fn linear() {
    type Linear = fn(Tensor<2>, Tensor<2>, Option<Tensor<1>>) -> Tensor<2>;
    for (name, input, output, fused, twin) in [
        ("linear", 256, 256, kernels::linear as Linear, twin::linear as Linear),
        ("linear and ReLU", 256, 1024, kernels::linear_relu, twin::linear_relu),
        ("linear", 1024, 256, kernels::linear, twin::linear),
    ] {
        let (x, weight, bias) = (leaf([4096, input]), leaf([output, input]), leaf([output]));
        let run = |linear: Linear| {
            let start = Instant::now();
            (linear(x.clone(), weight.clone(), Some(bias.clone())), start)
        };
        report(&format!("{name}, 4096x{input} to {output}"), || run(fused), || run(twin));
    }
}

fn embedding() {
    let weight = leaf([8000, 256]);
    let ids: Vec<i64> = (0..4096).map(|i| i * i * 31 % 8000).collect();
    let ids = Tensor::<2, Int>::from_data(TensorData::new(ids, [32, 128]), &device());
    let run = |embedding: fn(Tensor<2>, Tensor<2, Int>, f64) -> Tensor<3>| {
        let start = Instant::now();
        (embedding(weight.clone(), ids.clone(), 16.0), start)
    };
    report("embedding, 4096 of 8000x256", || run(kernels::embedding), || run(twin::embedding));
}

fn adam() {
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
        (moved, start.elapsed().as_secs_f64() * 1e3).1
    };
    compare("Adam step, 8000x256", || time(kernels::adam_step), || time(twin::adam_step));
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
    name: &str,
    fused: impl Fn() -> (Tensor<D>, Instant),
    twin: impl Fn() -> (Tensor<D>, Instant),
) {
    compare(name, || milliseconds(&fused), || milliseconds(&twin));
}

/// Prints the best of several interleaved times of both.
fn compare(name: &str, fused: impl Fn() -> f64, twin: impl Fn() -> f64) {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..RUNS {
        best[0] = best[0].min(fused());
        best[1] = best[1].min(twin());
    }
    println!("{name:<44}{:>10.2}{:>10.2}{:>7.1}x", best[0], best[1], best[1] / best[0]);
}

fn milliseconds<const D: usize>(run: &impl Fn() -> (Tensor<D>, Instant)) -> f64 {
    let (output, start) = run();
    let grads = output.backward();
    let time = start.elapsed().as_secs_f64() * 1e3;
    drop(grads);
    time
}
