//! Models by name, from a local server. `crates/interop` tests faults of servers and connections.

#[path = "../../../interop/tests/hub/server.rs"]
#[allow(dead_code, reason = "its other users need more of it")]
mod server;

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use self::server::{Page, Server};
use crate::common::{burnformer, stderr, stdout};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A hub with one model, `a/b`, and a user with empty caches.
struct Hub {
    server: Server,
    home: TempDir,
}

impl Hub {
    /// The files of the folder `fixture`, each changed by `change`.
    fn new(change: impl Fn(&str, Vec<u8>) -> Vec<u8>) -> Self {
        let hub = Self {
            server: Server::start(),
            home: tempfile::tempdir().unwrap(),
        };
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../interop/tests/fixtures/hugging_face/shared_swish");
        let mut files = Vec::new();
        for entry in fs::read_dir(fixture).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            let bytes = change(name, fs::read(&path).unwrap());
            let hash: String = Sha256::digest(&bytes)
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            let large = json!({"sha256": hash, "size": bytes.len()});
            files.push(json!({"rfilename": name, "lfs": large}));
            hub.server
                .put(format!("/a/b/resolve/{COMMIT}/{name}"), Page::of(bytes));
        }
        let info = json!({"sha": COMMIT, "tags": ["license:cc-by-4.0"], "siblings": files});
        let page = Page::of(info.to_string());
        hub.server
            .put("/api/models/a/b/revision/main?blobs=true", page);
        hub
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = burnformer(arguments);
        command.env("HF_ENDPOINT", &self.server.address);
        command.env("XDG_CACHE_HOME", self.home.path());
        for name in ["HF_HOME", "HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE"] {
            command.env_remove(name);
        }
        command.output().unwrap()
    }
}

#[test]
fn a_model_is_fetched_by_its_name_used_listed_and_removed() {
    let hub = Hub::new(|_, bytes| bytes);
    let output = hub.run(&["import", "hf:a/b"]);
    assert!(
        output.status.success() && stderr(&output).contains("hf:a/b"),
        "{}",
        stderr(&output)
    );
    let json: Value =
        serde_json::from_str(&stdout(&hub.run(&["inspect", "hf:a/b", "--json"]))).unwrap();
    assert_eq!(json["model"]["conventions"]["sinusoids"], "halves");
    let listed = stdout(&hub.run(&["models"]));
    assert!(
        listed.starts_with("hf:a/b  0123456789ab  0.") && listed.ends_with("licence: cc-by-4.0\n"),
        "{listed}"
    );
    let json: Value = serde_json::from_str(&stdout(&hub.run(&["models", "--json"]))).unwrap();
    assert_eq!(json[0]["licence"], "cc-by-4.0");
    assert_eq!(hub.server.asked("model.safetensors").len(), 1);
    let folder = hub.home.path().join("own").display().to_string();
    stdout(&hub.run(&["import", "hf:a/b", "--no-tokenizer", "--out", &folder]));
    stdout(&hub.run(&["inspect", &folder]));
    stdout(&hub.run(&["models", "--remove", "hf:a/b"]));
    assert_eq!(stdout(&hub.run(&["models"])), "");
    assert_eq!(
        fs::read_dir(hub.home.path().join("huggingface/hub"))
            .unwrap()
            .count(),
        0
    );
    assert_eq!(
        hub.run(&["models", "--remove", "hf:a/b"]).status.code(),
        Some(1)
    );
}

#[test]
fn a_damaged_model_of_the_hub_names_the_file_and_leaves_nothing() {
    let hub = Hub::new(|name, bytes| match name {
        "model.safetensors" => bytes[..bytes.len() / 2].to_vec(),
        _ => bytes,
    });
    let output = hub.run(&["inspect", "hf:a/b"]);
    assert!(
        !output.status.success() && stderr(&output).contains("model.safetensors"),
        "{}",
        stderr(&output)
    );
    assert_eq!(stdout(&hub.run(&["models"])), "");
    assert_eq!(
        fs::read_dir(hub.home.path().join("burnformer/named"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_name_that_the_hub_does_not_know_or_of_another_form_is_an_error() {
    let hub = Hub::new(|_, bytes| bytes);
    let message = stderr(&hub.run(&["inspect", "hf:a/c"]));
    assert!(message.contains("there is no such model"), "{message}");
    let message = stderr(&hub.run(&["inspect", "hf:opus-mt"]));
    assert!(message.contains("OWNER/NAME"), "{message}");
    assert_eq!(hub.run(&["import", "some/folder"]).status.code(), Some(2));
    assert_eq!(
        hub.run(&["models", "--remove", "de-en"]).status.code(),
        Some(2)
    );
}
