//! `import` and `export`: models of other systems in and out.

mod fine_tuning;
mod languages;

use std::fs;
use std::path::Path;

use crate::common::{assert_refused, run, run_with, stderr, stdout};
use serde_json::Value;

fn fixture(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interop/tests/fixtures");
    root.join(name).display().to_string()
}

#[test]
fn an_imported_model_is_an_ordinary_model_directory() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model").display().to_string();
    let output = run(&[
        "import",
        &fixture("hugging_face/shared_swish"),
        "--no-tokenizer",
        "--out",
        &out,
    ]);
    assert!(
        stderr(&output).contains("hugging-face"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&output), "");
    let json: Value = serde_json::from_str(&stdout(&run(&["inspect", &out, "--json"]))).unwrap();
    assert_eq!(json["model"]["conventions"]["sinusoids"], "halves");
    assert_eq!(json["model"]["conventions"]["decoder_start"], "zero");
}

#[test]
fn a_model_that_was_exported_is_imported_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let weights =
        |name: &str| fs::read(folder.path().join(name).join("model.safetensors")).unwrap();
    stdout(&run(&[
        "import",
        "ctranslate2",
        &fixture("ctranslate2/float32"),
        "--no-tokenizer",
        "--out",
        &path("a"),
    ]));
    for format in ["ctranslate2", "hugging-face"] {
        let [other, again] = [path(&format!("{format}-out")), format!("{format}-in")];
        stdout(&run(&[
            "export",
            format,
            "--model",
            &path("a"),
            "--out",
            &other,
        ]));
        stdout(&run(&[
            "import",
            &other,
            "--no-tokenizer",
            "--out",
            &path(&again),
        ]));
        assert!(weights("a") == weights(&again), "{format}");
    }
}

#[test]
fn an_exported_and_imported_model_translates_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    stdout(&run(&[
        "export",
        "ctranslate2",
        "--model",
        "embedded:de-en",
        "--out",
        &path("ct2"),
    ]));
    stdout(&run(&["import", &path("ct2"), "--out", &path("again")]));
    let text = b"Das Haus ist alt.\nWo ist der n\xc3\xa4chste Bahnhof?\n\nIch habe drei Katzen.\n";
    let translate = |model: &str| {
        stdout(&run_with(
            &["translate", "--model", model, "--compute", "float32"],
            text,
        ))
    };
    let before = translate("embedded:de-en");
    assert!(before.contains("house"), "{before}");
    assert_eq!(translate(&path("again")), before);
    let settings = |name: &str| fs::read(folder.path().join(name).join("generation.json")).unwrap();
    assert_eq!(settings("ct2"), settings("again"));
    let tokenizer = folder.path().join("ct2/tokenizer.json");
    let bytes = fs::read(&tokenizer).unwrap();
    fs::write(&tokenizer, &bytes[..bytes.len() / 2]).unwrap();
    let cut = run(&["import", &path("ct2"), "--out", &path("cut")]);
    assert_refused(&cut, 1, &["tokenizer.json"]);
}

#[test]
fn the_model_of_another_program_is_named_with_the_command_that_converts_it() {
    let folder = tempfile::tempdir().unwrap();
    for (fixture_name, format) in [
        ("ctranslate2/float32", "ctranslate2"),
        ("marian/student", "marian"),
        ("m2m100/relu", "hugging-face"),
    ] {
        let model = fixture(fixture_name);
        let pair = format!("de-en={model}");
        for arguments in [
            &["translate", "--model", &model][..],
            &[
                "eval-bleu",
                "--model",
                &model,
                "--source",
                "a",
                "--reference",
                "b",
            ],
            &["inspect", &model],
            &["serve", "--model", &pair, "--listen", "127.0.0.1:0"],
        ] {
            let output = run(arguments);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
            assert!(said.contains(&format!("format {format}")), "{said}");
            assert!(said.contains(&format!("import {model} --out")), "{said}");
        }
        // The remedy.
        let out = folder.path().join(format).display().to_string();
        stdout(&run(&["import", &model, "--no-tokenizer", "--out", &out]));
        stdout(&run(&["inspect", &out]));
    }
}

