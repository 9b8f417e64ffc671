//! Unusable configurations. The error names the place, key, value and remedy.

use std::fs;

use crate::common::refused;

/// Refuses a configuration file of `content`, naming `needles`.
fn file(content: &[u8], needles: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.toml");
    fs::write(&path, content).unwrap();
    refused(
        &["train", "--dry-run", "--config", path.to_str().unwrap()],
        1,
        needles,
    );
}

fn set(setting: &str, needles: &[&str]) {
    refused(&["train", "--dry-run", "--set", setting], 2, needles);
}

#[test]
fn a_file_is_named_with_the_line_of_its_mistake() {
    let cases: [(&[u8], &[&str]); 9] = [
        (
            b"[model]\nd_modle = 3\n",
            &["run.toml:2", "\"model.d_modle\"", "\"model.d_model\""],
        ),
        (
            b"[modle]\nd_model = 3\n",
            &["run.toml:1", "\"modle\"", "\"model\""],
        ),
        (
            b"[training.budget]\nx = 3\n",
            &["run.toml:2", "training.budget.x"],
        ),
        (
            b"[model]\n\nd_model = \"wide\"\n",
            &["run.toml:3", "model.d_model is \"wide\"", "a whole number"],
        ),
        (
            b"[model]\nnorm = \"around\"\n",
            &["run.toml:2", "around", "post", "pre"],
        ),
        (b"model = 3\n", &["run.toml:1", "model"]),
        (b"preset = 3\n", &["run.toml:1", "preset", "in quotes"]),
        (b"seed = 1\n[model\n", &["run.toml:2", "not valid TOML"]),
        (b"[model]\n# caf\xe9\n", &["run.toml:2", "0xe9", "UTF-8"]),
    ];
    for (content, needles) in cases {
        file(content, needles);
    }
    file(
        b"preset = \"tinny\"\n",
        &["\"tinny\"", "did you mean \"tiny\""],
    );
    file(
        &b"# no configuration\n".repeat(100_000),
        &[
            "run.toml",
            "more than 1 MiB, the limit for a file of settings",
        ],
    );
    file(
        "[".repeat(100_000).as_bytes(),
        &["run.toml:1", "not valid TOML"],
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    refused(
        &["train", "--config", folder],
        1,
        &[folder, "check the path given to --config"],
    );
    refused(
        &["train", "--config", "/no/such.toml"],
        1,
        &["/no/such.toml", "--config"],
    );
}

#[test]
fn sizes_of_zero_are_refused_by_name() {
    for key in [
        "model.d_model",
        "model.heads",
        "model.d_ff",
        "model.encoder_layers",
        "model.decoder_layers",
        "model.max_positions",
        "tokenizer.train.vocab_size",
        "data.max_source_len",
        "data.max_target_len",
        "training.budget",
        "training.accumulate",
        "training.log_every",
        "schedule.warmup",
        "validation.beam",
        "validation.test_beam",
    ] {
        set(&format!("{key}=0"), &[key, "0"]);
    }
}

#[test]
fn values_that_do_not_fit_are_refused_with_a_remedy() {
    let cases: [(&str, &[&str]); 18] = [
        (
            "model.heads=5",
            &["model.heads is 5", "a divisor of model.d_model = 192"],
        ),
        (
            "model.d_model=1200000000000",
            &["model.d_model is 1200000000000", "at most"],
        ),
        (
            "model.encoder_layers=99999999",
            &["model.encoder_layers", "at most"],
        ),
        (
            "tokenizer.train.vocab_size=9000000000",
            &["source_vocab is 9000000000", "at most"],
        ),
        ("model.d_model=-1", &["model.d_model=-1", "-1"]),
        (
            "model.d_model=1e9",
            &["model.d_model=1e9", "model.d_model must be a whole number"],
        ),
        ("model.dropout=1.0", &["model.dropout is 1", "below 1"]),
        ("model.dropout=nan", &["model.dropout is NaN", "below 1"]),
        ("model.layer_norm_eps=inf", &["layer_norm_eps is inf"]),
        (
            "training.budget=9000000000000000000",
            &["training.budget", "16777216"],
        ),
        (
            "training.max_minutes=nan",
            &["training.max_minutes is NaN", "0 or more"],
        ),
        ("training.label_smoothing=2", &["training.label_smoothing"]),
        ("optimizer.epsilon=0.0", &["optimizer.epsilon is 0", "1e-9"]),
        (
            "optimizer.clip_norm=-1.0",
            &["optimizer.clip_norm is -1", "0 for no clipping"],
        ),
        (
            "data.max_length_ratio=0.5",
            &["data.max_length_ratio is 0.5", "at least 1"],
        ),
        (
            "validation.alpha=-1.0",
            &["validation.alpha is -1", "0 or more"],
        ),
        (
            "data.train=[\"a\", \"b\", \"c\"]",
            &["data.train names 3 files", "two"],
        ),
        (
            "tokenizer.train.joint=false",
            &["model.sharing", "\"target\" or \"none\""],
        ),
    ];
    for (setting, needles) in cases {
        set(setting, needles);
    }
    let learned = ["model.positions=learned", "model.max_positions=100"];
    let arguments = [
        "train",
        "--dry-run",
        "--set",
        learned[0],
        "--set",
        learned[1],
    ];
    refused(
        &arguments,
        2,
        &["model.max_positions is 100", "at least 257"],
    );
}

#[test]
fn an_unknown_setting_is_refused() {
    set("model.d_model", &["--set model.d_model", "key.path=value"]);
    set("=3", &["key.path=value"]);
    set(
        "model.d_modle=3",
        &["--set model.d_modle=3", "did you mean \"model.d_model\"?"],
    );
    set(&format!("{}=3", ["a"; 30_000].join(".")), &["unknown key"]);
    set(
        &format!("model.d_model={}", "[".repeat(60_000)),
        &["model.d_model", "whole number"],
    );
    refused(
        &["train", "--preset", "huge"],
        2,
        &["'huge'", "tiny, small, base, big"],
    );
}

#[test]
fn the_command_line_is_at_fault_where_the_file_by_itself_is_right() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let good = path("good.toml");
    let bad = path("bad.toml");
    fs::write(&good, "[model]\nheads = 4\nd_model = 64\n").unwrap();
    fs::write(&bad, "[model]\nheads = 5\nd_model = 64\n").unwrap();
    let set = ["--dry-run", "--set", "model.heads=3"];
    refused(
        &[&["train", "--config", &good], &set[..]].concat(),
        2,
        &["model.heads is 3"],
    );
    refused(
        &[&["train", "--config", &bad], &set[..]].concat(),
        1,
        &["model.heads is 3"],
    );
    refused(
        &["train", "--dry-run", "--from", "/no/such/model"],
        1,
        &["--from", "no such folder"],
    );
}

#[test]
fn a_command_line_that_cannot_be_parsed_exits_2() {
    refused(
        &["train", "--train", "a", "b", "c"],
        2,
        &["--train names 3 files"],
    );
    refused(
        &["train", "--no-such-flag"],
        2,
        &["--no-such-flag", "--help"],
    );
    refused(&["score"], 2, &["--model"]);
    refused(&["no-such-command"], 2, &["no-such-command"]);
}
