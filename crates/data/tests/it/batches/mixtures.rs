//! Several corpora, drawn by their weights or by their sizes.

use super::*;

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
