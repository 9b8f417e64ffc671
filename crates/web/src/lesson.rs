//! Trains a small Transformer in the page. It learns to reverse sequences, or to translate a text.

#[cfg(feature = "gpu")]
mod gpu;

use burn::tensor::Device;
use burnformer_core::{
    Model, ModelConfig, Parameters, PositionalEncodingConfig, RandomKey, TargetSublayer,
    Transformer, TransformerConfig,
};
use burnformer_data::Batch;
use burnformer_infer::{Batching, NeuralModel, Request, SearchSettings, search};
use burnformer_train::{
    Optimizer, OptimizerSettings, PendingStatistics, Recipe, Replicas, ScheduleSettings, Updater,
};
use serde::Deserialize;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::paper::{attention, tables};
use crate::{Result, to_js};

/// The first id of a word, after `<pad>`, `<s>`, `</s>` and `<unk>`.
const FIRST_WORD_ID: usize = 4;
/// The approximate maximum number of parameters of a model, and of features of a batch.
const MAX_NUMBERS: f64 = 1e7;
/// The number of sequences for evaluation.
const EVALUATION_SEQUENCES: usize = 100;
/// The number of example sequences to show.
const EXAMPLE_SEQUENCES: usize = 4;

/// The settings chosen by the reader.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choices {
    model: TransformerConfig,
    schedule: ScheduleSettings,
    label_smoothing: f64,
    seed: u64,
    /// The number of sequences per update.
    batch: u64,
    /// The maximum number of words of a sequence.
    longest: usize,
    /// Pairs to translate. The first pairs are for evaluation, the rest for training. If there are
    /// none, the model learns to reverse sequences.
    text: Vec<(Vec<u32>, Vec<u32>)>,
    /// If false, the decoder sees the tokens that it should predict (paper §3.2.3).
    mask: bool,
    /// If false, attention does not divide by √d_k (paper §3.2.1).
    scale: bool,
    /// If false, there are no positional encodings (paper §3.5).
    positions: bool,
}

/// A Transformer in training.
#[wasm_bindgen]
pub struct Lesson {
    choices: Choices,
    config: ModelConfig,
    model: Model,
    updater: Updater,
    replicas: Replicas,
    step: u64,
}

#[wasm_bindgen]
impl Lesson {
    /// Creates an untrained model from choices in JSON. All choices are required.
    ///
    /// # Errors
    /// Returns an error if a choice is missing, unknown or invalid.
    #[wasm_bindgen(constructor)]
    pub fn new(choices: &str) -> Result<Lesson, JsError> {
        to_js(Self::begin(choices, Device::flex().autodiff()))
    }

    /// Performs `count` updates, at most 1,000, and returns the statistics of each as JSON.
    ///
    /// # Errors
    /// Returns an error if the graphics card is lost.
    pub async fn update(&mut self, count: usize) -> Result<String, JsError> {
        let first = self.step + 1;
        let (rates, pending): (Vec<_>, Vec<_>) = (0..count.min(1000)).map(|_| self.step()).unzip();
        let read = self.updater.read_async(&pending).await?;
        let updates = (first..).zip(rates).zip(read).map(|((step, rate), read)| {
            let [loss, nll] = [read.loss, read.nll].map(|sum| sum / read.tokens as f64);
            json!({"step": step, "rate": rate, "loss": loss, "nll": nll, "tokens": read.tokens})
        });
        Ok(Value::from_iter(updates).to_string())
    }

    /// Evaluates the model on held-out sequences. Returns as JSON the share of exact matches, some
    /// examples, and the tables of the first one.
    ///
    /// # Errors
    /// Returns the errors of [`search`].
    pub fn judge(&self) -> Result<String, JsError> {
        to_js(self.judged().map(|judged| judged.to_string()))
    }
}

impl Lesson {
    fn begin(choices: &str, device: Device) -> Result<Self> {
        let choices: Choices = serde_json::from_str(choices)?;
        choices.check()?;
        let model = choices.ablated(choices.model.init(choices.seed, &device)?, &device);
        let Choices {
            seed,
            label_smoothing,
            ..
        } = choices;
        let recipe = Recipe {
            seed,
            label_smoothing,
            clip_norm: 0.0,
        };
        let optimizer = Optimizer::new(OptimizerSettings::default(), &model);
        Ok(Self {
            updater: Updater::new(optimizer, recipe, None, &device),
            replicas: Replicas::new(&[device]),
            config: choices.model.clone().into(),
            model,
            choices,
            step: 0,
        })
    }

