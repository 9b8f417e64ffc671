//! The interface of DeepL, compared with its mock server (`deepl-mock` 1.30), and its clients.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use crate::common::{Running, Shouting, agent, server};
use burnformer_server::{
    Candidate, Choice, Engine, EngineError, Job, MemorySource, ServerSettings,
};
use serde_json::{Value, json};

const FORM: &str = "application/x-www-form-urlencoded";

fn read(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or(Value::String(body.into()))
}

#[test]
fn texts_are_translated_in_json_and_in_forms() {
    let server = server();
    let one = json!({"detected_source_language": "DE", "text": "GRÖSSE & 100%", "billed_characters": 12, "model_type_used": null});
    let fields = json!({"text": ["Größe & 100%"], "source_lang": "DE", "target_lang": "EN-US"});
    let (status, answer) = server.post("/v2/translate", fields);
    assert_eq!(
        (status, &answer["translations"]),
        (200, &json!([one])),
        "{answer}"
    );
    let form = "text=Gr%C3%B6%C3%9Fe+%26+100%25&source_lang=de&target_lang=en-GB&split_sentences=0\
        &preserve_formatting=1&formality=default&show_billed_characters=1&context=x&debug=1";
    let (status, answer) = server.send("/v2/translate", FORM, &[], form.as_bytes());
    assert_eq!(
        (status, &answer["translations"]),
        (200, &json!([one])),
        "{answer}"
    );
    let list =
        "text=eins&text=zwei&target_lang=EN&source_lang=DE&model_type=prefer_quality_optimized";
    let (_, answer) = server.send("/v2/translate", FORM, &[], list.as_bytes());
    let text = |number: usize| answer["translations"][number]["text"].as_str().unwrap();
    assert_eq!([text(0), text(1)], ["EINS", "ZWEI"]);
}

#[test]
fn each_text_has_the_language_that_it_is_in() {
    let server = server();
    let texts = [
        "Der alte Mann wohnt am Meer und fischt jeden Tag.",
        "The old man lives by the sea.",
    ];
    let (status, answer) =
        server.post("/v2/translate", json!({"text": texts, "target_lang": "EN"}));
    assert_eq!(status, 200, "{answer}");
    let found = |number: usize| answer["translations"][number].clone();
    assert_eq!(found(0)["detected_source_language"], "DE");
    assert_eq!(found(0)["text"], texts[0].to_uppercase());
    assert_eq!(
        (&found(1)["detected_source_language"], &found(1)["text"]),
        (&json!("EN"), &json!(texts[1]))
    );
}

