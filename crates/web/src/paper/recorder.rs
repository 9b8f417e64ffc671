//! Records the steps of a search.

use std::sync::{Mutex, PoisonError};

use burnformer_infer::{Decoding, NeuralModel, SpecialIds, StepModel};
use burnformer_kernels::{log_sum_exp, top_k};
use serde::Serialize;

/// A step of the search.
#[derive(Serialize)]
pub struct Step {
    /// For each row, the row of the previous step that it continues, and its token.
    pub rows: Vec<(usize, u32)>,
    /// The most likely next tokens of each row: the log-probability of each, and its probability at
    /// the temperature.
    pub candidates: Vec<Vec<(u32, f64, f64)>>,
}

/// A model that records its steps.
pub struct Recorder<'a> {
    model: &'a NeuralModel,
    temperature: f64,
    count: usize,
    steps: Mutex<Vec<Step>>,
}

impl<'a> Recorder<'a> {
    /// Records `count` candidates for each row of each step of `model`.
    pub fn new(model: &'a NeuralModel, temperature: f64, count: usize) -> Self {
        Self {
            model,
            temperature,
            count,
            steps: Mutex::default(),
        }
    }

    /// Returns the recorded steps.
    pub fn into_steps(self) -> Vec<Step> {
        self.steps
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }

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
