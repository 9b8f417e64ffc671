//! Uses the layers in a program with its own training loop: a small Transformer learns to copy a sequence.
//!
//! `cargo run --release -p burnformer-core --example copy_task`

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use burnformer_core::{
    Mode, RandomKey, Transformer, TransformerConfig, label_smoothed_cross_entropy,
};

const VOCAB: usize = 20;
const LEN: usize = 8;
const BATCH: usize = 32;

/// Gradient descent with momentum. Any other optimiser could take its place.
struct Momentum<'a> {
    gradients: &'a mut Gradients,
    velocity: std::vec::IntoIter<Tensor<1>>,
    next: Vec<Tensor<1>>,
    rate: f64,
}

impl ModuleMapper for Momentum<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|old| {
            let gradient = old.grad_remove(self.gradients).expect("every parameter takes part");
            let mut step = gradient.reshape([-1]);
            if let Some(velocity) = self.velocity.next() {
                step = step + velocity * 0.9;
            }
            self.next.push(step.clone());
            let shape = old.dims();
            Tensor::from_inner(old.inner() - step.reshape(shape) * self.rate).require_grad()
        })
    }
}

/// A batch of sequences: source, decoder input (which starts with `<s>`, id 1) and expected output (which ends with
/// `</s>`, id 2). Their tokens are ids from 3 on.
fn batch(update: u64, device: &Device) -> [Tensor<2, Int>; 3] {
    let draws = RandomKey::new(7).fold(update).uniform(BATCH * LEN);
    let ids: Vec<i32> = draws.iter().map(|u| 3 + (u * (VOCAB - 3) as f32) as i32).collect();
    let rows = |first: Option<i32>, last: Option<i32>| {
        let rows = ids.chunks(LEN).flat_map(|row| {
            first.into_iter().chain(row.iter().copied()).chain(last).collect::<Vec<_>>()
        });
        Tensor::from_data(TensorData::new(rows.collect::<Vec<i32>>(), [BATCH, LEN + 1]), device)
    };
    [rows(None, Some(2)), rows(Some(1), None), rows(None, Some(2))]
}

/// The share of positions at which the most likely token is the right one.
fn accuracy(model: &Transformer, device: &Device) -> f32 {
    let [source, input, output] = batch(u64::MAX, device);
    let best = model.forward(source, input, Mode::Inference).argmax(2).reshape([BATCH, LEN + 1]);
    best.equal(output).float().mean().into_scalar()
}

/// Trains the model and checks that it has learned to copy.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let config = TransformerConfig { d_ff: 64, ..TransformerConfig::tiny(VOCAB).with_width(32, 4) };
    let mut model = config.init(1, &device)?;
    let mut velocity = Vec::new();
    for update in 1..=1000 {
        let [source, input, output] = batch(update, &device);
        let logits = model.forward(source, input, Mode::training(1, update));
        let loss = label_smoothed_cross_entropy(logits, output, config.pad, 0.1).smoothed;
        let mean = loss / (BATCH * (LEN + 1)) as f64;
        if update % 100 == 0 {
            let value: f32 = mean.clone().into_scalar();
            println!("update {update}: loss {value:.3}, copied {:.3}", accuracy(&model, &device));
        }
        let mut gradients = mean.backward();
        let mut optimiser = Momentum {
            gradients: &mut gradients,
            velocity: std::mem::take(&mut velocity).into_iter(),
            next: Vec::new(),
            rate: 0.05,
        };
        model = model.map(&mut optimiser);
        velocity = optimiser.next;
    }
    let copied = accuracy(&model.valid(), &device.inner());
    println!("copied {:.1}% of the held-out tokens", 100.0 * copied);
    if copied < 0.99 {
        return Err(format!("the copy task was not learnt: {copied}").into());
    }
    Ok(())
}
