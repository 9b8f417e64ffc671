//! The first look at a run, which comes by the clock and changes nothing of the run.

use super::*;

const VALID: &str = "1 a b c d e\t1 f a b c d a b c d \n7 a b e\t7 f a b c\n";
const SETTINGS: [&str; 3] =
    ["validation.every=15", "validation.metric=loss", "validation.bleu=false"];

/// The same run, with its first look after `seconds`.
fn looking(mut learner: Learner, seconds: Option<f64>) -> Learner {
    learner.look_after = seconds;
    learner
}

/// The state in a checkpoint, without what the clock decides.
fn state(toy: &Toy, run: &str) -> serde_json::Value {
    let path = toy.folder.path().join(run).join("checkpoints/step-000020/state.json");
    let mut file: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let state = file["state"].as_object_mut().unwrap();
    state.remove("seconds").unwrap();
    state.remove("interval").unwrap();
    file
}

#[test]
fn a_run_with_a_first_look_is_the_run_without_it() {
    let toy = Toy::with_validation(&SETTINGS, VALID);
    train(looking(toy.start("without", 1), None));
    train(looking(toy.start("with", 1), Some(0.0)));
    train(looking(on_device(toy.start("device", 1)), None));
    train(looking(on_device(toy.start("device-with", 1)), Some(0.0)));
    let note = "first look after update 1: perplexity";
    assert!(toy.log("with").contains(note) && toy.log("device-with").contains(note));
    assert!(!toy.log("without").contains("first look"));
    for [with, without] in [["with", "without"], ["device-with", "device"]] {
        assert_eq!(toy.saved(with, "step-000020"), toy.saved(without, "step-000020"));
        assert_eq!(state(&toy, with), state(&toy, without));
        assert_eq!(toy.validations(with), toy.validations(without));
        assert!(toy.best(with) == toy.best(without));
    }
}

#[test]
fn a_run_that_was_stopped_after_its_first_look_has_a_model_and_goes_on_to_the_same_end() {
    let toy = Toy::with_validation(&SETTINGS, VALID);
    train(looking(toy.start("whole", 1), None));
    let stopped = looking(toy.start("run", 1), Some(0.0));
    stopped.train(&AtomicBool::new(true)).unwrap();
    assert_eq!(toy.best("run"), toy.model("run", "last"));
    let resumed = toy.resumed("run", &[]).unwrap();
    assert_eq!((resumed.look_after, resumed.best_on_disk), (None, None));
    train(resumed);
    assert_eq!(toy.saved("run", "step-000020"), toy.saved("whole", "step-000020"));
    assert!(toy.best("run") == toy.best("whole"), "a better model replaces what was looked at");
    assert_eq!(toy.validations("run"), toy.validations("whole"));
}

#[test]
fn a_run_without_validation_text_looks_at_last_and_one_that_validates_soon_not_at_all() {
    let toy = Toy::new(&[]);
    let mut learner = toy.learner("run", RunMode::New, 1, 3).unwrap();
    assert_eq!(learner.look_after, Some(60.0));
    learner.make_updates(&AtomicBool::new(false)).unwrap();
    learner.first_look().unwrap();
    assert!(!toy.model("run", "last").is_empty());
    assert!(toy.log("run").contains("last/ holds this model until the run saves"));

    let soon = Toy::with_validation(&["validation.every=6", SETTINGS[1], SETTINGS[2]], VALID);
    let mut learner = soon.learner("run", RunMode::New, 1, 3).unwrap();
    learner.make_updates(&AtomicBool::new(false)).unwrap();
    learner.first_look().unwrap();
    assert!(!soon.folder.path().join("run/best").exists());
}
