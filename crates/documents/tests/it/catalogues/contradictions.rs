//! Files whose content contradicts their format, and files of codes with few texts.

use serde_json::{Value, json};

use crate::common::{translate, upper};
use burnformer_documents::{Catalogue, Format};

/// Files in JSON that are no catalogues, and the pointers to their texts.
fn files() -> Vec<(Value, Vec<&'static str>)> {
    let page = json!({
        "name": "one house", "short_name": "house", "description": "one small page", "start_url": "/",
        "display": "standalone", "orientation": "portrait", "dir": "ltr", "categories": ["books", "news"],
        "icons": [{"src": "a.png", "purpose": "maskable any", "type": "image/png"}],
        "shortcuts": [{"name": "one door", "url": "/door", "description": "open it"}],
        "screenshots": [{"src": "a.png", "label": "one view", "form_factor": "wide"}],
    });
    let texts = [
        "/name",
        "/short_name",
        "/description",
        "/shortcuts/0/name",
        "/shortcuts/0/description",
        "/screenshots/0/label",
    ];
    let mut without_start = page.clone();
    without_start.as_object_mut().unwrap().remove("start_url");
    let extension = json!({
        "manifest_version": 3, "name": "one house", "version": "1.0", "description": "one small helper",
        "permissions": ["storage", "tabs"], "action": {"default_title": "open it", "default_popup": "popup"},
        "commands": {"run": {"description": "run it"}}, "background": {"service_worker": "worker"},
    });
    let package = json!({
        "name": "house", "version": "1.0.0", "description": "one small house", "license": "mit",
        "type": "module", "scripts": {"build": "make all"}, "dependencies": {"door": "next"},
        "author": {"name": "one person"}, "keywords": ["house"],
    });
    let composer = json!({
        "name": "house", "type": "library", "description": "one small house", "require": {"php": "any"},
        "autoload": {"files": ["helpers"]},
    });
    let schema = json!({
        "$schema": "x", "title": "one house", "type": "object",
        "properties": {"door": {"type": "string", "description": "one door", "enum": ["open", "shut"]}},
    });
    let interface = json!({
        "openapi": "3.1.0", "info": {"title": "one house", "description": "all of it", "version": "one"},
        "paths": {"/door": {"get": {"summary": "open it", "operationId": "open", "tags": ["door"]}}},
    });
    let workflow = json!({
        "name": "one test", "on": {"push": {"branches": ["main"]}},
        "jobs": {"build": {"needs": "test", "steps": [{"name": "run it", "run": "make all"}]}},
    });
    vec![
        (page, texts.to_vec()),
        (without_start, texts.to_vec()),
        (
            extension,
            vec![
                "/name",
                "/description",
                "/action/default_title",
                "/commands/run/description",
            ],
        ),
        (package, vec!["/description"]),
        (composer, vec!["/description"]),
        (schema, vec!["/title", "/properties/door/description"]),
        (
            interface,
            vec![
                "/info/title",
                "/info/description",
                "/paths/~1door/get/summary",
            ],
        ),
        (workflow, vec!["/name", "/jobs/build/steps/0/name"]),
    ]
}

#[test]
fn only_the_texts_of_a_file_of_codes_change() {
    for (mut file, texts) in files() {
        for text in [
            file.to_string(),
            serde_json::to_string_pretty(&file).unwrap(),
        ] {
            let mut expected = file.clone();
            for pointer in &texts {
                let text = expected.pointer_mut(pointer).unwrap();
                *text = text.as_str().unwrap().to_uppercase().into();
            }
            for format in [Format::Json, Format::Yaml] {
                let found = translate(&text, format, &upper);
                let found: Value = serde_json::from_str(&found).unwrap();
                assert_eq!(found, expected, "{format}");
            }
        }
        // Without its marks it is a catalogue like any other.
        file.as_object_mut().unwrap().retain(|key, _| key == "name");
        let found = translate(&file.to_string(), Format::Json, &upper);
        let found: Value = serde_json::from_str(&found).unwrap();
        let name = file["name"].as_str().map(str::to_uppercase);
        assert_eq!(found["name"].as_str(), name.as_deref());
    }
}

