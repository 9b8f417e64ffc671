//! Models fetched from a local server. The hub itself is asked by no test.

mod firefox;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use burnformer_interop::hub::{Download, HubError, ModelName, Settings, fetch, remove};
use serde_json::json;
use server::{Page, Server};
use sha1::Sha1;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const WEIGHTS: &[u8] = &[7; 300_000];
const CONFIG: &[u8] = b"{\"model_type\": \"marian\"}";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hub with the model `a/b`: weights that lie on another server, and a text.
struct Hub {
    server: Server,
    store: Server,
    cache: TempDir,
}

impl Hub {
    fn new() -> Self {
        let server = Server::start();
        let store = Server::start();
        let weights = json!({"sha256": hex(&Sha256::digest(WEIGHTS)), "size": WEIGHTS.len()});
        let blob = [format!("blob {}\0", CONFIG.len()).as_bytes(), CONFIG].concat();
        let info = json!({"sha": COMMIT, "tags": ["translation", "license:apache-2.0"], "siblings": [
            {"rfilename": "config.json", "size": CONFIG.len(), "blobId": hex(&Sha1::digest(blob))},
            {"rfilename": "model.safetensors", "size": WEIGHTS.len(), "blobId": COMMIT, "lfs": weights},
            {"rfilename": "pytorch_model.bin", "size": 1, "blobId": COMMIT},
            {"rfilename": "onnx/config.json", "size": 1, "blobId": COMMIT},
            {"rfilename": "../evil.json", "size": 1, "blobId": COMMIT},
        ]});
        for revision in ["main", "refs%2Fpr%2F1", COMMIT] {
            let path = format!("/api/models/a/b/revision/{revision}?blobs=true");
            server.put(path, Page::of(info.to_string()));
        }
        let location = Some(format!("{}/weights", store.address));
        server.put(
            file("model.safetensors"),
            Page {
                status: Some(302),
                location,
                ..Page::default()
            },
        );
        server.put(file("config.json"), Page::of(CONFIG));
        store.put("/weights", Page::of(WEIGHTS));
        Self {
            server,
            store,
            cache: tempfile::tempdir().unwrap(),
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            endpoint: self.server.address.clone(),
            token: None,
            cache: self.cache.path().join("hub"),
            offline: false,
            firefox: self.server.address.clone(),
            certificates: None,
        }
    }

    fn fetch(&self, name: &str) -> Result<Download, HubError> {
        fetch(
            &ModelName::parse(name).unwrap()?,
            &self.settings(),
            &mut |_| true,
        )
    }

    /// The file that holds the weights while they arrive.
    fn partial(&self) -> PathBuf {
        let blobs = self.cache.path().join("hub/models--a--b/blobs");
        blobs.join(format!("{}.incomplete", hex(&Sha256::digest(WEIGHTS))))
    }

    /// The ranges that the server of the weights was asked for.
    fn ranges(&self) -> Vec<Option<String>> {
        self.store
            .asked("/weights")
            .into_iter()
            .map(|asked| asked.range)
            .collect()
    }
}

/// All files in `folder`, with the times of their last changes.
fn times(folder: &Path) -> Vec<(PathBuf, SystemTime)> {
    let changed = fs::symlink_metadata(folder).unwrap().modified().unwrap();
    let mut found = vec![(folder.to_owned(), changed)];
    if folder.is_dir() {
        let entries = fs::read_dir(folder).unwrap();
        found.extend(entries.flat_map(|entry| times(&entry.unwrap().path())));
    }
    found.sort();
    found
}

/// The address of a file of the model.
fn file(name: &str) -> String {
    format!("/a/b/resolve/{COMMIT}/{name}")
}

#[test]
fn a_model_is_fetched_once_into_the_hubs_cache() {
    let hub = Hub::new();
    let found = hub.fetch("hf:a/b").unwrap();
    assert_eq!(
        (&*found.revision, found.licence.as_deref()),
        (COMMIT, Some("apache-2.0"))
    );
    assert_eq!(
        fs::read(found.folder.join("model.safetensors")).unwrap(),
        WEIGHTS
    );
    assert_eq!(fs::read(found.folder.join("config.json")).unwrap(), CONFIG);
    let mut names: Vec<_> = fs::read_dir(&found.folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["config.json", "model.safetensors"]);
    let folder = hub.cache.path().join("hub/models--a--b");
    assert_eq!(
        fs::read_to_string(folder.join("refs/main")).unwrap(),
        COMMIT
    );
    assert!(
        folder
            .join("blobs")
            .join(hex(&Sha256::digest(WEIGHTS)))
            .is_file()
    );
    #[cfg(unix)]
    assert!(
        fs::read_link(found.folder.join("config.json"))
            .unwrap()
            .starts_with("../../blobs")
    );
    let before = times(hub.cache.path());
    hub.fetch("hf:a/b").unwrap();
    assert_eq!(hub.ranges(), [None]);
    assert_eq!(times(hub.cache.path()), before);
}

