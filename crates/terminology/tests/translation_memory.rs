//! Look-up time in memories of up to a million segments.

use std::time::Instant;

use burnformer_terminology::TranslationMemory;

/// Words by Zipf's law: the i-th is about i times as rare as the first.
fn word(state: &mut u64) -> String {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    let share = (*state >> 11) as f64 / (1u64 << 53) as f64;
    format!("w{}", 50_000f64.powf(share) as usize)
}

fn segment(state: &mut u64) -> String {
    let count = 4 + (*state >> 40) % 25;
    (0..count)
        .map(|_| word(state))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
#[ignore = "takes a minute; for measuring"]
fn time_per_look_up() {
    let mut state = 1;
    let mut memory = TranslationMemory::default();
    let mut all = Vec::new();
    for size in [10_000, 100_000, 1_000_000] {
        let begun = Instant::now();
        while memory.len() < size {
            let source = segment(&mut state);
            memory.push(
                &source,
                "Eine Übersetzung von mittlerer Länge, wie sie ein Mensch schreibt",
            );
            all.push(source);
        }
        let load = begun.elapsed().as_secs_f64();
        let asked: Vec<&String> = all.iter().step_by(all.len() / 1000).collect();
        // One more word each, so that there is no exact match.
        let asked: Vec<String> = asked
            .iter()
            .map(|source| format!("{source} more"))
            .collect();
        let begun = Instant::now();
        let found = asked
            .iter()
            .filter_map(|source| memory.nearest(source))
            .count();
        let near = begun.elapsed().as_secs_f64() / asked.len() as f64;
        let begun = Instant::now();
        let exact = all
            .iter()
            .filter(|source| memory.translation(source).is_some())
            .count();
        let same = begun.elapsed().as_secs_f64() / all.len() as f64;
        assert_eq!(exact, all.len());
        println!(
            "{size:8} segments: {load:.1} s for the new ones, {:.1} µs for an equal one, {:.2} ms for a near one, {found} of {} found",
            same * 1e6,
            near * 1e3,
            asked.len()
        );
        assert!(found >= asked.len() * 97 / 100);
    }
}
