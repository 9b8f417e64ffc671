//! Runs on several devices, and runs whose updates the device decides about: on the CPU, beside the
//! run on one device whose updates the host decides about.

use super::*;
use crate::run::LogInterval;
use crate::update::WorkersError;

#[test]
fn two_devices_train_like_one_and_a_run_resumes_with_another_number() {
    let toy = Toy::new(&["training.accumulate=4", "training.log_every=1"]);
    train(toy.start("one", 1));
    train(toy.start("two", 2));
    train(toy.learner("both", RunMode::New, 2, 10).unwrap());
    train(toy.learner("both", RunMode::Resume, 1, 20).unwrap());
    assert_eq!(toy.losses("one").len(), 20);
    toy.assert_same_losses(["one", "two"], 1e-4);
    toy.assert_same_losses(["one", "both"], 1e-4);
    let losses = toy.losses("one");
    assert!(
        losses[19].1 < losses[0].1 - 0.1,
        "nothing was learned: {losses:?}"
    );
    let refused = toy.learner("both", RunMode::Resume, 5, 30);
    assert!(matches!(
        refused,
        Err(TrainError::Workers(WorkersError::TooManyDevices {
            devices: 5,
            batches: 4
        }))
    ));
    train(toy.learner("both", RunMode::Resume, 3, 21).unwrap());
}

#[test]
fn two_devices_train_in_16_bits_like_one() {
    let toy = |precision: &str| {
        let precision = format!("training.precision={precision}");
        Toy::new(&["training.accumulate=4", "training.log_every=1", &precision])
    };
    let exact = toy("float32");
    train(exact.start("one", 1));
    // The order in which gradients are added shows after a few updates: over 16 seeds from update 5
    // on, by 4e-4 in the loss.
    let same = 4;
    let apart = |a: &[(u64, f64)], b: &[(u64, f64)]| {
        let pairs = a.iter().zip(b).take(same);
        pairs
            .map(|((_, a), (_, b))| (a - b).abs())
            .fold(0.0, f64::max)
    };
    for (precision, least_apart) in [("bfloat16", 1e-4), ("float16", 5e-5)] {
        let half = toy(precision);
        train(half.start("one", 1));
        train(half.start("two", 2));
        let one = half.losses("one");
        let two = half.losses("two");
        assert_eq!(one.len(), 20);
        assert!(apart(&one, &two) < 1e-5, "{precision}: {one:?} {two:?}");
        // The host decides about a scaled loss.
        if precision == "bfloat16" {
            train(on_device(half.start("device", 1)));
            let device = half.losses("device");
            assert!(apart(&one, &device) < 1e-4, "{one:?} {device:?}");
        }
        // The test could tell if a device multiplied in float32.
        let rounded = apart(&exact.losses("one"), &one);
        assert!(rounded > least_apart, "{precision}: {rounded}");
    }
}

#[test]
fn a_new_run_records_a_batch_per_device() {
    let toy = Toy::new(&["training.accumulate=3"]);
    drop(toy.start("run", 2));
    let folder = toy.folder.path().join("run");
    let config = fs::read_to_string(folder.join("config.toml")).unwrap();
    assert!(config.contains("accumulate = 4"), "{config}");
    let log = fs::read_to_string(folder.join("train.log")).unwrap();
    assert!(
        log.contains("2 devices: an update is 4 batches instead of 3"),
        "{log}"
    );
}

#[test]
fn device_checked_updates_match_host_checked_ones() {
    let toy = Toy::new(&["training.accumulate=2", "training.log_every=4"]);
    let host = train(toy.start("host", 1));
    let device = train(on_device(toy.start("device", 1)));
    train(on_device(toy.start("devices", 2)));
    toy.assert_same_losses(["host", "device"], 1e-5);
    toy.assert_same_losses(["host", "devices"], 1e-5);
    let without_clock = |state: RunState| RunState {
        seconds: 0.0,
        interval: LogInterval::default(),
        ..state
    };
    assert_eq!(without_clock(host.state), without_clock(device.state));
    assert_eq!(device.state.optimizer_steps, 20);
    // Stopped between two readings of the run that was not.
    train(on_device(
        toy.learner("resumed", RunMode::New, 1, 7).unwrap(),
    ));
    train(on_device(
        toy.learner("resumed", RunMode::Resume, 1, 20).unwrap(),
    ));
    assert_eq!(
        toy.saved("device", "step-000020"),
        toy.saved("resumed", "step-000020")
    );
}

#[test]
fn an_interrupted_run_reads_and_saves_pending_updates() {
    let toy = Toy::new(&[]);
    let outcome = on_device(toy.start("run", 1))
        .train(&AtomicBool::new(true))
        .unwrap();
    assert_eq!(
        (outcome.reason, outcome.state.step),
        (StopReason::Interrupted, 1)
    );
    assert_eq!(outcome.state.optimizer_steps, 1);
    assert_eq!(
        toy.learner("run", RunMode::Resume, 1, 20)
            .unwrap()
            .state()
            .step,
        1
    );
}

#[test]
fn divergence_on_the_device_rolls_back_like_on_the_host() {
    let recovers = [
        "schedule.factor=1e25",
        "recovery.rate=1e-27",
        "training.log_every=7",
    ];
    let toy = Toy::new(&recovers);
    let host = train(toy.start("host", 1)).state;
    let device = train(on_device(toy.start("device", 1))).state;
    assert_eq!((host.step, host.recovery.rollbacks), (20, 1));
    assert_eq!(
        (device.step, device.optimizer_steps, device.recovery),
        (20, 20, host.recovery)
    );
    let divergences = |run| {
        let told = |record| match record {
            Record::Divergence(point) => {
                Some((point.number, point.step, point.answer, point.back_to))
            }
            _ => None,
        };
        toy.records(run)
            .into_iter()
            .filter_map(told)
            .collect::<Vec<_>>()
    };
    assert_eq!(divergences("host"), divergences("device"));
    assert_eq!(divergences("host").len(), 6);
    toy.assert_same_losses(["host", "device"], 1e-5);
}

#[test]
fn a_run_that_keeps_diverging_on_the_device_stops_and_saves_nothing() {
    let toy = Toy::new(&[
        "schedule.factor=1e25",
        "recovery.rollbacks=0",
        "training.log_every=999",
    ]);
    let learner = on_device(toy.start("run", 1));
    let before: Vec<(String, TensorData)> = named_parameters(learner.model()).into_iter().collect();
    let error = learner.train(&AtomicBool::new(false)).unwrap_err();
    assert!(
        matches!(
            error,
            TrainError::Diverged(DivergenceError {
                step: 6,
                rollbacks: 0,
                ..
            })
        ),
        "{error}"
    );
    assert!(
        fs::read_dir(toy.folder.path().join("run/checkpoints"))
            .unwrap()
            .next()
            .is_none()
    );
    let again = toy.learner("run", RunMode::Resume, 1, 20).unwrap();
    for (name, value) in before {
        value.assert_eq(&named_parameters(again.model())[&name], true);
    }
}
