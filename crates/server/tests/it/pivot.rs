//! Pairs that two models translate in a row.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burnformer_documents::Link;
use burnformer_server::{Candidate, Choice, Engine, EngineError, Job, ModelSource};
use serde_json::{Value, json};

use crate::common::{Running, Shouting};

/// Appends its language and the first translation of each term, and links everything.
struct Into(&'static str);

impl Engine for Into {
    fn translate(
        &self,
        jobs: &[&Job],
        choice: Choice,
        _: &[Arc<AtomicBool>],
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let candidate = |job: &&Job, rank: usize| {
            let sentence = &job.sentence;
            let terms: String = sentence
                .terms
                .iter()
                .map(|term| format!(" [{}]", term.targets[0]))
                .collect();
            let text = format!("{}{}>{}{terms}", sentence.prefix, sentence.text, self.0);
            let link = Link {
                source: 0..sentence.text.len(),
                target: sentence.prefix.len()..text.len(),
            };
            Candidate {
                text: text + &"!".repeat(rank),
                links: vec![link],
                confidence: Some(0.5),
                ..Candidate::default()
            }
        };
        let all = jobs.iter().map(|job| {
            (0..choice.n_best)
                .map(|rank| candidate(job, rank))
                .collect()
        });
        Ok(all.collect())
    }

    fn fits(&self, sentence: &str) -> bool {
        sentence.len() < 500
    }
}

/// A server with a model for each of `pairs`.
fn server(pairs: &'static [(&'static str, &'static str)]) -> Running {
    Running::start(Arc::new(Shouting::default()), |settings| {
        let models = pairs.iter().map(|&(source, target)| ModelSource {
            pair: format!("{source}-{target}").parse().expect("a pair"),
            name: source.into(),
            bytes: 1,
            glossary: None,
            memory: None,
            load: Arc::new(move || Ok(Arc::new(Into(target)))),
        });
        settings.models = models.collect();
    })
}

fn translate(server: &Running, target: &str) -> Value {
    let body = json!({"texts": "Ein Haus", "source": "de", "target": target});
    let (status, answer) = server.post("/v1/translate", body);
    assert_eq!(status, 200, "{answer}");
    answer
}

#[test]
fn two_models_translate_a_pair_without_a_model() {
    let server = server(&[("de", "en"), ("en", "fr"), ("en", "de")]);
    let answer = translate(&server, "fr");
    assert_eq!(answer["translations"][0], "Ein Haus>en>fr");
    assert_eq!(answer["through"], "en");
    let direct = translate(&server, "en");
    assert_eq!(direct["translations"][0], "Ein Haus>en");
    assert_eq!(direct["through"], Value::Null);
    let (_, languages) = server.get("/languages");
    let languages: Value = serde_json::from_str(&languages).unwrap();
    let targets: Vec<(&Value, &Value)> = languages
        .as_array()
        .unwrap()
        .iter()
        .map(|language| (&language["code"], &language["targets"]))
        .collect();
    let expected = [
        (&json!("de"), &json!(["en", "fr"])),
        (&json!("en"), &json!(["de", "fr"])),
        (&json!("fr"), &json!([])),
    ];
    assert_eq!(targets, expected);
    let back = json!({"texts": "x", "source": "fr", "target": "de"});
    let (status, answer) = server.post("/v1/translate", back);
    assert_eq!(status, 400, "{answer}");
}

#[test]
fn the_language_between_is_english_if_there_are_several() {
    let both = server(&[("de", "cs"), ("cs", "fr"), ("de", "en"), ("en", "fr")]);
    assert_eq!(translate(&both, "fr")["through"], "en");
    let only = server(&[("de", "it"), ("it", "fr"), ("de", "cs"), ("cs", "fr")]);
    assert_eq!(translate(&only, "fr")["through"], "cs");
}

#[test]
fn terms_prefixes_and_links_pass_the_language_between() {
    let server = server(&[("de", "en"), ("en", "fr")]);
    let body = json!({
        "sentences": [{"text": "Ein Haus", "prefix": "P "}], "source": "de", "target": "fr",
        "links": true, "alternatives": 1, "glossary": [["Haus", "maison"]],
    });
    let (status, answer) = server.post("/v1/sentences", body);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["through"], "en");
    let found = &answer["sentences"][0];
    assert_eq!(found[0]["text"], "P Ein Haus>en [Haus]>fr [maison]");
    assert_eq!(found[1]["text"], "P Ein Haus>en [Haus]>fr [maison]!");
    let links = json!([{"source": [0, 8], "target": [2, 32]}]);
    assert_eq!(found[0]["links"], links);
    // A confidence is of one model.
    assert_eq!(found[0]["confidence"], Value::Null);
}

#[test]
fn a_document_keeps_its_markup_once() {
    let server = server(&[("de", "en"), ("en", "fr")]);
    let html = "<p>Ein <b>Haus</b></p><p>Ein Hof</p>";
    let body = json!({"q": html, "source": "de", "target": "fr", "format": "html"});
    let (status, answer) = server.post("/translate", body);
    assert_eq!(status, 200, "{answer}");
    let text = answer["translatedText"].as_str().unwrap();
    assert_eq!(text.matches("<b>").count(), 1, "{text}");
    assert_eq!(text.matches("<p>").count(), 2, "{text}");
    assert!(text.contains("Ein Hof&gt;en&gt;fr"), "{text}");
}

#[test]
fn attention_is_shown_for_one_model_at_a_time() {
    let server = server(&[("de", "en"), ("en", "fr")]);
    let body = json!({"sentence": "Ein Haus", "source": "de", "target": "fr"});
    let (status, answer) = server.post("/v1/attention", body);
    assert_eq!(status, 400, "{answer}");
    assert!(answer.to_string().contains("through en"), "{answer}");
}
