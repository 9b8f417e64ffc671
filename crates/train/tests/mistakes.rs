//! Common mistakes: a beginner's Transformer with one wrong line learns to write sequences
//! backwards. The results are the table of the page of the paper.

use burn::module::Module;
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{
    EmbeddingScale, LayerNorm, Linear, Mode, Model, PositionalEncoding, RandomKey, Seq2Seq,
    Seq2SeqCache, SharedEmbeddings, SharedEmbeddingsConfig, look_ahead_mask, padding_mask,
    token_ids,
};
use burnformer_data::Batch;
use burnformer_train::{Optimizer, OptimizerSettings, Recipe, Replicas, ScheduleSettings, Updater};

const VOCAB: usize = 14;
const FIRST: u32 = 4;
const PAD: u32 = 0;
const BOS: u32 = 1;
const EOS: u32 = 2;
const D: usize = 64;
const HEADS: usize = 4;
const LAYERS: u64 = 2;
const MAX_TOKENS: usize = 6;
const UPDATES: u64 = 300;
const JUDGED: usize = 200;

/// The line that is wrong, in the order of the page.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mistake {
    None,
    /// The heads are a `view` of `[batch, len, d]` as `[batch, heads, len, d_k]`, without a
    /// transpose.
    View,
    /// A mask adds −1e-12, not −∞.
    Epsilon,
    /// Embeddings are not multiplied by √d.
    NoRoot,
    /// The decoder has no look-ahead mask.
    NoMask,
    /// The decoder reads the labels, not the labels shifted right.
    NotShifted,
}

const MISTAKES: [Mistake; 6] = {
    use Mistake::*;
    [None, View, Epsilon, NoRoot, NoMask, NotShifted]
};

/// Query, key, value and output of an attention, and the norm after its residual connection.
#[derive(Module, Debug)]
struct Attention {
    maps: [Linear; 4],
    norm: LayerNorm,
}

impl Attention {
    fn new(key: RandomKey, device: &Device) -> Self {
        Self {
            maps: [0, 1, 2, 3].map(|n| Linear::new(D, D, key.fold(n), device)),
            norm: norm(device),
        }
    }

    /// `x` `[batch, len, d]` looks at `y`, except where the mask is true.
    fn forward(
        &self,
        x: Tensor<3>,
        y: Tensor<3>,
        mask: Option<Tensor<4, burn::tensor::Bool>>,
        mistake: Mistake,
    ) -> Tensor<3> {
        let d_k = D / HEADS;
        let heads = |x: Tensor<3>| -> Tensor<4> {
            let [batch, len, _] = x.dims();
            match mistake {
                Mistake::View => x.reshape([batch, HEADS, len, d_k]),
                _ => x.reshape([batch, len, HEADS, d_k]).swap_dims(1, 2),
            }
        };
        let [query, key, value, output] = &self.maps;
        let q = query.forward(x.clone());
        let k = key.forward(y.clone());
        let v = value.forward(y);
        let scores = heads(q).matmul(heads(k).swap_dims(2, 3)) / (d_k as f64).sqrt();
        let scores = match (mask, mistake) {
            (None, _) => scores,
            (Some(mask), Mistake::Epsilon) => scores + mask.float() * -1e-12,
            (Some(mask), _) => {
                let mask = mask.expand(scores.dims());
                scores.mask_fill(mask, f32::NEG_INFINITY)
            }
        };
        let attended = softmax(scores, 3).matmul(heads(v));
        let attended = match mistake {
            Mistake::View => attended,
            _ => attended.swap_dims(1, 2),
        };
        self.norm
            .forward(x.clone() + output.forward(attended.reshape(x.dims())))
    }
}

fn norm(device: &Device) -> LayerNorm {
    LayerNorm::new(D, LayerNorm::EPSILON, device)
}

/// A layer of the encoder, or of the decoder if it has cross-attention.
#[derive(Module, Debug)]
struct Layer {
    itself: Attention,
    cross: Option<Attention>,
    feed_forward: [Linear; 2],
    norm: LayerNorm,
}

