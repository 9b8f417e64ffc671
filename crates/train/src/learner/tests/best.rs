//! Tests of the checkpoints that stay, of the best model of a run, and of a run that goes on after
//! its end.

use super::*;
use crate::learner::outcome::Divergence;

/// Two sentences of the training text's kind.
const VALID: &str = "1 a b c d e\t1 f a b c d a b c d \n7 a b e\t7 f a b c\n";
/// Validates by the loss, which is quick, every five updates.
const BY_LOSS: [&str; 3] = [
    "validation.every=5",
    "validation.metric=loss",
    "validation.bleu=false",
];

fn by_loss(settings: &[&str]) -> Toy {
    Toy::with_validation(&[&BY_LOSS[..], settings].concat(), VALID)
}

#[test]
fn the_average_has_its_checkpoints_with_any_keep() {
    let toy = Toy::new(&[
        "checkpoints.every=5",
        "checkpoints.keep=1",
        "checkpoints.average=3",
    ]);
    train(toy.start("run", 1));
    assert_eq!(toy.checkpoints("run"), [10, 15, 20]);
    let log = toy.log("run");
    assert!(
        log.contains("averaged the checkpoints of updates [10, 15, 20]"),
        "{log}"
    );
    assert!(
        log.contains("checkpoints.keep is 1") && log.contains("3 are kept"),
        "{log}"
    );
}

#[test]
fn without_validation_the_last_model_is_the_best_if_the_average_is_left_out() {
    let toy = Toy::new(&["checkpoints.every=10", "checkpoints.average=2"]);
    train(toy.start("run", 1));
    let run = toy.folder.path().join("run");
    assert!(toy.best("run") == toy.model("run", "average"));
    // The end is made again, with damaged checkpoints.
    fs::remove_file(run.join("finished.json")).unwrap();
    let learner = toy.resumed("run", &[]).unwrap();
    for name in ["best", "average"] {
        fs::remove_dir_all(run.join(name)).unwrap();
    }
    for step in ["step-000010", "step-000020"] {
        fs::remove_file(run.join("checkpoints").join(step).join("config.json")).unwrap();
    }
    train(learner);
    let log = toy.log("run");
    assert!(log.contains("the average is left out"), "{log}");
    assert!(toy.best("run") == toy.model("run", "last"));
    model_dir::load(&run.join("best"), &Device::default()).unwrap();
}

#[test]
fn a_continued_run_keeps_a_better_average_in_best() {
    // At this rate and seed the loss jumps about, and the mean of three models has a better one
    // than any.
    let seed = "training.seed=7";
    let rough = [
        "schedule.factor=2",
        "checkpoints.every=5",
        "checkpoints.average=3",
        seed,
    ];
    let toy = by_loss(&rough);
    train(toy.start("run", 1));
    let ended = toy.validations("run");
    let average = ended.last().unwrap();
    assert!(average.averaged && average.best, "{ended:?}");
    let best = toy.best("run");
    let last = &ended[ended.len() - 2];
    // Hardly a step further: better than the last model, worse than the average.
    train(
        toy.resumed("run", &["training.max_updates=25", "schedule.factor=0.01"])
            .unwrap(),
    );
    let all = toy.validations("run");
    assert_eq!(all[..ended.len()], ended, "no record is lost");
    let next = &all[ended.len()];
    assert_eq!((next.step, next.averaged), (25, false));
    assert!(next.loss < last.loss && next.loss > average.loss, "{all:?}");
    assert!(!next.best, "{all:?}");
    let newest = all.last().unwrap();
    assert!(newest.averaged && newest.step == 25);
    assert_eq!(toy.best("run") == best, newest.loss >= average.loss);
    // Early stopping looks at the models alone: this one was better than those before.
    let state = toy
        .resumed("run", &["training.max_updates=30"])
        .unwrap()
        .state;
    assert_eq!(
        (
            state.validation.early_stopping.step,
            state.validation.early_stopping.waited
        ),
        (25, 0)
    );
}

#[test]
fn a_killed_end_is_repeated_and_a_completed_one_is_not() {
    let rough = [
        "schedule.factor=2",
        "checkpoints.every=10",
        "checkpoints.average=2",
    ];
    let toy = by_loss(&rough);
    train(toy.learner("run", RunMode::New, 1, 17).unwrap());
    let ended = toy.validations("run");
    let best = toy.best("run");
    assert_eq!(
        ended.iter().filter(|point| point.step == 17).count(),
        2,
        "{ended:?}"
    );
    let folder = toy.folder.path().join("run");
    let finished = fs::read(folder.join("finished.json")).unwrap();
    fs::remove_file(folder.join("finished.json")).unwrap();
    train(toy.resumed("run", &[]).unwrap());
    assert_eq!((toy.validations("run"), toy.best("run")), (ended, best));
    assert_eq!(fs::read(folder.join("finished.json")).unwrap(), finished);
}