    /// Performs an update, and returns its learning rate and its statistics.
    fn step(&mut self) -> (f64, PendingStatistics) {
        self.step += 1;
        let rate = self
            .choices
            .schedule
            .rate(self.step, self.config.d_model(), 0.0);
        let batches = [self.choices.batch(self.step, self.choices.batch)];
        let old = self.model.clone();
        let step = self.step;
        let (model, pending, _) = self
            .updater
            .update(old, &batches, step, rate, &self.replicas);
        self.model = model;
        (rate, pending)
    }

    fn judged(&self) -> Result<Value> {
        let model = self.model.valid();
        let eos = self.config.tokens().eos;
        let neural = NeuralModel::new(self.config.clone(), model.clone(), &Device::flex());
        let pairs = self.choices.pairs(0, EVALUATION_SEQUENCES as u64);
        let requests: Vec<_> = pairs
            .iter()
            .map(|(source, _)| Request::new([&source[..], &[eos]].concat()))
            .collect();
        let found = search(
            &neural,
            &requests,
            &SearchSettings::greedy(),
            &Batching::default(),
        )?;
        let expected = pairs
            .iter()
            .map(|(_, target)| [&target[..], &[eos]].concat());
        let right = expected
            .zip(&found)
            .filter(|(target, found)| found[0].tokens == *target);
        let shown = pairs.iter().zip(&found).take(EXAMPLE_SEQUENCES);
        let shown: Vec<_> = shown
            .map(|((x, y), found)| (x, &found[0].tokens, y))
            .collect();
        let source = &requests[0].source;
        let found = &found[0][0].tokens;
        Ok(json!({
            "step": self.step, "right": right.count() as f64 / EVALUATION_SEQUENCES as f64, "shown": shown,
            "source": source, "found": found,
            "tables": tables(attention(&model, &self.config, source, found)),
        }))
    }
}

impl Choices {
    /// Rejects sizes that exceed the memory of a page, and vocabularies without digits.
    fn check(&self) -> Result<(), String> {
        let model = &self.model;
        let batch = self.batch;
        let longest = self.longest;
        model.validate().map_err(|error| error.to_string())?;
        let vocab = model.source_vocab;
        if vocab <= FIRST_WORD_ID || model.target_vocab != vocab {
            return Err(format!(
                "source_vocab is {vocab}; give both the same, above {FIRST_WORD_ID}"
            ));
        }
        if !(1..=1000).contains(&batch) || !(1..=100).contains(&longest) {
            return Err(format!(
                "batch is {batch}, longest {longest}; give 1 to 1000, 1 to 100"
            ));
        }
        if (1..=EVALUATION_SEQUENCES).contains(&self.text.len()) {
            return Err(format!(
                "text has {} pairs; give above {EVALUATION_SEQUENCES}",
                self.text.len()
            ));
        }
        let mut pairs = self.text.iter();
        if let Some(i) = pairs.position(|(x, y)| !self.fits(x) || !self.fits(y)) {
            let words = format!("1 to {longest} words from {FIRST_WORD_ID} to {}", vocab - 1);
            return Err(format!(
                "text: pair {} has other than {words} on each side",
                i + 1
            ));
        }
        let widths = [
            model.d_model,
            model.d_ff,
            model.heads * model.d_k,
            model.heads * model.d_v,
        ];
        let widest = widths.into_iter().max().unwrap_or_default() as f64;
        let layers = (model.encoder_layers + model.decoder_layers) as f64;
        let rows = (vocab + model.max_positions + batch as usize * longest) as f64;
        if (layers * (widest + rows) + rows) * widest > MAX_NUMBERS {
            Err("the model is too large for a page; make it or its batch smaller".into())
        } else {
            Ok(())
        }
    }

    /// The model without the parts of the paper that the choices switch off.
    fn ablated(&self, mut model: Transformer, device: &Device) -> Model {
        model.decoder.is_causal = self.mask;
        for layer in &mut model.encoder.layers {
            layer.self_attention.is_scaled = self.scale;
        }
        for layer in &mut model.decoder.layers {
            if let TargetSublayer::SelfAttention(attention) = &mut layer.self_attention {
                attention.is_scaled = self.scale;
            }
            layer
                .cross_attention
                .iter_mut()
                .for_each(|cross| cross.is_scaled = self.scale);
        }
        if !self.positions {
            let config = PositionalEncodingConfig::new(self.model.d_model);
            let none = config
                .with_learned(Some(self.model.max_positions))
                .init(device);
            let none = none.map_parameters(&mut |_, param| {
                param.update(Box::new(|x| x * 0.0));
                param.freeze();
            });
            (model.source_position, model.target_position) = (none.clone(), none);
        }
        model.into()
    }

