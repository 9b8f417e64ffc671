//! Many clients at once: batches, bounds, order, shutdown.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::common::{Running, Shouting, agent, wait_until};
use crate::models::leave;
use serde_json::{Value, json};

/// An engine that translates into upper case and takes this long for a batch.
pub fn slow(milliseconds: u64) -> Shouting {
    Shouting {
        delay: Duration::from_millis(milliseconds),
        ..Shouting::default()
    }
}

/// Requests the translation of a text on a thread.
pub fn ask(server: &Arc<Running>, q: Value) -> std::thread::JoinHandle<(u16, Value)> {
    let server = server.clone();
    std::thread::spawn(move || {
        server.post(
            "/translate",
            json!({"q": q, "source": "de", "target": "en"}),
        )
    })
}

#[test]
fn concurrent_requests_share_batches() {
    let engine = Arc::new(slow(50));
    let server = Arc::new(Running::start(engine.clone(), |_| {}));
    let asked: Vec<_> = (0..32)
        .map(|number| ask(&server, json!(format!("text {number}"))))
        .collect();
    for (number, answer) in asked.into_iter().enumerate() {
        let (status, answer) = answer.join().unwrap();
        assert_eq!(
            (status, answer["translatedText"].as_str()),
            (200, Some(&*format!("TEXT {number}")))
        );
    }
    assert!(
        engine.batches.load(Ordering::SeqCst) < 32,
        "{:?}",
        engine.batches
    );
    assert!(
        engine.largest.load(Ordering::SeqCst) > 1,
        "{:?}",
        engine.largest
    );
}

#[test]
fn the_state_is_answered_while_all_threads_are_busy() {
    let server = crate::common::server();
    assert_eq!(server.get("/languages").0, 200);
    for _ in 0..2 {
        server
            .runtime
            .spawn(async { std::thread::sleep(Duration::from_secs(3)) });
    }
    std::thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    for path in ["/health", "/ready"] {
        assert_eq!(server.get(path).0, 200);
    }
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(server.get("/languages").0, 200);
    assert!(
        begun.elapsed() > Duration::from_secs(2),
        "the threads were not busy"
    );
}

#[test]
fn a_long_document_does_not_keep_a_short_request_waiting() {
    let engine = Arc::new(slow(50));
    let server = Arc::new(Running::start(engine.clone(), |settings| {
        settings.queue.batch = 4
    }));
    let lines: Vec<String> = (0..200).map(|line| format!("line {line}")).collect();
    let long = ask(&server, json!(lines.join("\n")));
    engine.wait_until_busy();
    let short = ask(&server, json!("short"));
    assert_eq!(short.join().unwrap().0, 200);
    let long_done = long.is_finished();
    assert!(!long_done, "the document was translated first");
    let (status, answer) = long.join().unwrap();
    assert_eq!(
        (status, answer["translatedText"].as_str()),
        (200, Some(&*lines.join("\n").to_uppercase()))
    );
}

#[test]
fn a_full_queue_answers_503_with_retry_after_and_loses_no_request() {
    let engine = Arc::new(slow(20));
    let server = Arc::new(Running::start(engine, |settings| {
        settings.queue.batch = 2;
        settings.queue.waiting = 8;
    }));
    let asked: Vec<_> = (0..60)
        .map(|number| ask(&server, json!(format!("text {number}"))))
        .collect();
    let statuses: Vec<u16> = asked
        .into_iter()
        .map(|answer| answer.join().unwrap().0)
        .collect();
    let count = |status| statuses.iter().filter(|&&found| found == status).count();
    assert_eq!(count(200) + count(503), 60, "{statuses:?}");
    assert!(count(200) >= 4 && count(503) > 0, "{statuses:?}");
    let waiting: Vec<_> = (0..8)
        .map(|number| ask(&server, json!(format!("more {number}"))))
        .collect();
    let mut retry = None;
    for _ in 0..50 {
        let request = agent().post(format!("{}/translate", server.address));
        let body = json!({"q": format!("again {retry:?}"), "source": "de", "target": "en"});
        let response = request.send_json(body).unwrap();
        if response.status() == 503 {
            retry = response.headers().get("retry-after").cloned();
            break;
        }
    }
    drop(waiting);
    if let Some(retry) = retry {
        assert!(retry.to_str().unwrap().parse::<u64>().unwrap() >= 1);
    }
}