#[test]
fn a_model_directory_of_our_own_needs_no_import() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model").display().to_string();
    fs::create_dir(&model).unwrap();
    fs::write(format!("{model}/manifest.json"), "{}").unwrap();
    let out = folder.path().join("out").display().to_string();
    let output = run(&["import", &model, "--out", &out]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("is a model directory already"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_folder_that_does_not_exist_says_so_and_how_to_get_a_model() {
    for arguments in [
        &["import", "opus-mt-en-fr", "--out", "x"][..],
        &["import", "marian", "opus-mt-en-fr", "--out", "x"],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(
            said.contains("opus-mt-en-fr: no such file or folder"),
            "{said}"
        );
        assert!(said.contains("hf download"), "{said}");
    }
}

/// The default preset normalises queries and keys, which only CTranslate2 supports. Text from a
/// pipe is not read by a dry run, so that no model is measured.
#[test]
fn a_dry_run_names_the_formats_to_which_the_model_can_be_exported() {
    let said = |preset: &str| {
        stdout(&run(&[
            "train",
            "--preset",
            preset,
            "--dry-run",
            "--train",
            "-",
        ]))
    };
    let default = said("speedrun");
    assert!(
        default.contains("# can be exported to: ctranslate2, ctranslate2-int8\n"),
        "{default}"
    );
    assert!(
        default
            .contains("# not to hugging-face: MarianMTModel has no place for normalised queries"),
        "{default}"
    );
    assert!(said("tiny").contains("# can be exported to: hugging-face, ctranslate2"));
    for (setting, feature) in [
        (
            "model.norm_kind=scale",
            "CTranslate2 has no place for norms other than",
        ),
        (
            "model.fix_norm=true",
            "CTranslate2 has no place for embeddings of unit length",
        ),
    ] {
        let said = stdout(&run(&[
            "train",
            "--preset",
            "tiny",
            "--set",
            setting,
            "--dry-run",
            "--train",
            "-",
        ]));
        assert!(
            said.contains(feature) && said.contains("MarianMTModel has no place for"),
            "{said}"
        );
    }
}

#[test]
fn a_failed_import_or_export_says_why_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("model").display().to_string();
    let empty = folder.path().display().to_string();
    let output = run(&["import", &empty, "--out", &out]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("no model of a known format"),
        "{}",
        stderr(&output)
    );
    let output = run(&["import", "pdf", &empty, "--out", &out]);
    assert_eq!(output.status.code(), Some(2));
    stdout(&run(&[
        "import",
        &fixture("hugging_face/half"),
        "--no-tokenizer",
        "--out",
        &out,
    ]));
    let output = run(&["import", &fixture("hugging_face/half"), "--out", &out]);
    assert!(stderr(&output).contains("not empty"), "{}", stderr(&output));
    // The fixture has no vocabulary.
    let other = folder.path().join("other").display().to_string();
    let output = run(&["export", "ctranslate2", "--model", &out, "--out", &other]);
    assert!(
        stderr(&output).contains("vocab.json"),
        "{}",
        stderr(&output)
    );
    assert!(!Path::new(&other).exists());
}

/// `change` of a folder with a model of OPUS-MT's form and its tokenisers.
fn opus(folder: &Path, name: &str, change: impl FnOnce(&Path)) -> String {
    let dir = folder.join(name);
    fs::create_dir(&dir).unwrap();
    for entry in fs::read_dir(fixture("hugging_face/shared_swish")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.join(path.file_name().unwrap())).unwrap();
    }
    for side in ["source.spm", "target.spm"] {
        fs::copy(
            fixture("m2m100/relu/sentencepiece.bpe.model"),
            dir.join(side),
        )
        .unwrap();
    }
    let pieces = fs::read(fixture("m2m100/relu/vocab.json")).unwrap();
    let pieces: serde_json::Map<_, _> = serde_json::from_slice(&pieces).unwrap();
    let pieces = pieces
        .keys()
        .filter(|piece| !piece.starts_with(['<', '_']))
        .take(19);
    let tokens = ["</s>", "<unk>"]
        .into_iter()
        .chain(pieces.map(String::as_str));
    let tokens = tokens.chain([">>fra<<", ">>ron<<", "<pad>"]);
    let ids: serde_json::Map<String, Value> = tokens
        .zip(0..)
        .map(|(token, id): (_, u32)| (token.to_string(), id.into()))
        .collect();
    fs::write(dir.join("vocab.json"), serde_json::to_vec(&ids).unwrap()).unwrap();
    change(&dir);
    dir.display().to_string()
}

/// A model that cannot be used is not written.
#[test]
fn an_import_translates_once_before_it_appears() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").display().to_string();
    let import = |dir: &str| run(&["import", dir, "--out", &out]);
    let broken = |value: f32| {
        opus(folder.path(), &format!("{value}"), |dir| {
            let path = dir.join("model.safetensors");
            let mut bytes = fs::read(&path).unwrap();
            let last = bytes.len() - 4;
            bytes[last..].copy_from_slice(&value.to_le_bytes());
            fs::write(path, bytes).unwrap();
        })
    };
    for value in [f32::NAN, f32::INFINITY] {
        assert_refused(&import(&broken(value)), 1, &["NaN"]);
    }
    let untold = opus(folder.path(), "untold", |dir| {
        ["source.spm", "target.spm"]
            .iter()
            .for_each(|name| fs::remove_file(dir.join(name)).unwrap());
    });
    assert_refused(&import(&untold), 1, &["--sentencepiece", "--no-tokenizer"]);
    let unfit = opus(folder.path(), "unfit", |dir| {
        let path = dir.join("vocab.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace("\"<pad>\":23", "\"<pad>\":99")).unwrap();
    });
    assert_refused(&import(&unfit), 1, &["vocab.json"]);
    assert!(!Path::new(&out).exists());
    assert_eq!(
        fs::read_dir(folder.path()).unwrap().count(),
        4,
        "no temporary folder stays"
    );
    let spm = fixture("m2m100/relu/sentencepiece.bpe.model");
    stdout(&run(&[
        "import",
        &untold,
        "--sentencepiece",
        &spm,
        "--out",
        &out,
    ]));
    stdout(&run_with(&["translate", "--model", &out], b"the house\n"));
}

/// A model directory of an earlier version, written with NaN in it.
#[test]
fn a_directory_with_nan_is_refused_by_every_command_that_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    stdout(&run(&[
        "import",
        &opus(folder.path(), "opus", |_| ()),
        "--out",
        &path("model"),
    ]));
    let weights = path("model/model.safetensors");
    let manifest = path("model/manifest.json");
    let mut bytes = fs::read(&weights).unwrap();
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    fs::write(&weights, &bytes).unwrap();
    let mut json: Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(&bytes);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    json["files"]["model.safetensors"]["sha256"] = digest.into();
    fs::write(&manifest, serde_json::to_vec(&json).unwrap()).unwrap();
    let model = path("model");
    let out = path("out");
    for arguments in [
        &["inspect", &model][..],
        &["quantize", "--model", &model, "--out", &out],
        &["average", &model, &model, "--out", &out],
        &["export", "ctranslate2", "--model", &model, "--out", &out],
        &["translate", "--model", &model],
    ] {
        let output = run(arguments);
        assert_refused(&output, 1, &["NaN", "model.safetensors"]);
    }
    assert!(!Path::new(&out).exists());
}