    /// Whether a side of a pair has an accepted length and only words of the vocabulary.
    fn fits(&self, side: &[u32]) -> bool {
        let words = FIRST_WORD_ID..self.model.source_vocab;
        let has_words = side.iter().all(|&id| words.contains(&(id as usize)));
        (1..=self.longest).contains(&side.len()) && has_words
    }

    /// The batch of `count` sequences for update `step`.
    fn batch(&self, step: u64, count: u64) -> Batch {
        let pairs = self.pairs(step, count);
        Batch::new((0..pairs.len() as u32).collect(), &pairs)
    }

    /// The sequences of update `step`, counted from 1: each with its reversal, or pairs of the
    /// text. Step 0 has the sequences for evaluation.
    fn pairs(&self, step: u64, count: u64) -> Vec<(Vec<u32>, Vec<u32>)> {
        let key = RandomKey::new(self.seed).fold(step);
        if let Some((held_out, learnt)) = self.text.split_at_checked(EVALUATION_SEQUENCES) {
            let pairs = (0..count).map(|i| &learnt[key.block(i)[0] as usize % learnt.len()]);
            return if step == 0 {
                held_out.to_vec()
            } else {
                pairs.cloned().collect()
            };
        }
        (0..count).map(|i| self.reversal(key.fold(i))).collect()
    }