#[test]
fn sentences_of_a_disconnected_client_are_skipped() {
    let engine = Arc::new(slow(100));
    let server = Arc::new(Running::start(engine.clone(), |settings| {
        settings.queue.batch = 1
    }));
    let lines: Vec<String> = (0..100).map(|number| format!("weg {number}")).collect();
    let body = json!({"q": lines, "source": "de", "target": "en"}).to_string();
    let address = server.address.trim_start_matches("http://").to_owned();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    use std::io::Write;
    write!(stream, "POST /translate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    engine.wait_until_busy();
    drop(stream);
    wait_until(|| server.waiting_sentences() == 0);
    let (status, _) = server.post(
        "/translate",
        json!({"q": "da", "source": "de", "target": "en"}),
    );
    assert_eq!(status, 200);
    assert!(
        engine.sentences.load(Ordering::SeqCst) < 80,
        "{:?}",
        engine.sentences
    );
}

#[test]
fn a_request_that_takes_too_long_is_cancelled() {
    let server = Arc::new(Running::start(Arc::new(slow(300)), |settings| {
        settings.limits.time = Duration::from_millis(100);
    }));
    let (status, answer) = ask(&server, json!("langsam")).join().unwrap();
    assert_eq!(status, 503, "{answer}");
}

#[test]
fn a_stopped_server_answers_accepted_requests() {
    let engine = Arc::new(slow(50));
    let mut server = Running::start(engine.clone(), |settings| settings.queue.batch = 2);
    let asked: Vec<_> = (0..16)
        .map(|number| {
            let address = server.address.clone();
            std::thread::spawn(move || {
                let body = json!({"q": format!("text {number}"), "source": "de", "target": "en"});
                agent()
                    .post(format!("{address}/translate"))
                    .send_json(body)
                    .map(|r| r.status().as_u16())
            })
        })
        .collect();
    let translated = || engine.sentences.load(Ordering::SeqCst);
    wait_until(|| translated() + server.waiting_sentences() >= 16);
    server.join();
    let statuses: Vec<_> = asked
        .into_iter()
        .map(|answer| answer.join().unwrap())
        .collect();
    assert!(
        statuses.iter().all(|status| matches!(status, Ok(200))),
        "{statuses:?}"
    );
}

#[test]
fn a_stopped_server_answers_requests_that_are_on_their_way() {
    use std::io::{Read, Write};
    let mut server = crate::common::server();
    let address = server.address.trim_start_matches("http://").to_owned();
    let body = json!({"q": "da", "source": "de", "target": "en"}).to_string();
    let length = body.len();
    let request = format!(
        "POST /translate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let new = std::net::TcpStream::connect(&address).unwrap();
    let mut used = std::net::TcpStream::connect(&address).unwrap();
    used.write_all(request.as_bytes()).unwrap();
    let mut part = [0; 4096];
    let size = used.read(&mut part).unwrap();
    let first = String::from_utf8_lossy(&part[..size]).into_owned();
    assert!(
        first.contains("DA") && !first.contains("connection: close"),
        "{first}"
    );
    server.stop();
    std::thread::sleep(Duration::from_millis(200));
    for mut stream in [new, used] {
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.contains("DA") && answer.contains("connection: close"),
            "{answer}"
        );
    }
    let refused = std::net::TcpStream::connect(&address).is_err();
    assert!(refused, "a stopped server takes no new connection");
    server.join();
}

#[test]
fn slow_clients_are_closed_and_do_not_delay_the_shutdown() {
    use std::io::{Read, Write};
    let mut server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.limits.idle = Duration::from_millis(300);
        settings.limits.time = Duration::from_millis(300);
        settings.drain = Duration::from_millis(500);
    });
    let address = server.address.trim_start_matches("http://").to_owned();
    let body = "POST /translate HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{";
    for (half, answer) in [
        ("", ""),
        ("GET /hea", ""),
        ("GET / HTTP/1.1\r\nhost", ""),
        (body, " 408 "),
    ] {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        stream.write_all(half.as_bytes()).unwrap();
        let mut text = String::new();
        stream
            .read_to_string(&mut text)
            .expect("the connection is closed");
        assert!(text.contains(answer), "{half:?}: {text}");
    }
    let waiting = std::net::TcpStream::connect(&address).unwrap();
    let begun = std::time::Instant::now();
    server.join();
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    drop(waiting);
}

