//! Early validation: its time depends on the clock, and it does not change the run.

use super::*;

const VALID: &str = "1 a b c d e\t1 f a b c d a b c d \n7 a b e\t7 f a b c\n";
const SETTINGS: [&str; 3] = [
    "validation.every=15",
    "validation.metric=loss",
    "validation.bleu=false",
];

/// The same run, with its early validation after `seconds`.
fn looking(mut learner: Learner, seconds: Option<f64>) -> Learner {
    learner.early_validation_after = seconds;
    learner
}

/// The state in a checkpoint, without the fields that depend on the clock.
fn state(toy: &Toy, run: &str) -> serde_json::Value {
    let path = toy
        .folder
        .path()
        .join(run)
        .join("checkpoints/step-000020/state.json");
    let mut file: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let state = file["state"].as_object_mut().unwrap();
    state.remove("seconds").unwrap();
    state.remove("interval").unwrap();
    file
}

#[test]
fn early_validation_does_not_change_the_run() {
    let toy = Toy::with_validation(&SETTINGS, VALID);
    train(looking(toy.start("without", 1), None));
    train(looking(toy.start("with", 1), Some(0.0)));
    train(looking(on_device(toy.start("device", 1)), None));
    train(looking(on_device(toy.start("device-with", 1)), Some(0.0)));
    let note = "early validation after update 1: perplexity";
    assert!(toy.log("with").contains(note) && toy.log("device-with").contains(note));
    assert!(!toy.log("without").contains("early validation"));
    for [with, without] in [["with", "without"], ["device-with", "device"]] {
        assert_eq!(
            toy.saved(with, "step-000020"),
            toy.saved(without, "step-000020")
        );
        assert_eq!(state(&toy, with), state(&toy, without));
        assert_eq!(toy.validations(with), toy.validations(without));
        assert!(toy.best(with) == toy.best(without));
    }
}

#[test]
fn a_run_stopped_after_early_validation_resumes_with_the_same_result() {
    let toy = Toy::with_validation(&SETTINGS, VALID);
    train(looking(toy.start("whole", 1), None));
    let stopped = looking(toy.start("run", 1), Some(0.0));
    stopped.train(&AtomicBool::new(true)).unwrap();
    assert_eq!(toy.best("run"), toy.model("run", "last"));
    let resumed = toy.resumed("run", &[]).unwrap();
    assert_eq!(
        (resumed.early_validation_after, resumed.best_on_disk),
        (None, None)
    );
    train(resumed);
    assert_eq!(
        toy.saved("run", "step-000020"),
        toy.saved("whole", "step-000020")
    );
    assert!(
        toy.best("run") == toy.best("whole"),
        "a better model replaces the early one"
    );
    assert_eq!(toy.validations("run"), toy.validations("whole"));
}

#[test]
fn early_validation_without_text_writes_last() {
    let toy = Toy::new(&[]);
    let mut learner = toy.learner("run", RunMode::New, 1, 3).unwrap();
    assert_eq!(learner.early_validation_after, Some(60.0));
    learner.make_updates(&AtomicBool::new(false)).unwrap();
    learner.early_validation().unwrap();
    assert!(!toy.model("run", "last").is_empty());
    assert!(
        toy.log("run")
            .contains("last/ holds this model until the run saves")
    );

    let soon = Toy::with_validation(&["validation.every=6", SETTINGS[1], SETTINGS[2]], VALID);
    let mut learner = soon.learner("run", RunMode::New, 1, 3).unwrap();
    learner.make_updates(&AtomicBool::new(false)).unwrap();
    learner.early_validation().unwrap();
    assert!(!soon.folder.path().join("run/best").exists());
}
