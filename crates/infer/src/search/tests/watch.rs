//! Searches that are followed.

use std::sync::{Arc, Mutex};

use super::*;
use crate::search::Watch;

#[test]
fn settled_tokens_are_never_taken_back() {
    let rules = [
        BeamRule::Gnmt,
        BeamRule::Near,
        BeamRule::Transformers,
        BeamRule::Marian,
        BeamRule::Ctranslate2,
    ];
    let mut early = 0;
    for seed in 0..100 {
        let model = TableModel::new(8, seed as u64);
        let reports: Arc<Mutex<Vec<Vec<u32>>>> = Arc::default();
        let kept = reports.clone();
        let request = Request {
            watch: Some(Watch::new(move |settled| {
                kept.lock().unwrap().push(settled.to_vec())
            })),
            ..Request::new(SOURCE.to_vec())
        };
        let beam_size = 1 + seed % 4;
        let settings = SearchSettings {
            beam_size,
            n_best: 1 + seed / 4 % beam_size,
            beam_rule: rules[seed % rules.len()],
            max_length: Some(12),
            ..SearchSettings::default()
        };
        let found = search(&model, &[request], &settings, &Batching::default());
        let found = found.expect("searches").remove(0);
        let reports = reports.lock().unwrap();
        for pair in reports.windows(2) {
            assert!(pair[1].starts_with(&pair[0]), "{seed}: {pair:?}");
        }
        for settled in reports.iter() {
            assert!(
                found.iter().all(|it| it.tokens.starts_with(settled)),
                "{seed}: {settled:?}"
            );
        }
        if beam_size == 1 {
            let last = reports.last().expect("a report for each step");
            assert_eq!(*last, found[0].tokens, "{seed}");
        }
        early += reports[..reports.len() - 1]
            .iter()
            .filter(|settled| !settled.is_empty())
            .count();
    }
    assert!(early > 100, "{early} reports before the last step");
}
