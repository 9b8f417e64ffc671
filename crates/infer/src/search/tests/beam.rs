//! Greedy and beam search beside an enumeration of every translation.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::settings::length_penalty;

#[test]
fn a_beam_as_wide_as_the_tree_finds_every_translation_in_order() {
    for (seed, penalty) in [(1, 0.0), (2, 0.6), (3, 1.0), (4, 2.0)] {
        let model = TableModel::new(6, seed);
        let settings = SearchSettings {
            max_length: Some(4),
            ..SearchSettings::beam(64, penalty)
        };
        let found = run(&model, &settings);
        let divisor = |n| settings.length_penalty.divisor(n);
        let mut expected = enumerate(&model, 4);
        expected
            .iter_mut()
            .for_each(|(tokens, score)| *score /= divisor(tokens.len()));
        expected.sort_by(|a, b| b.1.total_cmp(&a.1));
        let (closed, cut) = found.split_at(expected.len());
        assert!(
            cut.len() == 24
                && cut
                    .iter()
                    .all(|hypothesis| hypothesis.finish == FinishReason::Limit)
        );
        for (hypothesis, (tokens, score)) in closed.iter().zip(&expected) {
            assert_eq!(&hypothesis.tokens, tokens);
            assert!((hypothesis.score - score).abs() < 1e-5);
        }
    }
}

/// GNMT's beam search without its stopping rule: every `</s>` among the best 2k extensions closes a
/// hypothesis, until the limit.
fn to_the_limit(model: &TableModel, settings: &SearchSettings, limit: usize) -> Vec<Vec<u32>> {
    let mut live = vec![(Vec::new(), 0.0)];
    let mut closed = Vec::new();
    for n in 1..=limit {
        let mut all: Vec<(Vec<u32>, f64)> = Vec::new();
        for (tokens, total) in &live {
            let logits = model.logits(&SOURCE, tokens);
            let sum: f64 = logits.iter().map(|&x| f64::from(x).exp()).sum();
            let next = |id: u32| {
                let log_prob = f64::from(logits[id as usize]) - sum.ln();
                ([&tokens[..], &[id]].concat(), total + log_prob)
            };
            all.extend((2..model.vocab as u32).map(next));
        }
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(2 * settings.beam_size);
        let (ended, open): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|(tokens, _)| tokens.last() == Some(&2));
        closed.extend(
            ended
                .into_iter()
                .map(|(tokens, total)| (settings.score(total, n), tokens)),
        );
        live = open.into_iter().take(settings.beam_size).collect();
    }
    closed.sort_by(|a, b| b.0.total_cmp(&a.0));
    closed.into_iter().map(|(_, tokens)| tokens).collect()
}

/// The search stops as soon as the requested number of hypotheses cannot be displaced, and not
/// before.
#[test]
fn stopping_early_finds_the_same_as_the_whole_search() {
    let limit = SOURCE.len() + 50;
    let mut steps = [0; 4];
    let penalties = [(0.0, 0.0), (0.6, 0.0), (1.2, 0.0), (0.6, 0.5), (0.6, -0.3)];
    for (seed, (alpha, word_penalty)) in (0..40).zip(penalties.into_iter().cycle()) {
        let model = TableModel::new(8, seed);
        let settings = SearchSettings {
            word_penalty,
            ..SearchSettings::beam(4, alpha)
        };
        let expected = to_the_limit(&model, &settings, limit);
        for n_best in 1..=4 {
            let counted = Counted {
                model: &model,
                steps: AtomicUsize::new(0),
            };
            let found = run(
                &counted,
                &SearchSettings {
                    n_best,
                    ..settings.clone()
                },
            );
            let found: Vec<Vec<u32>> = found
                .into_iter()
                .map(|hypothesis| hypothesis.tokens)
                .collect();
            assert_eq!(
                found,
                expected[..n_best],
                "seed {seed}, α {alpha}, {n_best} best"
            );
            steps[n_best - 1] += counted.steps.into_inner();
        }
    }
    assert!(steps[0] < 40 * limit / 2, "{steps:?} of {}", 40 * limit);
    assert!(
        steps[0] * 4 < steps[3] * 3,
        "few that are asked for are found sooner: {steps:?}"
    );
}

/// The near rule loses only translations that are more than half as long again as those that it
/// finds.
#[test]
fn the_near_rule_omits_only_far_longer_hypotheses() {
    let mut steps = [0; 2];
    for (seed, alpha) in (0..200).zip([0.6, 1.2, 2.0].into_iter().cycle()) {
        let model = TableModel::new(8, seed);
        let [exact, found] = [BeamRule::Gnmt, BeamRule::Near].map(|beam_rule| {
            let counted = Counted {
                model: &model,
                steps: AtomicUsize::new(0),
            };
            let settings = SearchSettings {
                beam_rule,
                n_best: 1,
                ..SearchSettings::beam(4, alpha)
            };
            let found = run(&counted, &settings).remove(0);
            steps[usize::from(beam_rule == BeamRule::Near)] += counted.steps.into_inner();
            found
        });
        if found.tokens != exact.tokens {
            assert!(exact.score > found.score, "seed {seed}");
            let exact = exact.tokens.len();
            let found = found.tokens.len();
            assert!(
                exact > found + found / 2 + 2,
                "seed {seed}: {exact} tokens, not {found}"
            );
        }
    }
    assert!(steps[1] * 4 < steps[0] * 3, "{steps:?}");
}

