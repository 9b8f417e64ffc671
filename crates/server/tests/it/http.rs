//! The interfaces over a connection, with an engine that translates into upper case.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::common::{Running, Shouting, agent, server};
use burnformer_documents::OfficeKind;
use serde_json::json;

#[test]
fn libretranslates_requests_are_answered_as_it_does() {
    let server = server();
    let (status, answer) = server.post(
        "/translate",
        json!({"q": "hallo", "source": "de", "target": "en"}),
    );
    assert_eq!((status, answer), (200, json!({"translatedText": "HALLO"})));
    let (status, answer) = server.post(
        "/translate",
        json!({"q": ["eins", "zwei"], "source": "de", "target": "en", "format": "text", "alternatives": 1}),
    );
    assert_eq!(status, 200);
    assert_eq!(answer["translatedText"], json!(["EINS", "ZWEI"]));
    assert_eq!(answer["alternatives"], json!([["EINS!"], ["ZWEI!"]]));
    let form = "q=hallo+du&source=de&target=en&alternatives=2".as_bytes();
    let (status, answer) =
        server.send("/translate", "application/x-www-form-urlencoded", &[], form);
    assert_eq!(
        (status, &answer["translatedText"]),
        (200, &json!("HALLO DU"))
    );
    assert_eq!(answer["alternatives"], json!(["HALLO DU!", "HALLO DU!!"]));
}

#[test]
fn the_language_is_detected_on_request() {
    let server = server();
    let text = "Der alte Mann wohnt am Meer und fischt jeden Tag.";
    let (_, answer) = server.post("/detect", json!({"q": text}));
    assert_eq!(answer[0]["language"], "de");
    let (status, answer) = server.post(
        "/translate",
        json!({"q": text, "source": "auto", "target": "en"}),
    );
    assert_eq!(
        (status, &answer["detectedLanguage"]["language"]),
        (200, &json!("de"))
    );
    let (_, answer) = server.post("/v1/translate", json!({"texts": text, "target": "en"}));
    assert_eq!(answer["source"], "de");
    assert_eq!(answer["translations"], json!([text.to_uppercase()]));
}

#[test]
fn languages_and_settings_are_listed() {
    let server = server();
    let (status, body) = server.get("/languages");
    assert_eq!(status, 200);
    let languages: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        languages,
        json!([{"code": "de", "name": "German", "targets": ["en"]}, {"code": "en", "name": "English", "targets": ["de"]}])
    );
    for path in [
        "/frontend/settings",
        "/health",
        "/ready",
        "/metrics",
        "/openapi.json",
        "/",
        "/docs",
        "/page.js",
        "/page.css",
    ] {
        assert_eq!(server.get(path).0, 200, "{path}");
    }
}

#[test]
fn sentences_have_scores_alternatives_links_and_prefixes() {
    let server = server();
    let (status, answer) = server.post(
        "/v1/sentences",
        json!({"sentences": ["für dich", {"text": "b", "prefix": "Z"}], "source": "de", "target": "en", "alternatives": 1, "links": true}),
    );
    assert_eq!(status, 200, "{answer}");
    let first = &answer["sentences"][0];
    assert_eq!(first[0]["text"], "FÜR DICH");
    assert_eq!(first[1]["score"], -1.0);
    assert_eq!(
        first[0]["links"],
        json!([{"source": [0, 8], "target": [0, 8]}]),
        "counted in characters"
    );
    assert_eq!(answer["sentences"][1][0]["text"], "ZB");
}

