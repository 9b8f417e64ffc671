//! Several processes of `mpirun` that train one model.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Corpus, Toy, losses, run, stderr, stdout, train_arguments};
use crate::pairs;

fn toy() -> Toy {
    Toy {
        settings: vec!["--set", "model.dropout=0.1"],
        ..Toy::new()
    }
}

/// The command that runs the program with `arguments` in `count` processes of one thread each.
fn mpirun(count: usize, arguments: &[String]) -> Command {
    let mut command = Command::new("mpirun");
    command.args([
        "--allow-run-as-root",
        "--oversubscribe",
        "--mca",
        "mpi_yield_when_idle",
        "1",
    ]);
    command.args(["-n", &count.to_string(), env!("CARGO_BIN_EXE_burnformer")]);
    command
        .args(arguments)
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null());
    command
}

impl Toy {
    fn mpirun(&self, count: usize, out: &str, more: &[&str]) -> Command {
        mpirun(count, &self.arguments(out, more))
    }

    fn together(&self, count: usize, out: &str, more: &[&str]) -> Output {
        self.mpirun(count, out, more)
            .output()
            .expect("mpirun starts")
    }

    fn losses(&self, out: &str) -> Vec<f64> {
        losses(&self.folder.path().join(out))
    }
}

#[test]
fn two_processes_of_a_batch_each_make_the_updates_of_one_process_bit_for_bit() {
    let toy = toy();
    let updates = [
        "--set",
        "training.accumulate=2",
        "--set",
        "training.max_updates=40",
    ];
    stdout(&toy.train("alone", &updates));
    let together = toy.together(2, "together", &updates);
    stdout(&together);
    assert!(
        stderr(&together).contains("2 devices: an update is 2 batches"),
        "{}",
        stderr(&together)
    );
    assert!(toy.weights("alone", 40) == toy.weights("together", 40));
}

#[test]
fn pairs_of_languages_are_divided_like_one_text() {
    let folder = pairs::texts();
    let toml = pairs::configuration(folder.path(), "temperature = 5.0");
    let updates = [
        "--set",
        "training.accumulate=2",
        "--set",
        "training.max_updates=40",
    ];
    let arguments = |out| pairs::arguments(folder.path(), out, &toml, &updates);
    stdout(&run(&arguments("alone")));
    stdout(&mpirun(2, &arguments("together")).output().unwrap());
    let [alone, together] = ["alone", "together"].map(|out| {
        let weights = "checkpoints/step-000040/model.safetensors";
        fs::read(folder.path().join(out).join(weights)).unwrap()
    });
    assert!(alone == together);
}

#[test]
fn gradients_exchanged_in_bfloat16_give_nearly_the_same_losses() {
    let toy = toy();
    let updates = [
        "--set",
        "training.accumulate=2",
        "--set",
        "training.max_updates=40",
        "--set",
        "training.log_every=10",
    ];
    stdout(&toy.together(2, "wide", &updates));
    stdout(&toy.together(
        2,
        "narrow",
        &[&updates[..], &["--set", "training.exchange=bfloat16"]].concat(),
    ));
    let wide = toy.losses("wide");
    let narrow = toy.losses("narrow");
    assert!(
        wide != narrow && wide.len() == narrow.len(),
        "{wide:?} {narrow:?}"
    );
    assert!(
        wide.iter()
            .zip(&narrow)
            .all(|(a, b)| (a - b).abs() < 0.02 * a),
        "{wide:?} {narrow:?}"
    );
}

#[test]
fn a_run_resumes_with_another_number_of_processes() {
    let toy = toy();
    let until = |updates: &'static str| {
        [
            "--set",
            updates,
            "--set",
            "training.accumulate=4",
            "--set",
            "training.log_every=10",
        ]
    };
    stdout(&toy.train("alone", &until("training.max_updates=60")));
    stdout(&toy.together(2, "parts", &until("training.max_updates=20")));
    let resumed = |updates| [&until(updates)[..], &["--resume"]].concat();
    stdout(&toy.together(4, "parts", &resumed("training.max_updates=40")));
    stdout(&toy.train("parts", &resumed("training.max_updates=60")));
    let alone = toy.losses("alone");
    let parts = toy.losses("parts");
    assert_eq!((alone.len(), parts.len()), (6, 6));
    assert!(
        alone.iter().zip(&parts).all(|(a, b)| (a - b).abs() < 1e-4),
        "{alone:?} {parts:?}"
    );
    let more = toy.together(8, "parts", &resumed("training.max_updates=80"));
    assert!(
        !more.status.success() && stderr(&more).contains("8 devices"),
        "{}",
        stderr(&more)
    );
}

