//! The interfaces over a connection, with an engine that translates by capital letters.

use crate::common;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::common::{Running, Shouting, agent};
use serde_json::json;

fn server() -> Running {
    Running::start(Arc::new(Shouting::default()), |_| {})
}

#[test]
fn libretranslates_requests_are_answered_as_it_does() {
    let server = server();
    let (status, answer) =
        server.post("/translate", json!({"q": "hallo", "source": "de", "target": "en"}));
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
    assert_eq!((status, &answer["translatedText"]), (200, &json!("HALLO DU")));
    assert_eq!(answer["alternatives"], json!(["HALLO DU!", "HALLO DU!!"]));
}

#[test]
fn the_language_is_found_out_where_that_is_asked() {
    let server = server();
    let text = "Der alte Mann wohnt am Meer und fischt jeden Tag.";
    let (_, answer) = server.post("/detect", json!({"q": text}));
    assert_eq!(answer[0]["language"], "de");
    let (status, answer) =
        server.post("/translate", json!({"q": text, "source": "auto", "target": "en"}));
    assert_eq!((status, &answer["detectedLanguage"]["language"]), (200, &json!("de")));
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
fn the_attention_behind_a_translation_is_told_and_shown() {
    let server = server();
    let ask = |translation: Option<&str>| {
        let body = json!({"sentence": "gr\u{fc}n <b>", "source": "de", "target": "en", "translation": translation});
        server.post("/v1/attention", body)
    };
    let (status, answer) = ask(None);
    assert_eq!((status, &answer["target"]), (200, &json!("GR\u{dc}N <B>")), "{answer}");
    assert_eq!(answer["alignment"], json!([[0, 0], [1, 1]]));
    let panel = &answer["panels"][0];
    assert_eq!((&panel["kind"], &panel["keys"]), (&json!("cross"), &json!(["gr\u{fc}n", "<b>"])));
    assert_eq!(panel["layers"], json!([[[[1.0, 0.0], [0.0, 1.0]]]]));
    assert_eq!(ask(Some("green")).1["panels"][0]["layers"], json!([[[[1.0, 0.0]]]]));
    assert_eq!(ask(Some("")).1["target"], "GR\u{dc}N <B>");
    let form = "sentence=a+%3Cscript%3E&translation=b&source=de&target=en&api_key=";
    let kind = "application/x-www-form-urlencoded";
    let (status, page) = server.send("/attention", kind, &[], form.as_bytes());
    let page = page.as_str().expect("a page");
    assert_eq!(status, 200);
    assert!(page.contains("Attention, de to en") && page.contains(r"a \u003cscript>"), "{page}");
    for file in ["attention.css", "attention.js"] {
        assert!(page.contains(file), "{page}");
        assert_eq!(server.get(&format!("/{file}")).0, 200);
    }
    let unknown = json!({"sentence": "a", "source": "fr", "target": "en"});
    let (status, answer) = server.post("/v1/attention", unknown);
    assert_eq!((status, &answer["field"]), (400, &json!("source")));
}

#[test]
fn glossaries_of_requests_go_before_that_of_the_server() {
    let terms = [("Haus", "house|houses"), ("Hund", "dog")];
    let glossary = Arc::new(burnformer_glossary::Glossary::from_pairs(terms).unwrap());
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.models[0].glossary = Some(glossary);
    });
    let own = json!([["Haus", "mansion"], ["Katze", "cat"]]);
    let (status, answer) = server.post(
        "/v1/sentences",
        json!({"sentences": ["Haus und Hund", "Katze"], "source": "de", "target": "en", "glossary": own}),
    );
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["sentences"][0][0]["text"], "HAUS UND HUND [mansion] [dog]");
    assert_eq!(answer["sentences"][1][0]["text"], "KATZE [cat]");
    let ask = |glossary: serde_json::Value| {
        let body = json!({"texts": "Haus", "source": "de", "target": "en", "glossary": glossary});
        server.post("/v1/translate", body).1["translations"][0].clone()
    };
    // The cache tells them apart.
    assert_eq!(ask(own), "HAUS [mansion]");
    assert_eq!(ask(json!(null)), "HAUS [house]");
    assert_eq!(ask(json!([["Haus", "home"]])), "HAUS [home]");
    let (_, answer) =
        server.post("/translate", json!({"q": "Hund\n\nnichts", "source": "de", "target": "en"}));
    assert_eq!(answer["translatedText"], "HUND [dog]\n\nNICHTS");
    let (_, answer) =
        server.post("/translate", json!({"q": "Hund", "source": "en", "target": "de"}));
    assert_eq!(answer["translatedText"], "HUND", "of another pair");
}