impl Layer {
    fn new(key: RandomKey, has_cross: bool, device: &Device) -> Self {
        let inner = (D, 4 * D);
        let outer = (4 * D, D);
        Self {
            itself: Attention::new(key.fold(0), device),
            cross: has_cross.then(|| Attention::new(key.fold(1), device)),
            feed_forward: [
                Linear::new(inner.0, inner.1, key.fold(2), device),
                Linear::new(outer.0, outer.1, key.fold(3), device),
            ],
            norm: norm(device),
        }
    }

    fn feed_forward(&self, x: Tensor<3>) -> Tensor<3> {
        let [inner, outer] = &self.feed_forward;
        self.norm
            .forward(x.clone() + outer.forward(inner.forward_relu(x)))
    }
}

#[derive(Module, Debug)]
struct Student {
    embeddings: SharedEmbeddings,
    encoder: Vec<Layer>,
    decoder: Vec<Layer>,
    #[module(skip)]
    mistake: Mistake,
}

impl Student {
    fn new(mistake: Mistake, device: &Device) -> Self {
        let scale = match mistake {
            Mistake::NoRoot => EmbeddingScale::One,
            _ => EmbeddingScale::SqrtWidth,
        };
        let key = RandomKey::new(1);
        let layers = |key: RandomKey, has_cross| {
            (0..LAYERS)
                .map(|n| Layer::new(key.fold(n), has_cross, device))
                .collect()
        };
        Self {
            embeddings: SharedEmbeddingsConfig::new([VOCAB; 2], D)
                .with_scale(scale)
                .init_with_key(key.fold(0), device),
            encoder: layers(key.fold(1), false),
            decoder: layers(key.fold(2), true),
            mistake,
        }
    }
}

impl Seq2Seq for Student {
    fn states(&self, source: Tensor<2, Int>, target: Tensor<2, Int>, _mode: Mode) -> Tensor<3> {
        let mistake = self.mistake;
        let position = |x| PositionalEncoding::sinusoidal().forward(x, 0);
        let padding = padding_mask(&source, PAD);
        let later = look_ahead_mask(0, target.dims()[1], &target.device());
        let later = (mistake != Mistake::NoMask).then_some(later);
        let memory = self
            .encoder
            .iter()
            .fold(position(self.embeddings.source(source)), |x, it| {
                it.feed_forward(
                    it.itself
                        .forward(x.clone(), x, Some(padding.clone()), mistake),
                )
            });
        self.decoder
            .iter()
            .fold(position(self.embeddings.target(target)), |x, it| {
                let x = it.itself.forward(x.clone(), x, later.clone(), mistake);
                let cross = it.cross.as_ref().expect("a decoder has cross-attention");
                it.feed_forward(cross.forward(x, memory.clone(), Some(padding.clone()), mistake))
            })
    }

    fn logits(&self, states: Tensor<3>) -> Tensor<3> {
        self.embeddings.logits(states)
    }

    fn start(&self, _source: Tensor<2, Int>) -> Box<dyn Seq2SeqCache> {
        unimplemented!("this model is searched without a cache")
    }

    fn step_states(&self, _tokens: Tensor<2, Int>, _cache: &mut dyn Seq2SeqCache) -> Tensor<3> {
        unimplemented!("this model is searched without a cache")
    }

    fn select_outputs(&self, ids: &[u32]) -> Linear {
        self.embeddings.select(ids)
    }

    fn vocabularies(&self) -> [usize; 2] {
        self.embeddings.vocabularies()
    }
}

/// Sequences with themselves backwards, a function of `key`.
fn pairs(key: RandomKey, count: usize) -> Vec<(Vec<u32>, Vec<u32>)> {
    let pair = |key: RandomKey| {
        let len = 1 + key.words()[0] as usize % MAX_TOKENS;
        let digit = |n: u64| FIRST + key.block(n)[0] % (VOCAB as u32 - FIRST);
        let source: Vec<u32> = (0..len as u64).map(digit).collect();
        (source.clone(), source.into_iter().rev().collect())
    };
    (0..count as u64).map(|n| pair(key.fold(n))).collect()
}