#[test]
fn a_beam_of_one_takes_the_most_probable_token_each_time() {
    for seed in 0..20 {
        let model = TableModel::new(9, seed);
        let mut tokens: Vec<u32> = Vec::new();
        while tokens.last() != Some(&2) && tokens.len() < 53 {
            let logits = model.logits(&SOURCE, &tokens);
            let best = (2..9).max_by(|&a, &b| logits[a as usize].total_cmp(&logits[b as usize]));
            tokens.extend(best);
        }
        let found = run(&model, &SearchSettings::greedy());
        assert_eq!(found[0].tokens, tokens, "{seed}");
        let total: f64 = model.log_probs(&SOURCE, &tokens).iter().sum();
        assert!((found[0].score - total).abs() < 1e-5);
    }
}

#[test]
fn hypotheses_are_sorted_distinct_and_scored_by_the_penalty() {
    let penalties = [
        LengthPenalty::None,
        LengthPenalty::Average,
        LengthPenalty::Gnmt(0.6),
    ];
    for length_penalty in penalties {
        let settings = SearchSettings {
            length_penalty,
            ..SearchSettings::beam(5, 0.6)
        };
        let model = TableModel::new(20, 7);
        let found = run(&model, &settings);
        assert!(found.is_sorted_by(|a, b| a.score >= b.score && a.tokens != b.tokens));
        for hypothesis in &found {
            let expected = model.log_probs(&SOURCE, &hypothesis.tokens);
            assert!(
                hypothesis
                    .log_probs
                    .iter()
                    .zip(&expected)
                    .all(|(a, b)| (f64::from(*a) - b).abs() < 1e-5)
            );
            let score =
                expected.iter().sum::<f64>() / length_penalty.divisor(hypothesis.tokens.len());
            assert!((hypothesis.score - score).abs() < 1e-5);
        }
    }
}

#[test]
fn fewer_hypotheses_are_the_first_of_more() {
    let settings = SearchSettings::beam(6, 0.6);
    let model = TableModel::new(20, 3);
    let all = run(&model, &settings);
    let two = run(
        &model,
        &SearchSettings {
            n_best: 2,
            ..settings
        },
    );
    assert_eq!(two, all[..2]);
}

#[test]
fn grouping_changes_no_translation() {
    let model = TableModel::new(8, 11);
    let sampling = Some(Sampling {
        top_k: 4,
        ..Sampling::default()
    });
    let beam = SearchSettings {
        no_repeat_ngram: 2,
        min_length: 2,
        ..SearchSettings::beam(4, 0.6)
    };
    let sample = SearchSettings {
        sampling,
        n_best: 3,
        ..SearchSettings::default()
    };
    for settings in [SearchSettings::greedy(), beam, sample] {
        let alone = Batching {
            max_sentences: 1,
            max_tokens: 1,
        };
        let expected = search(&model, &many(), &settings, &alone).expect("searches");
        for (max_sentences, max_tokens) in [(3, 100), (64, 4096), (40, 17)] {
            let batching = Batching {
                max_sentences,
                max_tokens,
            };
            let found = search(&model, &many(), &settings, &batching).expect("searches");
            assert_eq!(found, expected);
            let reversed: Vec<Request> = many().into_iter().rev().collect();
            let mut found = search(&model, &reversed, &settings, &batching).expect("searches");
            found.reverse();
            assert_eq!(found, expected);
        }
    }
}

/// A model whose steps are counted.
struct Counted<'a> {
    model: &'a TableModel,
    steps: AtomicUsize,
}

struct CountedDecoding<'a> {
    decoding: Box<dyn Decoding + 'a>,
    steps: &'a AtomicUsize,
}

impl StepModel for Counted<'_> {
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
        Box::new(CountedDecoding {
            decoding: self.model.start(sources),
            steps: &self.steps,
        })
    }
}

impl Decoding for CountedDecoding<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.decoding.step(tokens)
    }

    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        self.decoding.reorder(rows, sentences);
    }
}

/// The guide's page walks through the search.
#[test]
fn the_page_names_functions_of_the_search_and_computes_scores_as_it_does() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
    let page = read("docs/guide/paper.md");
    let (_, section) = page.split_once("## Beam search, step by step").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| {
        let cells = line.trim().strip_prefix('|')?.split('|');
        Some(cells.map(str::trim).collect::<Vec<_>>())
    });
    let mut names = 0;
    let mut scores = 0;
    for row in rows {
        if let Some(file) = row[2].strip_prefix("`crates/") {
            let source = read(&format!("crates/{}", file.trim_end_matches('`')));
            for name in row[1].split(", ").map(|name| name.trim_matches('`')) {
                assert!(source.contains(&format!("fn {name}(")), "{name} in {file}");
                names += 1;
            }
        } else if let Ok(n) = row[0].parse::<usize>() {
            let total: f64 = row[1].replace('−', "-").parse().unwrap();
            let score = SearchSettings::beam(4, 0.6).score(total, n);
            assert_eq!(row[2], format!("{:.4}", length_penalty(n, 0.6)));
            assert_eq!(row[3], format!("{score:.4}").replace('-', "−"));
            scores += 1;
        }
    }
    assert_eq!([names, scores], [19, 2]);
}