#[test]
fn a_text_is_divided_into_the_sentences_that_are_translated() {
    let server = server();
    let long = "und so weiter, ".repeat(60);
    let text =
        format!("1. Grüß Dr. Müller! Er kommt um z. B. 8 Uhr. 😀 Ja.\n\n{long}bis zum Ende.");
    let body = json!({"text": text, "source": "de", "target": "en"});
    let (status, answer) = server.post("/v1/divide", body.clone());
    assert_eq!(status, 200, "{answer}");
    let characters: Vec<char> = text.chars().collect();
    let places = answer["sentences"].as_array().expect("a list");
    let sentences: Vec<String> = places
        .iter()
        .map(|place| {
            let [start, end] = [0, 1].map(|side| place[side].as_u64().expect("a number") as usize);
            characters[start..end].iter().collect()
        })
        .collect();
    assert_eq!(
        sentences[..3],
        ["Grüß Dr. Müller!", "Er kommt um z. B. 8 Uhr.", "😀 Ja."]
    );
    // Clauses that fit into the model.
    assert!(sentences.len() > 4 && sentences.iter().all(|sentence| sentence.len() < 500));
    let whole = json!({"texts": text, "source": "de", "target": "en"});
    let (_, translated) = server.post("/v1/translate", whole);
    let translated = translated["translations"][0]
        .as_str()
        .expect("a text")
        .to_owned();
    for sentence in &sentences {
        assert!(
            translated.contains(&sentence.to_uppercase()),
            "{translated}"
        );
    }
    let same = json!({"text": " Hi. Ho. ", "source": "de", "target": "de"});
    assert_eq!(
        server.post("/v1/divide", same).1["sentences"],
        json!([[0, 9]])
    );
    for (field, value) in [("source", "xx"), ("target", "xx"), ("text", "")] {
        let mut wrong = body.clone();
        wrong[field] = json!(value);
        let (status, answer) = server.post("/v1/divide", wrong);
        assert_eq!(status, if field == "text" { 200 } else { 400 }, "{answer}");
    }
}

#[test]
fn attention_is_returned_as_json_and_as_a_page() {
    let server = server();
    let ask = |translation: Option<&str>| {
        let body = json!({"sentence": "gr\u{fc}n <b>", "source": "de", "target": "en", "translation": translation});
        server.post("/v1/attention", body)
    };
    let (status, answer) = ask(None);
    assert_eq!(
        (status, &answer["target"]),
        (200, &json!("GR\u{dc}N <b>")),
        "{answer}"
    );
    assert_eq!(answer["alignment"], json!([[0, 0], [1, 1]]));
    let panel = &answer["panels"][1];
    assert_eq!(
        (&panel["kind"], &panel["keys"]),
        (&json!("cross"), &json!(["gr\u{fc}n", "<b>"]))
    );
    assert_eq!(panel["layers"], json!([[[[1.0, 0.0], [0.0, 1.0]]]]));
    assert_eq!(
        ask(Some("green")).1["panels"][1]["layers"],
        json!([[[[1.0, 0.0]]]])
    );
    assert_eq!(ask(Some("")).1["target"], "GR\u{dc}N <b>");
    let form = "sentence=a+%3Cscript%3E&translation=b&source=de&target=en&api_key=";
    let kind = "application/x-www-form-urlencoded";
    let (status, page) = server.send("/attention", kind, &[], form.as_bytes());
    let page = page.as_str().expect("a page");
    assert_eq!(status, 200);
    assert!(
        page.contains("Attention, de to en") && page.contains(r"a \u003cscript>"),
        "{page}"
    );
    for file in ["attention.css", "attention.js"] {
        assert!(page.contains(file), "{page}");
        assert_eq!(server.get(&format!("/{file}")).0, 200);
    }
    let unknown = json!({"sentence": "a", "source": "fr", "target": "en"});
    let (status, answer) = server.post("/v1/attention", unknown);
    assert_eq!((status, &answer["field"]), (400, &json!("source")));
}

#[test]
fn refused_attention_costs_no_translation() {
    let engine = Arc::new(Shouting::default());
    let server = Running::start(engine.clone(), |_| {});
    for (sentence, translation) in [
        ("a ".repeat(300), None),
        ("a".into(), Some("b".repeat(500))),
    ] {
        let body = json!({"sentence": sentence, "source": "de", "target": "en", "translation": translation});
        let (status, answer) = server.post("/v1/attention", body);
        assert_eq!(
            (status, &answer["error"]),
            (400, &json!("too long to be shown"))
        );
    }
    assert_eq!(engine.sentences.load(Ordering::SeqCst), 0);
}

