//! Devices of workers, other processes, compute what those of this process compute.
#![cfg(feature = "remote")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use common::{
    Corpus, Untrained, assert_refused, burnformer, losses, run, stderr, stdout, train_arguments,
    translations,
};
use serde_json::Value;

const TOKEN: &str = "BURNFORMER_TOKEN";

/// A worker of this machine's CPU, which ends with its owner.
struct Worker {
    child: Child,
    /// `remote:127.0.0.1:PORT`.
    device: String,
}

impl Worker {
    fn start(devices: &str, token: Option<&str>) -> Self {
        let mut command = burnformer(&["worker", "--listen", "127.0.0.1:0", "--device", devices]);
        if let Some(token) = token {
            command.env(TOKEN, token);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap();
        Self { child, device: format!("remote:{address}") }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const UPDATES: usize = 20;

/// Arguments of a run of twenty updates of two batches each, with dropout.
fn arguments(folder: &Path, corpus: &Corpus, device: &str, out: &str) -> Vec<String> {
    let settings = [
        "training.max_updates=20",
        "training.log_every=1",
        "training.accumulate=2",
        "model.dropout=0.1",
        "checkpoints.every=5",
    ];
    let more: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    train_arguments(folder, corpus, out, &[&more[..], &["--device", device]].concat())
}

/// One worker, then two that share each update's batches.
#[test]
fn workers_train_and_translate_as_this_process_does() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::write(folder.path());
    let workers = [Worker::start("cpu", None), Worker::start("cpu", None)];
    let [first, second] = workers.each_ref().map(|worker| worker.device.as_str());
    let train = |device: &str, out: &str| {
        let output = run(&arguments(folder.path(), &corpus, device, out));
        assert!(output.status.success(), "{device}: {}", stderr(&output));
        folder.path().join(out)
    };
    let here = train("cpu", "here");
    let expected = losses(&here);
    assert_eq!(expected.len(), UPDATES);
    for (device, out) in [(first.to_owned(), "one"), (format!("{first},{second}"), "two")] {
        let there = train(&device, out);
        let own = losses(&there);
        assert_eq!(own.len(), UPDATES, "{device}");
        let differences = own.iter().zip(&expected).map(|(own, expected)| (own - expected).abs());
        let worst = differences.fold(0.0, f64::max);
        eprintln!("{device}: the losses of {UPDATES} updates agree to {worst:.1e}");
        assert!(worst < 1e-4, "{device}: {own:?}, not {expected:?}");
        assert_eq!(translations(&here, first), translations(&here, "cpu"));
        assert_eq!(translations(&there, first), translations(&there, "cpu"));
    }
}

#[test]
fn every_device_of_a_worker_is_listed_and_computes() {
    let worker = Worker::start("cpu,cpu", None);
    let all = format!("{}:all", worker.device);
    let output = run(&["devices", "--device", &all, "--test", "--json"]);
    let listed: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|device| &device["name"]).collect();
    assert_eq!(names, [&format!("{}:0", worker.device), &format!("{}:1", worker.device)]);
    for device in listed.as_array().unwrap() {
        assert!(device["test"]["Ok"]["difference"].as_f64().unwrap() < 1e-3, "{device}");
    }
}

fn translate_on(device: &str) -> Vec<String> {
    let model = Untrained::get().model().display().to_string();
    ["translate", "--model", &model, "--device", device].map(String::from).to_vec()
}

#[test]
fn only_those_with_the_token_are_served() {
    let worker = Worker::start("cpu", Some("open sesame"));
    let arguments = translate_on(&worker.device);
    assert_refused(&run(&arguments), 1, &[&worker.device, TOKEN]);
    let with = |token: &str| burnformer(&arguments).env(TOKEN, token).output().unwrap();
    assert_refused(&with("close sesame"), 1, &[&worker.device, TOKEN]);
    assert!(with("open sesame").status.success());
}

#[test]
fn a_worker_open_to_other_machines_must_have_a_token() {
    let output = run(&["worker", "--device", "cpu", "--listen", "0.0.0.0:0"]);
    assert_refused(&output, 1, &["0.0.0.0:0", TOKEN]);
}

#[test]
fn a_taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["worker", "--device", "cpu", "--listen", &address]);
    assert_refused(&output, 1, &[&address, "free port"]);
}

#[test]
fn a_worker_that_is_not_there_is_named_with_what_would_start_it() {
    // A port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let device = format!("remote:{address}");
    let output = run(&translate_on(&device));
    assert_refused(&output, 1, &[&device, &format!("worker --listen {address}")]);
}

#[test]
fn a_device_that_the_worker_lacks_is_refused_with_their_number() {
    let worker = Worker::start("cpu", None);
    let output = run(&translate_on(&format!("{}:3", worker.device)));
    assert_refused(&output, 1, &["1 device", "from 0"]);
}

#[test]
fn a_run_whose_worker_dies_says_how_to_go_on_and_goes_on_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::write(folder.path());
    let mut worker = Worker::start("cpu", None);
    let mut long = arguments(folder.path(), &corpus, &worker.device, "run");
    long.extend(["--set", "training.max_updates=100000"].map(String::from));
    let mut training = burnformer(&long);
    let training = training.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let run_dir = folder.path().join("run");
    wait_for_a_checkpoint(&run_dir);
    worker.child.kill().unwrap();
    let output = training.wait_with_output().unwrap();
    assert_refused(&output, 1, &["the device failed", "--resume"]);
    // Exactly as many updates as the last checkpoint has, and five more, on the CPU.
    let done = losses(&run_dir).len();
    let mut resumed = arguments(folder.path(), &corpus, "cpu", "run");
    resumed.extend(
        ["--resume", "--set", &format!("training.max_updates={}", done + 5)].map(String::from),
    );
    let output = run(&resumed);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(losses(&run_dir).len(), done + 5);
}

fn wait_for_a_checkpoint(run_dir: &Path) {
    let start = std::time::Instant::now();
    let is_there = || {
        let entries = std::fs::read_dir(run_dir.join("checkpoints")).into_iter().flatten();
        entries.flatten().any(|entry| !entry.file_name().to_string_lossy().contains("tmp"))
    };
    while !is_there() {
        assert!(start.elapsed().as_secs() < 120, "no checkpoint in two minutes");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
