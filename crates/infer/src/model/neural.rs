use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{ComputeType, Linear, Mode, Model, ModelConfig, Seq2SeqCache, Tokens};
use burnformer_kernels::{is_fused_on, log_probability};

use super::{Decoding, ListDecoding, SpecialIds, StepModel, union};
use crate::attention::{AttentionWeights, HeadWeights};

/// The number of target positions projected to the vocabulary at once in forced scoring, which
/// bounds memory: 37,000 float32 logits for each of 512 positions take 76 MB.
const PROJECTED_POSITIONS: usize = 512;

/// The number of rows of logits that are computed and searched together in 8-bit integers on a CPU:
/// with 6,000 tokens they take 0.8 MB, which stays in the second-level cache. Translation takes 8 %
/// less time than with all rows at once. In float32 it makes no difference.
const PART_ROWS: usize = 32;
/// The largest projection to the vocabulary, in elements, that is read again for each part: 2 MB in
/// 8-bit integers.
const SMALL_PROJECTION: usize = 2 << 20;

/// A [`Model`] of any architecture as a [`StepModel`].
#[derive(Debug)]
pub struct NeuralModel {
    config: ModelConfig,
    model: Model,
    device: Device,
    compute: ComputeType,
}

impl NeuralModel {
    /// Wraps `model`, built from `config` on `device`. Give a plain device, not an autodiff one.
    pub fn new(config: impl Into<ModelConfig>, model: impl Into<Model>, device: &Device) -> Self {
        Self::with_compute(config, model, device, ComputeType::Float32)
    }

    /// Wraps `model`, built from `config` on `device`, with matrix products in `compute` if
    /// `device` has them (for 8-bit integers: the CPU), otherwise in float32.
    pub fn with_compute(
        config: impl Into<ModelConfig>,
        model: impl Into<Model>,
        device: &Device,
        compute: ComputeType,
    ) -> Self {
        let mut model = model.into();
        model.pack(compute);
        Self {
            config: config.into(),
            model,
            device: device.clone(),
            compute,
        }
    }

    /// The model's configuration.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// `rows` padded to the longest, `[rows, longest]`. Each row begins with `lead`, if given.
    fn pad(&self, rows: &[&[u32]], lead: Option<u32>) -> Tensor<2, Int> {
        let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let len = longest + usize::from(lead.is_some());
        let mut ids = Vec::with_capacity(rows.len() * len);
        for row in rows {
            let end = ids.len() + len;
            ids.extend(lead.iter().chain(*row).map(|&id| id as i32));
            ids.resize(end, self.config.tokens().pad as i32);
        }
        Tensor::from_data(TensorData::new(ids, [rows.len(), len]), &self.device)
    }

    /// The log-probabilities of the tokens `outputs` (`[positions]`) for the decoder's `states`
    /// (`[positions, d_model]`).
    fn pick(&self, states: Tensor<2>, outputs: Tensor<1, Int>) -> Vec<f32> {
        let [positions, d_model] = states.dims();
        let mut picked = Vec::with_capacity(positions);
        for start in (0..positions).step_by(PROJECTED_POSITIONS) {
            let end = (start + PROJECTED_POSITIONS).min(positions);
            let logits = self
                .model
                .logits(states.clone().slice([start..end, 0..d_model]).unsqueeze());
            let ids = outputs.clone().slice(start..end);
            picked.extend(read(log_probability(logits.squeeze_dim::<2>(0), ids)));
        }
        picked
    }
}

impl StepModel for NeuralModel {
    fn source_vocab(&self) -> usize {
        self.config.tokens().source_vocab
    }

    fn target_vocab(&self) -> usize {
        self.config.tokens().target_vocab
    }

    fn special(&self) -> SpecialIds {
        let Tokens { pad, bos, eos, .. } = self.config.tokens();
        SpecialIds { pad, bos, eos }
    }

    fn max_positions(&self) -> Option<usize> {
        self.model.max_positions()
    }

    fn parallelism(&self) -> Option<usize> {
        is_fused_on(&self.device).then(rayon::current_num_threads)
    }

    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_> {
        let cache = self.model.start(self.pad(sources, None));
        Box::new(NeuralDecoding {
            model: self,
            cache,
            outputs: None,
        })
    }