#[test]
fn a_stopped_server_cuts_off_slow_requests() {
    let engine = Arc::new(slow(5_000));
    let mut server = Running::start(engine.clone(), |settings| {
        settings.drain = Duration::from_millis(300);
    });
    let address = server.address.clone();
    let asked = std::thread::spawn(move || {
        let body = json!({"q": "langsam", "source": "de", "target": "en"});
        agent()
            .post(format!("{address}/translate"))
            .send_json(body)
            .is_err()
    });
    engine.wait_until_busy();
    let begun = std::time::Instant::now();
    server.join();
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "{:?}",
        begun.elapsed()
    );
    assert!(asked.join().unwrap(), "it was not answered");
}

#[test]
fn a_list_of_texts_has_one_turn() {
    let engine = Arc::new(slow(20));
    let server = Arc::new(Running::start(engine.clone(), |settings| {
        settings.queue.batch = 1
    }));
    let lines: Vec<String> = (0..100).map(|line| format!("line {line}")).collect();
    let list = ask(&server, json!(lines));
    engine.wait_until_busy();
    let before = engine.sentences.load(Ordering::SeqCst);
    let body = json!({"sentences": ["short"], "source": "de", "target": "en", "alternatives": 3});
    assert_eq!(server.post("/v1/sentences", body).0, 200);
    let waited = engine.sentences.load(Ordering::SeqCst) - before;
    assert!(waited < 10, "{waited} sentences of the list went first");
    list.join().unwrap();
}

#[test]
fn large_requests_do_not_shut_out_small_ones() {
    let server = Arc::new(Running::start(Arc::new(slow(20)), |settings| {
        settings.queue.batch = 4;
        settings.queue.waiting = 400;
    }));
    let lines = |number: usize| {
        (0..90)
            .map(|line| format!("line {number} {line}"))
            .collect::<Vec<_>>()
    };
    let lists: Vec<_> = (0..8)
        .map(|number| ask(&server, json!(lines(number))))
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(ask(&server, json!("short")).join().unwrap().0, 200);
    let statuses: Vec<u16> = lists
        .into_iter()
        .map(|list| list.join().unwrap().0)
        .collect();
    assert!(
        statuses.contains(&503) && statuses.contains(&200),
        "{statuses:?}"
    );
}

#[test]
fn a_request_larger_than_the_queue_leaves_room_to_others() {
    let server = Arc::new(Running::start(Arc::new(slow(20)), |settings| {
        (settings.queue.batch, settings.queue.waiting) = (4, 64);
        settings.limits.texts = 2_000;
    }));
    let lines: Vec<String> = (0..800).map(|line| format!("line {line}")).collect();
    let long = ask(&server, json!(lines));
    for number in 0..10 {
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(server.get("/ready").0, 200);
        assert_eq!(
            ask(&server, json!(format!("short {number}")))
                .join()
                .unwrap()
                .0,
            200
        );
    }
    assert!(!long.is_finished());
    let expected: Vec<String> = lines.iter().map(|line| line.to_uppercase()).collect();
    assert_eq!(long.join().unwrap().1["translatedText"], json!(expected));
}

/// Requests the translation of a text as a client with this address, behind a local proxy.
fn ask_from(address: &str, server: &Arc<Running>, q: Value) -> std::thread::JoinHandle<u16> {
    let server = server.clone();
    let address = address.to_owned();
    std::thread::spawn(move || {
        let body = json!({"q": q, "source": "de", "target": "en"}).to_string();
        let headers = [("x-forwarded-for", &*address)];
        server
            .send("/translate", "application/json", &headers, body.as_bytes())
            .0
    })
}

