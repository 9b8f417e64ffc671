//! Returns everything that the model and the search compute for one translation.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::model_dir::{self, ModelFiles};
use burnformer_core::{
    AttentionMaps, Model, ModelConfig, Parameters, TransformerConfig, token_ids,
};
use burnformer_data::Tokenizers;
use burnformer_infer::{
    Batching, Decoding, NeuralModel, Request, SpecialIds, StepModel, Translator, search,
};
use burnformer_kernels::{log_sum_exp, top_k};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use wasm_bindgen::prelude::*;

use crate::{Files, Result, to_js};

/// The maximum number of tokens on either side. Tables grow with its square.
const MAX_TOKENS: usize = 60;
/// The minimum number of candidates to show for a step.
const MIN_CANDIDATES: usize = 10;

/// A Transformer that returns the intermediate values of a translation.
#[wasm_bindgen]
pub struct Paper {
    translator: Translator,
    config: ModelConfig,
    model: Model,
}

/// The settings for translating a sentence. All are required.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// Search settings. They override the settings of the model.
    search: Map<String, Value>,
    /// Ranges of columns, from and to, of parameters to set to zero. A head is off if the output
    /// projection ignores it.
    off: BTreeMap<String, Vec<[usize; 2]>>,
    /// The divisor of the logits for the second probability of each token.
    temperature: f64,
}

#[wasm_bindgen]
impl Paper {
    /// Loads a model directory, checking the hash of every file.
    ///
    /// # Errors
    /// Returns the errors of [`Translator::load`], and an error if the model is not a Transformer.
    #[wasm_bindgen(constructor)]
    pub fn new(files: Files) -> Result<Paper, JsError> {
        to_js(Self::load(&files.0))
    }

    /// Translates `text` with the settings of `question` in JSON. Returns the tables of the forward
    /// pass and of the search as JSON.
    ///
    /// # Errors
    /// Returns an error if the question has an unknown or invalid value, or if the sentence is
    /// empty or too long.
    pub fn see(&self, text: &str, question: &str) -> Result<String, JsError> {
        to_js(self.answer(text, question).map(|seen| seen.to_string()))
    }
}

impl Paper {
    fn load(files: &ModelFiles) -> Result<Self> {
        let translator = Translator::load_from(files, &Device::flex(), None)?;
        let (config, model) = model_dir::load(files, &Device::flex())?;
        let name = files.name.display();
        let architecture = config.architecture();
        if architecture != TransformerConfig::ARCHITECTURE {
            return Err(format!("{name}: a model \"{architecture}\"; open a Transformer").into());
        }
        Ok(Self {
            translator,
            config,
            model,
        })
    }

    fn answer(&self, text: &str, question: &str) -> Result<Value> {
        let Question {
            search: asked,
            off,
            temperature,
        } = serde_json::from_str(question)?;
        if !(0.01..=100.0).contains(&temperature) {
            return Err(format!("temperature is {temperature}; give 0.01 to 100").into());
        }
        let mut options = self.translator.options();
        options.change(&asked)?;
        let mut settings = options.search;
        settings.max_length = Some(settings.max_length.unwrap_or(MAX_TOKENS).min(MAX_TOKENS));
        let Tokenizers { source, target } = self.translator.tokenizers();
        let ids = source.encode(text);
        if !(1..MAX_TOKENS).contains(&ids.len()) {
            let count = ids.len();
            let most = MAX_TOKENS - 1;
            return Err(format!("the sentence has {count} tokens; give 1 to {most}").into());
        }
        let requests = [Request::new(
            [&ids[..], &[self.config.tokens().eos]].concat(),
        )];
        let model = ablated(self.model.clone(), &off);
        let neural = NeuralModel::new(self.config.clone(), model.clone(), &Device::flex());
        let count = MIN_CANDIDATES.max(2 * settings.beam_size);
        let watched = Recorder {
            model: &neural,
            temperature,
            count,
            steps: Mutex::default(),
        };
        let best = search(&watched, &requests, &settings, &Batching::default())?[0].remove(0);
        let steps = watched
            .steps
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let divisors = (1..=steps.len() + 1).map(|n| settings.length_penalty.divisor(n));
        let named = steps
            .iter()
            .flat_map(|step| step.candidates.iter().flatten());
        let named = named.map(|&(id, ..)| id).chain(best.tokens.iter().copied());
        let pieces: BTreeMap<u32, _> = named.map(|id| (id, target.token(id))).collect();
        let maps = attention(&model, &self.config, &requests[0].source, &best.tokens);
        Ok(json!({
            "config": self.config.to_json(), "search": settings,
            "source": requests[0].source.iter().map(|&id| source.token(id)).collect::<Vec<_>>(),
            "tokens": best.tokens, "text": target.decode(&best.tokens), "score": best.score,
            "pieces": pieces, "divisors": divisors.collect::<Vec<_>>(), "steps": steps,
            "tables": tables(maps),
        }))
    }
}

