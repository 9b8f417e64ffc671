//! Returns everything that the model and the search compute for one translation.

mod recorder;

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::model_dir::{self, ModelFiles};
use burnformer_core::{
    AttentionMaps, Model, ModelConfig, Parameters, Positions, Seq2SeqConfig, TransformerConfig,
    named_parameters, token_ids, with_parameters,
};
use burnformer_infer::{
    Batching, BeamRule, NeuralModel, Request, SearchSettings, Translator, force_score,
    load_settings, load_tokenizers, search,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use wasm_bindgen::prelude::*;

use self::recorder::Recorder;
use crate::options::Options;
use crate::{Files, Result, to_js};

/// The maximum number of tokens on either side. Tables grow with its square.
const MAX_TOKENS: usize = 60;
/// The minimum number of candidates to show for a step.
const MIN_CANDIDATES: usize = 10;
/// The parameters of learned positions.
const POSITIONS: [&str; 2] = ["source_position.weight", "target_position.weight"];

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
    off: Off,
    /// The divisor of the logits for the second probability of each token.
    temperature: f64,
}

/// The parts of the model that are switched off; by default none.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Off {
    /// Ranges of columns, from and to, of parameters to set to zero. A head is off if the output
    /// projection ignores it.
    columns: BTreeMap<String, Vec<[usize; 2]>>,
    /// If true, nothing is added to the embeddings for their positions (paper §3.5).
    positions: bool,
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

    /// Returns translations of `text` that are drawn at random with `options` in JSON, the names of
    /// `Model::translate`, while the parts in `off`, JSON as in the question of
    /// [`see`](Self::see), are switched off.
    ///
    /// # Errors
    /// Returns the errors of `Model::translate` and of [`see`](Self::see).
    pub fn draw(&self, text: &str, options: &str, off: &str) -> Result<Vec<String>, JsError> {
        to_js(self.drawn(text, options, off))
    }

    /// Returns the attention weights of the encoder for `text` in a batch with `other`, by layer and
    /// head, in thousandths as in [`see`](Self::see): of all positions of the batch, padding included.
    ///
    /// # Errors
    /// Returns an error if a sentence is empty or too long.
    pub fn padded(&self, text: &str, other: &str) -> Result<String, JsError> {
        to_js(
            self.in_batch(text, other)
                .map(|found| json!(found).to_string()),
        )
    }

    /// Returns the tokens of `text`, `</s>` last.
    ///
    /// # Errors
    /// Returns an error if the sentence is empty or too long.
    pub fn pieces(&self, text: &str) -> Result<Vec<String>, JsError> {
        to_js(self.source(text).map(|ids| self.source_tokens(&ids)))
    }

    /// Returns the log-probability of each of `tokens`, `</s>` last, as the translation of `text`,
    /// while the parts in `off`, JSON as in the question of [`see`](Self::see), are switched off.
    ///
    /// # Errors
    /// Returns the errors of [`see`](Self::see), and an error if a token is not in the vocabulary
    /// or if there are too many.
    pub fn score(&self, text: &str, tokens: &[u32], off: &str) -> Result<Vec<f32>, JsError> {
        to_js(self.scored(text, tokens, off))
    }

    /// Returns the numbers of the parameter `name` of the model, row by row.
    ///
    /// # Errors
    /// Returns an error if the model has no such parameter.
    pub fn parameter(&self, name: &str) -> Result<Vec<f32>, JsError> {
        to_js(self.numbers(name))
    }
}

