//! Refused requests and their answers.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{self, Running, Shouting, agent, server};
use serde_json::json;

#[test]
fn repeated_terms_are_bounded() {
    let server = server();
    let long = vec!["x".repeat(200); 20].join("|");
    let glossary = json!([["a", long]]);
    let ask = |count: usize| {
        let lines = vec!["a"; count];
        let pair = json!({"source": "de", "target": "en"});
        let fields = [
            json!({"sentences": lines}),
            json!({"texts": lines.join("\n\n")}),
        ];
        let paths = ["/v1/sentences", "/v1/translate"];
        std::array::from_fn::<_, 2, _>(|index| {
            let mut body = pair.clone();
            body["glossary"] = glossary.clone();
            body.as_object_mut()
                .unwrap()
                .extend(fields[index].as_object().unwrap().clone());
            let (status, answer) = server.post(paths[index], body);
            (status, answer["field"].clone())
        })
    };
    // A term with its translations takes 4,001 of 200,000 bytes.
    assert_eq!(ask(49), [200, 200].map(|status| (status, json!(null))));
    assert_eq!(
        ask(50),
        [400, 400].map(|status| (status, json!("glossary")))
    );
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
            assert!(
                answer["field"].as_str().unwrap().starts_with("glossary"),
                "{answer}"
            );
            assert!(
                answer["error"].as_str().unwrap().contains(needle),
                "{answer}"
            );
            assert!(answer["remedy"].is_string(), "{answer}");
        }
    }
    let (_, body) = server.get("/openapi.json");
    let document: serde_json::Value = serde_json::from_str(&body).unwrap();
    for request in ["DocumentsRequest", "SentencesRequest"] {
        let field = &document["components"]["schemas"][request]["properties"]["glossary"];
        assert_eq!(field["items"]["items"]["type"], "string", "{field}");
    }
}

#[test]
fn errors_name_the_field_and_a_remedy() {
    let server = server();
    let cases = [
        (
            json!({"q": "a", "source": "xx", "target": "en"}),
            400,
            "source",
        ),
        (
            json!({"q": "a", "source": "de", "target": "fr"}),
            400,
            "target",
        ),
        (
            json!({"q": "a", "source": "de", "target": "en", "format": "pdf"}),
            400,
            "format",
        ),
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
        (
            json!({"q": "a".repeat(300_000), "source": "de", "target": "en"}),
            400,
            "q",
        ),
    ];
    for (body, expected, field) in cases {
        let (status, answer) = server.post("/translate", body);
        assert_eq!(
            (status, answer["field"].as_str()),
            (expected, Some(field)),
            "{answer}"
        );
        assert!(
            answer["error"].is_string() && answer["remedy"].is_string(),
            "{answer}"
        );
    }
    let (status, answer) = server.post(
        "/v1/sentences",
        json!({"sentences": ["a"], "source": "de", "target": "en", "beam": 0}),
    );
    assert_eq!((status, &answer["field"]), (400, &json!("beam")));
    for path in ["/v1/sentences", "/v1/stream"] {
        let body = |beam: usize| json!({"sentences": ["a"], "source": "de", "target": "en", "alternatives": 3, "beam": beam});
        let (status, answer) = server.post(path, body(3));
        assert_eq!(
            (status, &answer["field"]),
            (400, &json!("beam")),
            "{answer}"
        );
        let error = answer["error"].as_str().unwrap();
        assert!(
            error.contains("alternatives + 1 = 4") && error.contains("beam = 3"),
            "{error}"
        );
        assert_eq!(server.post(path, body(4)).0, 200, "{path}");
    }
    let many = vec!["a"; 2000];
    let (status, _) = server.post(
        "/translate",
        json!({"q": many, "source": "de", "target": "en"}),
    );
    assert_eq!(status, 400);
}

#[test]
fn unreadable_bodies_are_refused_in_json() {
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
    let json = json!({"q": "a", "source": "de", "target": "en"}).to_string();
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let headers = [("content-encoding", coding)];
        let (status, answer) =
            server.send("/translate", "application/json", &headers, json.as_bytes());
        assert_eq!(status, 415);
        assert!(
            answer["error"].as_str().unwrap().contains(coding),
            "{answer}"
        );
        let (status, _) = server.send(
            "/translate_file",
            "multipart/form-data; boundary=b",
            &headers,
            b"",
        );
        assert_eq!(status, 415);
    }
    let identity = [("content-encoding", "identity")];
    assert_eq!(
        server
            .send("/translate", "application/json", &identity, json.as_bytes())
            .0,
        200
    );
    let large = vec![b'a'; 3 << 20];
    assert_eq!(
        server.send("/translate", "application/json", &[], &large).0,
        413
    );
    // A body with a `Content-Length` far above the limit is not waited for.
    let mut stream =
        std::net::TcpStream::connect(server.address.trim_start_matches("http://")).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(3)))
        .unwrap();
    let head = "POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n\
                Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    assert_eq!(server.get("/nothing").0, 404);
    assert_eq!(server.get("/translate").0, 405);
}

