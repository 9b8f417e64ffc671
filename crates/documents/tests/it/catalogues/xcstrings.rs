//! String catalogues of Xcode, judged by their JSON alone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::common::{translate_into, upper};
use burnformer_documents::{Catalogue, Document, Format, MessageState};

/// Languages with their cardinal categories, as Node knows them.
const LANGUAGES: &str = include_str!("../../fixtures/categories.tsv");

fn languages() -> BTreeMap<&'static str, Vec<&'static str>> {
    let rows = LANGUAGES.lines().skip(1);
    rows.map(|row| {
        let mut columns = row.split('\t');
        let code = columns.next().unwrap();
        (code, columns.next().unwrap().split(' ').collect())
    })
    .collect()
}

fn unit(text: &str) -> Value {
    json!({"stringUnit": {"state": "translated", "value": text}})
}

/// A localization in English with these plural arms.
fn plural(arms: &[(&str, &str)]) -> Value {
    let arms: BTreeMap<&str, Value> = arms.iter().map(|(name, it)| (*name, unit(it))).collect();
    json!({"variations": {"plural": arms}})
}

/// The localizations in English: the text of a device, a plural, a number of the text, and both.
fn sources() -> Vec<Option<Value>> {
    let files = plural(&[("one", "%lld file"), ("other", "%lld files")]);
    let devices = json!({"variations": {"device": {"mac": unit("one click"), "other": files}}});
    let mut number = unit("%#@files@ here");
    number["substitutions"] = json!({"files": {"argNum": 1, "formatSpecifier": "lld", "variations": files["variations"]}});
    vec![
        None,
        Some(unit("one text")),
        Some(files),
        Some(devices),
        Some(number),
    ]
}

/// A catalogue with a string for each of the [`sources`], and others beside them.
fn catalogue(others: &[(&str, Value)]) -> Value {
    let mut strings = BTreeMap::new();
    for (number, source) in sources().into_iter().enumerate() {
        let mut entry = json!({"comment": "one note"});
        for (language, text) in others {
            entry["localizations"][language] = text.clone();
        }
        if let Some(source) = source {
            entry["localizations"]["en"] = source;
        }
        strings.insert(format!("a text {number}"), entry);
    }
    json!({"sourceLanguage": "en", "strings": strings, "version": "1.0"})
}

/// The texts of a localization with the names on their paths, and whether each needs a review.
fn texts(value: &Value, path: &str, all: &mut BTreeMap<String, (String, bool)>) {
    if let Some(text) = value.pointer("/stringUnit/value") {
        let is_to_review = value["stringUnit"]["state"] == "needs_review";
        all.insert(path.into(), (text.as_str().unwrap().into(), is_to_review));
    }
    for (name, value) in value.as_object().into_iter().flatten() {
        texts(value, &format!("{path}/{name}"), all);
    }
}

/// The paths and texts of the translation of `source` into a language with these categories.
fn expected(source: &Value, path: &str, names: &[&str], all: &mut BTreeMap<String, String>) {
    if let Some(text) = source.pointer("/stringUnit/value") {
        let text = text.as_str().unwrap().to_uppercase();
        let text = text
            .replace("%LLD", "%lld")
            .replace("%#@FILES@", "%#@files@");
        all.insert(path.into(), text);
    }
    for (name, value) in source.as_object().into_iter().flatten() {
        let path = format!("{path}/{name}");
        if name != "plural" {
            expected(value, &path, names, all);
            continue;
        }
        for name in names {
            let arm = value.get(name).unwrap_or(&value["other"]);
            expected(arm, &format!("{path}/{name}"), names, all);
        }
    }
}

#[test]
fn a_localization_has_its_sources_shape_and_its_languages_categories() {
    let files = [
        catalogue(&[]),
        catalogue(&[("xx", unit("y z")), ("aa", unit("b"))]),
    ];
    for (target, names) in languages().into_iter().filter(|(code, _)| *code != "en") {
        for file in &files {
            for text in [
                file.to_string(),
                serde_json::to_string_pretty(file).unwrap(),
            ] {
                let found = translate_into(&text, Format::XcStrings, Some(target), &upper).0;
                let mut found: Value = serde_json::from_str(&found).unwrap();
                for (number, source) in sources().into_iter().enumerate() {
                    let key = format!("a text {number}");
                    let localizations = &mut found["strings"][&key]["localizations"];
                    let localizations = localizations.as_object_mut().unwrap();
                    let mut all = BTreeMap::new();
                    let written = localizations.remove(target).unwrap();
                    texts(&written, "", &mut all);
                    assert!(
                        all.values().all(|(_, is_to_review)| *is_to_review),
                        "{written}"
                    );
                    let all: BTreeMap<String, String> = all
                        .into_iter()
                        .map(|(path, (text, _))| (path, text))
                        .collect();
                    let mut wanted = BTreeMap::new();
                    let source = source.unwrap_or_else(|| unit(&key));
                    expected(&source, "", &names, &mut wanted);
                    assert_eq!(all, wanted, "{target}");
                    if localizations.is_empty() {
                        let entry = found["strings"][&key].as_object_mut().unwrap();
                        entry.remove("localizations");
                    }
                }
                // Nothing else has changed, the source language least of all.
                assert_eq!(&found, file, "{target}");
            }
        }
    }
}

