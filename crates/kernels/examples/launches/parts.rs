//! The parts of an update that are counted. Their gradients begin with ones: one launch, which makes a tensor like the output.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burnformer_kernels::{self as kernels, AdamStep, DropoutMask, Moving, RandomKey, reference};

use super::measured;

/// Its name, and what runs it: ours or the reference.
type Part = (&'static str, fn(bool));

/// All of them.
pub const PARTS: [Part; 5] = [
    ("loss over 2,048 x 8,000, forward and backward", loss),
    ("Adam, a parameter of 2,048 x 512", adam),
    ("norm of 8 gradients of 512 x 512", global_norm),
    ("norm(x + dropout(y)), 2,048 x 512, forward and backward", norm),
    ("attention, 64 x 8 heads x 32 x 64, forward and backward", attention),
];

fn device() -> Device {
    Device::default().autodiff()
}

fn normal<const D: usize>(seed: u64, shape: [usize; D]) -> Tensor<D> {
    let values = RandomKey::new(seed).normal(shape.iter().product());
    Tensor::from_data(TensorData::new(values, shape), &device())
}

fn loss(ours: bool) {
    let (rows, vocab) = (2048, 8000);
    let logits = normal(1, [rows, vocab]).require_grad();
    let ids: Vec<i64> = (0..rows as i64).map(|row| row * 7 % vocab as i64).collect();
    let targets = Tensor::<1, Int>::from_data(TensorData::new(ids, [rows]), &device());
    let loss = match ours {
        true => kernels::label_smoothed_cross_entropy,
        false => reference::label_smoothed_cross_entropy,
    };
    measured(move || {
        let (smoothed, nll) = loss(logits.clone(), targets, 0, 0.1);
        let mut gradients = smoothed.backward();
        (logits.grad_remove(&mut gradients), nll)
    });
}

fn adam(ours: bool) {
    let plain = |seed| normal(seed, [2048 * 512]).inner();
    let moving = Moving { parameter: plain(1), first: plain(2), second: plain(3).square() };
    let gradient = plain(4);
    let (beta_1, beta_2, epsilon) = (0.9, 0.98, 1e-9);
    let step = AdamStep { rate: 1e-3, beta_1, beta_2, epsilon, time: 3, gradient_scale: 0.5 };
    let adam = if ours { kernels::adam_step } else { reference::adam_step };
    measured(move || adam(moving, gradient, step));
}

fn global_norm(ours: bool) {
    let gradients = [1, 2, 3, 4, 5, 6, 7, 8].map(|seed| normal(seed, [512 * 512]).inner());
    let norm = if ours { kernels::global_norm } else { reference::global_norm };
    measured(|| norm(&gradients));
}

fn norm(ours: bool) {
    let [x, y] = [1, 2].map(|seed| normal(seed, [64, 32, 512]).require_grad());
    let [weight, bias] = [3, 4].map(|seed| normal(seed, [512]).require_grad());
    let mask = Some(DropoutMask::new(RandomKey::new(6), 0.1));
    let wiring =
        if ours { kernels::residual_dropout_norm } else { reference::residual_dropout_norm };
    measured(move || {
        let output = wiring(x.clone(), y.clone(), weight.clone(), bias.clone(), 1e-5, mask);
        let mut gradients = output.backward();
        let [x, y] = [x, y].map(|x| x.grad_remove(&mut gradients));
        let [weight, bias] = [weight, bias].map(|x| x.grad_remove(&mut gradients));
        (x, y, weight, bias)
    });
}

fn attention(ours: bool) {
    let (batch, len, heads, width) = (64, 32, 8, 512);
    let [query, key, value] =
        [1, 2, 3].map(|seed| normal(seed, [batch, len, width]).require_grad());
    let hidden: Vec<bool> = (0..batch * len).map(|place| place % len > 28).collect();
    let hidden = TensorData::new(hidden, [batch, 1, 1, len]);
    let hidden = Some(Tensor::<4, Bool>::from_data(hidden, &device()));
    let attention = if ours { kernels::attention } else { reference::attention };
    measured(move || {
        let leaves = [query.clone(), key.clone(), value.clone()];
        let output = attention(query, key, value, heads, hidden, None);
        let mut gradients = output.backward();
        leaves.map(|x| x.grad_remove(&mut gradients))
    });
}