/// The model with zeros in some columns of some parameters.
fn ablated(model: Model, off: &BTreeMap<String, Vec<[usize; 2]>>) -> Model {
    model.map_parameters(&mut |name, param| {
        let (Some(ranges), columns) = (off.get(name), *param.shape().last().unwrap_or(&1)) else {
            return;
        };
        param.update(Box::new(|flat| {
            let count = flat.dims()[0];
            let device = flat.device();
            let kept = (0..count).map(|i| {
                let column = i % columns;
                let is_off = ranges
                    .iter()
                    .any(|[from, to]| (*from..*to).contains(&column));
                if is_off { 0.0 } else { 1.0f32 }
            });
            flat * Tensor::from_data(TensorData::new(kept.collect(), [count]), &device)
        }));
    })
}

/// Returns the attention weights of all layers and heads and the terms of the residual connections.
/// `source` and `target` are token ids with `</s>` at the end.
pub fn attention(
    model: &Model,
    config: &ModelConfig,
    source: &[u32],
    target: &[u32],
) -> AttentionMaps {
    let tokens = config.tokens();
    let input = [&[tokens.bos], &target[..target.len() - 1]].concat();
    let device = Device::flex();
    model.attention(
        token_ids(source, [1, source.len()], tokens.source_vocab, &device),
        token_ids(&input, [1, input.len()], tokens.target_vocab, &device),
    )
}

/// Returns the tables of a forward pass as JSON, in thousandths: weights, queries and keys by layer
/// and head, the embedded sequences by position, and the root mean squares of both terms of each
/// residual connection.
pub fn tables(maps: AttentionMaps) -> Value {
    let AttentionMaps {
        encoder_self,
        decoder_self,
        cross,
        queries_and_keys,
        residuals,
    } = maps;
    let [of_encoder, of_decoder, of_cross] = queries_and_keys.map(|layers| {
        layers
            .into_iter()
            .map(|pair| pair.map(heads))
            .collect::<Vec<_>>()
    });
    let embedded = residuals
        .each_ref()
        .map(|all| all.first().map(|[x, _]| thousandths(x.clone())));
    let sizes = residuals.map(|all| {
        all.into_iter()
            .map(|pair| pair.map(root_mean_squares))
            .collect::<Vec<_>>()
    });
    json!({
        "encoder": layers(encoder_self), "decoder": layers(decoder_self), "cross": layers(cross),
        "compared": { "encoder": of_encoder, "decoder": of_decoder, "cross": of_cross },
        "embedded": embedded, "sizes": sizes,
    })
}

/// The tables of layers `[1, heads, rows, columns]`: the rows of all heads, by layer.
fn layers(layers: Vec<Tensor<4>>) -> Vec<Vec<Vec<i32>>> {
    layers.into_iter().map(heads).collect()
}

/// The rows of all heads of a layer `[1, heads, rows, columns]`.
fn heads(layer: Tensor<4>) -> Vec<Vec<i32>> {
    thousandths(layer.squeeze_dim::<3>(0).flatten(1, 2))
}

/// The root mean square of each row.
fn root_mean_squares(x: Tensor<2>) -> Vec<i32> {
    thousandths(x.square().mean_dim(1).sqrt().transpose()).remove(0)
}

/// The rows of a table.
fn thousandths(table: Tensor<2>) -> Vec<Vec<i32>> {
    let [_, columns] = table.dims();
    let values: Vec<i32> = table
        .into_data()
        .iter::<f32>()
        .map(|value| (value * 1000.0).round() as i32)
        .collect();
    values.chunks(columns).map(<[i32]>::to_vec).collect()
}

/// A step of the search.
#[derive(Serialize)]
struct Step {
    /// For each row, the row of the previous step that it continues, and its token.
    rows: Vec<(usize, u32)>,
    /// The most likely next tokens of each row: the log-probability of each, and its probability at
    /// the temperature.
    candidates: Vec<Vec<(u32, f64, f64)>>,
}