#[test]
fn a_rollback_keeps_a_better_best_model_and_its_record() {
    let toy = by_loss(&[
        "validation.every=6",
        "checkpoints.every=5",
        "validation.patience=9",
    ]);
    let mut learner = toy.learner("run", RunMode::New, 1, 12).unwrap();
    learner.make_updates(&AtomicBool::new(false)).unwrap();
    let best = toy.best("run");
    let known = learner.state.validation.best_model.unwrap();
    assert_eq!(known.step, 12, "{:?}", toy.validations("run"));
    learner
        .roll_back(Divergence::Model { last_norm: None })
        .unwrap();
    assert_eq!(
        (learner.state.step, learner.state.validation.validated),
        (10, 6)
    );
    assert_eq!(learner.state.validation.best_model, Some(known));
    assert_eq!(learner.state.validation.early_stopping.waited, 0);
    // The model that it went back to is better than the model of update 6, and worse than the one
    // of update 12.
    assert!(learner.validate(Subject::Model).unwrap());
    assert!(toy.best("run") == best, "a better model was overwritten");
    let steps: Vec<_> = toy
        .validations("run")
        .iter()
        .map(|point| (point.step, point.best))
        .collect();
    assert_eq!(steps, [(6, true), (12, true), (10, false)]);
}

#[test]
fn a_best_model_of_an_abandoned_continuation_is_replaced_only_by_a_better_one() {
    let toy = by_loss(&["checkpoints.every=10"]);
    train(toy.learner("run", RunMode::New, 1, 15).unwrap());
    let best = toy.best("run");
    let all = toy.validations("run");
    // The folder looks like the folder of a run that was killed between this validation and the
    // next checkpoint.
    let run = toy.folder.path().join("run");
    let killed = || {
        fs::remove_dir_all(run.join("checkpoints/step-000015")).unwrap();
        fs::remove_file(run.join("finished.json")).unwrap();
    };
    killed();
    train(toy.resumed("run", &[]).unwrap());
    assert!(
        toy.best("run") == best && toy.validations("run") == all,
        "the same again"
    );
    killed();
    train(toy.resumed("run", &["schedule.factor=0.001"]).unwrap());
    let again = toy.validations("run");
    assert!(
        again[2].loss > all[2].loss && again[2].loss < all[1].loss,
        "{again:?}"
    );
    assert!(toy.best("run") == best, "a better model was overwritten");
    let log = toy.log("run");
    assert!(
        log.contains("best/ stays as it is: it holds the model of update 15 ("),
        "{log}"
    );
}

#[test]
fn another_interval_keeps_existing_checkpoints() {
    let toy = Toy::new(&["checkpoints.every=5", "checkpoints.keep=0"]);
    train(toy.start("run", 1));
    assert_eq!(toy.checkpoints("run"), [5, 10, 15, 20]);
    let wider = ["checkpoints.every=15", "training.max_updates=35"];
    train(toy.resumed("run", &wider).unwrap());
    assert_eq!(toy.checkpoints("run"), [5, 10, 15, 20, 30, 35]);
    train(
        toy.resumed("run", &["training.max_updates=45", "checkpoints.keep=3"])
            .unwrap(),
    );
    assert_eq!(toy.checkpoints("run"), [20, 30, 45]);
}

#[test]
fn a_run_with_another_interval_rolls_back_to_the_previous_checkpoint() {
    let toy = Toy::new(&["checkpoints.every=5"]);
    train(toy.start("run", 1));
    let wider = ["checkpoints.every=100", "training.max_updates=25"];
    let mut learner = toy.resumed("run", &wider).unwrap();
    learner.make_updates(&AtomicBool::new(false)).unwrap();
    learner
        .roll_back(Divergence::Model { last_norm: None })
        .unwrap();
    assert_eq!(learner.state.step, 20);
}

#[test]
fn a_repeated_end_has_the_first_reason() {
    let toy = by_loss(&["validation.patience=1"]);
    let mut state = RunState {
        step: 20,
        ..RunState::default()
    };
    assert_eq!(
        limit_reached(&toy.config, &state),
        Some(StopReason::MaxUpdates)
    );
    state.validation.early_stopping.waited = 1;
    assert_eq!(
        limit_reached(&toy.config, &state),
        Some(StopReason::MaxUpdates)
    );
    state.step = 19;
    assert_eq!(
        limit_reached(&toy.config, &state),
        Some(StopReason::Patience)
    );
}

#[test]
fn left_out_validation_pairs_are_counted() {
    let long = format!("1 {}\t1 f a b\n", "a b c d ".repeat(40));
    let settings = [
        "model.positions=learned",
        "model.max_positions=33",
        "data.max_source_len=32",
        "data.max_target_len=32",
    ];
    let toy = Toy::with_validation(
        &[&BY_LOSS[..], &settings].concat(),
        &format!("{VALID}{long}"),
    );
    drop(toy.start("run", 1));
    let log = toy.log("run");
    assert!(
        log.contains("validation text: 3 pairs read, 2 kept, 1 dropped: 1 source too long"),
        "{log}"
    );
    assert!(log.contains("more than 32 tokens"), "{log}");
    let valid = &toy.corpora.valid[0];
    let counts = [valid.source.len(), valid.target.len(), valid.corpus.len()];
    assert_eq!(counts, [2, 2, 2]);
}