/// By CLDR 48: 1 and 21 are one category in Russian, 0 and 1 in French and Persian.
#[test]
fn an_arm_without_its_number_is_written_for_a_single_number() {
    let source = plural(&[("one", "a file"), ("other", "%lld files"), ("zero", "none")]);
    let file = json!({"sourceLanguage": "en", "strings": {"a": {"localizations": {"en": source}}}});
    for (target, one) in [
        ("de", "A FILE"),
        ("pl", "A FILE"),
        ("ru", "%lld FILES"),
        ("fr", "%lld FILES"),
        ("fa", "%lld FILES"),
    ] {
        let text = translate_into(&file.to_string(), Format::XcStrings, Some(target), &upper).0;
        let found: Value = serde_json::from_str(&text).unwrap();
        let written = &found["strings"]["a"]["localizations"][target];
        let mut all = BTreeMap::new();
        texts(written, "", &mut all);
        assert_eq!(all["/variations/plural/one"].0, one, "{target}");
        assert_eq!(all["/variations/plural/zero"].0, "NONE", "{target}");
    }
}

#[test]
fn the_language_of_the_file_is_found_by_its_code() {
    let file = catalogue(&[("zh-Hans", unit("")), ("pt-BR", unit("")), ("fr", unit(""))]);
    let written = |target: &str| -> Result<Vec<String>, String> {
        let languages = [Some("en"), Some(target)];
        let text = file.to_string();
        let document = Document::try_parse(&text, Format::XcStrings, languages, &[], &|_| true);
        let mut document = document.map_err(|error| error.to_string())?;
        let pending = document.pending();
        document.accept(pending.iter().map(upper).collect());
        let found: Value = serde_json::from_str(&document.finish()).unwrap();
        let all = found["strings"]["a text 1"]["localizations"]
            .as_object()
            .unwrap();
        let new = all
            .iter()
            .filter(|(language, it)| *language != "en" && it.to_string().contains("ONE TEXT"));
        Ok(new.map(|(language, _)| language.clone()).collect())
    };
    for (target, language) in [
        ("zh", "zh-Hans"),
        ("zh_CN", "zh-Hans"),
        ("zho_Hans", "zh-Hans"),
        ("zh-Hant", "zh-Hant"),
        ("pt", "pt-BR"),
        ("pt_BR", "pt-BR"),
        ("fra_Latn", "fr"),
        ("deu_Latn", "de"),
    ] {
        assert_eq!(written(target).unwrap(), [language], "{target}");
    }
    for target in ["en", "eng_Latn", "en-GB"] {
        let refusal = written(target).unwrap_err();
        assert!(refusal.contains("take a model from \"en\""), "{refusal}");
    }
    let text = catalogue(&[]).to_string();
    let refusal = Catalogue::read(&text, Format::XcStrings, [None; 2]).unwrap_err();
    assert!(refusal.fault.contains("--target-language"), "{refusal}");
    let other = [Some("de"), Some("fr")];
    let refusal = Document::try_parse(&text, Format::XcStrings, other, &[], &|_| true);
    assert!(
        refusal
            .unwrap_err()
            .fault
            .contains("\"en\" and not in \"de\"")
    );
}

#[test]
fn a_translation_and_its_state_decide_what_is_translated() {
    for (state, value, expected) in [
        ("translated", "Ein Text", MessageState::Translated),
        ("needs_review", "Ein Text", MessageState::Fuzzy),
        ("new", "one text", MessageState::Untranslated),
        ("translated", "", MessageState::Untranslated),
    ] {
        let german = json!({"stringUnit": {"state": state, "value": value}});
        let text = catalogue(&[("de", german)]).to_string();
        let all = Catalogue::read(&text, Format::XcStrings, [None; 2]).unwrap();
        assert_eq!(all.languages, ["en", "de"].map(|it| Some(it.to_string())));
        let found = all
            .messages
            .iter()
            .find(|it| it.source == "one text")
            .unwrap();
        assert_eq!((found.state, &*found.target), (expected, value));
        let text = translate_into(&text, Format::XcStrings, Some("de"), &upper).0;
        let found: Value = serde_json::from_str(&text).unwrap();
        let unit = &found["strings"]["a text 1"]["localizations"]["de"]["stringUnit"];
        if expected == MessageState::Untranslated {
            assert_eq!(*unit, json!({"state": "needs_review", "value": "ONE TEXT"}));
        } else {
            assert_eq!(*unit, json!({"state": state, "value": value}));
        }
    }
}
