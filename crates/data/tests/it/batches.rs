//! Batches: their arrays, their budget, their order, and resuming in the middle.

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

/// A sampler that plans 3,000 pairs in windows of at most 1,000: three of four blocks each.
fn windowed() -> BatchSampler {
    let settings = SamplerSettings {
        budget: 400,
        window: 1000,
        ..Default::default()
    };
    BatchSampler::new(corpus(&varied(3000)), settings).unwrap()
}

#[test]
fn most_columns_bounds_every_batch() {
    let sampler = windowed();
    assert!(sampler.windows() > 1);
    let count = sampler.batches_in(sampler.start().seed, 0).unwrap() as usize;
    let columns = |update: &PlannedUpdate| {
        let Batch {
            source_len,
            target_len,
            ..
        } = update.batches[0];
        [source_len, target_len]
    };
    let epoch = taken(&sampler, sampler.start(), count);
    let most = epoch
        .iter()
        .map(columns)
        .reduce(|[a, b], [c, d]| [a.max(c), b.max(d)]);
    assert_eq!(most, Some(sampler.most_columns()));
}

#[test]
fn a_large_corpus_is_planned_in_windows_that_together_have_every_pair_once() {
    let sampler = windowed();
    assert_eq!(sampler.windows(), 3);
    for epoch in 0..3 {
        let mut pairs = rows_of(&sampler, epoch).concat();
        pairs.sort_unstable();
        assert_eq!(pairs, (0..3000).collect::<Vec<_>>());
    }
    assert_eq!(rows_of(&sampler, 0), rows_of(&windowed(), 0));
    assert_ne!(rows_of(&sampler, 0), rows_of(&sampler, 1));
    // A window has blocks of the whole corpus, and other ones in each epoch.
    let blocks = |epoch| {
        let pairs = rows(&sampler.window(1, epoch, 0).unwrap()).concat();
        pairs
            .into_iter()
            .map(|pair| pair / 256)
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(blocks(0).len(), 4);
    assert!((1..9).any(|epoch| blocks(epoch) != blocks(0)));
    assert!(!blocks(0).into_iter().eq(0..4));
}

#[test]
fn a_run_over_windows_resumes_at_any_batch() {
    let sampler = windowed();
    let count = sampler.batches_in(1, 0).unwrap() as usize + 60;
    let whole = taken(&sampler, sampler.start(), count);
    assert_eq!(whole.last().unwrap().from.epoch, 1);
    let planned = rows_of(&sampler, 0);
    for (update, pairs) in whole.iter().zip(&planned) {
        assert_eq!(&update.batches[0].pairs, pairs);
    }
    for at in [1, 37, planned.len() - 1, planned.len(), planned.len() + 30] {
        let resumed = taken(&windowed(), whole[at - 1].next, count - at);
        assert_eq!(resumed, whole[at..], "at {at}");
    }
    // Each of two processes reads its half of every update.
    let of = |number| {
        let updates = sampler
            .updates(sampler.start(), 2, Rank { number, count: 2 })
            .unwrap();
        updates
            .take(count / 2)
            .map(|update| update.unwrap().batches)
            .collect::<Vec<_>>()
    };
    for ((first, second), both) in of(0).iter().zip(of(1)).zip(whole.chunks(2)) {
        assert_eq!(
            [&first[0], &second[0]],
            [&both[0].batches[0], &both[1].batches[0]]
        );
    }
}

/// Three corpora of 60, 30 and 10 pairs with the weights 1, 2 and 1. The ids of a corpus name it.
fn mixture() -> BatchSampler {
    let part = |count: usize, id: u32| {
        let pairs: Vec<_> = (0..count)
            .map(|i| (vec![id; 1 + i % 7], vec![id; 1 + i % 5]))
            .collect();
        TokenizedCorpus::from_pairs(&pairs)
    };
    let parts = [(60, 4, 1.0), (30, 5, 2.0), (10, 6, 1.0)];
    let parts = parts.map(|(count, id, weight)| (part(count, id), weight));
    let corpus = Arc::new(TokenizedCorpus::mixed(parts.into()));
    BatchSampler::new(
        corpus,
        SamplerSettings {
            budget: 64,
            ..Default::default()
        },
    )
    .unwrap()
}

#[test]
fn an_epoch_of_a_mixture_has_the_proportions_of_its_weights() {
    let sampler = mixture();
    let mut times = vec![0; sampler.corpus().len()];
    for epoch in 0..6 {
        let mut counts = [0; 3];
        for pairs in rows_of(&sampler, epoch) {
            let batch = sampler.batch(&pairs).unwrap();
            for (row, pair) in batch.pairs.iter().enumerate() {
                counts[batch.source[row * batch.source_len] as usize - 4] += 1;
                times[*pair as usize] += 1;
            }
        }
        assert_eq!(counts, [25, 50, 25], "epoch {epoch}");
    }
    // 150 of 60 pairs, 300 of 30 and 150 of 10: no pair comes again before all others of its corpus
    // came.
    assert!(
        times[..60].iter().all(|&count| count == 2 || count == 3),
        "{times:?}"
    );
    assert!(times[60..90].iter().all(|&count| count == 10), "{times:?}");
    assert!(times[90..].iter().all(|&count| count == 15), "{times:?}");
}

#[test]
fn a_mixture_resumes_at_any_batch_and_its_hash_has_its_weights() {
    let sampler = mixture();
    let updates = taken(&sampler, sampler.start(), 40);
    for at in [0, 3, 17, 38] {
        assert_eq!(
            taken(&sampler, updates[at].next, 39 - at),
            updates[at + 1..],
            "from batch {at}"
        );
    }
    let corpus = |weight| {
        let part = || TokenizedCorpus::from_pairs(&[(vec![4], vec![5])]);
        TokenizedCorpus::mixed(vec![(part(), 1.0), (part(), weight)]).hash()
    };
    assert_eq!(corpus(2.0), corpus(2.0));
    assert_ne!(corpus(2.0), corpus(1.0));
}

/// Corpora of 1,000, 100 and 3 pairs with one token per side, and a factor of 2 on the last.
fn by_size(temperature: f64, weight: f64) -> BatchSampler {
    let part = |count: u32| {
        let pairs: Vec<_> = (0..count).map(|i| (vec![4 + i], vec![4])).collect();
        TokenizedCorpus::from_pairs(&pairs)
    };
    let parts = vec![(part(1000), 1.0), (part(100), 1.0), (part(3), weight)];
    let corpus = Arc::new(TokenizedCorpus::by_size(parts, temperature));
    let settings = SamplerSettings {
        budget: 64,
        ..Default::default()
    };
    BatchSampler::new(corpus, settings).unwrap()
}

/// How often an epoch has each pair, by corpus.
fn counts_by_corpus(sampler: &BatchSampler, epoch: u64) -> [Vec<usize>; 3] {
    let mut counts = vec![0; sampler.corpus().len()];
    for pair in rows_of(sampler, epoch).into_iter().flatten() {
        counts[pair as usize] += 1;
    }
    let small = counts.split_off(1100);
    let middle = counts.split_off(1000);
    [counts, middle, small]
}

#[test]
fn natural_sizes_have_every_pair_once_in_each_epoch() {
    let sampler = by_size(1.0, 1.0);
    for epoch in 0..4 {
        let counts = counts_by_corpus(&sampler, epoch);
        assert!(
            counts.iter().flatten().all(|&count| count == 1),
            "{counts:?}"
        );
    }
}

#[test]
fn a_temperature_draws_by_the_root_of_the_size() {
    let sums = |temperature: f64, weight: f64| {
        let counts = counts_by_corpus(&by_size(temperature, weight), 2);
        counts.map(|counts| counts.into_iter().sum::<usize>())
    };
    // 1103 times the shares of 1000^(1/5), 100^(1/5) and 3^(1/5), by Python.
    assert_eq!(sums(5.0, 1.0), [567, 358, 178]);
    // Twice as often as by its size.
    let [large, middle, small] = sums(1.0, 2.0);
    assert_eq!([large, middle, small], [997, 100, 6]);
}

#[test]
fn a_mixture_by_size_resumes_at_any_batch_and_its_hash_has_the_temperature() {
    let sampler = by_size(5.0, 1.0);
    let updates = taken(&sampler, sampler.start(), 80);
    for at in [0, 11, 41, 78] {
        assert_eq!(
            taken(&sampler, updates[at].next, 79 - at),
            updates[at + 1..]
        );
    }
    let hash = |temperature| by_size(temperature, 1.0).corpus().hash();
    assert_eq!(hash(5.0), hash(5.0));
    assert_ne!(hash(5.0), hash(1.0));
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
