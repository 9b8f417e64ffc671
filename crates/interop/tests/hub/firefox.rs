//! Models of Firefox, found in its list.

use std::fs;

use burnformer_interop::hub::{HubError, ModelName, Settings, fetch};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::server::Page;
use crate::{Hub, hex, times};

impl Hub {
    /// Puts a list of Firefox's with these files on the server, each with its kind and version.
    fn put(&self, pair: [&str; 2], records: &[[&str; 3]]) {
        let attachments = json!({"base_url": format!("{}/", self.store.address)});
        let root = json!({"capabilities": {"attachments": attachments}});
        self.server.put("/v1/", Page::of(root.to_string()));
        let list: Vec<_> = records.iter().map(|&file| record(pair, file)).collect();
        let path = "/v1/buckets/main/collections/translations-models/records";
        self.server
            .put(path, Page::of(json!({ "data": list }).to_string()));
        for [name, ..] in records {
            self.store.put(format!("/x/{name}"), Page::of(*name));
        }
    }
}

/// A record of Firefox's list, whose file has the content `name`.
fn record([from, to]: [&str; 2], [name, kind, version]: [&str; 3]) -> serde_json::Value {
    let attachment = json!({"hash": hex(&Sha256::digest(name)), "size": name.len(), "location": format!("x/{name}")});
    json!({"name": name, "fileType": kind, "version": version, "fromLang": from, "toLang": to, "attachment": attachment})
}

#[test]
fn firefox_s_newest_model_arrives_whole() {
    let hub = Hub::new();
    let records = [
        ["model.old.bin", "model", "1.9"],
        ["model.deen.bin", "model", "1.10"],
        ["vocab.deen.spm", "vocab", "1.10"],
        ["model.new.bin", "model", "2.0a1"],
    ];
    hub.put(["de", "en"], &records);
    let found = hub.fetch("firefox:de-en").unwrap();
    assert_eq!(found.revision, "1.10");
    let text = |name| fs::read_to_string(found.folder.join(name)).unwrap();
    assert_eq!(
        (text("model.deen.bin"), text("vocab.deen.spm")),
        ("model.deen.bin".into(), "vocab.deen.spm".into())
    );
    assert_eq!(
        fs::read_dir(&found.folder).unwrap().count(),
        3,
        "two files and the mark"
    );
    let before = times(hub.cache.path());
    hub.fetch("firefox:de-en").unwrap();
    assert_eq!(times(hub.cache.path()), before);
    let error = hub.fetch("firefox:en-de").unwrap_err().to_string();
    assert!(error.contains("choose one of de-en"), "{error}");
}

/// The files of a model in this version.
fn files(version: &str) -> [[&str; 3]; 2] {
    [
        ["model.bin", "model", version],
        ["vocab.spm", "vocab", version],
    ]
}

#[test]
fn an_incomplete_firefox_model_replaces_no_complete_one() {
    let hub = Hub::new();
    let name = ModelName::parse("firefox:de-en").unwrap().unwrap();
    let offline = Settings {
        offline: true,
        ..hub.settings()
    };
    let cached = || fetch(&name, &offline, &mut |_| true);
    let missing = Page {
        status: Some(404),
        ..Page::default()
    };
    hub.put(["de", "en"], &files("1.9"));
    hub.store.put("/x/vocab.spm", missing.clone());
    assert!(matches!(
        hub.fetch("firefox:de-en"),
        Err(HubError::NotFound(_))
    ));
    assert!(matches!(cached(), Err(HubError::Offline { .. })));
    hub.put(["de", "en"], &files("1.9"));
    hub.fetch("firefox:de-en").unwrap();
    hub.put(["de", "en"], &files("1.10"));
    hub.store.put("/x/vocab.spm", missing);
    assert!(matches!(
        hub.fetch("firefox:de-en"),
        Err(HubError::NotFound(_))
    ));
    assert_eq!(cached().unwrap().revision, "1.9");
    hub.put(["de", "en"], &files("1.10"));
    hub.fetch("firefox:de-en").unwrap();
    assert_eq!(cached().unwrap().revision, "1.10");
}

#[test]
fn a_language_of_firefox_s_can_have_a_hyphen() {
    for pair in [["zh-Hans", "en"], ["en", "zh-Hans"]] {
        let hub = Hub::new();
        hub.put(pair, &[["model.bin", "model", "1.0"]]);
        let found = hub.fetch(&format!("firefox:{}", pair.join("-"))).unwrap();
        assert!(found.folder.join("model.bin").is_file());
        let error = hub.fetch("firefox:zh-Hant-en").unwrap_err().to_string();
        assert!(error.contains("no model zh-Hant-en"), "{error}");
    }
}