#[test]
fn a_client_with_many_requests_does_not_delay_others() {
    let engine = Arc::new(slow(20));
    let server = Arc::new(Running::start(engine.clone(), |settings| {
        settings.queue.batch = 1
    }));
    let many: Vec<_> = (0..100)
        .map(|n| ask_from("10.0.0.1", &server, json!(format!("many {n}"))))
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let before = engine.sentences.load(Ordering::SeqCst);
    assert_eq!(
        ask_from("10.0.0.2", &server, json!("few")).join().unwrap(),
        200
    );
    let waited = engine.sentences.load(Ordering::SeqCst) - before;
    assert!(
        before < 60 && waited < 8,
        "{waited} of the others' went first, after {before}"
    );
    assert!(many.into_iter().all(|one| one.join().unwrap() == 200));
}

#[test]
fn a_client_that_fills_its_room_leaves_room_to_others() {
    let server = Arc::new(Running::start(Arc::new(slow(100)), |settings| {
        (settings.queue.batch, settings.queue.waiting) = (1, 16);
    }));
    let many: Vec<_> = (0..40)
        .map(|n| ask_from("10.0.0.1", &server, json!(format!("many {n}"))))
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let others: Vec<_> = (2..5)
        .map(|n| ask_from(&format!("10.0.0.{n}"), &server, json!("few")))
        .collect();
    assert!(others.into_iter().all(|one| one.join().unwrap() == 200));
    assert!(
        many.into_iter()
            .map(|one| one.join().unwrap())
            .any(|status| status == 503)
    );
}

/// Small bodies of different kinds that are expensive to parse.
fn expensive_bodies() -> Vec<(&'static str, Value)> {
    let pair = |fields: Value| {
        let mut body = json!({"source": "auto", "target": "en"});
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        body
    };
    let document = |text: String, format: &str| pair(json!({"q": text, "format": format}));
    let rule = format!(
        "\"Plural-Forms: nplurals=2; plural={}0;\\n\"\n",
        "n%10==1 ? 0 : ".repeat(20)
    );
    let catalogue = format!(
        "msgid \"\"\nmsgstr \"\"\n{}\nmsgid \"Haus\"\nmsgstr \"\"\n",
        rule.repeat(40)
    );
    let terms: Vec<[String; 2]> = (0..200)
        .map(|number: usize| [format!("{}x{number}", "a ".repeat(20)), "b".to_owned()])
        .collect();
    let glossary = json!({"sentences": vec!["a a a a"; 200], "source": "de", "target": "en", "glossary": terms});
    let texts = json!({"q": vec!["<b>a</b>. `b`"; 900], "source": "auto", "target": "en", "format": "html"});
    vec![
        ("/translate", document(catalogue, "po")),
        ("/translate", document("<b>Das.</b>".repeat(1_400), "html")),
        (
            "/translate",
            document(
                (0..600)
                    .map(|number| format!("a{number}: Das Haus.\n"))
                    .collect(),
                "yaml",
            ),
        ),
        (
            "/translate",
            document("*a* [b](c) `d`\n".repeat(1_000), "markdown"),
        ),
        ("/translate", document("Das Haus. ".repeat(1_500), "text")),
        ("/translate", texts),
        ("/v1/sentences", glossary),
    ]
}

#[test]
fn small_expensive_bodies_do_not_block_others() {
    for (path, body) in expensive_bodies() {
        let server = Arc::new(Running::start(Arc::new(slow(0)), |_| {}));
        let text = body.to_string();
        assert!(text.len() < 16 << 10, "{path}: {}", text.len());
        let sent: Vec<_> = (0..400)
            .map(|_| {
                let server = server.clone();
                let text = text.clone();
                std::thread::spawn(move || {
                    let headers = [("x-forwarded-for", "10.0.0.1")];
                    server
                        .send(path, "application/json", &headers, text.as_bytes())
                        .0
                })
            })
            .collect();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            let asked = Instant::now();
            assert_eq!(
                ask_from("10.0.0.2", &server, json!("Das Haus."))
                    .join()
                    .unwrap(),
                200
            );
            let waited = asked.elapsed();
            assert!(
                waited < Duration::from_secs(5),
                "{path} {waited:?}: {}",
                &text[..80]
            );
            let asked = Instant::now();
            assert_eq!(server.get("/health").0, 200);
            let waited = asked.elapsed();
            assert!(
                waited < Duration::from_secs(1),
                "{path} {waited:?}: {}",
                &text[..80]
            );
        }
        drop(server);
        drop(sent);
    }
}

