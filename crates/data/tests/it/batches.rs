//! Batches: their arrays, their budget, their order, and resuming in the middle.

mod mixtures;
mod windows;

use std::collections::BTreeSet;
use std::sync::Arc;

use burnformer_data::{
    Batch, BatchSampler, EpochPlan, PlannedUpdate, Rank, SamplerSettings, SamplerState, SpecialIds,
    TokenizedCorpus, UpdateStream,
};
use proptest::prelude::*;

/// Pairs of the given lengths; every id says which pair it belongs to.
fn corpus(lengths: &[(usize, usize)]) -> Arc<TokenizedCorpus> {
    let pairs: Vec<_> = (4..)
        .zip(lengths)
        .map(|(id, &(s, t))| (vec![id; s], vec![id; t]))
        .collect();
    Arc::new(TokenizedCorpus::from_pairs(&pairs))
}

fn sampler(lengths: &[(usize, usize)], budget: usize) -> BatchSampler {
    BatchSampler::new(
        corpus(lengths),
        SamplerSettings {
            budget,
            ..Default::default()
        },
    )
    .unwrap()
}

/// The pairs of each batch of `plan`.
fn rows(plan: &EpochPlan) -> Vec<Vec<u32>> {
    plan.batches()
        .iter()
        .map(|rows| rows.pairs.clone())
        .collect()
}

/// The pairs of each batch of an epoch with the sampler's own seed.
fn rows_of(sampler: &BatchSampler, epoch: u64) -> Vec<Vec<u32>> {
    let seed = sampler.settings().seed;
    let window = |number| rows(&sampler.window(seed, epoch, number).unwrap());
    (0..sampler.windows()).flat_map(window).collect()
}

fn varied(count: usize) -> Vec<(usize, usize)> {
    (0..count)
        .map(|i| (1 + i * 7 % 19, 1 + i * 5 % 17))
        .collect()
}

#[test]
fn the_target_is_shifted_once_and_rows_end_in_padding() {
    let batch = Batch::new(
        vec![8, 9],
        &[(vec![5, 6, 7], vec![5]), (vec![5], vec![6, 7])],
    );
    assert_eq!((batch.batch, batch.source_len, batch.target_len), (2, 4, 3));
    assert_eq!(batch.source, [5, 6, 7, 2, 5, 2, 0, 0]);
    assert_eq!(batch.target_input, [1, 5, 0, 1, 6, 7]);
    assert_eq!(batch.target_output, [5, 2, 0, 6, 7, 2]);
    assert_eq!(
        (&batch.source_lengths[..], &batch.target_lengths[..]),
        (&[4, 2][..], &[2, 3][..])
    );
    assert_eq!((batch.source_tokens, batch.target_tokens), (6, 5));
    assert_eq!(batch.pairs, [8, 9]);
}

/// `</s>` is 0 and padding, which opens targets, is the last id, as in Marian's models.
#[test]
fn batches_use_the_special_ids_of_the_model() {
    let special = SpecialIds {
        pad: 9,
        bos: 9,
        eos: 0,
    };
    let rows = [(vec![5, 6], vec![7]), (vec![5], vec![1, 2])];
    let batch = Batch::with_special_ids(vec![0, 1], &rows, 1, special);
    assert_eq!(batch.source, [5, 6, 0, 5, 0, 9]);
    assert_eq!(batch.target_input, [9, 7, 9, 9, 1, 2]);
    assert_eq!(batch.target_output, [7, 0, 9, 1, 2, 0]);
    let settings = SamplerSettings {
        special,
        ..Default::default()
    };
    let corpus = Arc::new(TokenizedCorpus::from_pairs(&rows));
    let planned = BatchSampler::new(corpus, settings)
        .unwrap()
        .batch(&[0, 1])
        .unwrap();
    assert_eq!(planned, batch);
}

#[test]
fn positions_and_padding_count_both_sides() {
    let batch = Batch::new(vec![0, 1], &[(vec![5, 6], vec![5]), (vec![5], vec![6, 7])]);
    assert_eq!(batch.positions(), 12);
    assert_eq!(batch.source_tokens + batch.target_tokens, 10);
}