    /// A random sequence and its reversal.
    fn reversal(&self, key: RandomKey) -> (Vec<u32>, Vec<u32>) {
        let words = self.model.source_vocab - FIRST_WORD_ID;
        let len = 1 + key.words()[0] as usize % self.longest;
        let source: Vec<u32> = (0..len as u64)
            .map(|i| (FIRST_WORD_ID + key.block(i)[0] as usize % words) as u32)
            .collect();
        (source.clone(), source.into_iter().rev().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The default choices of the page, overridden by `changed`.
    fn choices(changed: &Value) -> Value {
        let model = TransformerConfig {
            d_ff: 256,
            dropout: 0.0,
            ..TransformerConfig::tiny(14)
        };
        let model = model.with_width(64, 4);
        let mut all = json!({
            "model": model, "schedule": {"warmup": 200, "factor": 0.5}, "label_smoothing": 0.1,
            "seed": 1, "batch": 64, "longest": 8, "mask": true, "scale": true, "positions": true,
            "text": [],
        });
        for (name, value) in changed.as_object().unwrap() {
            match all.get_mut(name) {
                Some(old) => *old = value.clone(),
                None => all["model"][name] = value.clone(),
            }
        }
        all
    }

    fn begun(changed: &Value) -> Result<Lesson> {
        Lesson::begin(&choices(changed).to_string(), Device::flex().autodiff())
    }

    fn updated(lesson: &mut Lesson, count: usize) -> String {
        pollster::block_on(lesson.update(count)).unwrap_or_else(|_| panic!("an update failed"))
    }

    fn lesson(changed: Value, updates: usize) -> (Lesson, f64) {
        let mut lesson = begun(&changed).unwrap();
        let statistics: Value = serde_json::from_str(&updated(&mut lesson, updates)).unwrap();
        let last = &statistics[updates - 1];
        assert_eq!(last["step"], updates);
        let nll = last["nll"].as_f64().unwrap();
        (lesson, nll)
    }

    fn right(lesson: &Lesson) -> f64 {
        lesson.judged().unwrap()["right"].as_f64().unwrap()
    }

    #[test]
    fn digits_are_reversed_and_before_training_cost_as_much_as_a_guess() {
        let (_, nll) = lesson(json!({"longest": 5}), 1);
        assert!((nll - 14f64.ln()).abs() < 1.5, "{nll}");
        let (lesson, _) = lesson(json!({"longest": 5}), 300);
        assert!(right(&lesson) > 0.9, "{}", right(&lesson));
    }

    #[test]
    fn a_decoder_without_a_mask_reads_the_answer_and_cannot_write() {
        let (lesson, nll) = lesson(
            json!({"longest": 5, "mask": false, "label_smoothing": 0}),
            300,
        );
        assert!(nll < 0.05, "{nll}");
        assert!(right(&lesson) < 0.5, "{}", right(&lesson));
    }

    #[test]
    fn without_positions_no_order_is_learnt() {
        let (lesson, _) = lesson(json!({"longest": 5, "positions": false}), 300);
        assert!(right(&lesson) < 0.5, "{}", right(&lesson));
    }

    #[test]
    fn attention_starts_sharper_without_scaling() {
        let [with, without] = [true, false].map(sharpness);
        assert!(without > 1.5 * with, "{without} {with}");
    }

    /// The sum of squared weights of a model with or without scaling. A query with equal weights
    /// adds 1 over the number of keys, the minimum.
    fn sharpness(scale: bool) -> f64 {
        let (lesson, _) = lesson(
            json!({"scale": scale, "d_model": 256, "heads": 2, "d_k": 128, "d_v": 128}),
            1,
        );
        let judged = lesson.judged().unwrap();
        let heads = judged["tables"]["encoder"][0].as_array().unwrap();
        let weights = heads.iter().flat_map(|head| head.as_array().unwrap());
        weights
            .map(|weight| (weight.as_f64().unwrap() / 1000.0).powi(2))
            .sum()
    }

    type Pairs = Vec<(Vec<u32>, Vec<u32>)>;

    /// The pairs of the page, with its word ids.
    fn text() -> (Pairs, usize) {
        let mut ids = std::collections::BTreeMap::new();
        let pairs = include_str!("../page/pairs.tsv").lines().map(|line| {
            let (de, en) = line.split_once('\t').unwrap();
            (side(de, &mut ids), side(en, &mut ids))
        });
        let pairs: Vec<_> = pairs.collect();
        (pairs, FIRST_WORD_ID + ids.len())
    }

    /// The word ids of `text`. New words are added to `ids`.
    fn side(text: &str, ids: &mut std::collections::BTreeMap<String, u32>) -> Vec<u32> {
        let marks = ['.', '?', '!', ','];
        let words = text.split_inclusive(marks).flat_map(|part| {
            let at = part.trim_end_matches(marks).len();
            part[..at]
                .split_whitespace()
                .chain([&part[at..]])
                .filter(|word| !word.is_empty())
        });
        let ids = words.map(|word| {
            let next = (FIRST_WORD_ID + ids.len()) as u32;
            *ids.entry(word.to_owned()).or_insert(next)
        });
        ids.collect()
    }

    #[test]
    fn a_text_is_learnt_without_the_evaluation_pairs() {
        let (text, vocab) = text();
        let changed =
            json!({"source_vocab": vocab, "target_vocab": vocab, "longest": 9, "text": text});
        let (lesson, nll) = lesson(changed, 300);
        assert!(nll < 1.0, "{nll}");
        let judged = lesson.judged().unwrap();
        assert!(right(&lesson) > 0.1, "{}", right(&lesson));
        assert_eq!(judged["shown"].as_array().unwrap().len(), EXAMPLE_SEQUENCES);
        assert_eq!(judged["shown"][1][2], json!(text[1].1));
        let learnt = lesson.choices.pairs(3, 500);
        assert!(learnt.iter().all(|(source, _)| {
            text[..EVALUATION_SEQUENCES]
                .iter()
                .all(|it| it.0 != *source)
        }));
    }

    /// The losses of fifty updates. The tests of the package compare with them.
    #[test]
    fn losses_match_the_recorded_losses() {
        let mut lesson = begun(&json!({})).unwrap();
        let found: Vec<Value> = serde_json::from_str(&updated(&mut lesson, 50)).unwrap();
        let found: Vec<f64> = found
            .iter()
            .map(|it| it["loss"].as_f64().unwrap())
            .collect();
        let written: Vec<f64> = serde_json::from_str(include_str!("../tests/losses.json")).unwrap();
        assert_eq!(found.len(), written.len());
        let apart = found
            .iter()
            .zip(&written)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(apart < 1e-3, "{found:?}");
    }

    #[test]
    fn a_wrong_choice_is_named() {
        for (changed, name) in [
            (json!({"heads": 0}), "heads is 0"),
            (json!({"dropout": 1.5}), "dropout is 1.5"),
            (json!({"norm": "none"}), "none"),
            (json!({"speed": 1}), "speed"),
            (json!({"batch": 0}), "batch is 0"),
            (json!({"longest": 101}), "longest 101"),
            (
                json!({"source_vocab": 4, "target_vocab": 4}),
                "source_vocab is 4",
            ),
            (
                json!({"text": [[[4], [4]]]}),
                "text has 1 pairs; give above 100",
            ),
            (
                json!({"text": vec![[[4], [14]]; 101]}),
                "text: pair 1 has other than 1 to 8 words",
            ),
            (
                json!({"text": vec![[vec![4], vec![]]; 101]}),
                "text: pair 1 has other than",
            ),
            (json!({"d_ff": 65536}), "too large"),
            (json!({"encoder_layers": 1024, "batch": 1000}), "too large"),
        ] {
            let error = begun(&changed).err().unwrap().to_string();
            assert!(error.contains(name), "{changed}: {error}");
        }
    }
}
