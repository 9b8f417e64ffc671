//! Uses attention in a model of its own: one query attends to a whole sequence and learns to name
//! its largest number.

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_optim::{GradientsParams, SgdConfig};
use burnformer_core::{
    LayerNorm, Linear, MhaInput, Mode, MultiHeadAttention, MultiHeadAttentionConfig, RandomKey,
    TokenEmbedding, TokenEmbeddingConfig, label_smoothed_cross_entropy,
};

const NUMBERS: usize = 20;
const LEN: usize = 8;
const BATCH: usize = 32;
const WIDTH: usize = 32;

/// A Burn module with layers of `burnformer-core` instead of burn-nn.
#[derive(Module, Debug)]
struct Largest {
    embedding: TokenEmbedding,
    attention: MultiHeadAttention,
    norm: LayerNorm,
    head: Linear,
}

impl Largest {
    fn new(key: RandomKey, device: &Device) -> Self {
        let embedding = TokenEmbeddingConfig::new(NUMBERS, WIDTH);
        let attention = MultiHeadAttentionConfig::new(WIDTH, 4);
        Self {
            embedding: embedding.init_with_key(key.fold(0), device),
            attention: attention.init_with_key(key.fold(1), device),
            norm: LayerNorm::new(WIDTH, LayerNorm::EPSILON, device),
            head: Linear::new(WIDTH, NUMBERS, key.fold(2), device),
        }
    }

    /// The scores of all numbers: `[batch, len]` → `[batch, 1, NUMBERS]`.
    fn forward(&self, numbers: Tensor<2, Int>, mode: Mode) -> Tensor<3> {
        let x = self.embedding.forward(numbers);
        let query = x.clone().mean_dim(1); // [batch, 1, WIDTH]
        let found = self
            .attention
            .forward(MhaInput::new(query.clone(), x), mode);
        self.head.forward(self.norm.forward(query + found))
    }
}

/// Sequences of the numbers 1 to 19 (0 would be padding), and the largest number of each sequence.
fn batch(update: u64, device: &Device) -> [Tensor<2, Int>; 2] {
    let draws = RandomKey::new(7).fold(update).uniform(BATCH * LEN);
    let numbers: Vec<i32> = draws
        .iter()
        .map(|u| 1 + (u * (NUMBERS - 1) as f32) as i32)
        .collect();
    let largest: Vec<i32> = numbers
        .chunks(LEN)
        .map(|row| row.iter().copied().max().unwrap_or(0))
        .collect();
    let tensor = |values, len| Tensor::from_data(TensorData::new(values, [BATCH, len]), device);
    [tensor(numbers, LEN), tensor(largest, 1)]
}

/// Trains the model and checks that it has learned the task.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::default().autodiff();
    let mut model = Largest::new(RandomKey::new(1), &device);
    let mut optimiser = SgdConfig::new().init();
    for update in 1..=600 {
        let [numbers, largest] = batch(update, &device);
        let logits = model.forward(numbers, Mode::training(1, update));
        let loss = label_smoothed_cross_entropy(logits, largest, 0, 0.0).smoothed / BATCH as f64;
        if update % 100 == 0 {
            println!(
                "update {update}: loss {:.3}",
                loss.clone().into_scalar::<f32>()
            );
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimiser.step(0.1, model, gradients);
    }
    let [numbers, largest] = batch(u64::MAX, &device.inner());
    let found = model
        .valid()
        .forward(numbers, Mode::Inference)
        .argmax(2)
        .reshape([BATCH, 1]);
    let right: f32 = found.equal(largest).float().mean().into_scalar();
    println!(
        "named the largest of {:.0} % of new sequences",
        100.0 * right
    );
    if right < 0.9 {
        return Err(format!("the task was not learnt: {right}").into());
    }
    Ok(())
}
