//! A decoder-only model: a small language model learns English sentences with an optimiser of Burn
//! and then writes some.
//!
//! `main` takes ten minutes; the test of the programs outside of the workspace runs it.

use std::error::Error;
use std::time::{Duration, Instant};

use burn::module::Module;
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_optim::{AdamConfig, GradientsParams};
use burnformer_core::{
    Decoder, DecoderBias, DecoderCache, DecoderConfig, DecoderLayerConfig, LayerConfig, Mode,
    MultiHeadAttentionConfig, NormPosition, PositionWiseFeedForwardConfig, PositionalEncoding,
    RandomKey, TokenEmbedding, TokenEmbeddingConfig, label_smoothed_cross_entropy,
};
use burnformer_data::{LineReader, Tokenizer, TokenizerSettings, Utf8Policy};
use burnformer_tatoeba_de_en::FILES;

const VOCAB: usize = 4000;
const WIDTH: usize = 192;
const LAYERS: usize = 3;
/// Sentences in a batch.
const BATCH: usize = 96;
/// Most tokens of a sentence that is learnt.
const MAX_TOKENS: usize = 40;
/// The id of padding.
const PAD: u32 = 0;
/// The id that opens a sentence.
const BOS: u32 = 1;
/// The id that closes a sentence.
const EOS: u32 = 2;

/// A Transformer decoder without cross-attention; its output projection is the embedding matrix.
#[derive(Module, Debug)]
struct LanguageModel {
    embedding: TokenEmbedding,
    positions: PositionalEncoding,
    decoder: Decoder,
}

impl LanguageModel {
    fn new(key: RandomKey, device: &Device) -> Self {
        let attention = MultiHeadAttentionConfig::new(WIDTH, 4).with_bias(false);
        let network = PositionWiseFeedForwardConfig::new(WIDTH, 4 * WIDTH);
        let layer = LayerConfig::new(attention, network)
            .with_norm(NormPosition::Pre)
            .with_dropout(0.1);
        let layer = DecoderLayerConfig::new(layer);
        Self {
            embedding: TokenEmbeddingConfig::new(VOCAB, WIDTH).init_with_key(key.fold(0), device),
            positions: PositionalEncoding::sinusoidal(),
            decoder: DecoderConfig::new(layer, LAYERS).init_with_key(key.fold(1), device),
        }
    }

    /// The logits of the token after each of `tokens`, which follow those in `cache`: `[rows, len]`
    /// → `[rows, len, VOCAB]`.
    fn forward(&self, tokens: Tensor<2, Int>, cache: &mut DecoderCache, mode: Mode) -> Tensor<3> {
        let x = self
            .positions
            .forward(self.embedding.forward(tokens), cache.len());
        self.embedding.logits(
            self.decoder
                .forward(x, cache, &DecoderBias::default(), mode),
            None,
        )
    }

    /// The sum of −log p over the tokens of `sentences`, and their number. Padding stands at the
    /// end, where no token that counts sees it.
    fn loss(&self, sentences: &[Vec<u32>], mode: Mode, device: &Device) -> (Tensor<1>, usize) {
        let len = 1 + sentences.iter().map(Vec::len).max().unwrap_or(0);
        let tensor = |row: &dyn Fn(&Vec<u32>) -> Vec<u32>| {
            let padded = sentences.iter().flat_map(|sentence| {
                let mut row = row(sentence);
                row.resize(len, PAD);
                row.into_iter().map(|id| id as i32)
            });
            let values: Vec<i32> = padded.collect();
            Tensor::<2, Int>::from_data(TensorData::new(values, [sentences.len(), len]), device)
        };
        let input = tensor(&|sentence| [&[BOS], &sentence[..]].concat());
        let output = tensor(&|sentence| [&sentence[..], &[EOS]].concat());
        let logits = self.forward(input, &mut self.decoder.start_without_source(), mode);
        let tokens = sentences.iter().map(|sentence| sentence.len() + 1).sum();
        (
            label_smoothed_cross_entropy(logits, output, PAD, 0.0).smoothed,
            tokens,
        )
    }