#[test]
fn an_empty_batch_has_no_positions() {
    let batch = Batch::new::<Vec<u32>, Vec<u32>>(vec![], &[]);
    assert_eq!(batch.positions(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_pair_comes_once_an_epoch_and_no_batch_exceeds_the_budget(
        lengths in prop::collection::vec((1usize..40, 1usize..40), 1..200),
        budget in 48usize..400,
        multiple in 1usize..9,
        epoch in 0u64..4,
    ) {
        let settings = SamplerSettings { budget, multiple, seed: 3, ..Default::default() };
        let sampler = BatchSampler::new(corpus(&lengths), settings).unwrap();
        let mut seen: Vec<u32> = Vec::new();
        for pairs in rows_of(&sampler, epoch) {
            let batch = sampler.batch(&pairs).unwrap();
            prop_assert!(batch.batch * batch.source_len.max(batch.target_len) <= budget);
            for columns in [batch.source_len, batch.target_len] {
                prop_assert!(columns.is_multiple_of(multiple));
            }
            seen.extend(pairs);
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, (0..lengths.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn resuming_at_any_batch_continues_exactly(at in 0usize..60) {
        let sampler = sampler(&varied(150), 120);
        let mut whole = from(&sampler, sampler.start());
        let state = whole.by_ref().take(at).last().map_or(sampler.start(), |item| item.unwrap().next);
        let saved = serde_json::to_string(&state).unwrap();
        let resumed = from(&sampler, serde_json::from_str(&saved).unwrap());
        for (a, b) in whole.zip(resumed).take(40) {
            prop_assert_eq!(a.unwrap(), b.unwrap());
        }
    }
}

#[test]
fn padding_to_a_multiple_leaves_few_shapes() {
    let shapes = |multiple| {
        let settings = SamplerSettings {
            budget: 512,
            multiple,
            ..Default::default()
        };
        let sampler = BatchSampler::new(corpus(&varied(3000)), settings).unwrap();
        let batches = rows_of(&sampler, 0)
            .into_iter()
            .map(|pairs| sampler.batch(&pairs).unwrap());
        let shapes: Vec<_> = batches
            .map(|b| (b.batch, b.source_len, b.target_len))
            .collect();
        (
            shapes
                .iter()
                .collect::<std::collections::HashSet<_>>()
                .len(),
            shapes.len(),
        )
    };
    let (exact, batches) = shapes(1);
    let (rounded, _) = shapes(8);
    assert!(
        rounded * 4 < exact,
        "{rounded} and {exact} shapes in {batches} batches"
    );
}

#[test]
fn batches_are_as_large_as_the_budget_allows() {
    // Rows of 9 + 1 tokens under a budget of 40: four rows, as the reference's greedy rule gives.
    let sampler = sampler(&[(9, 9); 10], 40);
    let mut sizes: Vec<usize> = rows_of(&sampler, 0).iter().map(Vec::len).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 4, 4]);
}

#[test]
fn pairs_beyond_the_budget_are_left_out_and_counted() {
    let sampler = sampler(&[(3, 3), (10, 2), (2, 10), (9, 9)], 10);
    assert_eq!(sampler.over_budget(), 2);
    let mut pairs: Vec<u32> = rows_of(&sampler, 0).concat();
    pairs.sort_unstable();
    assert_eq!(pairs, [0, 3]);
}

#[test]
fn epochs_and_seeds_differ_in_order_and_batches() {
    let sampler = sampler(&varied(400), 100);
    let company = |seed, epoch| {
        let mut batches = rows(&sampler.window(seed, epoch, 0).unwrap());
        batches.iter_mut().for_each(|batch| batch.sort_unstable());
        batches.sort_unstable();
        batches
    };
    assert_eq!(
        sampler.window(1, 0, 0).unwrap(),
        sampler.window(1, 0, 0).unwrap()
    );
    assert_ne!(
        sampler.window(1, 0, 0).unwrap(),
        sampler.window(1, 1, 0).unwrap()
    );
    assert_ne!(
        company(1, 0),
        company(1, 1),
        "the same sentences must not always meet"
    );
    assert_ne!(company(1, 0), company(2, 0));
}

#[test]
fn the_order_for_validation_is_by_length_and_fixed() {
    let sampler = sampler(&varied(100), 200);
    let longest: Vec<usize> = sampler
        .ordered()
        .unwrap()
        .batches()
        .iter()
        .map(|rows| {
            let batch = sampler.batch(&rows.pairs).unwrap();
            batch.source_len.max(batch.target_len)
        })
        .collect();
    assert!(longest.is_sorted(), "{longest:?}");
}

#[test]
fn updates_continue_into_the_next_epoch() {
    let sampler = sampler(&varied(50), 100);
    let per_epoch = sampler.window(1, 0, 0).unwrap().len();
    assert_eq!(sampler.batches_in(1, 0).unwrap(), per_epoch as u64);
    let items = taken(&sampler, sampler.start(), per_epoch + 1);
    let next = |index: usize| (items[index].next.epoch, items[index].next.next_batch);
    assert_eq!(next(per_epoch - 2), (0, per_epoch as u64 - 1));
    assert_eq!([next(per_epoch - 1), next(per_epoch)], [(1, 0), (1, 1)]);
    assert_eq!(items[per_epoch].from, items[per_epoch - 1].next);
}

/// Updates of one batch each.
fn from(sampler: &BatchSampler, state: SamplerState) -> UpdateStream {
    sampler.updates(state, 1, Rank::ALONE).unwrap()
}

fn taken(sampler: &BatchSampler, state: SamplerState, count: usize) -> Vec<PlannedUpdate> {
    from(sampler, state)
        .take(count)
        .map(Result::unwrap)
        .collect()
}