#[test]
fn a_revision_can_be_a_commit_or_a_branch_with_slashes() {
    let hub = Hub::new();
    assert_eq!(
        hub.fetch(&format!("hf:a/b@{COMMIT}")).unwrap().revision,
        COMMIT
    );
    hub.fetch("hf:a/b@refs/pr/1").unwrap();
    assert!(
        hub.cache
            .path()
            .join("hub/models--a--b/refs/refs/pr/1")
            .is_file()
    );
    assert!(matches!(hub.fetch("hf:a/b@v2"), Err(HubError::NotFound(_))));
}

#[test]
fn a_broken_download_is_resumed() {
    let hub = Hub::new();
    hub.store.put(
        "/weights",
        Page {
            cut: Some(200_000),
            ..Page::of(WEIGHTS)
        },
    );
    let found = hub.fetch("hf:a/b").unwrap();
    assert_eq!(
        fs::read(found.folder.join("model.safetensors")).unwrap(),
        WEIGHTS
    );
    assert_eq!(hub.ranges(), [None, Some("bytes=200000-".into())]);
}

#[test]
fn an_interrupted_download_is_resumed_by_the_next_call() {
    let hub = Hub::new();
    let name = ModelName::of_hub("a/b").unwrap();
    let mut stop = |progress: burnformer_interop::hub::Progress| progress.done < 100_000;
    let stopped = fetch(&name, &hub.settings(), &mut stop);
    assert!(matches!(stopped, Err(HubError::Interrupted)), "{stopped:?}");
    hub.fetch("hf:a/b").unwrap();
    let ranges = hub.ranges();
    assert!(
        ranges[1].as_ref().is_some_and(|range| range != "bytes=0-"),
        "{ranges:?}"
    );
}

#[test]
fn a_download_by_another_process_is_awaited() {
    let hub = Hub::new();
    let name = ModelName::of_hub("a/b").unwrap();
    fs::create_dir_all(hub.partial().parent().unwrap()).unwrap();
    let mut lock = Some(fs::File::create(hub.partial()).unwrap());
    lock.as_ref().unwrap().lock().unwrap();
    let mut stop =
        |progress: burnformer_interop::hub::Progress| progress.file != "model.safetensors";
    let stopped = fetch(&name, &hub.settings(), &mut stop);
    assert!(matches!(stopped, Err(HubError::Interrupted)), "{stopped:?}");
    // The other process is done while this one waits.
    let mut finish = |progress: burnformer_interop::hub::Progress| {
        if progress.file == "model.safetensors" {
            fs::write(hub.partial().with_extension(""), WEIGHTS).unwrap();
            drop(lock.take());
        }
        true
    };
    let found = fetch(&name, &hub.settings(), &mut finish).unwrap();
    assert_eq!(
        fs::read(found.folder.join("model.safetensors")).unwrap(),
        WEIGHTS
    );
    assert_eq!(hub.ranges(), []);
    assert!(!hub.partial().exists());
}

#[test]
fn without_ranges_the_whole_file_is_sent_again() {
    let hub = Hub::new();
    let name = ModelName::of_hub("a/b").unwrap();
    let _ = fetch(&name, &hub.settings(), &mut |progress| {
        progress.done < 100_000
    });
    hub.store.put(
        "/weights",
        Page {
            ranges: false,
            ..Page::of(WEIGHTS)
        },
    );
    let found = hub.fetch("hf:a/b").unwrap();
    assert_eq!(
        fs::read(found.folder.join("model.safetensors")).unwrap(),
        WEIGHTS
    );
}

