mod beam;
mod cancel;
mod constraints;
mod context;
mod coverage;
mod ctranslate2;
mod edges;
mod limit;
mod marian;
mod sampling;
mod shortlists;
mod terms;
mod transformers;
mod watch;

use super::*;
use crate::attention::{AttentionWeights, HeadWeights};
use crate::model::Decoding;
use crate::model::tests::table::TableModel;
use crate::{
    AtLimit, BeamRule, EarlyStopping, Ensemble, FinishReason, InferError, LengthPenalty, Sampling,
    SentenceError, SettingsError, SpecialIds,
};

const SOURCE: [u32; 3] = [4, 3, 2];

/// A [`TableModel`] with one head of cross-attention, which has the weight `weight(query, key)`.
struct Attending<W> {
    inner: TableModel,
    weight: W,
}

impl<W: Fn(usize, usize) -> f32 + Send + Sync> Attending<W> {
    fn new(inner: TableModel, weight: W) -> Self {
        Self { inner, weight }
    }
}

impl<W: Fn(usize, usize) -> f32 + Send + Sync> StepModel for Attending<W> {
    fn source_vocab(&self) -> usize {
        self.inner.source_vocab()
    }

    fn target_vocab(&self) -> usize {
        self.inner.target_vocab()
    }

    fn special(&self) -> SpecialIds {
        self.inner.special()
    }

    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_> {
        self.inner.start(sources)
    }

    fn attention(&self, source: &[u32], target: &[u32]) -> Option<AttentionWeights> {
        let queries = target.len();
        let keys = source.len();
        let places = 0..queries * keys;
        let values = places.map(|place| (self.weight)(place / keys, place % keys));
        let head = HeadWeights {
            queries,
            keys,
            values: values.collect(),
        };
        Some(AttentionWeights {
            cross: vec![vec![head]],
            ..AttentionWeights::default()
        })
    }
}

fn run(model: &dyn StepModel, settings: &SearchSettings) -> Vec<Hypothesis> {
    let requests = [Request::new(SOURCE.to_vec())];
    search(model, &requests, settings, &Batching::default())
        .expect("searches")
        .remove(0)
}

/// Requests of many lengths, a few of them empty or alike.
fn many() -> Vec<Request> {
    let source = |i: u32| {
        (0..i * 7 % 11)
            .map(|j| 3 + (i / 2 * 5 + j * j) % 5)
            .collect()
    };
    (0..40).map(|i| Request::new(source(i))).collect()
}

/// Every closed sequence of at most `limit` tokens with its log-probability.
fn enumerate(model: &TableModel, limit: usize) -> Vec<(Vec<u32>, f64)> {
    let mut open = vec![Vec::new()];
    let mut closed = Vec::new();
    for _ in 0..limit {
        let next = |id| move |tokens: &Vec<u32>| [&tokens[..], &[id]].concat();
        closed.extend(open.iter().map(next(2)));
        open = (3..model.vocab as u32)
            .flat_map(|id| open.iter().map(next(id)).collect::<Vec<_>>())
            .collect();
    }
    let scored = |tokens: Vec<u32>| {
        let total = model.log_probs(&SOURCE, &tokens).iter().sum();
        (tokens, total)
    };
    closed.into_iter().map(scored).collect()
}

fn beam_of(beam_size: usize) -> SearchSettings {
    SearchSettings::beam(beam_size, 0.6)
}
