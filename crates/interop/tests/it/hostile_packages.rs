//! Packages with pipes instead of files, with absurd headers, and archives that are damaged.

use std::fs;
use std::path::PathBuf;

use crate::common::fixture;
use crate::packages::{archived, opus, read};

fn copied(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    fs::create_dir(&dir).unwrap();
    for entry in fs::read_dir(fixture(name)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
    }
    (folder, dir)
}

/// A path that is not a file is named at once, whichever file it replaces; nothing that a model
/// needs is treated as absent.
#[cfg(target_os = "linux")]
#[test]
fn pipes_loops_and_dangling_links_are_errors_without_waiting() {
    use std::os::unix::fs::symlink;
    let start = std::time::Instant::now();
    for (model, files) in [
        (
            "ctranslate2/int8",
            &["model.bin", "config.json", "shared_vocabulary.json"][..],
        ),
        (
            "marian/student",
            &["model.int8.bin", "decoder.yml", "vocab.yml"],
        ),
        (
            "hugging_face/shared_swish",
            &["config.json", "model.safetensors", "generation_config.json"],
        ),
    ] {
        for file in files {
            for kind in ["pipe", "loop", "folder", "hole"] {
                let (_folder, dir) = copied(model);
                let path = dir.join(file);
                fs::remove_file(&path).unwrap();
                match kind {
                    "pipe" => assert!(
                        std::process::Command::new("mkfifo")
                            .arg(&path)
                            .status()
                            .unwrap()
                            .success()
                    ),
                    "loop" => symlink(&path, &path).unwrap(),
                    "folder" => fs::create_dir(&path).unwrap(),
                    _ => fs::File::create(&path).unwrap().set_len(200 << 30).unwrap(),
                }
                // A folder named decoder.yml counts as a missing decoder.yml.
                if kind == "folder" && *file == "decoder.yml" {
                    continue;
                }
                let error = read(&dir).unwrap_err().to_string();
                assert!(error.contains(&dir.display().to_string()), "{error}");
                assert!(
                    kind != "hole" || !error.contains("out of memory"),
                    "{error}"
                );
            }
        }
    }
    assert!(start.elapsed().as_secs() < 60);
    let (_folder, dir) = copied("ctranslate2/int8");
    fs::remove_file(dir.join("config.json")).unwrap();
    assert!(read(&dir).unwrap_err().to_string().contains("config.json"));
}

/// A text as CTranslate2's model.bin has it: its length, and a NUL at its end.
fn text(text: &str) -> Vec<u8> {
    let length = (text.len() as u16 + 1).to_le_bytes();
    [&length[..], text.as_bytes(), b"\0"].concat()
}

/// Layers of empty variables: names are made for no more layers than there can be.
#[test]
fn a_header_of_many_empty_tensors_takes_no_time() {
    let (_folder, dir) = copied("ctranslate2/float32");
    let bin = fs::read(dir.join("model.bin")).unwrap();
    let head = 4 + text("TransformerSpec").len() + 4;
    let count = u32::from_le_bytes(bin[head..head + 4].try_into().unwrap());
    let many = 300_000;
    let mut bytes = [&bin[..head], &(count + many).to_le_bytes()].concat();
    for layer in 0..many {
        let name = format!("encoder/layer_{}/self_attention/linear_0/weight", layer + 2);
        bytes.extend([&text(&name)[..], &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0]].concat());
    }
    bytes.extend(&bin[head + 4..]);
    fs::write(dir.join("model.bin"), bytes).unwrap();
    let start = std::time::Instant::now();
    let error = read(&dir).unwrap_err().to_string();
    assert!(error.contains("layers, but"), "{error}");
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn hostile_archives_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.argosmodel");
    archived(&path, &[("p/model/model.bin".into(), vec![0; 50 << 20])]);
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("unpacks to more than"), "{error}");
    archived(&path, &[("../../escaped".into(), vec![1; 10])]);
    assert!(read(&path).is_err());
    assert!(!folder.path().parent().unwrap().join("escaped").exists());
    let files: Vec<_> = (0..2000).map(|n| (format!("p/{n}"), vec![])).collect();
    archived(&path, &files);
    assert!(read(&path).unwrap_err().to_string().contains("2000 files"));
    archived(&path, &opus());
    let whole = fs::read(&path).unwrap();
    for len in (0..whole.len()).step_by(whole.len() / 50) {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(read(&path).is_err(), "{len}");
    }
}