#[test]
fn request_glossaries_take_precedence_over_the_server_glossary() {
    let terms = [("Haus", "house|houses"), ("Hund", "dog")];
    let glossary = Arc::new(burnformer_terminology::Glossary::from_pairs(terms).unwrap());
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.models[0].glossary = Some(glossary);
    });
    let terms = json!([["Haus", "mansion"], ["Katze", "cat"]]);
    let (status, answer) = server.post(
        "/v1/sentences",
        json!({"sentences": ["Haus und Hund", "Katze"], "source": "de", "target": "en", "glossary": terms}),
    );
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        answer["sentences"][0][0]["text"],
        "HAUS UND HUND [mansion] [dog]"
    );
    assert_eq!(answer["sentences"][1][0]["text"], "KATZE [cat]");
    let ask = |glossary: serde_json::Value| {
        let body = json!({"texts": "Haus", "source": "de", "target": "en", "glossary": glossary});
        server.post("/v1/translate", body).1["translations"][0].clone()
    };
    // The cache distinguishes requests with and without terms.
    assert_eq!(ask(terms), "HAUS [mansion]");
    assert_eq!(ask(json!(null)), "HAUS [house]");
    assert_eq!(ask(json!([["Haus", "home"]])), "HAUS [home]");
    let (_, answer) = server.post(
        "/translate",
        json!({"q": "Hund\n\nnichts", "source": "de", "target": "en"}),
    );
    assert_eq!(answer["translatedText"], "HUND [dog]\n\nNICHTS");
    let (_, answer) = server.post(
        "/translate",
        json!({"q": "Hund", "source": "en", "target": "de"}),
    );
    assert_eq!(answer["translatedText"], "HUND", "of another pair");
}

#[test]
fn language_codes_are_accepted_in_common_spellings() {
    let server = server();
    for (source, target) in [("de-DE", "en_GB"), ("deu", "eng"), ("ger", "EN")] {
        let body = json!({"q": "hallo", "source": source, "target": target});
        let (status, answer) = server.post("/translate", body);
        assert_eq!(
            (status, &answer["translatedText"]),
            (200, &json!("HALLO")),
            "{answer}"
        );
    }
    let (_, answer) = server.post(
        "/v1/translate",
        json!({"texts": "a", "source": "deu", "target": "en"}),
    );
    assert_eq!(answer["source"], "de");
    let (_, answer) = server.post(
        "/translate",
        json!({"q": "a", "source": "deu", "target": "ger"}),
    );
    assert_eq!(answer["translatedText"], "a", "the same language");
}

#[test]
fn repeated_sentences_are_translated_once() {
    let engine = Arc::new(Shouting::default());
    let server = Running::start(engine.clone(), |_| {});
    for _ in 0..5 {
        server.post(
            "/translate",
            json!({"q": "noch einmal", "source": "de", "target": "en"}),
        );
    }
    assert_eq!(engine.sentences.load(Ordering::SeqCst), 1);
    server.post(
        "/translate",
        json!({"q": "noch einmal", "source": "en", "target": "de"}),
    );
    assert_eq!(
        engine.sentences.load(Ordering::SeqCst),
        2,
        "of another model"
    );
    for format in ["text", "html"] {
        let q = ["Hin. Her. Hin. Hin.", "Her.", "Weg."];
        let asked = json!({"q": q, "source": "de", "target": "en", "format": format});
        let texts = json!(["HIN. HER. HIN. HIN.", "HER.", "WEG."]);
        assert_eq!(server.post("/translate", asked).1["translatedText"], texts);
        assert_eq!(
            engine.sentences.load(Ordering::SeqCst),
            5,
            "in one request, too"
        );
    }
}

