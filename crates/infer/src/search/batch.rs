//! The search for a batch of sentences.

use super::beam::BeamSearch;
use super::constraints::TokenChoices;
use super::request::Request;
use super::task::Task;
use crate::error::Result;
use crate::hypothesis::Hypothesis;
use crate::model::{Decoding, StepModel};
use crate::settings::SearchSettings;

/// Decodes the sentences at `indices` together. Finished sentences leave the batch.
pub(super) fn search_batch(
    model: &dyn StepModel,
    requests: &[Request],
    sources: &[Vec<u32>],
    indices: &[usize],
    settings: &SearchSettings,
) -> Result<Vec<(usize, Vec<Hypothesis>)>> {
    if indices
        .iter()
        .all(|&index| requests[index].cancel.is_cancelled())
    {
        return Ok(Vec::new());
    }
    let mut active: Vec<_> = indices
        .iter()
        .map(|&index| Task::new(index, &requests[index], settings, model))
        .map(BeamSearch::new)
        .collect();
    let batch: Vec<&[u32]> = indices.iter().map(|&index| &sources[index][..]).collect();
    let mut decoding = start(model, &batch, &active);
    let mut plan = Plan::first(active.len(), model.special().bos);
    let mut results = Vec::with_capacity(indices.len());
    loop {
        let mut waiting = active.iter_mut();
        let mut advanced = Ok(());
        decoding.step_in_parts(&plan.tokens, plan.width, &mut |mut logits| {
            while !logits.is_empty() && advanced.is_ok() {
                let sentence = waiting.next().expect("a sentence for each part");
                let (rows, others) = logits.split_at_mut(plan.width * sentence.task.choices.len());
                advanced = sentence.advance(rows);
                logits = others;
            }
        });
        advanced?;
        plan.next(&active);
        for sentence in active.extract_if(.., |sentence| sentence.is_done) {
            let index = sentence.task.index;
            let mut hypotheses = sentence.into_hypotheses();
            if settings.sampling.is_some() {
                // Stable: of equal scores, finished hypotheses come first.
                hypotheses.sort_by(|a, b| b.score.total_cmp(&a.score));
            }
            results.push((index, hypotheses));
        }
        if active.is_empty() {
            return Ok(results);
        }
        if let Some(sentences) = plan.moves() {
            decoding.reorder(&plan.rows, sentences);
        }
    }
}

/// Begins to decode `sources` for the searches `active`, with their shortlists.
fn start<'a>(
    model: &'a dyn StepModel,
    sources: &[&[u32]],
    active: &[BeamSearch],
) -> Box<dyn Decoding + 'a> {
    if active
        .iter()
        .all(|sentence| matches!(sentence.task.choices, TokenChoices::All(_)))
    {
        return model.start(sources);
    }
    let lists: Vec<_> = active
        .iter()
        .map(|sentence| sentence.task.choices.ids())
        .collect();
    let lists: Vec<&[u32]> = lists.iter().map(|list| &**list).collect();
    model.start_listed(sources, &lists)
}

/// A step of the batch: for each row, its parent row and its new token.
#[derive(Default)]
struct Plan {
    /// The sentences in the model's batch before the next step.
    sentences: usize,
    /// The number of rows per sentence.
    width: usize,
    rows: Vec<usize>,
    kept: Vec<usize>,
    tokens: Vec<u32>,
    /// The number of rows before the next step.
    old_rows: usize,
}

impl Plan {
    fn first(sentences: usize, bos: u32) -> Self {
        let (old_rows, tokens) = (sentences, vec![bos; sentences]);
        Self {
            sentences,
            width: 1,
            tokens,
            old_rows,
            ..Self::default()
        }
    }

    /// Plans the next step after all `active` sentences have advanced.
    fn next(&mut self, active: &[BeamSearch]) {
        let lasting = active
            .iter()
            .enumerate()
            .filter(|(_, sentence)| !sentence.is_done);
        let width = lasting
            .clone()
            .map(|(_, sentence)| sentence.rows())
            .max()
            .unwrap_or(0);
        self.sentences = active.len();
        self.old_rows = self.tokens.len();
        self.rows.clear();
        self.kept.clear();
        self.tokens.clear();
        for (index, sentence) in lasting {
            self.kept.push(index);
            for (row, token) in (0..width).map(|slot| sentence.continuation(slot)) {
                self.rows.push(index * self.width + row);
                self.tokens.push(token);
            }
        }
        self.width = width;
    }

    /// The reordering of the model's state: none (`None`), of rows (`Some(None)`), or also of
    /// sentences (the remaining ones).
    fn moves(&self) -> Option<Option<&[usize]>> {
        let all = self.kept.len() == self.sentences;
        let same = self.rows.iter().copied().eq(0..self.old_rows);
        (!all || !same).then(|| (!all).then_some(&self.kept[..]))
    }
}