#[test]
fn terms_that_come_again_in_every_sentence_are_bounded() {
    let server = server();
    let long = vec!["x".repeat(200); 20].join("|");
    let glossary = json!([["a", long]]);
    let ask = |count: usize| {
        let (lines, pair) = (vec!["a"; count], json!({"source": "de", "target": "en"}));
        let fields = [json!({"sentences": lines}), json!({"texts": lines.join("\n\n")})];
        let paths = ["/v1/sentences", "/v1/translate"];
        std::array::from_fn::<_, 2, _>(|place| {
            let mut body = pair.clone();
            body["glossary"] = glossary.clone();
            body.as_object_mut().unwrap().extend(fields[place].as_object().unwrap().clone());
            let (status, answer) = server.post(paths[place], body);
            (status, answer["field"].clone())
        })
    };
    // Of 200,000 bytes, a term with its translations takes 4,001.
    assert_eq!(ask(49), [200, 200].map(|status| (status, json!(null))));
    assert_eq!(ask(50), [400, 400].map(|status| (status, json!("glossary"))));
}

#[test]
fn glossaries_with_faults_are_refused() {
    let server = server();
    let many: Vec<[String; 2]> = (0..501).map(|n| [format!("a{n}"), "b".into()]).collect();
    for (glossary, needle) in [
        (json!([["a", "b"], ["a", "c"]]), "pair 2"),
        (json!([["a", ""]]), "empty"),
        (json!([["a", "x".repeat(201)]]), "201"),
        (json!(many), "501"),
        (json!([["a"]]), "length 1"),
        (json!({"a": "b"}), "sequence"),
    ] {
        for (path, field) in [("/v1/translate", "texts"), ("/v1/sentences", "sentences")] {
            let body = json!({field: ["a"], "source": "de", "target": "en", "glossary": glossary});
            let (status, answer) = server.post(path, body);
            assert_eq!(status, 400, "{answer}");
            assert!(answer["field"].as_str().unwrap().starts_with("glossary"), "{answer}");
            assert!(answer["error"].as_str().unwrap().contains(needle), "{answer}");
            assert!(answer["remedy"].is_string(), "{answer}");
        }
    }
    let (_, body) = server.get("/openapi.json");
    let document: serde_json::Value = serde_json::from_str(&body).unwrap();
    for request in ["DocumentsRequest", "SentencesRequest"] {
        let field = &document["components"]["schemas"][request]["properties"]["glossary"];
        assert_eq!(field["maxItems"], 500, "{field}");
        assert_eq!(field["items"]["items"]["type"], "string", "{field}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_field_and_a_remedy() {
    let server = server();
    let cases = [
        (json!({"q": "a", "source": "xx", "target": "en"}), 400, "source"),
        (json!({"q": "a", "source": "de", "target": "fr"}), 400, "target"),
        (json!({"q": "a", "source": "de", "target": "en", "format": "pdf"}), 400, "format"),
        (
            json!({"q": "a", "source": "de", "target": "en", "alternatives": 1000}),
            400,
            "alternatives",
        ),
        (
            json!({"q": "a", "source": "de", "target": "en", "alternatives": -1}),
            400,
            "alternatives",
        ),
        (json!({"q": 3, "source": "de", "target": "en"}), 400, "q"),
        (json!({"q": "a".repeat(300_000), "source": "de", "target": "en"}), 400, "q"),
    ];
    for (body, expected, field) in cases {
        let (status, answer) = server.post("/translate", body);
        assert_eq!((status, answer["field"].as_str()), (expected, Some(field)), "{answer}");
        assert!(answer["error"].is_string() && answer["remedy"].is_string(), "{answer}");
    }
    let (status, answer) = server.post(
        "/v1/sentences",
        json!({"sentences": ["a"], "source": "de", "target": "en", "beam": 0}),
    );
    assert_eq!((status, &answer["field"]), (400, &json!("beam")));
    let many = vec!["a"; 2000];
    let (status, _) = server.post("/translate", json!({"q": many, "source": "de", "target": "en"}));
    assert_eq!(status, 400);
}

#[test]
fn bodies_that_cannot_be_read_are_refused_in_json() {
    let server = server();
    for (kind, body, expected) in [
        ("application/json", &b"{"[..], 400),
        ("application/json", b"\xff\xfe", 400),
        ("application/json", b"", 400),
        ("text/plain", b"hello", 415),
        ("application/x-www-form-urlencoded", b"%zz&q", 400),
        ("multipart/form-data", b"", 415),
    ] {
        let (status, answer) = server.send("/translate", kind, &[], body);
        assert_eq!(status, expected, "{kind} {answer}");
        assert!(answer["error"].is_string(), "{answer}");
    }
    let large = vec![b'a'; 3 << 20];
    assert_eq!(server.send("/translate", "application/json", &[], &large).0, 413);
    assert_eq!(server.get("/nothing").0, 404);
    assert_eq!(server.get("/translate").0, 405);
}

#[test]
fn a_server_with_keys_answers_those_who_have_one() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.keys = vec!["secret".into()]
    });
    let body = json!({"q": "a", "source": "de", "target": "en"});
    assert_eq!(server.post("/translate", body.clone()).0, 403);
    let mut with_key = body.clone();
    with_key["api_key"] = json!("wrong");
    assert_eq!(server.post("/translate", with_key.clone()).0, 403);
    with_key["api_key"] = json!("secret");
    assert_eq!(server.post("/translate", with_key).0, 200);
    let body = json!({"texts": "a", "source": "de", "target": "en"}).to_string();
    let bearer = [("authorization", "Bearer secret")];
    assert_eq!(server.send("/v1/translate", "application/json", &bearer, body.as_bytes()).0, 200);
    assert_eq!(server.send("/v1/translate", "application/json", &[], body.as_bytes()).0, 403);
    assert_eq!(server.get("/health").0, 200);
}

