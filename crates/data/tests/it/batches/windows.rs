//! The plans of a corpus that is larger than a window.

use super::*;

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