#[test]
fn a_connection_that_keeps_breaking_is_an_error_with_a_remedy() {
    let hub = Hub::new();
    hub.store.put(
        "/weights",
        Page {
            cut: Some(0),
            ..Page::of(WEIGHTS)
        },
    );
    let error = hub.fetch("hf:a/b").unwrap_err();
    assert!(matches!(error, HubError::Unreachable { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("run the same command again to resume the download"),
        "{error}"
    );
}

#[test]
fn a_file_with_another_hash_is_discarded() {
    let hub = Hub::new();
    hub.store.put("/weights", Page::of(vec![8; WEIGHTS.len()]));
    assert!(matches!(hub.fetch("hf:a/b"), Err(HubError::Hash { .. })));
    // The file keeps its name, for a process that waits for its lock.
    assert_eq!(fs::metadata(hub.partial()).unwrap().len(), 0);
    hub.store.put("/weights", Page::of(WEIGHTS));
    hub.fetch("hf:a/b").unwrap();
    assert_eq!(hub.ranges(), [None, None]);
    let hub = Hub::new();
    hub.server
        .put(file("config.json"), Page::of(vec![b' '; CONFIG.len()]));
    assert!(matches!(hub.fetch("hf:a/b"), Err(HubError::Hash { .. })));
}

#[test]
fn a_file_longer_than_listed_is_not_read_to_its_end() {
    let hub = Hub::new();
    hub.store.put("/weights", Page::of(vec![7; 50_000_000]));
    let error = hub.fetch("hf:a/b").unwrap_err().to_string();
    assert!(error.contains("longer than the 300000 bytes"), "{error}");
}

#[test]
fn a_token_is_sent_only_to_its_server() {
    let hub = Hub::new();
    for page in hub.server.pages.lock().unwrap().values_mut() {
        page.token = Some("secret");
    }
    let denied = hub.fetch("hf:a/b").unwrap_err();
    assert!(matches!(denied, HubError::Denied(_)), "{denied}");
    assert!(denied.to_string().contains("HF_TOKEN"), "{denied}");
    let settings = Settings {
        token: Some("secret".into()),
        ..hub.settings()
    };
    let name = ModelName::of_hub("a/b").unwrap();
    fetch(&name, &settings, &mut |_| true).unwrap();
    assert!(
        hub.server
            .asked("config.json")
            .iter()
            .all(|asked| asked.had_token)
    );
    assert!(
        hub.store
            .asked("/weights")
            .iter()
            .all(|asked| !asked.had_token)
    );
}

#[test]
fn without_the_server_the_cache_is_used() {
    let hub = Hub::new();
    let offline = Settings {
        offline: true,
        ..hub.settings()
    };
    let gone = Settings {
        endpoint: "http://127.0.0.1:9".into(),
        ..hub.settings()
    };
    let name = ModelName::of_hub("a/b").unwrap();
    let fetch =
        |settings: &Settings| burnformer_interop::hub::fetch(&name, settings, &mut |_| true);
    assert!(matches!(fetch(&offline), Err(HubError::Offline { .. })));
    assert!(matches!(fetch(&gone), Err(HubError::Unreachable { .. })));
    let found = hub.fetch("hf:a/b").unwrap();
    for settings in [&offline, &gone] {
        let again = fetch(settings).unwrap();
        assert_eq!((&again.folder, again.is_stale), (&found.folder, true));
    }
    assert!(remove(&name, &offline).unwrap() && !remove(&name, &offline).unwrap());
    assert!(matches!(fetch(&offline), Err(HubError::Offline { .. })));
}

#[test]
fn unexpected_responses_are_errors() {
    let hub = Hub::new();
    let url = "/api/models/a/b/revision/main?blobs=true";
    let info = |files| json!({"sha": COMMIT, "siblings": files}).to_string();
    for body in [
        "<html>".into(),
        json!({"sha": "../../x", "siblings": []}).to_string(),
        info(json!([{"rfilename": "model.safetensors"}])),
        info(json!([{"rfilename": "model.safetensors", "size": 1, "blobId": "../../x"}])),
    ] {
        hub.server.put(url, Page::of(body.clone()));
        let error = hub.fetch("hf:a/b").unwrap_err();
        assert!(matches!(error, HubError::Answer { .. }), "{body}: {error}");
    }
    hub.server
        .put(url, Page::of(info(json!([{"rfilename": "README.md"}]))));
    assert!(matches!(hub.fetch("hf:a/b"), Err(HubError::NoWeights(_))));
    hub.server.put(
        url,
        Page {
            status: Some(418),
            ..Page::default()
        },
    );
    assert!(matches!(
        hub.fetch("hf:a/b"),
        Err(HubError::Status { status: 418, .. })
    ));
}
