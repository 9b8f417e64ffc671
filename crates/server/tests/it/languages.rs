//! Language detection for texts without a given language.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::common::{Running, server};
use burnformer_server::{Candidate, Choice, Engine, EngineError, Job};
use serde_json::{Value, json};

const GERMAN: &str = "Der alte Mann wohnt am Meer und fischt jeden Tag.";
const ENGLISH: &str = "The old man lives by the sea and goes fishing every day.";
const FRENCH: &str = "Le vieil homme vit au bord de la mer et pêche tous les jours avec son fils.";

/// A model that knows the words of its languages. For a text in its target language, the text
/// itself is a likely translation; for a text in its source language, any translation is. It
/// appends its language pair to the text.
struct Knowing {
    pair: &'static str,
    words: [&'static [&'static str]; 2],
}

impl Engine for Knowing {
    fn translate(
        &self,
        jobs: &[&Job],
        _: Choice,
        _: &[Arc<AtomicBool>],
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        Ok(jobs
            .iter()
            .map(|job: &&Job| {
                let sentence = &job.sentence;
                let side = usize::from(!sentence.prefix.is_empty());
                let known = self.words[side]
                    .iter()
                    .any(|word| sentence.text.contains(word));
                let text = format!("{} {}", sentence.text, self.pair);
                vec![Candidate {
                    text,
                    score: if known { -1.0 } else { -5.0 },
                    ..Candidate::default()
                }]
            })
            .collect())
    }

    fn fits(&self, _: &str) -> bool {
        true
    }
}

fn serving(pairs: &[&'static str], memory: u64) -> Running {
    let words = |code: &str| -> &'static [&'static str] {
        match code {
            "de" => &["Haus", "Tor"],
            "en" => &["house", "gate"],
            "fr" => &["maison", "porte"],
            _ => &["hús", "hlið"],
        }
    };
    let engine = |pair: &'static str| {
        let (from, into) = pair.split_once('-').unwrap();
        Arc::new(Knowing {
            pair,
            words: [words(from), words(into)],
        })
    };
    Running::start(engine(pairs[0]), |settings| {
        let first = settings.models[0].clone();
        settings.memory = memory;
        settings.models = pairs
            .iter()
            .map(|&pair| {
                let engine = engine(pair);
                let mut source = first.clone();
                source.pair = pair.parse().unwrap();
                source.load = Arc::new(move || Ok(engine.clone()));
                source
            })
            .collect();
    })
}

/// Translates a text into `target` and returns the detected language and the translation.
fn taken(server: &Running, text: &str, target: &str) -> (String, String) {
    let body = json!({"q": text, "source": "auto", "target": target});
    let (status, answer) = server.post("/translate", body);
    assert_eq!(status, 200, "{text}: {answer}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (
        text(&answer["detectedLanguage"]["language"]),
        text(&answer["translatedText"]),
    )
}

#[test]
fn models_decide_the_language_if_the_detector_is_unsure() {
    let both = serving(&["de-en", "en-de"], u64::MAX);
    let three = serving(&["de-en", "en-de", "fr-en", "en-fr"], u64::MAX);
    // No model translates into German, French or Icelandic.
    let into_english = serving(&["de-en", "fr-en", "is-en"], u64::MAX);
    for (server, text, target, code) in [
        (&both, "Haus", "en", "de"),
        (&both, "house", "de", "en"),
        (&three, "Haus", "en", "de"),
        (&three, "maison", "en", "fr"),
        (&three, "porte", "en", "fr"),
        (&three, "gate", "fr", "en"),
        (&into_english, "Tor", "en", "de"),
        (&into_english, "porte", "en", "fr"),
        (&into_english, "hlið", "en", "is"),
    ] {
        let (found, translation) = taken(server, text, target);
        assert_eq!(
            (&*found, translation),
            (code, format!("{text} {code}-{target}"))
        );
    }
    // A text in the target language stays unchanged.
    for (text, target) in [
        ("Haus", "de"),
        ("house", "en"),
        (GERMAN, "de"),
        (ENGLISH, "en"),
    ] {
        assert_eq!(taken(&both, text, target), (target.into(), text.into()));
    }
}

#[test]
fn an_unknown_language_falls_back_to_one_that_can_be_translated() {
    let both = serving(&["de-en", "en-de"], u64::MAX);
    let tight = serving(&["de-en", "en-de"], 1);
    for server in [&both, &tight] {
        for text in [
            "12345",
            "😀",
            "https://example.org/house",
            "Xy",
            "{name}",
            "Tom",
        ] {
            for (target, code) in [("en", "de"), ("de", "en")] {
                assert_eq!(taken(server, text, target).0, code, "{text} into {target}");
            }
        }
    }
}

#[test]
fn each_text_of_a_list_has_its_own_language() {
    let server = server();
    let texts = [GERMAN, ENGLISH, "12345", "", GERMAN];
    let languages = ["de", "en", "de", "de", "de"];
    let body = json!({"q": texts, "source": "auto", "target": "en", "alternatives": 1});
    let (status, answer) = server.post("/translate", body);
    assert_eq!(status, 200, "{answer}");
    let codes = |found: &Value| -> Vec<String> {
        let found = found.as_array().unwrap().iter();
        found
            .map(|one| one["language"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(codes(&answer["detectedLanguage"]), languages);
    let expected = [
        &GERMAN.to_uppercase(),
        ENGLISH,
        "12345",
        "",
        &GERMAN.to_uppercase(),
    ];
    assert_eq!(
        answer["translatedText"],
        json!(expected),
        "in order, English as it is"
    );
    assert_eq!(answer["alternatives"].as_array().unwrap().len(), 5);
    let (_, answer) = server.post("/v1/translate", json!({"texts": texts, "target": "en"}));
    assert_eq!(codes(&answer["detected"]), languages);
    assert_eq!(
        (&answer["translations"], &answer["source"]),
        (&json!(expected), &json!("de"))
    );
    let texts = [GERMAN, FRENCH];
    let body = json!({"q": texts, "source": "auto", "target": "en"});
    let (status, answer) = server.post("/translate", body);
    let error = answer["error"].as_str().unwrap();
    assert!(
        status == 400 && error.contains("text 2 seems to be French (fr)"),
        "{answer}"
    );
}

#[test]
fn markup_does_not_affect_language_detection() {
    let server = server();
    let page = format!(
        "<html><head><style>.the-main-header {{}}</style></head><body class='the main page with all of its parts'>\
         <div class='header navigation with the main buttons'><p class='the first text'>{GERMAN}</p></div></body></html>"
    );
    for format in ["html", "text"] {
        let body = json!({"q": page, "source": "auto", "target": "en", "format": format});
        let (status, answer) = server.post("/translate", body);
        assert_eq!(
            (status, &answer["detectedLanguage"]["language"]),
            (200, &json!("de"))
        );
    }
    let (_, answer) = server.post("/detect", json!({"q": page}));
    assert_eq!(answer[0]["language"], "de");
    let form = format!(
        "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.html\"\r\n\r\n{page}\r\n\
         --b\r\ncontent-disposition: form-data; name=\"source\"\r\n\r\nauto\r\n\
         --b\r\ncontent-disposition: form-data; name=\"target\"\r\n\r\nen\r\n--b--\r\n"
    );
    let kind = "multipart/form-data; boundary=b";
    let (_, answer) = server.send("/translate_file", kind, &[], form.as_bytes());
    let url = answer["translatedFileUrl"].as_str().unwrap();
    let (_, text) = server.get(url.strip_prefix(&*server.address).unwrap());
    assert!(text.contains(&GERMAN.to_uppercase()), "{text}");
}
