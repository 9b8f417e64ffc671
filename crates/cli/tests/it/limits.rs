//! Limits of the system: open files, disks and memory.

use std::fs;
use std::path::Path;

use crate::common;
use crate::common::{Untrained, run, stderr};

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_files_is_noticed_before_the_first_update() {
    let toy = common::Toy::new();
    let arguments = toy.arguments("run", &["--set", "training.max_updates=2"]);
    // 600 kB, more than the weights and less than the moments.
    let script = "ulimit -f 1200; exec \"$0\" \"$@\"";
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_burnformer")])
        .args(&arguments);
    let output = common::feed(&mut command, b"");
    common::assert_refused(&output, 1, &["ulimit -f"]);
    let log = fs::read_to_string(toy.path("run/train.log")).unwrap();
    assert!(!log.contains("after update"), "{log}");
    stderr(&toy.train("run", &["--set", "training.max_updates=2", "--resume"]));
    assert!(toy.path("run/checkpoints/step-000002").is_dir());
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_made_is_noticed_before_the_size_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let said = |out: &Path| {
        let output = run(&["train", "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    for out in [file.join("run"), file.join("a/b"), "/proc/run".into()] {
        assert!(!said(&out).contains("measuring"), "{}", out.display());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn out_of_memory_ends_the_program_with_a_message() {
    use std::process::{Command, Stdio};
    // Enough to begin and too little for the model.
    let script =
        "ulimit -v 500000; exec \"$0\" translate --model embedded:de-en --batch 8000 --chunk 20000";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_burnformer")])
        .stdin(Stdio::piped());
    let output = common::feed(
        &mut command,
        "eins zwei drei vier fünf\n".repeat(20_000).as_bytes(),
    );
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let mut lines = said.lines().rev();
    assert!(
        lines.next().unwrap().starts_with("hint: free some"),
        "{said}"
    );
    let error = lines.next().unwrap();
    assert!(
        error.starts_with("error: out of memory (") && error.ends_with(" bytes)"),
        "{said}"
    );
    assert!(
        !said.contains("backtrace") && !said.contains("panicked"),
        "{said}"
    );
}

/// The messages and the exit code of the program with `arguments` in an address space of
/// `kilobytes`.
#[cfg(target_os = "linux")]
fn run_within(kilobytes: usize, arguments: &[&str]) -> (String, Option<i32>) {
    let script = format!("ulimit -v {kilobytes}; exec \"$0\" \"$@\"");
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &script, env!("CARGO_BIN_EXE_burnformer")])
        .args(arguments)
        .env("RAYON_NUM_THREADS", "2")
        .stdin(std::process::Stdio::piped());
    let output = common::feed(&mut command, b"eins zwei drei\n");
    (stderr(&output), output.status.code())
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_a_model_that_does_not_fit_into_memory_is_named() {
    const HOLE: u64 = 1 << 30;
    let folder = tempfile::tempdir().unwrap();
    let write_hole = |path: &Path, start: &[u8]| {
        fs::write(path, start).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(start.len() as u64 + HOLE).unwrap();
    };
    let header = format!(
        r#"{{"x":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{HOLE}]}}}}"#,
        HOLE / 4
    );
    let weights = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes()].concat();
    for (name, start) in [
        ("tokenizer.json", &b"{"[..]),
        ("generation.json", b"{"),
        ("model.safetensors", &weights),
    ] {
        let model = folder.path().join(name);
        fs::create_dir(&model).unwrap();
        for entry in fs::read_dir(Untrained::get().model()).unwrap().flatten() {
            fs::copy(entry.path(), model.join(entry.file_name())).unwrap();
        }
        write_hole(&model.join(name), start);
        let manifest = model.join("manifest.json");
        let mut json: serde_json::Value =
            serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
        json["files"][name]["bytes"] = (start.len() as u64 + HOLE).into();
        // The hash is right: only reading the file needs memory.
        let hash = std::process::Command::new("sha256sum")
            .arg(model.join(name))
            .output();
        let hash = String::from_utf8(hash.expect("coreutils").stdout).unwrap();
        json["files"][name]["sha256"] = hash.split(' ').next().unwrap().into();
        fs::write(&manifest, json.to_string()).unwrap();
        let model = model.to_str().unwrap();
        let (said, code) = run_within(900_000, &["translate", "--model", model]);
        let expected = format!("error: {model}/{name}: does not fit into the free memory");
        assert_eq!(code, Some(1), "{said}");
        assert!(
            said.lines().rev().nth(1).unwrap().starts_with(&expected),
            "{said}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn any_amount_of_memory_gives_a_translation_or_a_message() {
    let mut made = 0;
    // A program with every device takes 115 MB itself.
    for step in 3..=14 {
        let (said, code) = run_within(50_000 * step, &["translate"]);
        made += usize::from(code == Some(0));
        let error = said.lines().find(|line| line.starts_with("error: "));
        let tells = code == Some(1) && error.is_some_and(|error| error.contains("memory"));
        assert!(code == Some(0) || tells, "{step} {code:?}: {said}");
    }
    assert!((1..12).contains(&made), "{made}");
}