    /// Draws a sentence, token by token; a function of `key`.
    fn sample(&self, key: RandomKey, device: &Device) -> Vec<u32> {
        let mut cache = self.decoder.start_without_source();
        let mut sentence = vec![BOS];
        for mut draw in key.uniform(MAX_TOKENS) {
            let last = sentence[sentence.len() - 1] as i32;
            let last = Tensor::<2, Int>::from_ints([[last]], device);
            let logits = self.forward(last, &mut cache, Mode::Inference);
            let probabilities = softmax(logits / 0.8, 2).into_data();
            let next = probabilities.iter::<f32>().position(|p| {
                draw -= p;
                draw < 0.0
            });
            match next.map_or(EOS, |id| id as u32) {
                EOS => break,
                id => sentence.push(id),
            }
        }
        sentence.split_off(1)
    }
}

/// The English sentences of a part of the embedded corpus.
fn lines(part: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let name = format!("{part}.en");
    let (_, bytes) = FILES
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or("no such part")?;
    let mut reader = LineReader::from_reader(&name, *bytes, Utf8Policy::Error)?;
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line()? {
        lines.push(line.text);
    }
    Ok(lines)
}

/// The ids of `lines`, without the longest, the shortest first.
fn ids(tokenizer: &Tokenizer, lines: &[String]) -> Vec<Vec<u32>> {
    let mut ids = tokenizer.encode_batch(lines);
    ids.retain(|ids| ids.len() <= MAX_TOKENS);
    ids.sort_by_key(Vec::len);
    ids
}

/// Trains for at most `updates` updates and at most `patience`, prints some sentences of the model,
/// and returns its mean of −log p per token of the held-out sentences, in nats.
pub fn train(updates: u64, patience: Duration) -> Result<f32, Box<dyn Error>> {
    let (text, device) = (lines("train")?, Device::default().autodiff());
    let settings = TokenizerSettings {
        vocab_size: VOCAB,
        ..TokenizerSettings::default()
    };
    let tokenizer = Tokenizer::train(&text, &settings)?;
    let sentences = ids(&tokenizer, &text);
    let mut model = LanguageModel::new(RandomKey::new(1), &device);
    let mut optimiser = AdamConfig::new()
        .with_beta_2(0.98)
        .with_epsilon(1e-9)
        .init();
    let start = Instant::now();
    for update in 1..=updates {
        if start.elapsed() > patience {
            break;
        }
        let draw = RandomKey::new(7).fold(update).uniform(1)[0];
        let first = (draw * (sentences.len() - BATCH) as f32) as usize;
        let batch = &sentences[first..first + BATCH]; // of about the same length
        let (sum, tokens) = model.loss(batch, Mode::training(1, update), &device);
        let loss = sum / tokens as f64;
        if update % 500 == 0 {
            println!(
                "update {update}: {:.3} nats per token",
                loss.clone().into_scalar::<f32>()
            );
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        let rate = 2e-3 * (update as f64 / 400.0).min((400.0 / update as f64).sqrt());
        model = optimiser.step(rate, model, gradients);
    }
    let (model, device) = (model.valid(), device.inner());
    let (mut sum, mut tokens) = (0.0, 0);
    for batch in ids(&tokenizer, &lines("valid")?).chunks(BATCH) {
        let (of_batch, count) = model.loss(batch, Mode::Inference, &device);
        sum += of_batch.into_scalar::<f32>();
        tokens += count;
    }
    for n in 0..8 {
        println!(
            "{}",
            tokenizer.decode(&model.sample(RandomKey::new(3).fold(n), &device))
        );
    }
    Ok(sum / tokens as f32)
}

/// Trains for ten minutes and checks that the model has learnt.
pub fn main() -> Result<(), Box<dyn Error>> {
    burnformer_core::allocator::keep_freed_memory();
    let nats = train(u64::MAX, Duration::from_secs(600))?;
    println!("{nats:.3} nats per token of sentences that it has not seen");
    match nats < 3.5 {
        true => Ok(()),
        false => Err(format!(
            "{nats:.3} nats per token is not below 3.5; on a slow or busy machine, fewer updates fit into the ten minutes"
        )
        .into()),
    }
}