/// The process with number `rank` of a run in `folder`.
fn process_of_rank(rank: usize, folder: &Path) -> Option<u32> {
    let marks = [
        format!("OMPI_COMM_WORLD_RANK={rank}\0"),
        format!("BURNFORMER_TEST_FOLDER={}\0", folder.display()),
    ];
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let mut ids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    ids.find(|id| {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment);
        marks.iter().all(|mark| environment.contains(mark.as_str()))
    })
}

#[test]
fn a_killed_process_ends_all_and_the_run_resumes_from_its_checkpoint() {
    let toy = toy();
    let long = [
        "--set",
        "training.max_updates=1000000",
        "--set",
        "checkpoints.every=20",
    ];
    let folder = toy.folder.path();
    let mut command = toy.mpirun(2, "run", &long);
    let run = command
        .env("BURNFORMER_TEST_FOLDER", folder)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !folder.join("run/checkpoints/step-000040").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no checkpoint");
        sleep(Duration::from_millis(50));
    }
    let follower = process_of_rank(1, folder).expect("process 1 runs");
    assert!(
        Command::new("kill")
            .args(["-KILL", &follower.to_string()])
            .status()
            .unwrap()
            .success()
    );
    let killed = Instant::now();
    let output = run.wait_with_output().unwrap();
    assert!(!output.status.success() && killed.elapsed() < Duration::from_secs(30));
    assert!(stderr(&output).contains("signal 9"), "{}", stderr(&output));
    assert_eq!(process_of_rank(0, folder), None, "process 0 has ended too");
    let steps: Vec<_> = fs::read_dir(folder.join("run/checkpoints"))
        .unwrap()
        .flatten()
        .collect();
    let last = steps
        .iter()
        .filter_map(|step| {
            step.file_name()
                .to_str()?
                .strip_prefix("step-")?
                .parse::<u64>()
                .ok()
        })
        .max();
    let more = format!("training.max_updates={}", last.unwrap() + 20);
    let resumed = toy.together(
        2,
        "run",
        &["--set", &more, "--set", "checkpoints.every=20", "--resume"],
    );
    stdout(&resumed);
    assert!(
        stderr(&resumed).contains(&format!("resumed after update {}", last.unwrap())),
        "{}",
        stderr(&resumed)
    );
}

/// Open MPI 4.1.4 sends SIGTERM on, SIGKILL two seconds later, and ends with 1 without a word.
#[test]
fn a_launcher_that_is_terminated_leaves_what_the_run_says() {
    let toy = toy();
    let folder = toy.folder.path();
    let long = [
        "--set",
        "training.max_updates=1000000",
        "--set",
        "checkpoints.every=20",
    ];
    let mut command = toy.mpirun(2, "run", &long);
    let run = command.stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !folder.join("run/checkpoints/step-000020").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no checkpoint");
        sleep(Duration::from_millis(50));
    }
    let launcher = run.id().to_string();
    let mut kill = Command::new("kill");
    assert!(kill.args(["-TERM", &launcher]).status().unwrap().success());
    let output = run.wait_with_output().unwrap();
    assert!(!output.status.success());
    let said = stderr(&output);
    assert!(
        said.contains("continues from the last checkpoint"),
        "{said}"
    );
    if let Some((_, rest)) = said.split_once("stopped after update ") {
        let (step, rest) = rest.split_once(' ').unwrap();
        assert!(rest.starts_with("and saved"), "{said}");
        let name = format!("step-{:06}", step.parse::<u64>().unwrap());
        assert!(folder.join("run/checkpoints").join(name).exists(), "{said}");
    }
    let steps = fs::read_dir(folder.join("run/checkpoints"))
        .unwrap()
        .flatten();
    let last = steps
        .filter_map(|step| {
            step.file_name()
                .to_str()?
                .strip_prefix("step-")?
                .parse()
                .ok()
        })
        .max();
    let last: u64 = last.unwrap();
    let more = format!("training.max_updates={}", last + 20);
    let more = ["--set", &more, "--set", "checkpoints.every=20", "--resume"];
    let resumed = toy.together(2, "run", &more);
    stdout(&resumed);
    let said = stderr(&resumed);
    assert!(
        said.contains(&format!("resumed after update {last}")),
        "{said}"
    );
}

#[test]
fn processes_with_other_texts_are_refused() {
    let toy = toy();
    let other = toy.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let corpus = Corpus::write(&other);
    for path in &corpus.train {
        let text = fs::read_to_string(path).unwrap();
        let half = text.lines().take(1000).map(|line| format!("{line}\n"));
        fs::write(path, half.collect::<String>()).unwrap();
    }
    let mut command = toy.mpirun(1, "run", &[]);
    command.args([":", "-n", "1", env!("CARGO_BIN_EXE_burnformer")]);
    command.args(train_arguments(toy.folder.path(), &corpus, "run", &[]));
    let output = command.output().unwrap();
    assert!(!output.status.success());
    assert!(
        stderr(&output).contains("process 1: its texts or tokenisers"),
        "{}",
        stderr(&output)
    );
}