#[test]
fn tags_are_kept_as_the_request_says() {
    let server = server();
    let ask = |text: &str, more: Value| {
        let mut body = json!({"text": [text], "source_lang": "DE", "target_lang": "EN"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let (status, answer) = server.post("/v2/translate", body);
        assert_eq!(status, 200, "{answer}");
        answer["translations"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    // The placeholders of Weblate.
    let xml = json!({"tag_handling": "xml", "ignore_tags": ["x"]});
    assert_eq!(
        ask("Hallo <x id=\"6\"></x>, du!", xml.clone()),
        "HALLO <x id=\"6\"></x>, DU!"
    );
    assert_eq!(
        ask("<x id=\"0\"/>&quot;Tom&quot; &amp; Eva", xml),
        "<x id=\"0\"/>&quot;TOM&quot; &amp; EVA"
    );
    assert_eq!(ask("a\nb", json!({})), "A\nB");
    assert_eq!(
        ask(
            "<p translate=\"no\">a</p><p>b</p>",
            json!({"tag_handling": "html"})
        ),
        "<p translate=\"no\">a</p><p>B</p>"
    );
    // DeepL's own example.
    let document = "<document>\n<meta>\n<title>A title</title>\n</meta>\n<content>\n<par>\n<span>One</span>\n<span>two.</span>\n</par>\n\
        <par>Here. There.</par>\n<raw>This is <b>kept</b>.</raw>\n</content>\n</document>\n";
    let tags = json!({"tag_handling": "xml", "outline_detection": false, "non_splitting_tags": "span",
        "splitting_tags": ["title", "par"], "ignore_tags": "raw,code"});
    let shouted = document
        .replace("A title", "A TITLE")
        .replace("One", "ONE")
        .replace("two", "TWO")
        .replace("Here. There", "HERE. THERE");
    assert_eq!(ask(document, tags), shouted);
    let many = vec!["x"; 65];
    let body = json!({"text": ["a"], "source_lang": "DE", "target_lang": "EN", "tag_handling": "xml", "ignore_tags": many});
    assert_eq!(
        server.post("/v2/translate", body).0,
        400,
        "each is looked for in each text"
    );
}

/// DeepL's description of its interface (openapi.yaml of June 2026): `1` divides at punctuation and
/// line breaks, `nonewlines` at punctuation, `0` nowhere. The default is `nonewlines` for HTML and
/// `1` otherwise.
#[test]
fn texts_are_divided_where_split_sentences_says() {
    let text = "<g>Ein Hund\nschläft. Zwei\nKatzen.</g>";
    let plain = text.replace("<g>", "").replace("</g>", "");
    for (tags, split, count, has_lines) in [
        (None, None, 4, true),
        (None, Some("1"), 4, true),
        (None, Some("nonewlines"), 2, true),
        (None, Some("0"), 1, true),
        (Some("xml"), None, 4, true),
        (Some("xml"), Some("1"), 4, true),
        (Some("xml"), Some("nonewlines"), 2, false),
        (Some("xml"), Some("0"), 1, false),
        (Some("html"), None, 2, false),
        (Some("html"), Some("1"), 4, true),
        (Some("html"), Some("0"), 1, false),
    ] {
        let engine = Arc::new(Shouting::default());
        let server = Running::start(engine.clone(), |_| {});
        let text = if tags.is_some() { text } else { &plain };
        let body = json!({"text": [text], "source_lang": "DE", "target_lang": "EN", "tag_handling": tags, "split_sentences": split});
        let (status, answer) = server.post("/v2/translate", body);
        let shouted = text.to_uppercase().replace("G>", "g>");
        let expected = if has_lines {
            shouted
        } else {
            shouted.replace('\n', " ")
        };
        let found = &answer["translations"][0]["text"];
        assert_eq!(
            (status, found),
            (200, &json!(expected)),
            "{tags:?} {split:?}"
        );
        assert_eq!(engine.sentences.load(SeqCst), count, "{tags:?} {split:?}");
    }
}

/// Weblate 5.14.3 sends `tag_handling` with every text, and placeholders as elements.
#[test]
fn lines_with_tags_come_back_as_lines() {
    let server = server();
    let x = "<x id=\"7\"></x>";
    for text in [
        "Eins\nzwei",
        "Eins\n\nzwei\n",
        "\n- Eins\n- zwei: X\n",
        "<b>Eins\nzwei</b> drei\nvier",
        "X\nX",
        "Eins X\nzwei <b>drei</b>.\n\nX vier",
        "Eins\r\nzwei X\r\n",
    ] {
        let body = json!({"text": [text.replace('X', x)], "source_lang": "DE", "target_lang": "EN", "tag_handling": "xml", "ignore_tags": ["x"]});
        let (_, answer) = server.post("/v2/translate", body);
        let shouted = text.to_uppercase().replace("B>", "b>").replace('X', x);
        assert_eq!(answer["translations"][0]["text"], shouted);
    }
}

/// Begins every translation with a capital, and ends it with a full stop.
struct Tidy;

impl Engine for Tidy {
    fn translate(
        &self,
        jobs: &[&Job],
        _: Choice,
        _: &[Arc<AtomicBool>],
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let tidy = |job: &&Job| {
            let (first, rest) = job.sentence.text.split_at(1);
            let text = first.to_uppercase() + rest.trim_end_matches(['.', '?', '!']) + ".";
            vec![Candidate {
                text,
                ..Candidate::default()
            }]
        };
        Ok(jobs.iter().map(tidy).collect())
    }

    fn fits(&self, _: &str) -> bool {
        true
    }
}

#[test]
fn formatting_is_preserved_if_the_request_says_so() {
    let server = Running::start(Arc::new(Tidy), |_| {});
    // A full stop that the sentence lacks is removed with every request.
    let texts = json!([
        "ein haus",
        "Ein Haus.",
        "eins? zwei!",
        "eins!\n<b>zwei</b>!"
    ]);
    let tidy = json!([
        "Ein haus",
        "Ein Haus.",
        "Eins. Zwei.",
        "Eins.\n<b>Zwei</b>."
    ]);
    for (switch, expected) in [
        (json!(true), &texts),
        (json!("1"), &texts),
        (json!(1), &texts),
        (json!(false), &tidy),
        (json!("0"), &tidy),
        (json!(null), &tidy),
    ] {
        let body = json!({"text": texts, "source_lang": "DE", "target_lang": "EN", "tag_handling": "xml", "preserve_formatting": switch});
        let (_, answer) = server.post("/v2/translate", body);
        let found = answer["translations"].as_array().unwrap();
        let found: Vec<_> = found.iter().map(|it| it["text"].clone()).collect();
        assert_eq!(json!(found), *expected, "{switch}");
    }
    let body = json!({"text": "a", "source_lang": "DE", "target_lang": "EN", "preserve_formatting": "often"});
    let (status, answer) = server.post("/v2/translate", body);
    let message = answer["message"].as_str().unwrap();
    assert!(
        status == 400 && message.contains("preserve_formatting"),
        "{answer}"
    );
}

#[test]
fn errors_match_deepl() {
    let server = server();
    let ask = |body: Value| {
        let (status, answer) = server.post("/v2/translate", body);
        (
            status,
            answer["message"].as_str().unwrap_or_default().to_owned()
                + " "
                + answer["detail"].as_str().unwrap_or_default(),
        )
    };
    for (body, words) in [
        (
            json!({"text": ["a"], "target_lang": "XX", "source_lang": "DE"}),
            &["target_lang", "not supported"][..],
        ),
        (
            json!({"text": ["a"], "target_lang": "XX"}),
            &["target_lang", "not supported"],
        ),
        (
            json!({"text": ["a"], "target_lang": "DE", "source_lang": "XX"}),
            &["source_lang", "not supported"],
        ),
        (
            json!({"text": ["a"], "target_lang": "EN", "source_lang": "DE", "split_sentences": "invalid"}),
            &["split_sentences"],
        ),
        (
            json!({"text": ["a"], "target_lang": "EN", "source_lang": "DE", "formality": "invalid"}),
            &["formality"],
        ),
        (
            json!({"text": ["a"], "target_lang": "EN", "source_lang": "DE", "formality": "More"}),
            &["formality", "prefer_more"],
        ),
        (
            json!({"text": ["a"], "target_lang": "EN", "source_lang": "DE", "tag_handling": "sgml"}),
            &["tag_handling"],
        ),
        (
            json!({"text": ["a"], "target_lang": "EN", "source_lang": "DE", "custom_instructions": ["x"]}),
            &["custom_instructions", "leave it out"],
        ),
        (
            json!({"text": ["a"], "target_lang": "EN", "source_lang": "DE", "style_id": "x"}),
            &["style_id", "leave it out"],
        ),
        (
            json!({"text": ["a"], "target_lang": "EN", "glossary_id": "x"}),
            &["glossary_id", "source_lang"],
        ),
        (
            json!({"text": ["a"], "target_lang": "EN", "source_lang": "DE", "glossary_ids": ["a", "b", "c", "d", "e,f"]}),
            &["6 glossaries", "at most"],
        ),
        (json!({"target_lang": "EN"}), &["missing text"]),
        (json!({"text": [], "target_lang": "EN"}), &["missing text"]),
        (json!({"text": ["a"]}), &["missing target_lang"]),
        (
            json!({"text": vec!["a"; 1001], "source_lang": "DE", "target_lang": "EN"}),
            &["1001"],
        ),
        (
            json!({"text": ["a".repeat(200_001)], "source_lang": "DE", "target_lang": "EN"}),
            &["200001"],
        ),
    ] {
        let (status, text) = ask(body);
        assert!(
            status == 400 && words.iter().all(|word| text.contains(word)),
            "{status} {text} {words:?}"
        );
    }
    let null = json!({"text": ["a"], "target_lang": "EN", "source_lang": "DE", "style_id": null, "glossary_id": null, "formality": "default "});
    assert_eq!(ask(null).0, 200);
    let (status, body) = server.get("/v2/nothing");
    assert!(
        status == 404 && read(&body)["message"].is_string(),
        "{status} {body}"
    );
    let (_, answer) = server.send("/v2/translate", "text/plain", &[], b"x");
    assert!(answer["message"].is_string(), "{answer}");
    assert!(
        read(&server.get("/nothing").1)["error"].is_string(),
        "other paths keep their form"
    );
}

#[test]
fn every_path_needs_the_key_in_its_header() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.keys = vec!["secret".into()]
    });
    let call = |method: &str, path: &str, key: &str| {
        let address = format!("{}{path}", server.address);
        let key = format!("DeepL-Auth-Key {key}");
        let answer = match method {
            "GET" => agent().get(address).header("authorization", key).call(),
            "DELETE" => agent().delete(address).header("authorization", key).call(),
            _ => agent()
                .post(address)
                .header("authorization", key)
                .header("content-type", FORM)
                .send(""),
        };
        let mut answer = answer.unwrap();
        (
            answer.status().as_u16(),
            answer.body_mut().read_to_string().unwrap(),
        )
    };
    for (method, path) in [
        ("GET", "/v2/usage"),
        ("GET", "/v2/languages"),
        ("GET", "/v2/languages?type=target"),
        ("GET", "/v2/glossary-language-pairs"),
        ("GET", "/v2/glossaries"),
        ("POST", "/v3/glossaries"),
        ("GET", "/v2/glossaries/x"),
        ("DELETE", "/v3/glossaries/x"),
        ("DELETE", "/v3/glossaries/x/dictionaries"),
        ("GET", "/v3/languages?resource=translate_text"),
        ("GET", "/v3/translation_memories"),
        ("GET", "/v3/translation_memories/de-en"),
        ("GET", "/v2/glossaries/x/entries"),
        ("POST", "/v2/translate"),
        ("POST", "/v2/document"),
        ("POST", "/v2/document/x"),
        ("POST", "/v2/document/x/result"),
    ] {
        for key in ["wrong", ""] {
            let (status, body) = call(method, path, key);
            assert_eq!(
                (status, read(&body)["message"].is_string()),
                (403, true),
                "{path} {body}"
            );
        }
        assert_ne!(call(method, path, "secret").0, 403, "{path}");
    }
}

#[test]
fn languages_are_listed_as_deepl_does() {
    let server = server();
    let list = |path| read(&server.get(path).1);
    let language = |code: &str, name: &str| json!({"language": code, "name": name, "supports_formality": false});
    let source = [language("DE", "German"), language("EN", "English")];
    assert_eq!(list("/v2/languages"), json!(source));
    let target = list("/v2/languages?type=target");
    let codes: Vec<_> = target
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["language"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["DE", "EN-GB", "EN-US"]);
    assert!(
        target
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["supports_formality"] == false)
    );
    assert_eq!(server.get("/v2/languages?type=x").0, 400);
    assert!(list("/v2/usage")["character_limit"].as_u64().unwrap() > 0);
    let pairs = json!([{"source_lang": "de", "target_lang": "en"}, {"source_lang": "en", "target_lang": "de"}]);
    assert_eq!(
        list("/v2/glossary-language-pairs")["supported_languages"],
        pairs
    );
}

