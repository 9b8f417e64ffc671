//! Every device of this build and this machine computes what the CPU computes.
//!
//! `BURNFORMER_TEST_DEVICES` (`wgpu,ndarray`) names devices that must be there. Without it, the
//! devices in the list of `burnformer devices` are tested.

use std::path::{Path, PathBuf};

use crate::common::{Corpus, losses, run, stderr, stdout, train_arguments, translations};
use serde_json::Value;

/// Devices to test beside the CPU by flex.
fn others() -> Vec<String> {
    if let Ok(named) = std::env::var("BURNFORMER_TEST_DEVICES") {
        return named
            .split(',')
            .filter(|n| !n.is_empty())
            .map(String::from)
            .collect();
    }
    let listed: Value = serde_json::from_str(&stdout(&run(&["devices", "--json"]))).unwrap();
    let names = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["name"].as_str().unwrap().to_owned());
    let others: Vec<String> = names.filter(|name| !name.starts_with("cpu")).collect();
    if others.is_empty() {
        eprintln!("no device beside the CPU in this build and on this machine");
    }
    others
}

#[test]
fn the_named_devices_compute() {
    for device in others() {
        let output = run(&["devices", "--device", &device, "--test"]);
        let text = stdout(&output);
        assert_eq!(text.matches("passes  ").count(), 3, "{device}: {text}");
        assert!(
            !text.contains("WRONG") && text.contains("GFLOP/s"),
            "{device}: {text}"
        );
    }
}

#[test]
fn the_cpu_is_listed_with_its_threads() {
    let listed: Value = serde_json::from_str(&stdout(&run(&["devices", "--json"]))).unwrap();
    let cpu = &listed[0];
    assert_eq!(cpu["name"], "cpu:0");
    assert!(cpu["part"].as_str().unwrap().contains("thread"), "{cpu}");
    assert_eq!(cpu["precision"][0], "float32");
    let text = stdout(&run(&["devices"]));
    // No build has all devices.
    assert!(
        text.contains("not in this build: `cargo xtask devices --device"),
        "{text}"
    );
}

#[test]
fn a_device_that_is_not_there_is_refused_with_a_remedy() {
    let missing = ["metal", "rocm", "cuda", "vulkan"]
        .into_iter()
        .find(|name| stdout(&run(&["devices"])).contains(&format!("{name:<10} not in this build")));
    let output = run(&[
        "translate",
        "--model",
        "m",
        "--device",
        missing.unwrap_or("metal"),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--device"), "{}", stderr(&output));
    let output = run(&["translate", "--model", "m", "--device", "cpu:7"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("cpu has 1 device here"),
        "{}",
        stderr(&output)
    );
    let output = run(&["translate", "--model", "m", "--device", "gpu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("there are auto, cpu"),
        "{}",
        stderr(&output)
    );
}

const UPDATES: usize = 50;

/// Trains a small model with dropout for fifty updates on `device`.
fn train(folder: &Path, corpus: &Corpus, device: &str) -> PathBuf {
    let more = [
        "--device",
        device,
        "--set",
        "training.max_updates=50",
        "--set",
        "training.log_every=1",
        "--set",
        "model.dropout=0.1",
        "--set",
        "model.norm=\"post\"",
        "--set",
        "validation.every=50",
        // At twice this rate float32's rounding grows to 1e-3 by itself within fifty updates.
        "--set",
        "schedule.factor=0.5",
    ];
    let out = device.replace(':', "-");
    let output = run(&train_arguments(folder, corpus, &out, &more));
    assert!(output.status.success(), "{device}: {}", stderr(&output));
    folder.join(out)
}

/// Training, validation, decoding the test text and `translate`. Dropout is the same on every
/// device, so the losses of fifty updates agree, and a model translates alike wherever it was
/// trained and runs.
#[test]
fn fifty_updates_and_translations_are_those_of_the_cpu() {
    let others = others();
    if others.is_empty() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::write(folder.path());
    let on_cpu = train(folder.path(), &corpus, "cpu");
    let expected = losses(&on_cpu);
    assert_eq!(expected.len(), UPDATES);
    assert!(
        expected[UPDATES - 1] < 0.7 * expected[0],
        "it learns: {expected:?}"
    );
    for device in others {
        let trained = train(folder.path(), &corpus, &device);
        let actual = losses(&trained);
        assert_eq!(actual.len(), UPDATES, "{device}");
        let differences = actual
            .iter()
            .zip(&expected)
            .map(|(actual, expected)| (actual - expected).abs());
        let worst = differences.fold(0.0, f64::max);
        eprintln!("{device}: the losses of {UPDATES} updates agree to {worst:.1e}");
        assert!(worst < 1e-3, "{device}: {actual:?}, not {expected:?}");
        assert_eq!(
            translations(&on_cpu, &device),
            translations(&on_cpu, "cpu"),
            "{device}"
        );
        assert_eq!(
            translations(&trained, &device),
            translations(&trained, "cpu"),
            "{device}"
        );
    }
}

/// Two batches per update, on one device and shared by two.
#[test]
fn two_devices_train_as_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::write(folder.path());
    let run_on = |device: &str, out: &str| {
        let settings = [
            "training.max_updates=20",
            "training.log_every=1",
            "model.dropout=0.1",
        ];
        let more: Vec<&str> = settings
            .iter()
            .flat_map(|setting| ["--set", setting])
            .collect();
        let more = [
            &more[..],
            &["--set", "training.accumulate=2", "--device", device],
        ]
        .concat();
        let output = run(&train_arguments(folder.path(), &corpus, out, &more));
        assert!(output.status.success(), "{device}: {}", stderr(&output));
        losses(&folder.path().join(out))
    };
    let one = run_on("cpu", "one");
    let two = run_on("cpu,cpu", "two");
    assert_eq!((one.len(), two.len()), (20, 20));
    for (one, two) in one.iter().zip(&two) {
        assert!((one - two).abs() < 1e-4, "{two}, not {one}");
    }
}