#[test]
fn files_are_translated_and_downloaded() {
    let server = server();
    let part = |name: &str, value: &str| {
        format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let form = |file: &str| {
        format!(
            "{}{}--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{file}\"\r\n\r\neins\nzwei\n\r\n--b--\r\n",
            part("source", "de"),
            part("target", "en")
        )
    };
    let kind = "multipart/form-data; boundary=b";
    let (status, answer) = server.send("/translate_file", kind, &[], form("a.txt").as_bytes());
    assert_eq!(status, 200, "{answer}");
    let url = answer["translatedFileUrl"].as_str().unwrap();
    assert!(
        url.starts_with(&server.address) && url.ends_with(".a.txt"),
        "{url}"
    );
    let body = agent()
        .get(url)
        .call()
        .unwrap()
        .body_mut()
        .read_to_string()
        .unwrap();
    assert_eq!(body.trim_end(), "EINS\nZWEI");
    let office = include_bytes!("../fixtures/letter.docx");
    let sent = |bytes: &[u8]| {
        let form = form("letter.docx").replace("eins\nzwei\n\r\n--b--\r\n", "");
        [form.as_bytes(), bytes, b"\r\n--b--\r\n"].concat()
    };
    let (status, answer) = server.send("/translate_file", kind, &[], &sent(office));
    assert_eq!(status, 200, "{answer}");
    let url = answer["translatedFileUrl"].as_str().unwrap();
    let body = agent()
        .get(url)
        .call()
        .unwrap()
        .body_mut()
        .read_to_vec()
        .unwrap();
    let text = String::from_utf8_lossy(&body).into_owned();
    assert!(
        url.ends_with(".letter.docx") && text.starts_with("PK"),
        "{text}"
    );
    assert!(
        burnformer_documents::Office::read(body, OfficeKind::Docx)
            .unwrap()
            .html()
            .contains("EINS")
    );
    let (status, answer) = server.send("/translate_file", kind, &[], &sent(&office[..99]));
    assert_eq!((status, &answer["field"]), (400, &json!("file")));
    assert!(
        answer["error"]
            .as_str()
            .unwrap()
            .contains("no whole archive"),
        "{answer}"
    );
    let (status, answer) = server.send("/translate_file", kind, &[], form("a.exe").as_bytes());
    assert_eq!((status, &answer["field"]), (400, &json!("file")));
    assert_eq!(
        server.send("/translate_file", kind, &[], b"--b--\r\n").0,
        400
    );
    assert_eq!(server.get("/download_file/unknown").0, 404);
}

#[test]
fn answers_carry_headers_that_keep_browsers_safe() {
    let server = server();
    for path in ["/", "/languages", "/nothing"] {
        let response = agent()
            .get(format!("{}{path}", server.address))
            .call()
            .unwrap();
        for header in [
            "x-content-type-options",
            "content-security-policy",
            "referrer-policy",
        ] {
            assert!(response.headers().contains_key(header), "{path} {header}");
        }
    }
}

#[test]
fn the_description_names_every_path_and_its_answers() {
    let (_, body) = server().get("/openapi.json");
    let document: serde_json::Value = serde_json::from_str(&body).unwrap();
    for path in [
        "/translate",
        "/detect",
        "/languages",
        "/v1/translate",
        "/v1/sentences",
        "/translate_file",
    ] {
        assert!(document["paths"][path].is_object(), "{path}");
    }
    let answers = &document["paths"]["/translate"]["post"]["responses"];
    for status in ["200", "400", "403", "413", "415", "503"] {
        assert!(answers[status].is_object(), "{status}");
    }
    let paths = document["paths"].as_object().unwrap().values();
    let mut names: Vec<&str> = paths
        .flat_map(|path| path.as_object().unwrap().values())
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names.len(),
        count,
        "each operation has a name of its own: {names:?}"
    );
}

#[test]
fn the_pages_of_the_paper_are_served_from_a_folder_and_their_absence_is_explained() {
    let (status, answer) = server().get("/paper/");
    assert_eq!(status, 404);
    assert!(answer.contains("cargo xtask web --only paper"), "{answer}");

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("paper.html"), "<p>The paper").unwrap();
    std::fs::create_dir(folder.path().join("code")).unwrap();
    std::fs::write(folder.path().join("code/a.js"), "1").unwrap();
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.pages = Some(folder.path().into());
    });
    for (path, kind) in [
        ("/paper", "text/html; charset=utf-8"),
        ("/paper/", "text/html; charset=utf-8"),
        ("/paper/code/a.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = agent()
            .get(format!("{}{path}", server.address))
            .call()
            .unwrap();
        assert_eq!(answer.headers()["content-type"], kind, "{path}");
        let policy = answer.headers()["content-security-policy"]
            .to_str()
            .unwrap();
        assert!(policy.contains("'wasm-unsafe-eval'"), "{path}: {policy}");
    }
    let (_, settings) = server.get("/frontend/settings");
    assert!(settings.contains("\"paper\":true"), "{settings}");
    let (status, answer) = server.get("/paper/../Cargo.toml");
    assert_eq!(status, 404, "{answer}");
}