#[test]
fn every_path_takes_a_key_in_its_header_and_in_its_body() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.keys = vec!["secret".into()]
    });
    let pair = json!({"source": "de", "target": "en"});
    for (path, fields) in [
        ("/translate", json!({"q": "a"})),
        ("/detect", json!({"q": "a"})),
        ("/v1/translate", json!({"texts": "a"})),
        ("/v1/sentences", json!({"sentences": ["a"]})),
        ("/v1/attention", json!({"sentence": "a"})),
    ] {
        let mut body = pair.clone();
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let ask = |headers: &[(&str, &str)], body: &serde_json::Value| {
            server.send(path, "application/json", headers, body.to_string().as_bytes()).0
        };
        assert_eq!(ask(&[], &body), 403, "{path}");
        assert_eq!(ask(&[("authorization", "Bearer wrong")], &body), 403, "{path}");
        assert_eq!(ask(&[("authorization", "Bearer secret")], &body), 200, "{path}");
        body["api_key"] = json!("secret");
        assert_eq!(ask(&[], &body), 200, "{path}");
    }
    let form = "--b\r\ncontent-disposition: form-data; name=\"source\"\r\n\r\nde\r\n--b--\r\n";
    let kind = "multipart/form-data; boundary=b";
    assert_eq!(server.send("/translate_file", kind, &[], form.as_bytes()).0, 403);
    let bearer = [("authorization", "Bearer secret")];
    let (status, answer) = server.send("/translate_file", kind, &bearer, form.as_bytes());
    assert_eq!((status, &answer["field"]), (400, &json!("file")), "the key is right");
    let (_, body) = server.get("/openapi.json");
    let document: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(document["components"]["securitySchemes"]["key"]["scheme"], "bearer");
    for path in ["/translate", "/translate_file", "/v1/sentences"] {
        assert_eq!(document["paths"][path]["post"]["security"][0], json!({"key": []}), "{path}");
    }
}

