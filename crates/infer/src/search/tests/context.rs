//! Searches in a context, against searches by a model that has the context inside.

use super::*;
use crate::hypothesis::Hypothesis;
use crate::search::SearchContext;

/// A [`TableModel`] that reads `context` before every source and every target, by itself.
struct Inside<'a> {
    model: &'a TableModel,
    context: SearchContext,
}

/// The targets of [`Inside`], each with its source.
struct InsideDecoding<'a> {
    model: &'a Inside<'a>,
    sources: Vec<Vec<u32>>,
    /// The tokens so far, without `<s>`; a row for each hypothesis.
    rows: Vec<Vec<u32>>,
    is_begun: bool,
}

impl StepModel for Inside<'_> {
    fn source_vocab(&self) -> usize {
        self.model.source_vocab()
    }

    fn target_vocab(&self) -> usize {
        self.model.target_vocab()
    }

    fn special(&self) -> SpecialIds {
        self.model.special()
    }

    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_> {
        Box::new(InsideDecoding {
            model: self,
            sources: sources.iter().map(|source| source.to_vec()).collect(),
            rows: vec![Vec::new(); sources.len()],
            is_begun: false,
        })
    }
}

impl Decoding for InsideDecoding<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        let width = self.rows.len() / self.sources.len();
        let mut logits = Vec::new();
        for (index, (row, &token)) in self.rows.iter_mut().zip(tokens).enumerate() {
            if self.is_begun {
                row.push(token);
            }
            let Inside { model, context } = self.model;
            let source = [&context.source[..], &self.sources[index / width]].concat();
            let target = [&context.target[..], row].concat();
            logits.extend(model.logits(&source, &target));
        }
        self.is_begun = true;
        logits
    }

    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        self.rows = rows.iter().map(|&row| self.rows[row].clone()).collect();
        if let Some(sentences) = sentences {
            let kept = sentences.iter().map(|&index| self.sources[index].clone());
            self.sources = kept.collect();
        }
    }
}

/// Contexts of different lengths on both sides.
fn contexts() -> Vec<SearchContext> {
    let ids = |count: usize, id: u32| vec![id; count];
    let lengths = [[0, 0], [3, 0], [2, 1], [5, 4], [1, 7], [0, 2]];
    lengths
        .iter()
        .map(|&[source, target]| SearchContext {
            source: ids(source, 5),
            target: ids(target, 6),
            separator: None,
        })
        .collect()
}

fn settings(seed: usize) -> SearchSettings {
    let beam_size = 1 + seed % 4;
    SearchSettings {
        beam_size,
        n_best: 1 + seed / 4 % beam_size,
        length_penalty: LengthPenalty::Gnmt(0.3 * (seed % 5) as f64),
        no_repeat_ngram: seed % 3,
        max_length: seed.is_multiple_of(2).then_some(9),
        sampling: (seed % 7 == 6).then(Sampling::default),
        ..SearchSettings::default()
    }
}

/// Neither scores, nor lengths, limits, prefixes and samples know the context.
#[test]
fn a_context_is_part_of_the_model_and_not_of_the_translation() {
    for seed in 0..70 {
        let model = TableModel::new(9, seed as u64);
        let settings = settings(seed);
        let requests: Vec<Request> = contexts()
            .into_iter()
            .enumerate()
            .map(|(index, context)| Request {
                context,
                prefix: vec![3; (seed + index) % 3],
                ..Request::new(vec![4, 3 + index as u32, 7])
            })
            .collect();
        let together = search(&model, &requests, &settings, &Batching::default()).unwrap();
        for (request, found) in requests.iter().zip(together) {
            let inside = Inside {
                model: &model,
                context: request.context.clone(),
            };
            let alone = Request {
                context: SearchContext::default(),
                ..request.clone()
            };
            let expected = search(&inside, &[alone], &settings, &Batching::default()).unwrap();
            let tokens = |all: &[Hypothesis]| all.iter().map(|it| it.tokens.clone()).collect();
            let tokens: [Vec<Vec<u32>>; 2] = [tokens(&found), tokens(&expected[0])];
            assert_eq!(tokens[0], tokens[1], "{seed} {:?}", request.context);
            assert_eq!(found, expected[0], "{seed} {:?}", request.context);
        }
    }
}

#[test]
fn a_translation_has_no_separator() {
    let mut without = 0;
    for seed in 0..50 {
        let model = TableModel::new(6, seed);
        let request = |separator: Option<u32>| Request {
            context: SearchContext {
                source: vec![5],
                target: vec![4, 5],
                separator,
            },
            ..Request::new(SOURCE.to_vec())
        };
        let settings = SearchSettings::beam(2, 0.6);
        let requests = [request(None), request(Some(5))];
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        assert!(found[1].iter().all(|it| !it.tokens.contains(&5)), "{seed}");
        without += usize::from(!found[0][0].tokens.contains(&5));
    }
    assert!(without < 50, "the model writes the separator where it may");
}

#[test]
fn a_target_context_takes_positions_of_the_model() {
    let mut model = TableModel::new(9, 1);
    model.positions = Some(12);
    let context = SearchContext {
        source: vec![5; 4],
        target: vec![6; 8],
        separator: None,
    };
    let request = Request {
        context,
        ..Request::new(SOURCE.to_vec())
    };
    let found = search(
        &model,
        &[request],
        &SearchSettings::greedy(),
        &Batching::default(),
    );
    assert!(found.unwrap()[0][0].tokens.len() <= 3);
    let long = Request {
        context: SearchContext {
            source: vec![5; 12],
            ..SearchContext::default()
        },
        ..Request::new(SOURCE.to_vec())
    };
    let refused = search(
        &model,
        &[long],
        &SearchSettings::greedy(),
        &Batching::default(),
    );
    assert!(refused.is_err());
}

/// The weights of the sentence are the weights of the whole sequences without the rows and columns
/// of the context.
#[test]
fn attention_to_the_context_is_left_out() {
    let weight = |query: usize, key: usize| (10 * query + key) as f32;
    let model = Attending::new(TableModel::new(9, 1), weight);
    let context = SearchContext {
        source: vec![5; 3],
        target: vec![6; 2],
        separator: None,
    };
    let weights = context
        .cross_attention(&model, &[4, 2], &[7, 8, 2])
        .unwrap();
    assert_eq!((weights.queries, weights.keys), (3, 2));
    assert_eq!(weights.values, [23.0, 24.0, 33.0, 34.0, 43.0, 44.0]);
}