#[test]
fn parsing_ends_when_the_client_disconnects() {
    let fits_delay = Duration::from_millis(2);
    let engine = Arc::new(Shouting {
        fits_delay,
        ..Shouting::default()
    });
    let server = Running::start(engine.clone(), |_| {});
    let text = "Das Haus. ".repeat(4_000);
    let body = json!({"q": text, "source": "de", "target": "en"}).to_string();
    leave(&server, &body, Duration::from_millis(300));
    let asked = || engine.fits.load(Ordering::SeqCst);
    assert!(asked() > 0, "it is parsed");
    std::thread::sleep(Duration::from_millis(300));
    let before = asked();
    std::thread::sleep(Duration::from_millis(300));
    assert!(
        before < 4_000 && asked() == before,
        "{before} and then {}",
        asked()
    );
}

/// The content type and the body of a form of either kind with these fields.
fn form(multipart: bool, fields: &[(&str, &str)]) -> (&'static str, String) {
    let parts: String = fields
        .iter()
        .map(|(name, value): &(&str, &str)| {
            if multipart {
                format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
            } else {
                format!("{name}={value}&")
            }
        })
        .collect();
    if multipart {
        ("multipart/form-data; boundary=b", parts + "--b--\r\n")
    } else {
        ("application/x-www-form-urlencoded", parts)
    }
}

#[test]
fn forms_are_read_after_their_key_wherever_it_is() {
    let server = Running::start(Arc::new(slow(0)), |settings| {
        settings.keys = vec!["one".into()]
    });
    let asked = [("q", "a"), ("source", "de"), ("target", "en")];
    let with = |key, at: usize| {
        let mut fields = asked.to_vec();
        fields.insert(at, ("api_key", key));
        fields
    };
    let many = [&[("q", "a"); 2_000][..], &[("api_key", "one")]].concat();
    for multipart in [false, true] {
        let send = |path: &str, fields: &[(&str, &str)]| {
            let (kind, body) = form(multipart, fields);
            server.send(path, kind, &[], body.as_bytes()).0
        };
        for at in 0..=3 {
            assert_eq!(
                send("/translate", &with("one", at)),
                200,
                "{multipart} {at}"
            );
            assert_eq!(
                send("/translate", &with("two", at)),
                403,
                "{multipart} {at}"
            );
        }
        assert_eq!(send("/translate?api_key=one", &asked), 200);
        assert_eq!(
            send("/translate?api_key=one", &with("two", 0)),
            200,
            "the head goes first"
        );
        assert_eq!(send("/translate?api_key=two", &with("one", 0)), 403);
        assert_eq!(send("/translate", &asked), 403);
        assert_eq!(
            send("/translate", &many[..2_000]),
            403,
            "too many, and without a key"
        );
        assert_eq!(send("/translate?api_key=one", &many), 400, "too many");
    }
    let json = json!({"q": "a", "source": "de", "target": "en"}).to_string();
    let send = |path| {
        server
            .send(path, "application/json", &[], json.as_bytes())
            .0
    };
    assert_eq!(
        [
            send("/translate?api_key=one"),
            send("/translate?api_key=two")
        ],
        [200, 403]
    );
}

#[test]
fn without_a_key_nothing_is_read_but_the_key() {
    let server = Running::start(Arc::new(slow(0)), |settings| {
        settings.keys = vec!["one".into()]
    });
    let texts = vec![""; 600_000];
    let body =
        |key: &str| json!({"q": texts, "source": "de", "target": "en", "api_key": key}).to_string();
    let json = "application/json";
    let path = "/translate";
    for (headers, body, expected) in [
        (&[("authorization", "Bearer two")][..], body("one"), 403),
        (&[], body("two"), 403),
        (&[], "{".into(), 403),
        (&[], body("one"), 400),
        (&[("authorization", "Bearer one")], body("two"), 400),
    ] {
        assert_eq!(
            server.send(path, json, headers, body.as_bytes()).0,
            expected
        );
    }
    let asked = json!({"q": "a", "source": "de", "target": "en", "api_key": "one"}).to_string();
    assert_eq!(
        server
            .send(path, json, &[], format!("\u{feff}{asked}").as_bytes())
            .0,
        200
    );
}