impl Paper {
    fn load(files: &ModelFiles) -> Result<Self> {
        let device = Device::flex();
        let (config, model) = model_dir::load(files, &device)?;
        let name = files.name.display();
        let architecture = config.architecture();
        if architecture != TransformerConfig::ARCHITECTURE {
            return Err(format!("{name}: a model \"{architecture}\"; open a Transformer").into());
        }
        let neural = NeuralModel::new(config.clone(), model.clone(), &device);
        let tokenizers = load_tokenizers(files)?;
        Ok(Self {
            translator: Translator::new(Box::new(neural), tokenizers, load_settings(files)?)?,
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
        options.search = papers_search(options.search);
        options.change(&asked)?;
        let mut settings = options.search;
        settings.max_length = Some(settings.max_length.unwrap_or(MAX_TOKENS).min(MAX_TOKENS));
        let target = &self.translator.tokenizers().target;
        let requests = [Request::new(self.source(text)?)];
        let model = self.without(&off)?;
        let neural = NeuralModel::new(self.config.clone(), model.clone(), &Device::flex());
        let count = MIN_CANDIDATES.max(2 * settings.beam_size);
        let watched = Recorder::new(&neural, temperature, count);
        let best = search(&watched, &requests, &settings, &Batching::default())?[0].remove(0);
        let steps = watched.into_steps();
        let divisors = (1..=steps.len() + 1).map(|n| settings.length_penalty.divisor(n));
        let named = steps
            .iter()
            .flat_map(|step| step.candidates.iter().flatten());
        let named = named.map(|&(id, ..)| id).chain(best.tokens.iter().copied());
        let pieces: BTreeMap<u32, _> = named.map(|id| (id, target.token(id))).collect();
        let maps = attention(&model, &self.config, &requests[0].source, &best.tokens);
        Ok(json!({
            "config": self.config.to_json(), "search": settings,
            "source": self.source_tokens(&requests[0].source),
            "tokens": best.tokens, "text": target.decode(&best.tokens), "score": best.score,
            "pieces": pieces, "divisors": divisors.collect::<Vec<_>>(), "steps": steps,
            "tables": tables(maps),
        }))
    }

    /// The ids of `text` with `</s>`.
    fn source(&self, text: &str) -> Result<Vec<u32>> {
        let ids = self.translator.tokenizers().source.encode(text);
        let count = ids.len();
        if (1..MAX_TOKENS).contains(&count) {
            return Ok([&ids[..], &[self.config.tokens().eos]].concat());
        }
        let most = MAX_TOKENS - 1;
        Err(format!("the sentence has {count} tokens; give 1 to {most}").into())
    }

    fn drawn(&self, text: &str, options: &str, off: &str) -> Result<Vec<String>> {
        let options: Options = serde_json::from_str(options)?;
        let settings = options.resolve(&self.translator)?.search;
        let requests = [Request::new(self.source(text)?)];
        let model = self.without(&serde_json::from_str(off)?)?;
        let neural = NeuralModel::new(self.config.clone(), model, &Device::flex());
        let found = search(&neural, &requests, &settings, &Batching::default())?.remove(0);
        let target = &self.translator.tokenizers().target;
        Ok(found.iter().map(|it| target.decode(&it.tokens)).collect())
    }

    fn in_batch(&self, text: &str, other: &str) -> Result<Vec<Vec<Vec<i32>>>> {
        let tokens = self.config.tokens();
        let mut sources = [self.source(text)?, self.source(other)?];
        let length = sources.iter().map(Vec::len).max().unwrap_or_default();
        sources
            .iter_mut()
            .for_each(|ids| ids.resize(length, tokens.pad));
        let device = Device::flex();
        let maps = self.model.attention(
            token_ids(&sources.concat(), [2, length], tokens.source_vocab, &device),
            token_ids(&[tokens.bos; 2], [2, 1], tokens.target_vocab, &device),
        );
        Ok(layers(
            maps.encoder_self
                .into_iter()
                .map(|layer| layer.narrow(0, 0, 1))
                .collect(),
        ))
    }

    fn source_tokens(&self, ids: &[u32]) -> Vec<String> {
        let source = &self.translator.tokenizers().source;
        ids.iter()
            .map(|&id| source.token(id).unwrap_or_default())
            .collect()
    }

    fn scored(&self, text: &str, tokens: &[u32], off: &str) -> Result<Vec<f32>> {
        let source = self.source(text)?;
        let count = tokens.len();
        if count > MAX_TOKENS {
            return Err(format!("there are {count} tokens; give at most {MAX_TOKENS}").into());
        }
        let model = self.without(&serde_json::from_str(off)?)?;
        let neural = NeuralModel::new(self.config.clone(), model, &Device::flex());
        let settings = &self.translator.options().search;
        let targets = [tokens.to_vec()];
        let batching = Batching::default();
        let mut scores = force_score(&neural, &[source], &targets, settings, &batching)?;
        Ok(scores.remove(0).log_probs)
    }

    /// The model without the parts that are off.
    fn without(&self, off: &Off) -> Result<Model> {
        let model = if off.positions {
            self.without_positions()?
        } else {
            self.model.clone()
        };
        Ok(ablated(model, &off.columns))
    }

    /// The model with learned positions in the place of its own, all of them zero.
    fn without_positions(&self) -> Result<Model> {
        let config = self.config.downcast_ref::<TransformerConfig>();
        let mut config = config.ok_or("positions: open a Transformer")?.clone();
        config.positions = Positions::Learned;
        let shape = [config.max_positions, config.d_model];
        let mut values = named_parameters(&self.model);
        for name in POSITIONS {
            let zeros = vec![0.0f32; config.max_positions * config.d_model];
            values.insert(name.into(), TensorData::new(zeros, shape));
        }
        Ok(with_parameters(config.build(0, &Device::flex())?, values)?)
    }

    fn numbers(&self, name: &str) -> Result<Vec<f32>> {
        let mut found = None;
        self.model.each_parameter(&mut |other, parameter| {
            if other == name {
                found = Some(parameter.value().iter::<f32>().collect());
            }
        });
        found.ok_or_else(|| format!("the model has no parameter {name}").into())
    }
}

/// The search of the paper (§6.1), which the page draws. Of a model's `own` settings, the tokens
/// that may or must be written stay: the rules of other systems consider other extensions and score
/// them by other penalties.
fn papers_search(own: SearchSettings) -> SearchSettings {
    SearchSettings {
        beam_rule: BeamRule::Near,
        suppress: own.suppress,
        suppress_sequences: own.suppress_sequences,
        begin_suppress: own.begin_suppress,
        forced_bos: own.forced_bos,
        ..SearchSettings::default()
    }
}

/// The model with zeros in some columns of some parameters.
fn ablated(model: Model, columns_off: &BTreeMap<String, Vec<[usize; 2]>>) -> Model {
    model.map_parameters(&mut |name, param| {
        let Some(ranges) = columns_off.get(name) else {
            return;
        };
        let columns = *param.shape().last().unwrap_or(&1);
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

/// Returns the tables of a forward pass as JSON, in thousandths: weights, queries, keys and values
/// by layer and head, and both terms of each residual connection by position.
pub fn tables(maps: AttentionMaps) -> Value {
    let AttentionMaps {
        encoder_self,
        decoder_self,
        cross,
        projections,
        residuals,
    } = maps;
    let [of_encoder, of_decoder, of_cross] = projections.map(|layers| {
        layers
            .into_iter()
            .map(|projected| projected.map(heads))
            .collect::<Vec<_>>()
    });
    let residuals = residuals.map(|all| {
        all.into_iter()
            .map(|terms| terms.map(thousandths))
            .collect::<Vec<_>>()
    });
    json!({
        "encoder": layers(encoder_self), "decoder": layers(decoder_self), "cross": layers(cross),
        "projections": { "encoder": of_encoder, "decoder": of_decoder, "cross": of_cross },
        "residuals": residuals,
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

#[cfg(test)]
mod tests {
    use burnformer_core::ComputeType;
    use burnformer_infer::{GENERATION_FILE, GenerationSettings};

    use super::*;
    use crate::translator::tests::{files, files_with};

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
        seen_by(&files(), changed)
    }

    fn seen_by(files: &ModelFiles, changed: Value) -> Value {
        Paper::load(files)
            .unwrap()
            .answer(TEXT, &question(&changed))
            .unwrap()
    }

    /// The page draws the paper's search, and scores by the length penalty alone.
    #[test]
    fn a_model_with_another_search_is_searched_as_in_the_paper() {
        let own = SearchSettings {
            beam_rule: BeamRule::Marian,
            word_penalty: 0.7,
            coverage_penalty: 0.3,
            repetition_penalty: 1.5,
            ..SearchSettings::default()
        };
        let own = GenerationSettings::from(own);
        let imported = files_with(GENERATION_FILE, &serde_json::to_vec(&own).unwrap());
        let asked = json!({"search": {"beam_size": 3, "length_penalty": {"gnmt": 0.6}}});
        assert_eq!(seen_by(&imported, asked.clone()), seen(asked));
        let own = SearchSettings {
            suppress: vec![7],
            ..own.search
        };
        assert_eq!(papers_search(own).suppress, [7]);
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
            [0, 1].map(|i| seen["tables"]["residuals"][i].as_array().unwrap().len());
        assert_eq!((encoder, decoder), (3 * 2, 2 * 3));
        let embedded = &seen["tables"]["residuals"][0][0][0];
        assert_eq!(embedded.as_array().unwrap().len(), sources);
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
            let projected = &seen["tables"]["projections"][kind][1];
            let [query, key] = [0, 1].map(|i| numbers(&projected[i][2]));
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

    /// The output of the cross-attention of the first layer at the first position, from its weights
    /// and values: heads side by side, times W_O, plus its bias. Outputs are as large as 45, and
    /// tables are rounded to thousandths.
    #[test]
    fn the_joined_heads_times_their_projection_are_the_output_of_attention() {
        let paper = Paper::load(&files()).unwrap();
        let seen = paper.answer(TEXT, &question(&json!({}))).unwrap();
        let tables = &seen["tables"];
        let keys = seen["source"].as_array().unwrap().len();
        let joined: Vec<f64> = (0..4)
            .flat_map(|head| {
                let weights = numbers(&tables["cross"][0][head]);
                let values = numbers(&tables["projections"]["cross"][0][2][head]);
                let width = values.len() / keys;
                let sum = move |i| {
                    (0..keys)
                        .map(|k| weights[k] * values[k * width + i])
                        .sum::<f64>()
                };
                (0..width).map(sum).collect::<Vec<f64>>()
            })
            .collect();
        let name = |part| format!("decoder.layers.0.cross_attention.output.{part}");
        let rows = paper.numbers(&name("weight")).unwrap();
        let bias = paper.numbers(&name("bias")).unwrap();
        let output = numbers(&tables["residuals"][1][1][1][0]);
        for (i, row) in rows.chunks(joined.len()).enumerate() {
            let sum: f64 = row
                .iter()
                .zip(&joined)
                .map(|(&w, x)| f64::from(w) * x)
                .sum();
            let expected = sum + f64::from(bias[i]);
            assert!(
                (expected - output[i]).abs() < 0.1,
                "{i}: {expected}, {}",
                output[i]
            );
        }
        let error = paper.numbers("encoder.weight").unwrap_err().to_string();
        assert_eq!(error, "the model has no parameter encoder.weight");
    }

    #[test]
    fn the_next_input_of_a_pre_norm_model_is_the_sum_of_both_terms() {
        let seen = seen(json!({}));
        let sublayers = seen["tables"]["residuals"][0].as_array().unwrap();
        for pair in sublayers.windows(2) {
            let [x, f, next] = [&pair[0][0], &pair[0][1], &pair[1][0]].map(|it| numbers(&it[3]));
            for (i, next) in next.iter().enumerate() {
                assert!(
                    (x[i] + f[i] - next).abs() < 0.003,
                    "{i}: {} {} {next}",
                    x[i],
                    f[i]
                );
            }
        }
    }

    #[test]
    fn the_score_of_the_translation_is_that_of_the_search_and_falls_without_heads() {
        let paper = Paper::load(&files()).unwrap();
        let seen = paper.answer(TEXT, &question(&json!({}))).unwrap();
        let tokens: Vec<u32> = serde_json::from_value(seen["tokens"].clone()).unwrap();
        let total = |off: &str| {
            let scores = paper.scored(TEXT, &tokens, off).unwrap();
            scores.into_iter().map(f64::from).sum::<f64>()
        };
        let divisor = seen["divisors"][tokens.len() - 1].as_f64().unwrap();
        let found = total("{}") / divisor;
        assert!(
            (found - seen["score"].as_f64().unwrap()).abs() < 1e-4,
            "{found}"
        );
        let without =
            total(r#"{"columns": {"decoder.layers.1.cross_attention.output.weight": [[0, 256]]}}"#);
        assert!(without < total("{}") - 0.5, "{without}");
        for (tokens, name) in [(vec![6000], "6000"), (vec![5; 61], "61 tokens")] {
            let error = paper.scored(TEXT, &tokens, "{}").unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn drawn_translations_are_a_function_of_the_seed() {
        let paper = Paper::load(&files()).unwrap();
        let options = json!({"sampling": {"temperature": 1.5, "seed": 1}, "n_best": 3}).to_string();
        let drawn = |off: Value| paper.drawn(TEXT, &options, &off.to_string()).unwrap();
        let all_on = drawn(json!({}));
        assert_eq!(all_on.len(), 3);
        assert_eq!(drawn(json!({})), all_on);
        assert_ne!(drawn(json!({"positions": true})), all_on);
    }

    #[test]
    fn heads_that_are_off_change_what_follows_and_no_weights_before() {
        let name = "decoder.layers.0.cross_attention.output.weight";
        let [with, without] =
            [json!({}), json!({"off": {"columns": {name: [[0, 256]]}}})].map(seen);
        assert_eq!(with["tables"]["encoder"], without["tables"]["encoder"]);
        assert_ne!(with["score"], without["score"]);
        let encoder = "encoder.layers.0.self_attention.output.weight";
        let one = seen(json!({"off": {"columns": {encoder: [[64, 128]]}}}));
        assert_eq!(with["tables"]["encoder"][0], one["tables"]["encoder"][0]);
        assert_ne!(with["tables"]["encoder"][1], one["tables"]["encoder"][1]);
        let none = seen(json!({"off": {"columns": {name: []}}}));
        assert_eq!(none["tables"]["cross"], with["tables"]["cross"]);
    }

    #[test]
    fn padding_gets_no_weight_and_changes_no_other() {
        let paper = Paper::load(&files()).unwrap();
        let other = "Das Kind weint, weil es Hunger hat.";
        let alone = seen(json!({}));
        let count = alone["source"].as_array().unwrap().len();
        let padded = paper.in_batch(TEXT, other).unwrap();
        let length = paper.pieces(other).unwrap().len();
        assert!(length > count);
        for (layer, heads) in padded.iter().enumerate() {
            for (head, weights) in heads.iter().enumerate() {
                let own = numbers(&alone["tables"]["encoder"][layer][head]);
                for (row, own) in weights.chunks(length).zip(own.chunks(count)) {
                    assert!(row[count..].iter().all(|&weight| weight == 0));
                    let row = row.iter().map(|&weight| f64::from(weight) / 1000.0);
                    assert!(row.zip(own).all(|(a, b)| (a - b).abs() < 0.0011));
                }
            }
        }
    }

    /// Without positions, the encoder sees a bag of pieces: the same word has the same output at
    /// every place, and its attention follows the pieces into any order.
    #[test]
    fn without_positions_an_encoder_does_not_know_the_order() {
        let paper = Paper::load(&files()).unwrap();
        let without = question(&json!({"off": {"positions": true}}));
        let table = |text: &str, question: &str| {
            let seen = paper.answer(text, question).unwrap();
            numbers(&seen["tables"]["encoder"][0][0])
        };
        let [there, back] = ["Hund Katze", "Katze Hund"].map(|text| table(text, &without));
        // The rows and columns of two pieces and of `</s>`.
        let swapped = [4, 3, 5, 1, 0, 2, 7, 6, 8].map(|i| back[i]);
        assert_eq!(there.len(), 9, "each word is one piece");
        for (a, b) in there.iter().zip(swapped) {
            assert!((a - b).abs() < 0.002, "{there:?} {back:?}");
        }
        let [there, back] =
            ["Hund Katze", "Katze Hund"].map(|text| table(text, &question(&json!({}))));
        assert!((there[0] - back[4]).abs() > 0.01, "{there:?} {back:?}");
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