#[test]
fn a_catalogue_with_some_of_these_keys_is_a_catalogue() {
    for file in [
        json!({"name": "the name", "version": "the version", "description": "more about it"}),
        json!({"on": "switched on", "off": "switched off", "jobs": {"title": "all jobs"}}),
        json!({"icons": {"title": "all icons"}, "display": "the screen", "name": "the name"}),
        json!({"type": "the kind", "features": ["much faster", "more colours"]}),
        json!({"dependencies": {"title": "all parts"}, "version": "the version"}),
        json!({"strings": {"title": "all strings"}, "extends": "more of it", "rules": {"a": "b c"}}),
        json!({"environment": {"title": "around us"}, "dependencies": {"title": "all parts"}}),
        json!({"kind": "the kind", "layers": ["the first"], "scripts": {"title": "all of them"}}),
    ] {
        let found = translate(&file.to_string(), Format::Json, &upper);
        let found: Value = serde_json::from_str(&found).unwrap();
        let lower = found
            .to_string()
            .chars()
            .filter(|c| c.is_lowercase())
            .count();
        let keys: usize = file
            .to_string()
            .chars()
            .filter(|c| c.is_lowercase())
            .count();
        assert!(lower < keys);
        fn is_upper(value: &Value) -> bool {
            match value {
                Value::Object(all) => all.values().all(is_upper),
                Value::Array(all) => all.iter().all(is_upper),
                value => value
                    .as_str()
                    .is_some_and(|text| text == text.to_uppercase()),
            }
        }
        assert!(is_upper(&found), "{found}");
    }
}

#[test]
fn a_file_in_another_format_than_its_name_says_is_refused() {
    use Format::{Json, Notebook, Properties, Resx, StringsDict, XcStrings, Yaml};
    let notebook = "{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}, \"cells\": []}";
    let strings =
        "{\"sourceLanguage\": \"en\", \"strings\": {\"one text\": {}}, \"version\": \"1.0\"}";
    let settings = "title = \"one house\"\n\n[owner]\nname = \"one person\"\n";
    let table = "one,two\nthree,four\n";
    for (text, format, needle) in [
        (notebook, Json, "its format is `ipynb`"),
        (notebook, Yaml, "its format is `ipynb`"),
        (notebook, XcStrings, "`sourceLanguage`"),
        (strings, Json, "its format is `xcstrings`"),
        (strings, Yaml, "its format is `xcstrings`"),
        (strings, Notebook, "`nbformat`"),
        (
            "{\"compilerOptions\": {\"target\": \"es6\"}}",
            Json,
            "settings",
        ),
        (
            "{\"lockfileVersion\": 3, \"name\": \"house\"}",
            Json,
            "versions",
        ),
        (
            "{\"type\": \"FeatureCollection\", \"features\": []}",
            Json,
            "map",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: house\n",
            Yaml,
            "settings",
        ),
        (settings, Yaml, "the "),
        (
            "title = \"one house\"\nname = \"one\"\n",
            Yaml,
            "no YAML with texts",
        ),
        ("a=one house\nb=two\n", Yaml, "no YAML with texts"),
        ("One house\nand two.\n", Yaml, "no YAML with texts"),
        (table, Yaml, "no YAML with texts"),
        (table, Json, "json.tool"),
        (settings, Json, "json.tool"),
        (notebook, Properties, "XML or JSON"),
        ("<resources/>", Properties, "XML or JSON"),
        ("<resources/>", Resx, "not `root`"),
        ("<root/>", StringsDict, "not `plist`"),
        (
            "<plist><dict><key>CFBundleName</key><string>One house</string></dict></plist>",
            StringsDict,
            "without rules of plurals",
        ),
        ("<plist/>", Resx, "not `root`"),
    ] {
        let broken = Catalogue::read(text, format, [None; 2]).unwrap_err();
        let is_named = broken.fault.contains(needle) && broken.fault.contains([';', '`']);
        assert!(is_named, "{format}: {broken}");
        assert_eq!(translate(text, format, &upper), text);
    }
    for text in [
        "",
        "# one note\n",
        "---\n",
        "a: one house\n",
        "- one house\n",
    ] {
        assert!(Catalogue::read(text, Yaml, [None; 2]).is_ok(), "{text:?}");
    }
}