/// A model that records its steps.
struct Recorder<'a> {
    model: &'a NeuralModel,
    temperature: f64,
    count: usize,
    steps: Mutex<Vec<Step>>,
}

impl Recorder<'_> {
    /// The most likely tokens for these logits.
    fn candidates(&self, logits: &[f32]) -> Vec<(u32, f64, f64)> {
        let all: Vec<f32> = logits.iter().map(|&logit| self.tempered(logit)).collect();
        let sum = log_sum_exp(logits);
        let tempered_sum = log_sum_exp(&all);
        let mut best = Vec::new();
        top_k(logits, self.count, &mut best);
        best.into_iter()
            .map(|(logit, id)| {
                let log_prob = f64::from(logit) - sum;
                let tempered = f64::from(self.tempered(logit));
                (id, log_prob, (tempered - tempered_sum).exp())
            })
            .collect()
    }

    /// The logit divided by the temperature.
    fn tempered(&self, logit: f32) -> f32 {
        (f64::from(logit) / self.temperature) as f32
    }
}

impl StepModel for Recorder<'_> {
    fn source_vocab(&self) -> usize {
        self.model.source_vocab()
    }

    fn target_vocab(&self) -> usize {
        self.model.target_vocab()
    }

    fn special(&self) -> SpecialIds {
        self.model.special()
    }

    fn max_positions(&self) -> Option<usize> {
        self.model.max_positions()
    }

    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_> {
        Box::new(Recording {
            inner: self.model.start(sources),
            watched: self,
            parents: None,
        })
    }
}

struct Recording<'a> {
    inner: Box<dyn Decoding + 'a>,
    watched: &'a Recorder<'a>,
    /// The rows that the next step continues, if they change.
    parents: Option<Vec<usize>>,
}