#[test]
fn unknown_fields_are_refused_by_name() {
    let server = server();
    let pair = json!({"source": "de", "target": "en"});
    for (path, fields, name, meant) in [
        (
            "/translate",
            json!({"q": "a", "fromat": "html"}),
            "fromat",
            "format",
        ),
        (
            "/detect",
            json!({"q": "a", "api-key": "b"}),
            "api-key",
            "api_key",
        ),
        (
            "/v1/translate",
            json!({"texts": "a", "glosary": []}),
            "glosary",
            "glossary",
        ),
        (
            "/v1/translate",
            json!({"texts": "a", "lengthPenalty": 1}),
            "lengthPenalty",
            "length_penalty",
        ),
        (
            "/v1/translate",
            json!({"texts": "a", "temperature": 1}),
            "temperature",
            "",
        ),
        (
            "/v1/sentences",
            json!({"sentences": ["a"], "link": true}),
            "link",
            "links",
        ),
        (
            "/v1/attention",
            json!({"sentence": "a", "translated": "b"}),
            "translated",
            "",
        ),
        (
            "/attention",
            json!({"sentence": "a", "sourc": "b"}),
            "sourc",
            "source",
        ),
    ] {
        let mut body = pair.clone();
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let (status, answer) = server.post(path, body);
        assert_eq!(
            (status, answer["field"].as_str()),
            (400, Some(name)),
            "{path} {answer}"
        );
        let asked = format!("did you mean {meant}?");
        let error = answer["error"].as_str().unwrap();
        assert_eq!(error.contains(&asked), !meant.is_empty(), "{error}");
        assert!(
            answer["remedy"].as_str().unwrap().starts_with("one of "),
            "{answer}"
        );
    }
    let body = json!({"sentences": [{"text": "a", "prefx": "b"}], "source": "de", "target": "en"});
    let (status, answer) = server.post("/v1/sentences", body);
    assert!(
        status == 400 && answer["error"].as_str().unwrap().contains("`prefix`"),
        "{answer}"
    );
    // Clients of LibreTranslate send fields of other versions.
    let body = json!({"q": "a", "source": "de", "target": "en", "secret": "", "lang": {"a": []}});
    assert_eq!(server.post("/translate", body).0, 200);
}

#[test]
fn a_server_with_keys_answers_requests_with_a_key() {
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
    assert_eq!(
        server
            .send(
                "/v1/translate",
                "application/json",
                &bearer,
                body.as_bytes()
            )
            .0,
        200
    );
    assert_eq!(
        server
            .send("/v1/translate", "application/json", &[], body.as_bytes())
            .0,
        403
    );
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
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let ask = |headers: &[(&str, &str)], body: &serde_json::Value| {
            server
                .send(
                    path,
                    "application/json",
                    headers,
                    body.to_string().as_bytes(),
                )
                .0
        };
        assert_eq!(ask(&[], &body), 403, "{path}");
        assert_eq!(
            ask(&[("authorization", "Bearer wrong")], &body),
            403,
            "{path}"
        );
        assert_eq!(
            ask(&[("authorization", "Bearer secret")], &body),
            200,
            "{path}"
        );
        body["api_key"] = json!("secret");
        assert_eq!(ask(&[], &body), 200, "{path}");
    }
    let form = "--b\r\ncontent-disposition: form-data; name=\"source\"\r\n\r\nde\r\n--b--\r\n";
    let kind = "multipart/form-data; boundary=b";
    assert_eq!(
        server.send("/translate_file", kind, &[], form.as_bytes()).0,
        403
    );
    let bearer = [("authorization", "Bearer secret")];
    let (status, answer) = server.send("/translate_file", kind, &bearer, form.as_bytes());
    assert_eq!(
        (status, &answer["field"]),
        (400, &json!("file")),
        "the key is right"
    );
    let (_, body) = server.get("/openapi.json");
    let document: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        document["components"]["securitySchemes"]["key"]["scheme"],
        "bearer"
    );
    for path in ["/translate", "/translate_file", "/v1/sentences"] {
        assert_eq!(
            document["paths"][path]["post"]["security"][0],
            json!({"key": []}),
            "{path}"
        );
    }
}