/// The mean loss of the last ten updates, and the percentage of further sequences that the model
/// writes backwards.
fn learnt(mistake: Mistake) -> [f64; 2] {
    let device = Device::flex().autodiff();
    let mut model: Model = Student::new(mistake, &device).into();
    let recipe = Recipe {
        seed: 1,
        label_smoothing: 0.0,
        clip_norm: 0.0,
    };
    let optimizer = Optimizer::new(OptimizerSettings::default(), &model);
    let mut updater = Updater::new(optimizer, recipe, None, &device);
    let schedule = ScheduleSettings {
        warmup: 100,
        factor: 0.5,
        ..ScheduleSettings::default()
    };
    let replicas = Replicas::new(&[Device::flex()]);
    let mut losses = Vec::new();
    for step in 1..=UPDATES {
        let pairs = pairs(RandomKey::new(2).fold(step), 64);
        let mut batch = Batch::new((0..64).collect(), &pairs);
        if mistake == Mistake::NotShifted {
            batch.target_input.clone_from(&batch.target_output);
        }
        let rate = schedule.rate(step, D, 0.0);
        let (next, pending, _) = updater.update(model, &[batch], step, rate, &replicas);
        let read = updater.read(&[pending])[0];
        losses.push(read.nll / read.tokens as f64);
        model = next;
    }
    let last = &losses[losses.len() - 10..];
    let judged = pairs(RandomKey::new(3), JUDGED);
    let found = written(&model.valid(), &judged);
    let right = judged
        .iter()
        .zip(&found)
        .filter(|((_, target), found)| target == *found)
        .count();
    [
        last.iter().sum::<f64>() / 10.0,
        100.0 * right as f64 / JUDGED as f64,
    ]
}

/// The likeliest targets, token by token.
fn written(model: &Model, pairs: &[(Vec<u32>, Vec<u32>)]) -> Vec<Vec<u32>> {
    let batch = Batch::new((0..pairs.len() as u32).collect(), pairs);
    let rows = batch.batch;
    let ids = |ids: &[u32], len| token_ids(ids, [rows, len], VOCAB, &Device::flex());
    let mut found = vec![vec![BOS]; rows];
    for len in 1..=MAX_TOKENS + 1 {
        let source = ids(&batch.source, batch.source_len);
        let states = model.states(source, ids(&found.concat(), len), Mode::Inference);
        let logits = model.logits(states.narrow(1, len - 1, 1));
        let best = logits.argmax(2).into_data();
        found
            .iter_mut()
            .zip(best.iter::<i32>())
            .for_each(|(row, id)| row.push(id as u32));
    }
    let until_end = |row: Vec<u32>| {
        row.into_iter()
            .skip(1)
            .take_while(|&id| id != EOS)
            .collect()
    };
    found.into_iter().map(until_end).collect()
}

/// The rows of the page's table: a loss and a percentage.
fn of_the_page() -> Vec<[f64; 2]> {
    let page = include_str!("../../../docs/guide/paper.md");
    let (_, after) = page
        .split_once("## Common mistakes")
        .expect("the page has the heading");
    let table = after.lines().skip_while(|line| !line.starts_with('|'));
    let rows = table.take_while(|line| line.starts_with('|')).skip(2);
    let number = |cell: &str| {
        cell.trim()
            .trim_end_matches(" %")
            .parse()
            .expect("a number")
    };
    let row = |row: &str| {
        let cells: Vec<&str> = row.split('|').collect();
        [number(cells[2]), number(cells[3])]
    };
    rows.map(row).collect()
}

#[test]
fn common_mistakes_cost_as_documented() {
    let expected = of_the_page();
    assert_eq!(expected.len(), MISTAKES.len());
    for (mistake, expected) in MISTAKES.into_iter().zip(expected) {
        let found = learnt(mistake);
        println!("{mistake:?}: loss {:.2}, right {:.0} %", found[0], found[1]);
        let [loss, right] = [0, 1].map(|n| (found[n] - expected[n]).abs());
        assert!(
            loss < 0.1 && right < 10.0,
            "{mistake:?}: {found:?} for {expected:?}"
        );
    }
}