#[test]
fn sentences_are_counted_without_their_prefixes() {
    let server =
        Running::start(Arc::new(Shouting::default()), |settings| settings.limits.texts = 60);
    let ask = |count: usize| {
        let sentences = vec![json!({"text": "a", "prefix": "b"}); count];
        server
            .post("/v1/sentences", json!({"sentences": sentences, "source": "de", "target": "en"}))
    };
    assert_eq!(ask(60).0, 200);
    let (status, answer) = ask(61);
    assert_eq!(
        (status, &answer["error"]),
        (400, &json!("61 sentences are more than the 60 allowed"))
    );
    let (_, body) = server.get("/frontend/settings");
    let settings: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(settings["textLimit"], 60, "the page asks for no more at a time");
}

#[test]
fn language_codes_are_understood_as_people_write_them() {
    let server = server();
    for (source, target) in [("de-DE", "en_GB"), ("deu", "eng"), ("ger", "EN")] {
        let body = json!({"q": "hallo", "source": source, "target": target});
        let (status, answer) = server.post("/translate", body);
        assert_eq!((status, &answer["translatedText"]), (200, &json!("HALLO")), "{answer}");
    }
    let (_, answer) =
        server.post("/v1/translate", json!({"texts": "a", "source": "deu", "target": "en"}));
    assert_eq!(answer["source"], "de");
    let (_, answer) =
        server.post("/translate", json!({"q": "a", "source": "deu", "target": "ger"}));
    assert_eq!(answer["translatedText"], "a", "the same language");
}

#[test]
fn a_language_that_is_not_served_is_named() {
    let server = server();
    let text = "Le vieil homme vit au bord de la mer et pêche tous les jours avec son fils.";
    let (status, answer) =
        server.post("/translate", json!({"q": text, "source": "auto", "target": "en"}));
    assert_eq!((status, &answer["field"]), (400, &json!("source")), "{answer}");
    let error = answer["error"].as_str().unwrap();
    assert!(error.contains("French (fr)") && error.contains("not served"), "{error}");
    let (_, answer) = server.post("/detect", json!({"q": text}));
    assert_eq!(answer[0]["language"], "fr");
    assert!(answer[0]["confidence"].as_f64().unwrap() > 90.0, "{answer}");
}

#[test]
fn what_nobody_answers_is_counted_too() {
    let server = server();
    server.get("/nothing");
    server.get("/translate");
    let (_, text) = server.get("/metrics");
    for line in [
        r#"burnformer_requests_total{path="other",status="404"} 1"#,
        r#"burnformer_requests_total{path="/translate",status="405"} 1"#,
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn a_model_that_cannot_be_loaded_is_told_without_its_path() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.preload = false;
        settings.models[0].name = "/secret/place".into();
        settings.models[0].load =
            Arc::new(|| Err("/secret/place/model.safetensors is damaged".into()));
    });
    assert_eq!(server.get("/ready").0, 200, "nobody has asked for it");
    let (status, answer) =
        server.post("/translate", json!({"q": "a", "source": "de", "target": "en"}));
    assert_eq!(status, 500);
    assert!(!answer.to_string().contains("secret"), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("de-en"), "{answer}");
    assert_eq!(server.get("/ready").0, 503);
    assert_eq!(server.get("/health").0, 200);
    let (status, _) = server.post("/translate", json!({"q": "a", "source": "en", "target": "de"}));
    assert_eq!(status, 200, "the other one works");
}

#[test]
fn a_request_at_fault_does_not_harm_its_neighbours() {
    let engine = Shouting { delay: Duration::from_millis(50), ..Shouting::default() };
    let server = Arc::new(Running::start(Arc::new(engine), |_| {}));
    let ask = |text: String| {
        let server = server.clone();
        std::thread::spawn(move || {
            server.post("/translate", json!({"q": text, "source": "de", "target": "en"}))
        })
    };
    let asked: Vec<_> = (0..24)
        .map(|number| {
            let text = match number % 8 {
                3 => format!("fail {number}"),
                5 => format!("panic {number}"),
                _ => format!("text {number}"),
            };
            (text.clone(), ask(text))
        })
        .collect();
    for (text, answer) in asked {
        let (status, answer) = answer.join().unwrap();
        let expected = if text.starts_with("fail") {
            400
        } else if text.starts_with("panic") {
            500
        } else {
            200
        };
        assert_eq!(status, expected, "{text}: {answer}");
        if status == 200 {
            assert_eq!(answer["translatedText"], text.to_uppercase());
        }
    }
}

