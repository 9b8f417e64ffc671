//! Model directories that cannot be trusted. The error names the file and a remedy, and sizes that
//! a file merely claims are not allocated.
#![cfg(unix)]

use crate::common;
use std::fs;
use std::path::Path;

use crate::common::{Untrained, assert_refused, refused, run_bounded, stderr};
use burnformer_core::model_dir::seal;

const FILES: [&str; 5] = [
    "config.json",
    "generation.json",
    "manifest.json",
    "model.safetensors",
    "tokenizer.json",
];

/// Every command that reads a model refuses the one in `dir`, within bounded memory.
fn refused_by_all(dir: &Path, needles: &[&str]) {
    let model = dir.to_str().unwrap();
    let text = &Untrained::get().corpus.test[0];
    let text = text.to_str().unwrap();
    let out = dir.join("average").display().to_string();
    for arguments in [
        vec!["translate", "--model", model, "--input", text],
        vec![
            "score", "--model", model, "--source", text, "--target", text,
        ],
        vec![
            "eval-bleu",
            "--model",
            model,
            "--source",
            text,
            "--reference",
            text,
        ],
        vec!["average", "--out", &out, model],
    ] {
        assert_refused(&run_bounded(&arguments), 1, needles);
    }
    assert!(!dir.join("average").exists());
}

/// `file` of a fresh copy becomes `content`, and the manifest is updated as an attacker would.
fn resealed(file: &str, content: &[u8], needles: &[&str]) {
    let copy = Untrained::get().copy();
    fs::write(copy.path().join(file), content).unwrap();
    seal(copy.path()).unwrap();
    refused_by_all(copy.path(), needles);
}

fn replaced(file: &str, from: &str, to: &str, needles: &[&str]) {
    let text = fs::read_to_string(Untrained::get().model().join(file)).unwrap();
    assert!(text.contains(from), "{text}");
    resealed(file, text.replace(from, to).as_bytes(), needles);
}

#[test]
fn a_path_that_is_not_a_model_directory_is_named() {
    let folder = tempfile::tempdir().unwrap();
    refused_by_all(
        &folder.path().join("nowhere"),
        &["nowhere: no such folder", "runs/NAME/best"],
    );
    refused_by_all(folder.path(), &["holds no manifest.json", "best/"]);
    let run = Untrained::get().folder.path().join("run");
    let of_run = common::run(&["inspect", run.to_str().unwrap()]);
    assert!(
        common::stderr(&of_run).contains("best"),
        "{}",
        common::stderr(&of_run)
    );
    assert!(of_run.status.success());
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    refused(
        &["inspect", file.to_str().unwrap()],
        1,
        &["file: is a file, but a model is a folder"],
    );
}

#[test]
fn a_missing_file_is_named() {
    for file in FILES {
        let copy = Untrained::get().copy();
        fs::remove_file(copy.path().join(file)).unwrap();
        let needles = match file {
            "manifest.json" => ["manifest.json", "not a finished model directory"],
            _ => [
                file,
                "missing, but listed in manifest.json; copy the whole directory anew",
            ],
        };
        refused_by_all(copy.path(), &needles);
    }
}

#[test]
fn a_truncated_file_is_named() {
    for file in FILES {
        let copy = Untrained::get().copy();
        let path = copy.path().join(file);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let needles = match file {
            "manifest.json" => [file, "the file is damaged, copy it anew"],
            _ => [file, "size differs from manifest.json"],
        };
        refused_by_all(copy.path(), &needles);
    }
}

#[test]
fn a_tampered_file_is_named() {
    for file in [
        "config.json",
        "generation.json",
        "model.safetensors",
        "tokenizer.json",
    ] {
        let copy = Untrained::get().copy();
        let path = copy.path().join(file);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, &bytes).unwrap();
        refused_by_all(
            copy.path(),
            &[file, "hash differs", "copy the whole directory anew"],
        );
    }
}

#[test]
fn swapped_files_are_named() {
    let copy = Untrained::get().copy();
    let [a, b] = ["config.json", "generation.json"].map(|name| copy.path().join(name));
    let swap = copy.path().join("swap");
    fs::rename(&a, &swap).unwrap();
    fs::rename(&b, &a).unwrap();
    fs::rename(&swap, &b).unwrap();
    refused_by_all(copy.path(), &["config.json", "differs from manifest.json"]);
    seal(copy.path()).unwrap();
    refused_by_all(copy.path(), &["format version 0"]);
}