/// Gives the model of German and English a translation memory.
fn with_memory(settings: &mut ServerSettings) {
    settings.models[0].memory = Some(MemorySource {
        name: "letters.tmx".into(),
        segments: 3,
    });
}

/// PyPI's `deepl` 1.32.0 does not call this path. The fields are those of DeepL's openapi.yaml of
/// June 2026.
#[test]
fn languages_are_listed_for_each_resource() {
    let server = Running::start(Arc::new(Shouting::default()), with_memory);
    let list = |resource: &str| read(&server.get(&format!("/v3/languages?resource={resource}")).1);
    let stable = json!({"status": "stable"});
    let german = json!({"lang": "de", "name": "German", "status": "stable", "usable_as_source": true,
        "usable_as_target": true, "features": {"tag_handling": stable, "glossary": stable, "auto_detection": stable}});
    assert_eq!(list("translate_text")[0], german);
    let uses = |resource: &str| {
        let all = list(resource);
        let one = |it: &Value| {
            let uses = ["usable_as_source", "usable_as_target"].map(|use_| it[use_] == true);
            (it["lang"].as_str().unwrap().to_owned(), uses)
        };
        all.as_array().unwrap().iter().map(one).collect::<Vec<_>>()
    };
    let expected = |all: &[(&str, [bool; 2])]| -> Vec<_> {
        all.iter()
            .map(|(code, uses)| (code.to_string(), *uses))
            .collect()
    };
    let variants = expected(&[
        ("de", [true, true]),
        ("en", [true, false]),
        ("en-GB", [false, true]),
        ("en-US", [false, true]),
    ]);
    assert_eq!(uses("translate_text"), variants);
    assert_eq!(
        uses("translate_document&include=beta&include=external"),
        variants
    );
    assert_eq!(
        uses("glossary"),
        expected(&[("de", [true; 2]), ("en", [true; 2])])
    );
    let of_memory = expected(&[("de", [true, false]), ("en", [false, true])]);
    assert_eq!(uses("translation_memory"), of_memory);
    for resource in ["voice", "write", "style_rules"] {
        assert_eq!(list(resource), json!([]));
    }
    for query in ["", "?resource=", "?resource=x"] {
        let (status, body) = server.get(&format!("/v3/languages{query}"));
        assert!(
            status == 400 && body.contains("resource"),
            "{query}: {body}"
        );
    }
}

