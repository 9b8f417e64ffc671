//! Vectors in place of token ids: a Transformer hears words, sequences of feature vectors as speech
//! gives them, and writes their letters.

use std::error::Error;

use burn::module::Module;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burn_optim::{AdamConfig, GradientsParams};
use burnformer_core::{
    EncodedSource, Linear, Mode, RandomKey, Seq2Seq, Transformer, TransformerConfig,
    label_smoothed_cross_entropy,
};

const LETTERS: usize = 12;
/// The number of features of a frame.
const FEATURES: usize = 16;
/// The number of letters of a word.
const LEN: usize = 5;
/// The largest number of frames of a word: each letter sounds for two to four frames.
const FRAMES: usize = 4 * LEN;
const BATCH: usize = 32;
/// The id that opens a word.
const BOS: i32 = 1;
/// The id that closes a word. The letters are the ids after it.
const EOS: i32 = 2;

/// A linear map brings the frames to the width of the Transformer, which takes them as the vectors
/// of a source.
#[derive(Module, Debug)]
struct Listener {
    front: Linear,
    transformer: Transformer,
}

impl Listener {
    fn encode(&self, sounds: &Sounds, mode: Mode) -> EncodedSource {
        let x = self.front.forward(sounds.frames.clone());
        self.transformer
            .encode_embedded(x, Some(sounds.silence.clone()), mode)
    }

    /// The mean of −log p over the letters of `words`.
    fn loss(&self, sounds: &Sounds, words: &[i32], mode: Mode) -> Tensor<1> {
        let rows = |open: &[i32], close: &[i32]| {
            let ids = words
                .chunks(LEN)
                .flat_map(|word| [open, word, close].concat())
                .collect();
            let ids = TensorData::new::<i32, _>(ids, [BATCH, LEN + 1]);
            Tensor::<2, Int>::from_data(ids, &sounds.frames.device())
        };
        let source = self.encode(sounds, mode);
        let states = self.transformer.decode(rows(&[BOS], &[]), &source, mode);
        let logits = self.transformer.logits(states);
        let sums = label_smoothed_cross_entropy(logits, rows(&[], &[EOS]), 0, 0.0);
        sums.smoothed / (BATCH * (LEN + 1)) as f64
    }

    /// The most likely letters, one after the other: `[BATCH, LEN]`.
    fn write(&self, sounds: &Sounds) -> Vec<i32> {
        let mut cache = self
            .transformer
            .start_decoding(&self.encode(sounds, Mode::Inference));
        let mut last = Tensor::<2, Int>::full([BATCH, 1], BOS, &sounds.frames.device());
        let letters = (0..LEN).map(|_| {
            last = self
                .transformer
                .decode_step(last.clone(), &mut cache)
                .argmax(1);
            last.clone()
        });
        let letters = Tensor::cat(letters.collect(), 1).into_data();
        letters.iter::<i32>().collect()
    }
}

/// A batch of words as they sound.
struct Sounds {
    /// `[BATCH, FRAMES, FEATURES]`
    frames: Tensor<3>,
    /// The frames after the end of each word, `[BATCH, 1, 1, FRAMES]`.
    silence: Tensor<4, Bool>,
}

/// Random words (`[BATCH, LEN]`) and their sounds; a function of `key`.
fn batch(key: RandomKey, device: &Device) -> (Sounds, Vec<i32>) {
    let letter_features = RandomKey::new(1).normal(LETTERS * FEATURES);
    let noise = key.fold(0).normal(BATCH * FRAMES * FEATURES);
    let draws = key.fold(1).uniform(2 * BATCH * LEN);
    let (mut frames, mut silence, mut words) = (vec![], vec![], vec![]);
    for draws in draws.chunks(2 * LEN) {
        let mut sounding = Vec::with_capacity(FRAMES);
        for draw in draws.chunks(2) {
            let letter = (draw[0] * LETTERS as f32) as usize;
            words.push(EOS + 1 + letter as i32);
            sounding.extend(vec![letter; 2 + (draw[1] * 3.0) as usize]);
        }
        for index in 0..FRAMES {
            silence.push(index >= sounding.len());
            let letter = sounding
                .get(index)
                .map(|letter| &letter_features[letter * FEATURES..]);
            let features = (0..FEATURES).map(|n| letter.map_or(0.0, |features| features[n]));
            frames.extend(features);
        }
    }
    let frames = frames
        .iter()
        .zip(noise)
        .map(|(x, noise)| x + 0.3 * noise)
        .collect();
    let frames = TensorData::new::<f32, _>(frames, [BATCH, FRAMES, FEATURES]);
    let silence = TensorData::new::<bool, _>(silence, [BATCH, 1, 1, FRAMES]);
    let (frames, silence) = (
        Tensor::from_data(frames, device),
        Tensor::from_data(silence, device),
    );
    (Sounds { frames, silence }, words)
}

/// Trains the model and checks that it writes what it hears.
pub fn main() -> Result<(), Box<dyn Error>> {
    let device = Device::default().autodiff();
    let config = TransformerConfig {
        d_ff: 64,
        ..TransformerConfig::tiny(3 + LETTERS)
    };
    let transformer = config.with_width(32, 4).init(1, &device)?;
    let front = Linear::new(FEATURES, 32, RandomKey::new(2), &device);
    let mut model = Listener { front, transformer };
    let mut optimiser = AdamConfig::new()
        .with_beta_2(0.98)
        .with_epsilon(1e-9)
        .init();
    for update in 1..=600 {
        let (sounds, words) = batch(RandomKey::new(7).fold(update), &device);
        let loss = model.loss(&sounds, &words, Mode::training(1, update));
        if update % 100 == 0 {
            println!(
                "update {update}: loss {:.3}",
                loss.clone().into_scalar::<f32>()
            );
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimiser.step(3e-3, model, gradients);
    }
    let (sounds, words) = batch(RandomKey::new(8), &device.inner());
    let written = model.valid().write(&sounds);
    let right = written
        .iter()
        .zip(&words)
        .filter(|(output, letter)| output == letter)
        .count();
    let share = right as f32 / words.len() as f32;
    println!(
        "wrote {:.1} % of the letters of words that it had not heard",
        100.0 * share
    );
    match share > 0.9 {
        true => Ok(()),
        false => Err(format!("the letters were not learnt: {share}").into()),
    }
}