#[test]
fn a_tokeniser_of_another_model_is_refused() {
    let untrained = Untrained::get();
    let copy = untrained.copy();
    let settings = burnformer_data::TokenizerSettings {
        allow_smaller: true,
        ..burnformer_data::TokenizerSettings::bpe(300)
    };
    let lines = ["an entirely different text", "of two lines"];
    let other = burnformer_data::Tokenizer::train(lines, &settings).unwrap();
    other.save(&copy.path().join("tokenizer.json")).unwrap();
    refused_by_all(
        copy.path(),
        &["tokenizer.json", "differs from manifest.json"],
    );
    seal(copy.path()).unwrap();
    let model = copy.path().to_str().unwrap();
    let output = run_bounded(&["translate", "--model", model]);
    let needles = [
        "the source tokeniser has",
        "use the tokeniser that the model was trained with",
    ];
    assert_refused(&output, 1, &needles);
    let both = [
        "average",
        "--out",
        "/no/such/out",
        untrained.model().to_str().unwrap(),
        model,
    ]
    .map(String::from);
    refused(
        &both.each_ref().map(String::as_str),
        1,
        &["different tokenisers", "one run"],
    );
}

#[test]
fn hostile_weights_are_refused_in_bounded_memory() {
    let tensor = |length: u64, header: &str, body: usize| {
        [&length.to_le_bytes()[..], header.as_bytes(), &vec![0; body]].concat()
    };
    let whole = |header: &str, body: usize| tensor(header.len() as u64, header, body);
    let one = |shape: &str, offsets: &str, dtype: &str| {
        format!("{{\"a\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}}}")
    };
    let two = |a: &str, b: &str| {
        let entry = |name: &str, offsets: &str| {
            format!("\"{name}\":{{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":{offsets}}}")
        };
        format!("{{{},{}}}", entry("a", a), entry("b", b))
    };
    let huge = "[4611686018427387904,4611686018427387904]";
    for content in [
        vec![],
        vec![1; 7],
        tensor(u64::MAX, "{}", 0),
        tensor(1 << 40, "{}", 0),
        tensor(99_000_000, "{}", 0),
        tensor(3, "{}", 0),
        whole("{", 0),
        whole("[]", 0),
        whole(&one("[4]", "[0,99999999999999]", "F32"), 16),
        whole(&one("[4]", "[16,0]", "F32"), 16),
        whole(&one(huge, "[0,16]", "F32"), 16),
        whole(&one("[4]", "[-16,0]", "F32"), 16),
        whole(&one("[4]", "[0,8]", "F16"), 8),
        whole(&one("[4]", "[0,16]", "F999"), 16),
        whole(&two("[0,16]", "[8,24]"), 24),
        whole(&two("[0,16]", "[0,16]"), 16),
        whole(&two("[0,16]", "[32,48]"), 48),
    ] {
        resealed(
            "model.safetensors",
            &content,
            &["model.safetensors", "copy it anew"],
        );
    }
    let foreign = whole(&one("[4]", "[0,16]", "F32"), 16);
    resealed(
        "model.safetensors",
        &foreign,
        &["belong to different models"],
    );
}

#[test]
fn a_config_of_an_impossible_model_is_refused_in_bounded_memory() {
    let config = "config.json";
    for width in ["60000", "1000000000", "18446744073709551615"] {
        replaced(
            config,
            "\"d_model\": 64",
            &format!("\"d_model\": {width}"),
            &[config],
        );
    }
    replaced(
        config,
        "\"encoder_layers\": 1",
        "\"encoder_layers\": 1000",
        &[config, "different models"],
    );
    replaced(
        config,
        "\"heads\": 4",
        "\"heads\": 0",
        &[config, "heads is 0"],
    );
    replaced(
        config,
        "\"dropout\": 0.0",
        "\"dropout\": 7.0",
        &[config, "dropout is 7"],
    );
    replaced(
        config,
        "\"format_version\": 1",
        "\"format_version\": 2",
        &[config, "format version 2"],
    );
    replaced(config, "\"transformer\"", "\"lstm\"", &[config, "\"lstm\""]);
    replaced(config, "\"d_ff\"", "\"d_fff\"", &[config, "d_fff"]);
    replaced(config, "\"pre\"", "\"post\"", &[config, "different models"]);
    resealed(config, b"[]", &[config, "version"]);
    resealed(
        config,
        "[".repeat(1 << 20).as_bytes(),
        &[config, "recursion"],
    );
}