#[test]
fn only_glossaries_of_version_3_are_changed_and_no_change_is_lost() {
    let server = server();
    let (_, made) = make(&server, "Haus\thouse", "tsv");
    let id = made["glossary_id"].as_str().unwrap();
    let patch = |version: &str, body: Value| {
        let address = format!("{}/{version}/glossaries/{id}", server.address);
        let request = agent()
            .patch(address)
            .header("content-type", "application/json");
        request.send(body.to_string()).unwrap().status().as_u16()
    };
    let terms = |entries: String| json!({"dictionaries": [{"source_lang": "de", "target_lang": "en", "entries": entries, "entries_format": "tsv"}]});
    assert_eq!(patch("v2", json!({"name": "b"})), 405);
    std::thread::scope(|scope| {
        for number in 0..20 {
            let body = terms(format!("Wort{number}\tword"));
            let patch = &patch;
            scope.spawn(move || assert_eq!(patch("v3", body), 200));
        }
    });
    let count = |answer: &str| read(answer)["entry_count"].as_u64().unwrap();
    let path = format!("/v3/glossaries/{id}");
    assert_eq!(count(&server.get(&path).1), 21);
    let many: String = (0..10_000)
        .map(|number| format!("Haus{number}\thouse\n"))
        .collect();
    assert_eq!(
        patch("v3", terms(many)),
        400,
        "with the terms it has, these are too many"
    );
    assert_eq!(
        count(&server.get(&path).1),
        21,
        "a refused change changes nothing"
    );
}