#[test]
fn sentences_are_counted_without_their_prefixes() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.limits.texts = 60
    });
    let ask = |count: usize| {
        let sentences = vec![json!({"text": "a", "prefix": "b"}); count];
        server.post(
            "/v1/sentences",
            json!({"sentences": sentences, "source": "de", "target": "en"}),
        )
    };
    assert_eq!(ask(60).0, 200);
    let (status, answer) = ask(61);
    assert_eq!(
        (status, &answer["error"]),
        (400, &json!("61 sentences are more than the 60 allowed"))
    );
    let (_, body) = server.get("/frontend/settings");
    let settings: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        settings["textLimit"], 60,
        "the page asks for no more at a time"
    );
}

#[test]
fn a_language_that_is_not_served_is_named() {
    let server = server();
    let text = "Le vieil homme vit au bord de la mer et pêche tous les jours avec son fils.";
    let (status, answer) = server.post(
        "/translate",
        json!({"q": text, "source": "auto", "target": "en"}),
    );
    assert_eq!(
        (status, &answer["field"]),
        (400, &json!("source")),
        "{answer}"
    );
    let error = answer["error"].as_str().unwrap();
    assert!(
        error.contains("French (fr)") && error.contains("not served"),
        "{error}"
    );
    let (_, answer) = server.post("/detect", json!({"q": text}));
    assert_eq!(answer[0]["language"], "fr");
    assert!(answer[0]["confidence"].as_f64().unwrap() > 90.0, "{answer}");
}

#[test]
fn unanswered_requests_are_counted_too() {
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
fn a_load_error_does_not_reveal_the_path() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.preload = false;
        settings.models[0].name = "/secret/place".into();
        settings.models[0].load =
            Arc::new(|| Err("/secret/place/model.safetensors is damaged".into()));
    });
    assert_eq!(server.get("/ready").0, 200, "nobody has asked for it");
    let (status, answer) = server.post(
        "/translate",
        json!({"q": "a", "source": "de", "target": "en"}),
    );
    assert_eq!(status, 500);
    assert!(!answer.to_string().contains("secret"), "{answer}");
    assert!(
        answer["error"].as_str().unwrap().contains("de-en"),
        "{answer}"
    );
    assert_eq!(server.get("/ready").0, 503);
    assert_eq!(server.get("/health").0, 200);
    let (status, _) = server.post(
        "/translate",
        json!({"q": "a", "source": "en", "target": "de"}),
    );
    assert_eq!(status, 200, "the other one works");
}

#[test]
fn a_request_at_fault_does_not_harm_its_neighbours() {
    let engine = Shouting {
        delay: Duration::from_millis(50),
        ..Shouting::default()
    };
    let server = Arc::new(Running::start(Arc::new(engine), |_| {}));
    let ask = |text: String| {
        let server = server.clone();
        std::thread::spawn(move || {
            server.post(
                "/translate",
                json!({"q": text, "source": "de", "target": "en"}),
            )
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
fn other_origins_may_send_requests_only_if_allowed() {
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
        Running::start(Arc::new(Shouting::default()), |settings| {
            settings.cors = cors
        })
    };
    assert_eq!(origin(&with("*")).as_deref(), Some("*"));
    assert_eq!(
        origin(&with("https://a.example")).as_deref(),
        Some("https://a.example")
    );
    let server = with("*");
    let asked = ureq::http::Request::builder()
        .method("OPTIONS")
        .uri(format!("{}/v1/translate", server.address))
        .header("origin", "https://a.example")
        .header("access-control-request-method", "POST")
        .header(
            "access-control-request-headers",
            "authorization,content-type",
        )
        .body(())
        .unwrap();
    let response = agent().run(asked).unwrap();
    let allowed = response
        .headers()
        .get("access-control-allow-headers")
        .unwrap();
    assert!(
        allowed.to_str().unwrap().contains("authorization"),
        "{allowed:?}"
    );
    let mut settings = common::settings(Arc::new(Shouting::default()));
    settings.cors = Some("a.example/".into());
    assert!(burnformer_server::Server::new(settings).is_err());
}
