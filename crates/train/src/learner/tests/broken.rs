//! Runs whose model breaks: what is kept, and where they go back to.

use burn::tensor::Tensor;
use burnformer_core::Parameters;

use super::*;
use crate::learner::divergence::has_finite_weights;
use crate::report::Answer;

/// A rate whose first step leaves weights that are finite, and outputs that are not.
const TOO_FAR: &str = "schedule.factor=1e25";
const VALID: &str = "1 a b c d e\t1 f a b c d a b c d \n7 a b e\t7 f a b c\n";
/// Validates by the loss, which is quick, at the end alone.
const BY_LOSS: [&str; 2] = ["validation.metric=loss", "validation.bleu=false"];

/// `learner` with a model whose every weight is `value`.
fn with_weights(mut learner: Learner, value: f32) -> Learner {
    let model = learner.model.take().unwrap();
    learner.model = Some(model.map_parameters(&mut |_, param| {
        param.update(Box::new(|x| Tensor::full(x.dims(), value, &x.device())));
    }));
    learner
}

fn finite(folder: &std::path::Path) -> bool {
    let (_, model) = model_dir::load(folder, &Device::default()).unwrap();
    named_parameters(&model)
        .values()
        .all(|value| value.iter::<f32>().all(f32::is_finite))
}

/// The answers of the run to divergence, and the updates to which it went back.
fn answers(toy: &Toy, run: &str) -> Vec<(Answer, Option<u64>)> {
    let answer = |record| match record {
        Record::Divergence(point) => Some((point.answer, point.back_to)),
        _ => None,
    };
    toy.records(run).into_iter().filter_map(answer).collect()
}

#[test]
fn a_last_update_that_breaks_the_model_leaves_a_good_best_and_last() {
    for valid in ["", VALID] {
        let toy = Toy::with_validation(&[&BY_LOSS[..], &["checkpoints.every=5"]].concat(), valid);
        train(toy.start("run", 1));
        let best = toy.best("run");
        let last = toy.model("run", "last");
        let learner = toy
            .resumed("run", &["training.max_updates=21", TOO_FAR])
            .unwrap();
        let error = learner.train(&AtomicBool::new(false)).unwrap_err();
        assert!(
            matches!(
                error,
                TrainError::Diverged(DivergenceError {
                    step: 21,
                    rollbacks: 3,
                    ..
                })
            ),
            "{error}"
        );
        assert!(toy.best("run") == best && toy.model("run", "last") == last);
        assert_eq!(toy.checkpoints("run"), [5, 10, 15, 20]);
        // The same run with the old rate comes to its end.
        train(
            toy.resumed("run", &["training.max_updates=21", "schedule.factor=0.05"])
                .unwrap(),
        );
        assert_eq!(toy.checkpoints("run").last(), Some(&21));
    }
}

#[test]
fn a_scheduled_checkpoint_of_a_broken_model_is_not_written() {
    for settings in [
        ["checkpoints.every=7", "recovery.skips=5"],
        ["checkpoints.every=1", "recovery.skips=0"],
    ] {
        let toy = Toy::new(&[&settings[..], &["recovery.rollbacks=0", TOO_FAR]].concat());
        toy.start("run", 1)
            .train(&AtomicBool::new(false))
            .unwrap_err();
        assert_eq!(toy.checkpoints("run"), [0; 0]);
        assert!(!toy.folder.path().join("run/last").exists());
    }
}

#[test]
fn a_checkpoint_before_a_nan_loss_is_skipped() {
    let toy = Toy::new(&["checkpoints.every=5"]);
    train(toy.start("run", 1));
    // Such checkpoints were written by a version that did not look at the weights.
    for step in [15, 20] {
        let mut broken = with_weights(
            toy.resumed("run", &["training.max_updates=99"]).unwrap(),
            1e30,
        );
        broken.state.step = step;
        let path = broken.checkpoints.run.checkpoint(step);
        fs::remove_dir_all(&path).unwrap();
        broken.save_checkpoint(CheckpointKind::Scheduled).unwrap();
        if step == 15 {
            assert_eq!(toy.checkpoints("run"), [5, 10, 15, 20]);
        }
    }
    let ended = train(toy.resumed("run", &["training.max_updates=25"]).unwrap());
    assert_eq!((ended.state.step, ended.state.recovery.rollbacks), (25, 2));
    let back = [(Answer::RollBack, Some(15)), (Answer::RollBack, Some(10))];
    let all = answers(&toy, "run");
    let returns: Vec<_> = all
        .iter()
        .filter(|it| it.0 == Answer::RollBack)
        .copied()
        .collect();
    assert_eq!(returns, back, "{all:?}");
    assert_eq!(toy.checkpoints("run"), [5, 10, 15, 20, 25]);
    let run = RunDir::at(&toy.folder.path().join("run"));
    assert!(
        [15, 20, 25]
            .iter()
            .all(|&step| finite(&run.checkpoint(step)))
    );
    let log = toy.log("run");
    assert!(
        log.contains("nothing good followed from the checkpoint of update 20"),
        "{log}"
    );
}