fn make(server: &Running, entries: &str, format: &str) -> (u16, Value) {
    let body = json!({"name": "mine", "source_lang": "DE", "target_lang": "EN", "entries": entries, "entries_format": format});
    server.post("/v2/glossaries", body)
}

#[test]
fn glossaries_are_made_used_listed_and_deleted() {
    let server = server();
    let (status, made) = make(&server, "Haus\thouse|houses\nHund\tdog\n", "tsv");
    assert_eq!(
        (status, &made["entry_count"], &made["source_lang"]),
        (201, &json!(2), &json!("de")),
        "{made}"
    );
    let id = made["glossary_id"].as_str().unwrap();
    let path = format!("/v2/glossaries/{id}");
    assert_eq!(read(&server.get(&path).1), made);
    assert_eq!(
        read(&server.get("/v2/glossaries").1),
        json!({"glossaries": [made]})
    );
    assert_eq!(
        server.get(&format!("{path}/entries")).1,
        "Haus\thouse|houses\nHund\tdog"
    );
    let ask = |source: &str, target: &str| {
        let body = json!({"text": ["Haus"], "source_lang": source, "target_lang": target, "glossary_id": id});
        server.post("/v2/translate", body)
    };
    assert_eq!(
        ask("DE", "EN-US").1["translations"][0]["text"],
        "HAUS [house]"
    );
    let (status, answer) = ask("EN", "DE");
    assert!(
        status == 404
            && answer["message"]
                .as_str()
                .unwrap()
                .contains("these languages"),
        "{answer}"
    );
    assert_eq!(
        agent()
            .delete(format!("{}{path}", server.address))
            .call()
            .unwrap()
            .status(),
        204
    );
    assert_eq!(server.get(&path).0, 404);
    assert_eq!(ask("DE", "EN").0, 404);
    for (entries, format) in [
        ("", "tsv"),
        ("Haus", "tsv"),
        ("Haus\tx\nHaus\ty", "tsv"),
        ("a,b", "tsv"),
        ("a\tb", "xls"),
        ("\"a,b", "csv"),
    ] {
        let (status, answer) = make(&server, entries, format);
        assert_eq!(
            (status, answer["message"].is_string()),
            (400, true),
            "{entries:?} {answer}"
        );
    }
}

