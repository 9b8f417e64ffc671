pub(crate) mod table;

use burnformer_data::corpus::Side;

use self::table::TableModel;
use super::*;
use crate::{
    Batching, EnsembleError, InferError, LengthPenalty, Request, SearchSettings, SentenceError,
    force_score, search,
};

const SOURCES: [&[u32]; 2] = [&[3, 4, 2], &[5, 2]];
const TARGETS: [&[u32]; 2] = [&[4, 2], &[3, 3, 5, 2]];

fn member(seed: u64) -> Box<dyn StepModel> {
    Box::new(TableModel::new(6, seed))
}

fn near(a: f32, b: f64) -> bool {
    (f64::from(a) - b).abs() < 1e-5
}

#[test]
fn stepping_through_targets_gives_their_log_probabilities() {
    let model = TableModel::new(6, 1);
    let forced = model.target_log_probs(&SOURCES, &TARGETS);
    for ((scores_found, source), target) in forced.iter().zip(SOURCES).zip(TARGETS) {
        let expected = model.log_probs(source, target);
        assert_eq!(scores_found.len(), expected.len());
        assert!(scores_found.iter().zip(expected).all(|(&a, b)| near(a, b)));
    }
}

#[test]
fn an_ensemble_averages_probabilities() {
    let ensemble = Ensemble::new(vec![member(1), member(2), member(3)]).expect("fits");
    let each: Vec<Vec<Vec<f32>>> = (1..4)
        .map(|seed| TableModel::new(6, seed).target_log_probs(&SOURCES, &TARGETS))
        .collect();
    let forced = ensemble.target_log_probs(&SOURCES, &TARGETS);
    let mut decoding = ensemble.start(&SOURCES);
    let logits = decoding.step(&[1, 1]);
    for row in 0..2 {
        for index in 0..TARGETS[row].len() {
            let mean = each
                .iter()
                .map(|m| f64::from(m[row][index]).exp())
                .sum::<f64>()
                / 3.0;
            assert!(near(forced[row][index], mean.ln()));
        }
        // The step's logits are the log-probabilities themselves.
        let first = logits[row * 6 + TARGETS[row][0] as usize];
        assert!(near(first, f64::from(forced[row][0])));
    }
}

#[test]
fn an_ensemble_of_equal_models_is_the_model() {
    let settings = SearchSettings::beam(4, 0.6);
    let requests = SOURCES.map(|source| Request::new(source.to_vec()));
    let run = |model: &dyn StepModel| {
        search(model, &requests, &settings, &Batching::default()).expect("searches")
    };
    let alone = run(&*member(7));
    assert_eq!(run(&Ensemble::new(vec![member(7)]).expect("fits")), alone);
    let twins = run(&Ensemble::new(vec![member(7), member(7)]).expect("fits"));
    for (a, b) in twins.concat().iter().zip(alone.concat()) {
        assert_eq!(a.tokens, b.tokens);
        assert!((a.score - b.score).abs() < 1e-5);
    }
}

#[test]
fn an_ensemble_has_the_shortest_limit_of_its_members() {
    let short = TableModel {
        positions: Some(9),
        ..TableModel::new(6, 1)
    };
    let ensemble = Ensemble::new(vec![member(2), Box::new(short)]).expect("fits");
    assert_eq!(ensemble.max_positions(), Some(9));
}

#[test]
fn members_that_do_not_fit_are_refused() {
    assert!(matches!(Ensemble::new(vec![]), Err(EnsembleError::Empty)));
    let other: Box<dyn StepModel> = Box::new(TableModel::new(7, 1));
    let error = Ensemble::new(vec![member(1), member(2), other]);
    assert!(matches!(
        error,
        Err(EnsembleError::Differs {
            member: 3,
            what: "source vocabulary"
        })
    ));
}

#[test]
fn forced_scores_keep_their_order_in_any_batch() {
    let model = TableModel::new(9, 3);
    let ids = |i: u32, n: u32| {
        (0..i * n % 7)
            .map(|j| 3 + (i + j * n) % 6)
            .collect::<Vec<u32>>()
    };
    let sources: Vec<Vec<u32>> = (0..30).map(|i| ids(i, 5)).collect();
    let targets: Vec<Vec<u32>> = (0..30).map(|i| ids(i, 4)).collect();
    let settings = SearchSettings {
        length_penalty: LengthPenalty::Average,
        word_penalty: 0.25,
        ..SearchSettings::default()
    };
    let run = |max_sentences, max_tokens| {
        let batching = Batching {
            max_sentences,
            max_tokens,
        };
        force_score(&model, &sources, &targets, &settings, &batching).expect("scores")
    };
    let scores = run(7, 40);
    assert_eq!(scores, run(1, 1));
    for ((score, source), target) in scores.iter().zip(&sources).zip(&targets) {
        let close = |ids: &[u32]| [ids, &[2]].concat();
        let expected = model.log_probs(&close(source), &close(target));
        let total: f64 = expected.iter().sum();
        assert!((score.total - total).abs() < 1e-5);
        assert!((score.score - total / expected.len() as f64 + 0.25).abs() < 1e-5);
    }
}

#[test]
fn pairs_that_cannot_be_scored_are_refused() {
    let model = TableModel {
        positions: Some(4),
        ..TableModel::new(6, 1)
    };
    let score = |sources: &[Vec<u32>], targets: &[Vec<u32>]| {
        force_score(
            &model,
            sources,
            targets,
            &SearchSettings::greedy(),
            &Batching::default(),
        )
        .unwrap_err()
    };
    let error = score(&[vec![3]], &[]);
    assert!(matches!(
        error,
        InferError::Count {
            sources: 1,
            others: 0,
            what: "targets"
        }
    ));
    let error = score(&[vec![3]], &[vec![3; 4]]);
    assert!(matches!(
        error,
        InferError::Sentence {
            sentence: 1,
            error: SentenceError::TooLong {
                side: Side::Target,
                length: 5,
                limit: 4
            }
        }
    ));
    let error = score(&[vec![3; 4]], &[vec![3]]);
    assert!(matches!(
        error,
        InferError::Sentence {
            sentence: 1,
            error: SentenceError::TooLong {
                side: Side::Source,
                length: 5,
                limit: 4
            }
        }
    ));
    let error = score(&[vec![3]], &[vec![8]]);
    assert!(matches!(
        error,
        InferError::Sentence {
            sentence: 1,
            error: SentenceError::UnknownId {
                side: Side::Target,
                id: 8,
                vocab: 6
            }
        }
    ));
}

#[test]
fn a_union_says_where_each_list_is() {
    let (all, columns) = super::union(&[&[1, 7], &[7, 8], &[]], 9);
    assert_eq!(all, [1, 7, 8]);
    assert_eq!(columns, [vec![0, 1], vec![1, 2], vec![]]);
}
