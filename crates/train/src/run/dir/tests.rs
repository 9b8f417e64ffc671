use super::*;
use crate::run::{CheckpointKind, RunEnd, ValidationState};

fn run_with(folder: &Path, steps: &[u64]) -> RunDir {
    let run = RunDir::open(folder, RunMode::New).expect("opens");
    steps
        .iter()
        .for_each(|&step| fs::create_dir(run.checkpoint(step)).expect("makes"));
    run
}

#[test]
fn a_run_is_not_overwritten_and_an_empty_one_not_resumed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("run");
    assert!(matches!(
        RunDir::open(&path, RunMode::Resume),
        Err(TrainError::Run(RunError::NothingToResume(_)))
    ));
    assert!(!path.exists());
    let run = RunDir::open(&path, RunMode::New).expect("opens");
    fs::write(run.config(), "").expect("writes");
    drop(run);
    assert!(matches!(
        RunDir::open(&path, RunMode::New),
        Err(TrainError::Run(RunError::Exists(_)))
    ));
    RunDir::open(&path, RunMode::Resume).expect("opens");
}

#[test]
fn a_folder_has_one_run_at_a_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = run_with(folder.path(), &[100]);
    let second = RunDir::open(folder.path(), RunMode::Resume).unwrap_err();
    let process = std::process::id().to_string();
    assert!(
        matches!(&second, TrainError::Run(RunError::InUse { holder, .. }) if *holder == process)
    );
    assert!(RunDir::check(folder.path(), RunMode::Resume).is_err());
    drop(run);
    RunDir::open(folder.path(), RunMode::Resume).expect("opens");
}

#[test]
fn pruning_keeps_the_newest() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = run_with(folder.path(), &[100, 200, 1_000_000]);
    let scheduled = |_| CheckpointKind::Scheduled;
    run.prune(0, scheduled).expect("prunes");
    assert_eq!(
        run.checkpoint_steps().expect("reads"),
        [100, 200, 1_000_000]
    );
    run.prune(2, scheduled).expect("prunes");
    assert_eq!(run.checkpoint_steps().expect("reads"), [200, 1_000_000]);
    run.prune(1, scheduled).expect("prunes");
    run.prune(1, scheduled).expect("prunes");
    assert_eq!(run.checkpoint_steps().expect("reads"), [1_000_000]);
}

/// The checkpoints that pruning leaves if the checkpoints of whole hundreds are scheduled and the
/// others are of this kind.
fn left(steps: &[u64], keep: usize, others: CheckpointKind) -> Vec<u64> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = run_with(folder.path(), steps);
    let kind = |step| {
        if step % 100 == 0 {
            CheckpointKind::Scheduled
        } else {
            others
        }
    };
    run.prune(keep, kind).expect("prunes");
    run.checkpoint_steps().expect("reads")
}

#[test]
fn the_final_checkpoint_of_a_continued_run_stays_if_all_do() {
    let left = |steps: &[u64], keep| left(steps, keep, CheckpointKind::Final);
    assert_eq!(left(&[100, 150, 200, 250], 0), [100, 150, 200, 250]);
    assert_eq!(left(&[100, 150, 200], 3), [100, 200]);
    assert_eq!(left(&[100, 200, 250], 2), [200, 250]);
}

#[test]
fn an_interruption_leaves_no_trace_among_the_checkpoints() {
    let left = |steps: &[u64], keep| left(steps, keep, CheckpointKind::Interrupted);
    assert_eq!(left(&[100, 200, 250], 3), [100, 200, 250]);
    assert_eq!(left(&[100, 200, 250, 300], 3), [100, 200, 300]);
    assert_eq!(left(&[100, 200, 250], 1), [200, 250]);
    assert_eq!(left(&[200, 250, 300], 1), [300]);
    assert_eq!(left(&[250, 260], 0), [260]);
}

#[test]
fn leftovers_of_a_killed_process_are_repaired() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = run_with(folder.path(), &[100]);
    let make = |path: PathBuf| fs::create_dir(path).expect("makes");
    make(run.checkpoints().join(".step-000200.partial"));
    make(run.checkpoints().join(".step-000300.old"));
    make(run.checkpoints().join(".mine.partial"));
    make(folder.path().join(".best.partial"));
    make(folder.path().join(".last.old"));
    drop(run);
    let run = RunDir::open(folder.path(), RunMode::Resume).expect("opens");
    assert_eq!(run.checkpoint_steps().expect("reads"), [100, 300]);
    assert!(run.model("last").exists() && !folder.path().join(".best.partial").exists());
    let names = fs::read_dir(run.checkpoints()).expect("reads").count();
    assert_eq!(names, 3, "a folder of the user's is left alone");
}

#[test]
fn the_end_is_kept_until_the_run_resumes_elsewhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = run_with(folder.path(), &[]);
    assert_eq!(run.finished(800), None);
    let validation = ValidationState {
        validated: 800,
        ..ValidationState::default()
    };
    let end = RunEnd {
        step: 800,
        reason: "max_updates reached".into(),
        validation,
    };
    let score = folder.path().join(TEST_SCORE_FILE);
    fs::write(&score, "of an earlier end").expect("writes");
    run.set_finished(&end).expect("writes");
    assert!(!score.exists());
    run.forget_other_end(800).expect("stays");
    assert_eq!((run.finished(800), run.finished(700)), (Some(end), None));
    run.forget_other_end(700).expect("removes");
    assert_eq!(run.finished(800), None);
    run.forget_other_end(700).expect("nothing to remove");
}

#[test]
fn a_folder_without_a_run_is_refused_and_unchanged() {
    for name in [
        "best/model.safetensors",
        ".last.old/model.safetensors",
        ".average.partial/notes.txt",
        "metrics.jsonl",
        "events.out.tfevents.1764374400.000001.burnformer",
        "train.log",
        "finished.json",
        "valid/step-000100.hyp",
        "checkpoints/.step-000100.partial/config.json",
    ] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("lies in a folder")).expect("makes");
        fs::write(&file, "mine").expect("writes");
        for error in [
            RunDir::check(folder.path(), RunMode::New).expect_err("is refused"),
            RunDir::open(folder.path(), RunMode::New).expect_err("is refused"),
        ] {
            assert!(
                matches!(&error, TrainError::Run(RunError::FolderTaken { found, .. }) if file.starts_with(found))
            );
            assert!(
                error.to_string().contains("choose another --out"),
                "{error}"
            );
        }
        assert_eq!(fs::read_to_string(&file).expect("reads"), "mine");
    }
}

#[test]
fn other_text_and_a_refused_start_do_not_block_a_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    drop(RunDir::open(folder.path(), RunMode::New).expect("opens"));
    for name in [
        "train.de",
        "valid/newstest.de",
        "checkpoints/of-another-program.pt",
    ] {
        fs::write(folder.path().join(name), "text").expect("writes");
    }
    drop(RunDir::open(folder.path(), RunMode::New).expect("opens again"));
}