#[test]
fn a_repeated_end_does_not_publish_a_broken_model() {
    let toy = Toy::new(&[]);
    train(toy.start("run", 1));
    let run = toy.folder.path().join("run");
    let best = toy.best("run");
    let last = toy.model("run", "last");
    let mut broken = with_weights(
        toy.resumed("run", &["training.max_updates=99"]).unwrap(),
        1e30,
    );
    fs::remove_dir_all(run.join("checkpoints/step-000020")).unwrap();
    broken.save_checkpoint(CheckpointKind::Scheduled).unwrap();
    drop(broken);
    fs::remove_file(run.join("finished.json")).unwrap();
    let ended = train(toy.resumed("run", &["training.max_updates=20"]).unwrap());
    assert_eq!((ended.state.step, ended.state.recovery.rollbacks), (20, 1));
    // The run went on from update 10 at half the rate: the weights are other ones than before, but
    // good.
    assert!(finite(&run.join("best")) && finite(&run.join("last")));
    assert!(toy.best("run") != best && toy.model("run", "last") != last);
}

#[test]
fn a_nan_validation_is_a_divergence_and_saves_nothing() {
    for value in [1e30, f32::NAN] {
        let toy = Toy::with_validation(&BY_LOSS, VALID);
        let mut learner = with_weights(toy.start("run", 1), value);
        assert!(!learner.validate(Subject::Model).unwrap(), "{value}");
        assert!(!learner.is_sound(), "{value}");
        assert_eq!(learner.state.validation, Default::default());
        assert!(!toy.folder.path().join("run/best").exists());
    }
}

#[test]
fn a_nan_moment_is_found_before_saving() {
    let toy = Toy::new(&[]);
    let mut learner = toy.start("run", 1);
    assert!(learner.is_sound());
    let optimizer = learner.updater.optimizer.clone();
    let mut moments = optimizer.named_moments();
    let one = moments.values_mut().next().unwrap();
    let count = one.num_elements();
    *one = TensorData::new(vec![f32::INFINITY; count], [count]);
    let spoilt = optimizer
        .restore(0, moments, &Device::default().autodiff())
        .unwrap();
    learner.updater.optimizer = spoilt;
    assert!(has_finite_weights(learner.model()) && !learner.is_sound());
}

#[test]
fn a_checkpoint_of_a_newer_version_stays() {
    let toy = Toy::new(&[]);
    train(toy.start("run", 1));
    let newest = toy.folder.path().join("run/checkpoints/step-000020");
    let state = newest.join("state.json");
    let text = fs::read_to_string(&state).unwrap();
    fs::write(
        &state,
        text.replace("\"version\": 1", "\"version\": 2, \"more\": []"),
    )
    .unwrap();
    model_dir::seal(&newest).unwrap();
    let refused = toy
        .resumed("run", &["training.max_updates=30"])
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains("format version 2, this program reads version 1"),
        "{refused}"
    );
    assert_eq!(toy.checkpoints("run"), [10, 20]);
}

#[test]
fn another_optimiser_is_refused_and_no_checkpoint_set_aside() {
    let toy = Toy::new(&[]);
    train(toy.start("run", 1));
    let more = ["optimizer.algorithm=muon", "training.max_updates=30"];
    let refused = toy.resumed("run", &more).err().unwrap().to_string();
    assert!(
        refused.contains("optimizer.algorithm was \"adam\" and is \"muon\""),
        "{refused}"
    );
    assert_eq!(toy.checkpoints("run"), [10, 20]);
}