#[test]
fn hostile_search_settings_are_refused() {
    let file = "generation.json";
    let cases = [
        (
            "{\"beam_size\": 1000000000000}",
            "beam_size = 1000000000000",
        ),
        ("{\"beam_size\": 0}", "beam_size = 0"),
        ("{\"max_length_factor\": 1e300}", "max_length_factor"),
        (
            "{\"max_length_extra\": 18446744073709551615}",
            "max_length_extra",
        ),
        ("{\"beem_size\": 4}", "beem_size"),
        ("{", "EOF"),
    ];
    for (content, needle) in cases {
        let copy = Untrained::get().copy();
        fs::write(copy.path().join(file), content).unwrap();
        seal(copy.path()).unwrap();
        let model = copy.path().to_str().unwrap();
        assert_refused(
            &run_bounded(&["translate", "--model", model]),
            1,
            &[file, needle],
        );
    }
}

#[test]
fn hostile_tokenisers_are_refused_in_bounded_memory() {
    let file = "tokenizer.json";
    for content in ["", "{}", "[1]", "{\"model\": {\"type\": \"BPE\"}}"] {
        resealed(file, content.as_bytes(), &[file]);
    }
    let text = fs::read_to_string(Untrained::get().model().join(file)).unwrap();
    let gap = text.replacen(":300,", ":4294967295,", 1);
    assert_ne!(gap, text, "a piece of id 300 is in {text}");
    resealed(file, gap.as_bytes(), &[file, "4294967295", "without gaps"]);
    let strip = text.replace("\"stop\":0", "\"stop\":9");
    resealed(
        file,
        strip.as_bytes(),
        &[file, "strips 9 characters", "to 0"],
    );
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let good = json["pre_tokenizer"].take();
    json["pre_tokenizer"] = serde_json::json!({"type": "FixedLength", "length": 0});
    resealed(
        file,
        json.to_string().as_bytes(),
        &[file, "pre_tokenizer (FixedLength)", "1 or more"],
    );
    json["pre_tokenizer"] = good;
    // A table of one unit, and one that claims 4 GiB.
    for table in ["BAAAAAAAAAA=", "/////w=="] {
        json["normalizer"] =
            serde_json::json!({"type": "Precompiled", "precompiled_charsmap": table});
        resealed(
            file,
            json.to_string().as_bytes(),
            &[file, "normalizer (Precompiled)", "outside"],
        );
    }
    resealed(
        file,
        text.replace("<pad>", "<bad>").as_bytes(),
        &[file, "<pad> must have id 0"],
    );
}

#[test]
fn a_path_that_leaves_the_folder_is_not_followed() {
    let untrained = Untrained::get();
    let manifest = fs::read_to_string(untrained.model().join("manifest.json")).unwrap();
    let absolute = untrained.model().join("config.json").display().to_string();
    for name in [
        "../last/config.json",
        "../../../../../../etc/passwd",
        "./config.json",
        &absolute,
    ] {
        let copy = untrained.copy();
        let hostile = manifest.replace("\"config.json\"", &format!("\"{name}\""));
        fs::write(copy.path().join("manifest.json"), hostile).unwrap();
        refused_by_all(copy.path(), &[name, "leaves the folder"]);
    }
    for (file, target) in [
        ("config.json", absolute.as_str()),
        ("model.safetensors", "/dev/zero"),
    ] {
        let copy = untrained.copy();
        let path = copy.path().join(file);
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        refused_by_all(copy.path(), &[file, "leaves the folder"]);
    }
}

#[test]
fn a_file_that_the_manifest_does_not_vouch_for_is_not_used() {
    let copy = Untrained::get().copy();
    fs::remove_file(copy.path().join("generation.json")).unwrap();
    seal(copy.path()).unwrap();
    fs::write(copy.path().join("generation.json"), "{\"beam_size\": 0}").unwrap();
    let model = copy.path().to_str().unwrap();
    let output = run_bounded(&["translate", "--model", model]);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn nan_weights_are_named_when_they_show() {
    let copy = Untrained::get().copy();
    let path = copy.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize + 8;
    bytes[header..]
        .chunks_exact_mut(4)
        .for_each(|value| value.copy_from_slice(&f32::NAN.to_le_bytes()));
    fs::write(&path, bytes).unwrap();
    seal(copy.path()).unwrap();
    let text = Untrained::get().corpus.test[0].to_str().unwrap();
    let model = copy.path().to_str().unwrap();
    let output = run_bounded(&["translate", "--model", model, "--input", text]);
    assert_refused(&output, 1, &["model.safetensors", "NaN"]);
}