#[test]
fn glossaries_are_bounded_for_each_client() {
    let server = server();
    let many = |count: usize| {
        (0..count)
            .map(|number| format!("Haus{number}\thouse{number}\n"))
            .collect::<String>()
    };
    assert_eq!(
        make(&server, &many(10_000), "tsv").0,
        201,
        "as many as a test of DeepL's has"
    );
    assert_eq!(make(&server, &many(10_001), "tsv").0, 400);
    let statuses: Vec<u16> = (0..8)
        .map(|_| make(&server, &many(10_000), "tsv").0)
        .collect();
    assert_eq!(statuses, [201; 8], "the oldest make room for the newest");
    let kept = read(&server.get("/v2/glossaries").1)["glossaries"]
        .as_array()
        .unwrap()
        .len();
    assert!((1..8).contains(&kept), "{kept}");
}

#[test]
fn glossaries_made_at_the_same_time_are_all_there_and_operations_have_names() {
    let server = server();
    std::thread::scope(|scope| {
        for number in 0..20 {
            let server = &server;
            scope.spawn(move || make(server, &format!("Wort{number}\tword"), "tsv"));
        }
    });
    let all = read(&server.get("/v3/glossaries").1);
    let ids: Vec<&str> = all["glossaries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["glossary_id"].as_str().unwrap())
        .collect();
    let terms = ids
        .iter()
        .map(|id| server.get(&format!("/v2/glossaries/{id}/entries")).1);
    assert_eq!((ids.len(), terms.collect::<BTreeSet<_>>().len()), (20, 20));
    for (dictionaries, words) in [
        (
            json!([{"source_lang": "de", "target_lang": "de", "entries": "a\tb", "entries_format": "tsv"}]),
            "two different",
        ),
        (
            json!([{"source_lang": "de", "target_lang": "xx", "entries": "a\tb", "entries_format": "tsv"}]),
            "not supported",
        ),
        (json!([{}]), "not supported"),
        (json!([]), "not supported"),
        (json!({}), "sequence"),
    ] {
        let body = json!({"name": "a", "dictionaries": dictionaries});
        let (status, answer) = server.post("/v3/glossaries", body);
        assert!(
            status == 400 && answer["message"].as_str().unwrap().contains(words),
            "{answer}"
        );
    }
    let paths = read(&server.get("/openapi.json").1)["paths"].clone();
    let operations = paths.as_object().unwrap().values();
    let operations = operations.flat_map(|path| path.as_object().unwrap().values());
    let names: Vec<&str> = operations
        .filter_map(|one| one["operationId"].as_str())
        .collect();
    assert_eq!(
        names.len(),
        names.iter().collect::<BTreeSet<_>>().len(),
        "{names:?}"
    );
    assert!(
        paths["/v3/glossaries/{id}"]["delete"].is_object(),
        "{paths}"
    );
}

/// Uploads `file` with further fields and returns the answer.
fn upload(server: &Running, name: &str, file: &[u8], fields: &[(&str, &str)]) -> (u16, Value) {
    let mut body: Vec<u8> = fields
        .iter()
        .map(|(name, value): &(&str, &str)| {
            format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
        })
        .collect::<String>()
        .into();
    body.extend(
        format!(
            "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        )
        .bytes(),
    );
    body.extend(file);
    body.extend(b"\r\n--b--\r\n");
    server.send(
        "/v2/document",
        "multipart/form-data; boundary=b",
        &[],
        &body,
    )
}

/// Waits until a document is done and returns its last status.
fn wait(server: &Running, made: &Value) -> Value {
    let path = format!("/v2/document/{}", made["document_id"].as_str().unwrap());
    let begun = Instant::now();
    loop {
        let (status, answer) = server.post(&path, json!({"document_key": made["document_key"]}));
        assert_eq!(status, 200, "{answer}");
        if answer["status"] != "translating" || begun.elapsed() > Duration::from_secs(20) {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn documents_are_translated_after_their_upload() {
    let server = Running::start(
        Arc::new(Shouting {
            delay: Duration::from_millis(1500),
            ..Default::default()
        }),
        |_| {},
    );
    let langs = [
        ("source_lang", "DE"),
        ("target_lang", "EN-GB"),
        ("formality", "default"),
    ];
    let (status, made) = upload(&server, "a b.md", "# Größe\n".as_bytes(), &langs);
    assert_eq!(status, 200, "{made}");
    let path = format!(
        "/v2/document/{}/result",
        made["document_id"].as_str().unwrap()
    );
    let key = json!({"document_key": made["document_key"]});
    assert_eq!(server.post(&path, key.clone()).0, 503, "not yet");
    let done = wait(&server, &made);
    assert_eq!(
        (&done["status"], &done["billed_characters"]),
        (&json!("done"), &json!(8)),
        "{done}"
    );
    assert_eq!(server.post(&path, key), (200, json!("# GRÖSSE\n")));
    assert_eq!(server.post(&path, json!({"document_key": "0"})).0, 404);
    assert_eq!(
        server
            .post("/v2/document/0", json!({"document_key": "0"}))
            .0,
        404
    );
    let (_, made) = upload(
        &server,
        "a.txt",
        "Größe".as_bytes(),
        &[("source_lang", "EN"), ("target_lang", "EN-US")],
    );
    let failed = wait(&server, &made);
    let message = failed["error_message"].as_str().unwrap();
    assert!(
        failed["status"] == "error" && message.contains("Source and target language"),
        "{failed}"
    );
    for (name, fields) in [
        ("a.exe", &langs[..]),
        ("a.txt", &[("target_lang", "XX")]),
        (
            "a.txt",
            &[
                ("source_lang", "DE"),
                ("target_lang", "EN"),
                ("output_format", "docx"),
            ],
        ),
        (
            "a.txt",
            &[
                ("source_lang", "DE"),
                ("target_lang", "EN"),
                ("formality", "more"),
            ],
        ),
        ("a.docx", &langs),
        ("a.txt", &[]),
    ] {
        let (status, answer) = upload(&server, name, b"x", fields);
        assert_eq!(
            (status, answer["message"].is_string()),
            (400, true),
            "{name} {answer}"
        );
    }
    let (status, _) = upload(
        &server,
        "a.txt",
        b"x",
        &[
            ("target_lang", "EN"),
            ("source_lang", "DE"),
            ("output_format", "TXT"),
        ],
    );
    assert_eq!(status, 200);
}

#[test]
fn documents_and_glossaries_belong_to_their_interface_and_key() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.keys = vec!["one".into(), "two".into()]
    });
    let as_sender = |key: &str, path: &str, kind: &str, body: &[u8]| {
        let header = format!("DeepL-Auth-Key {key}");
        server.send(path, kind, &[("authorization", &header)], body)
    };
    let part = |name: &str, value: &str| {
        format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = part("file", "Haus").replace("\"file\"", "\"file\"; filename=\"a.txt\"");
    let form = [
        part("source_lang", "DE"),
        part("target_lang", "EN"),
        file,
        "--b--\r\n".into(),
    ];
    let form = form.concat();
    let kind = "multipart/form-data; boundary=b";
    let (status, made) = as_sender("one", "/v2/document", kind, form.as_bytes());
    assert_eq!(status, 200, "{made}");
    let id = made["document_id"].as_str().unwrap();
    let body = json!({"document_key": made["document_key"]}).to_string();
    let result = |key: &str| {
        let path = format!("/v2/document/{id}/result");
        as_sender(key, &path, "application/json", body.as_bytes()).0
    };
    assert_eq!(
        [result("one"), result("two"), result("three")],
        [200, 404, 403]
    );
    for name in [id.to_owned(), format!("{id}.a.txt")] {
        assert_eq!(server.get(&format!("/download_file/{name}")).0, 404);
    }

    let form = form
        .replace("_lang", "")
        .replace("DE", "de")
        .replace("EN", "en");
    let (status, made) = as_sender("one", "/translate_file", kind, form.as_bytes());
    assert_eq!(status, 200, "{made}");
    let url = made["translatedFileUrl"].as_str().unwrap();
    let name = url.rsplit('/').next().unwrap();
    assert_eq!(
        server.get(&format!("/download_file/{name}")),
        (200, "HAUS".into())
    );
    for key in ["one", "two"] {
        for secret in ["", name] {
            let path = format!("/v2/document/{name}/result");
            let body = json!({"document_key": secret}).to_string();
            assert_eq!(
                as_sender(key, &path, "application/json", body.as_bytes()).0,
                404
            );
        }
    }

    let body = json!({"name": "a", "source_lang": "DE", "target_lang": "EN", "entries": "a\tb", "entries_format": "tsv"});
    let body = body.to_string();
    let (_, made) = as_sender("one", "/v2/glossaries", "application/json", body.as_bytes());
    let glossary = made["glossary_id"].as_str().unwrap();
    let ask = |key: &str| {
        let body = json!({"text": ["a"], "source_lang": "DE", "target_lang": "EN", "glossary_id": glossary});
        as_sender(
            key,
            "/v2/translate",
            "application/json",
            body.to_string().as_bytes(),
        )
        .0
    };
    assert_eq!([ask("one"), ask("two")], [200, 404]);
}

#[test]
fn a_document_has_a_glossary() {
    let server = server();
    let id = make(&server, "\"Haus\",house", "csv").1["glossary_id"].clone();
    let fields = [
        ("source_lang", "DE"),
        ("target_lang", "EN-GB"),
        ("glossary_ids", id.as_str().unwrap()),
    ];
    let (_, made) = upload(&server, "a.txt", b"Haus", &fields);
    assert_eq!(wait(&server, &made)["status"], "done");
    let path = format!(
        "/v2/document/{}/result",
        made["document_id"].as_str().unwrap()
    );
    assert_eq!(
        server
            .post(&path, json!({"document_key": made["document_key"]}))
            .1,
        "HAUS [house]"
    );
}

/// Runs a Python script with the address of a server, if clients are installed.
/// `BURNFORMER_CLIENT_PYTHON` is a Python that has them.
fn python(script: &str, address: &str) {
    if let Some(python) = std::env::var_os("BURNFORMER_CLIENT_PYTHON") {
        let status = Command::new(python)
            .args(["-c", script, address])
            .status()
            .unwrap();
        assert!(status.success());
    }
}

#[test]
fn deepls_own_client_works_unchanged() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.keys = vec!["key".into()];
        with_memory(settings);
    });
    python(include_str!("clients/deepl_client.py"), &server.address);
}

#[test]
fn weblate_translates_batches_by_both_interfaces() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.keys = vec!["key".into()]
    });
    python(include_str!("clients/weblate_client.py"), &server.address);
}
