//! Cancelled searches.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::Decoding;

/// Cancels `cancel` at the step `at`, and counts the rows of all steps.
struct CancellingModel {
    model: TableModel,
    cancel: Cancel,
    at: usize,
    steps: AtomicUsize,
    rows: AtomicUsize,
}

struct CancellingDecoding<'a>(&'a CancellingModel, Box<dyn Decoding + 'a>);

impl StepModel for CancellingModel {
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
        Box::new(CancellingDecoding(self, self.model.start(sources)))
    }
}

impl Decoding for CancellingDecoding<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        self.0.rows.fetch_add(tokens.len(), Ordering::Relaxed);
        if self.0.steps.fetch_add(1, Ordering::Relaxed) + 1 == self.0.at {
            self.0.cancel.cancel();
        }
        self.1.step(tokens)
    }
    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        self.1.reorder(rows, sentences);
    }
}

/// The hypotheses, the steps and the rows of a search in which the first `leaving` of two sentences
/// are cancelled in step `at`. No translation ends before 40 tokens.
fn searched(leaving: usize, at: usize) -> (Vec<Vec<Hypothesis>>, usize, usize) {
    let cancel = Cancel::default();
    let mut requests = vec![Request::new(SOURCE.to_vec()); 2];
    requests[..leaving]
        .iter_mut()
        .for_each(|request| request.cancel = cancel.clone());
    let (steps, rows) = Default::default();
    let model = CancellingModel {
        model: TableModel::new(9, 1),
        cancel,
        at,
        steps,
        rows,
    };
    let settings = SearchSettings {
        min_length: 40,
        ..beam_of(4)
    };
    let found = search(&model, &requests, &settings, &Batching::default()).expect("searches");
    (found, model.steps.into_inner(), model.rows.into_inner())
}

#[test]
fn a_cancelled_search_ends_before_its_next_step() {
    let (found, steps, _) = searched(2, 3);
    assert_eq!((found, steps), (vec![vec![Hypothesis::default()]; 2], 3));
}

#[test]
fn a_cancelled_sentence_does_not_change_the_others() {
    let (whole, steps, rows) = searched(0, 3);
    let (found, steps_of_one, rows_of_one) = searched(1, 3);
    assert_eq!(
        (&found[0], &found[1]),
        (&vec![Hypothesis::default()], &whole[1])
    );
    assert_eq!(steps_of_one, steps);
    // One row at the first step, then the beam of four.
    assert_eq!(rows - rows_of_one, 4 * (steps - 3));
}

#[test]
fn a_search_cancelled_before_its_start_does_not_begin() {
    let cancelled = Cancel::default();
    cancelled.cancel();
    let request = Request {
        cancel: cancelled.clone(),
        ..Request::new(SOURCE.to_vec())
    };
    let (steps, rows) = Default::default();
    let model = CancellingModel {
        model: TableModel::new(9, 1),
        cancel: cancelled,
        at: 0,
        steps,
        rows,
    };
    let settings = SearchSettings {
        n_best: 2,
        ..beam_of(4)
    };
    let found = search(&model, &[request], &settings, &Batching::default()).expect("searches");
    assert_eq!(
        (found, model.steps.into_inner()),
        (vec![vec![Hypothesis::default()]], 0)
    );
}