#[test]
fn sentences_that_come_again_are_not_translated_again() {
    let engine = Arc::new(Shouting::default());
    let server = Running::start(engine.clone(), |_| {});
    for _ in 0..5 {
        server.post("/translate", json!({"q": "noch einmal", "source": "de", "target": "en"}));
    }
    assert_eq!(engine.sentences.load(Ordering::SeqCst), 1);
    server.post("/translate", json!({"q": "noch einmal", "source": "en", "target": "de"}));
    assert_eq!(engine.sentences.load(Ordering::SeqCst), 2, "of another model");
}

#[test]
fn files_are_translated_and_fetched() {
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
    assert!(url.starts_with(&server.address) && url.ends_with(".a.txt"), "{url}");
    let body = agent().get(url).call().unwrap().body_mut().read_to_string().unwrap();
    assert_eq!(body.trim_end(), "EINS\nZWEI");
    let (status, answer) = server.send("/translate_file", kind, &[], form("a.exe").as_bytes());
    assert_eq!((status, &answer["field"]), (400, &json!("file")));
    assert_eq!(server.send("/translate_file", kind, &[], b"--b--\r\n").0, 400);
    assert_eq!(server.get("/download_file/unknown").0, 404);
}

#[test]
fn pages_of_other_origins_may_ask_only_if_told_so() {
    let origin = |server: &Running| {
        let request = agent()
            .get(format!("{}/languages", server.address))
            .header("origin", "https://a.example");
        let response = request.call().unwrap();
        let allowed = response.headers().get("access-control-allow-origin");
        allowed.map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(origin(&server()), None);
    let with = |cors: &str| {
        let cors = Some(cors.to_owned());
        Running::start(Arc::new(Shouting::default()), |settings| settings.cors = cors)
    };
    assert_eq!(origin(&with("*")).as_deref(), Some("*"));
    assert_eq!(origin(&with("https://a.example")).as_deref(), Some("https://a.example"));
    let server = with("*");
    let asked = ureq::http::Request::builder()
        .method("OPTIONS")
        .uri(format!("{}/v1/translate", server.address))
        .header("origin", "https://a.example")
        .header("access-control-request-method", "POST")
        .header("access-control-request-headers", "authorization,content-type")
        .body(())
        .unwrap();
    let response = agent().run(asked).unwrap();
    let allowed = response.headers().get("access-control-allow-headers").unwrap();
    assert!(allowed.to_str().unwrap().contains("authorization"), "{allowed:?}");
    let mut settings = common::settings(Arc::new(Shouting::default()));
    settings.cors = Some("a.example/".into());
    assert!(burnformer_server::Server::new(settings).is_err());
}

#[test]
fn answers_carry_headers_that_keep_browsers_safe() {
    let server = server();
    for path in ["/", "/languages", "/nothing"] {
        let response = agent().get(format!("{}{path}", server.address)).call().unwrap();
        for header in ["x-content-type-options", "content-security-policy", "referrer-policy"] {
            assert!(response.headers().contains_key(header), "{path} {header}");
        }
    }
}

#[test]
fn the_description_names_every_path_and_its_answers() {
    let (_, body) = server().get("/openapi.json");
    let document: serde_json::Value = serde_json::from_str(&body).unwrap();
    for path in
        ["/translate", "/detect", "/languages", "/v1/translate", "/v1/sentences", "/translate_file"]
    {
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
    assert_eq!(names.len(), count, "each operation has a name of its own: {names:?}");
    let fields = &document["components"]["schemas"]["TranslateRequest"]["properties"];
    assert_eq!(fields["source"]["enum"], json!(["auto", "de", "en"]));
    assert_eq!(fields["target"]["enum"], json!(["de", "en"]));
}