    /// Multiplies by the rows of the output matrix for the union of the lists, in one product for
    /// the batch.
    fn start_listed(&self, sources: &[&[u32]], lists: &[&[u32]]) -> Box<dyn Decoding + '_> {
        let cache = self.model.start(self.pad(sources, None));
        let (ids, columns) = union(lists, self.target_vocab());
        let outputs = Some(self.model.select_outputs(&ids));
        let decoding = Box::new(NeuralDecoding {
            model: self,
            cache,
            outputs,
        });
        Box::new(ListDecoding {
            inner: decoding,
            width: ids.len(),
            columns,
        })
    }

    /// Scores all positions in one pass (teacher forcing), instead of one step per token.
    fn target_log_probs(&self, sources: &[&[u32]], targets: &[&[u32]]) -> Vec<Vec<f32>> {
        let inputs: Vec<&[u32]> = targets.iter().map(|t| &t[..t.len() - 1]).collect();
        let inputs = self.pad(&inputs, Some(self.config.tokens().bos));
        let states = self
            .model
            .states(self.pad(sources, None), inputs, Mode::Inference);
        let [rows, len, d_model] = states.dims();
        let outputs = self.pad(targets, None).reshape([rows * len]);
        let picked = self.pick(states.reshape([rows * len, d_model]), outputs);
        let rows = picked.chunks_exact(len).zip(targets);
        rows.map(|(row, target)| row[..target.len()].to_vec())
            .collect()
    }

    fn attention(&self, source: &[u32], target: &[u32]) -> Option<AttentionWeights> {
        let input = &target[..target.len() - 1];
        let input = self.pad(&[input], Some(self.config.tokens().bos));
        let maps = self.model.attention(self.pad(&[source], None), input);
        Some(AttentionWeights {
            encoder_self: maps.encoder_self.into_iter().map(heads).collect(),
            decoder_self: maps.decoder_self.into_iter().map(heads).collect(),
            cross: maps.cross.into_iter().map(heads).collect(),
        })
    }
}

/// The heads of the weights of one sentence, `[1, heads, queries, keys]`.
fn heads(weights: Tensor<4>) -> Vec<HeadWeights> {
    let [_, heads, queries, keys] = weights.dims();
    let values = read(weights.reshape([heads, queries * keys]));
    values
        .chunks_exact(queries * keys)
        .map(|values| HeadWeights {
            queries,
            keys,
            values: values.to_vec(),
        })
        .collect()
}

struct NeuralDecoding<'a> {
    model: &'a NeuralModel,
    cache: Box<dyn Seq2SeqCache>,
    /// The projection to the needed tokens; `None` if all are needed.
    outputs: Option<Linear>,
}

impl NeuralDecoding<'_> {
    /// The decoder's states after `tokens`, `[rows, 1, d_model]`.
    fn states(&mut self, tokens: &[u32]) -> Tensor<3> {
        let ids: Vec<i32> = tokens.iter().map(|&id| id as i32).collect();
        let ids = TensorData::new(ids, [tokens.len(), 1]);
        let ids = Tensor::from_data(ids, &self.model.device);
        self.model.model.step_states(ids, &mut *self.cache)
    }

    fn logits(&self, states: Tensor<3>) -> Vec<f32> {
        read(match &self.outputs {
            None => self.model.model.logits(states).squeeze_dim::<2>(1),
            Some(outputs) => outputs.forward(states).squeeze_dim::<2>(1),
        })
    }
}

impl Decoding for NeuralDecoding<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        let states = self.states(tokens);
        self.logits(states)
    }

    fn step_in_parts(&mut self, tokens: &[u32], width: usize, take: &mut dyn FnMut(&mut [f32])) {
        let states = self.states(tokens);
        let [rows, _, d_model] = states.dims();
        let is_small = self.model.target_vocab() * d_model <= SMALL_PROJECTION;
        let is_fast = self.model.compute == ComputeType::Int8 && is_fused_on(&self.model.device);
        let part = if is_fast && is_small {
            PART_ROWS.next_multiple_of(width)
        } else {
            rows
        };
        for start in (0..rows).step_by(part) {
            let end = (start + part).min(rows);
            take(&mut self.logits(states.clone().slice([start..end, 0..1, 0..d_model])));
        }
    }

    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        self.cache.select_rows(rows);
        if let Some(sentences) = sentences {
            self.cache.select_sentences(sentences);
        }
    }
}

fn read<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor
        .into_data_as::<f32>()
        .try_into_vec()
        .expect("the data was read as float32")
}