impl Decoding for Recording<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        let logits = self.inner.step(tokens);
        let parents = self
            .parents
            .take()
            .unwrap_or_else(|| (0..tokens.len()).collect());
        let rows = parents.into_iter().zip(tokens.iter().copied()).collect();
        let each = logits.chunks_exact(self.watched.target_vocab());
        let candidates = each.map(|logits| self.watched.candidates(logits)).collect();
        let mut steps = self
            .watched
            .steps
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        steps.push(Step { rows, candidates });
        logits
    }

    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        self.inner.reorder(rows, sentences);
        self.parents = Some(rows.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use burnformer_core::ComputeType;

    use super::*;
    use crate::translator::tests::files;

    const TEXT: &str = "Das kleine Haus steht am See.";

    /// The default question, overridden by `changed`.
    fn question(changed: &Value) -> String {
        let mut all = json!({"search": {}, "off": {}, "temperature": 1.0});
        for (name, value) in changed.as_object().unwrap() {
            all[name] = value.clone();
        }
        all.to_string()
    }

    fn seen(changed: Value) -> Value {
        Paper::load(&files())
            .unwrap()
            .answer(TEXT, &question(&changed))
            .unwrap()
    }

    /// Follows the most likely tokens from step to step, as the page draws them.
    #[test]
    fn the_steps_contain_the_path_of_the_translation_and_its_score() {
        let seen = seen(json!({}));
        let mut row = 0;
        let mut sum = 0.0;
        let tokens = seen["tokens"].as_array().unwrap();
        for (n, token) in tokens.iter().enumerate() {
            let candidates = seen["steps"][n]["candidates"][row].as_array().unwrap();
            sum += candidates.iter().find(|it| it[0] == *token).unwrap()[1]
                .as_f64()
                .unwrap();
            let next = seen["steps"][n + 1]["rows"].as_array();
            row = next
                .and_then(|next| next.iter().position(|it| *it == json!([row, token])))
                .unwrap_or(usize::MAX);
        }
        let divisor = seen["divisors"][tokens.len() - 1].as_f64().unwrap();
        assert!((sum / divisor - seen["score"].as_f64().unwrap()).abs() < 1e-5);
        let float32 = Some(ComputeType::Float32);
        let translator = Translator::load_from(&files(), &Device::flex(), float32).unwrap();
        let translated = translator
            .translate(&[TEXT], &translator.options())
            .unwrap();
        assert_eq!(seen["text"], translated[0].text);
    }

    #[test]
    fn every_head_of_every_layer_has_weights_that_sum_to_one() {
        let seen = seen(json!({}));
        let [sources, targets] =
            [&seen["source"], &seen["tokens"]].map(|it| it.as_array().unwrap().len());
        for (kind, layers, keys) in [
            ("encoder", 3, sources),
            ("decoder", 2, targets),
            ("cross", 2, sources),
        ] {
            let all = seen["tables"][kind].as_array().unwrap();
            assert_eq!(all.len(), layers);
            for head in all.iter().flat_map(|layer| layer.as_array().unwrap()) {
                for row in head.as_array().unwrap().chunks(keys) {
                    let sum: i64 = row.iter().map(|weight| weight.as_i64().unwrap()).sum();
                    assert!((sum - 1000).abs() <= keys as i64, "{kind}: {sum}");
                }
            }
        }
        let [encoder, decoder] =
            [0, 1].map(|i| seen["tables"]["sizes"][i].as_array().unwrap().len());
        assert_eq!((encoder, decoder), (3 * 2, 2 * 3));
        assert_eq!(
            seen["tables"]["embedded"][0].as_array().unwrap().len(),
            sources
        );
    }

    /// The numbers of a table in thousandths.
    fn numbers(table: &Value) -> Vec<f64> {
        table
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_f64().unwrap() / 1000.0)
            .collect()
    }

    #[test]
    fn weights_are_the_softmax_of_the_queries_and_keys() {
        let seen = seen(json!({}));
        let [sources, targets] =
            [&seen["source"], &seen["tokens"]].map(|it| it.as_array().unwrap().len());
        for (kind, keys) in [
            ("encoder", sources),
            ("decoder", targets),
            ("cross", sources),
        ] {
            let pair = &seen["tables"]["compared"][kind][1];
            let [query, key] = [0, 1].map(|i| numbers(&pair[i][2]));
            let width = key.len() / keys;
            let weights = numbers(&seen["tables"][kind][1][2]);
            let last = query.chunks(width).next_back().unwrap();
            let powers: Vec<f64> = key
                .chunks(width)
                .map(|k| {
                    let product: f64 = k.iter().zip(last).map(|(k, q)| k * q).sum();
                    (product / (width as f64).sqrt()).exp()
                })
                .collect();
            let sum: f64 = powers.iter().sum();
            for (power, weight) in powers.iter().zip(weights.chunks(keys).next_back().unwrap()) {
                assert!(
                    (power / sum - weight).abs() < 0.02,
                    "{kind}: {power} of {sum}, {weight}"
                );
            }
        }
    }

    #[test]
    fn heads_that_are_off_change_what_follows_and_no_weights_before() {
        let name = "decoder.layers.0.cross_attention.output.weight";
        let [with, without] = [json!({}), json!({"off": {name: [[0, 256]]}})].map(seen);
        assert_eq!(with["tables"]["encoder"], without["tables"]["encoder"]);
        assert_ne!(with["score"], without["score"]);
        let one =
            seen(json!({"off": {"encoder.layers.0.self_attention.output.weight": [[64, 128]]}}));
        assert_eq!(with["tables"]["encoder"][0], one["tables"]["encoder"][0]);
        assert_ne!(with["tables"]["encoder"][1], one["tables"]["encoder"][1]);
        assert_eq!(seen(json!({"off": {name: []}}))["tables"], with["tables"]);
    }

    #[test]
    fn a_temperature_flattens_and_a_beam_has_its_width() {
        let seen = seen(json!({"temperature": 2.0, "search": {"beam_size": 2}}));
        let first = &seen["steps"][0]["candidates"][0][0];
        assert!(first[2].as_f64().unwrap() < first[1].as_f64().unwrap().exp());
        assert_eq!(seen["steps"][1]["rows"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn wrong_questions_are_named() {
        let paper = Paper::load(&files()).unwrap();
        for (text, changed, name) in [
            ("", json!({}), "0 tokens"),
            (&"Haus ".repeat(100)[..], json!({}), "give 1 to 59"),
            (TEXT, json!({"search": {"beam_size": 0}}), "beam_size"),
            (TEXT, json!({"speed": 1}), "speed"),
            (
                TEXT,
                json!({"temperature": 0}),
                "temperature is 0; give 0.01 to 100",
            ),
            (TEXT, json!({"temperature": 1e300}), "temperature is"),
        ] {
            let error = paper
                .answer(text, &question(&changed))
                .unwrap_err()
                .to_string();
            assert!(error.contains(name), "{changed}: {error}");
        }
    }
}
