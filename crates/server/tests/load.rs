//! Many clients at once: batches, bounds, order, the end.

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::{Running, Shouting, agent};
use serde_json::{Value, json};

fn slow(milliseconds: u64) -> Shouting {
    Shouting { delay: Duration::from_millis(milliseconds), ..Shouting::default() }
}

fn ask(server: &Arc<Running>, q: Value) -> std::thread::JoinHandle<(u16, Value)> {
    let server = server.clone();
    std::thread::spawn(move || {
        server.post("/translate", json!({"q": q, "source": "de", "target": "en"}))
    })
}

#[test]
fn requests_that_come_together_share_batches() {
    let engine = Arc::new(slow(50));
    let server = Arc::new(Running::start(engine.clone(), |_| {}));
    let asked: Vec<_> =
        (0..32).map(|number| ask(&server, json!(format!("text {number}")))).collect();
    for (number, answer) in asked.into_iter().enumerate() {
        let (status, answer) = answer.join().unwrap();
        assert_eq!(
            (status, answer["translatedText"].as_str()),
            (200, Some(&*format!("TEXT {number}")))
        );
    }
    assert!(engine.batches.load(Ordering::SeqCst) < 32, "{:?}", engine.batches);
    assert!(engine.largest.load(Ordering::SeqCst) > 1, "{:?}", engine.largest);
}

#[test]
fn a_long_document_does_not_keep_a_short_request_waiting() {
    let engine = Arc::new(slow(50));
    let server = Arc::new(Running::start(engine, |settings| settings.queue.batch = 4));
    let lines: Vec<String> = (0..200).map(|line| format!("line {line}")).collect();
    let long = ask(&server, json!(lines.join("\n")));
    std::thread::sleep(Duration::from_millis(100));
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
fn beyond_its_bound_the_queue_answers_503_and_when_to_try_again_and_loses_nobody() {
    let engine = Arc::new(slow(20));
    let server = Arc::new(Running::start(engine, |settings| {
        settings.queue.batch = 2;
        settings.queue.waiting = 4;
    }));
    let asked: Vec<_> =
        (0..60).map(|number| ask(&server, json!(format!("text {number}")))).collect();
    let statuses: Vec<u16> = asked.into_iter().map(|answer| answer.join().unwrap().0).collect();
    let count = |status| statuses.iter().filter(|&&found| found == status).count();
    assert_eq!(count(200) + count(503), 60, "{statuses:?}");
    assert!(count(200) >= 4 && count(503) > 0, "{statuses:?}");
    let waiting: Vec<_> =
        (0..8).map(|number| ask(&server, json!(format!("more {number}")))).collect();
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
fn sentences_of_a_client_that_has_gone_are_left_out() {
    let engine = Arc::new(slow(100));
    let server = Arc::new(Running::start(engine.clone(), |settings| settings.queue.batch = 1));
    let lines: Vec<String> = (0..100).map(|number| format!("weg {number}")).collect();
    let body = json!({"q": lines, "source": "de", "target": "en"}).to_string();
    let address = server.address.trim_start_matches("http://").to_owned();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    use std::io::Write;
    write!(stream, "POST /translate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    std::thread::sleep(Duration::from_millis(250));
    drop(stream);
    std::thread::sleep(Duration::from_millis(250));
    let (status, _) = server.post("/translate", json!({"q": "da", "source": "de", "target": "en"}));
    assert_eq!(status, 200);
    assert!(engine.sentences.load(Ordering::SeqCst) < 80, "{:?}", engine.sentences);
}

#[test]
fn what_takes_too_long_is_given_up() {
    let server = Arc::new(Running::start(Arc::new(slow(300)), |settings| {
        settings.limits.time = Duration::from_millis(100);
    }));
    let (status, answer) = ask(&server, json!("langsam")).join().unwrap();
    assert_eq!(status, 503, "{answer}");
}

#[test]
fn a_server_that_is_stopped_answers_what_it_accepted() {
    let engine = Arc::new(slow(50));
    let mut server = Running::start(engine, |settings| settings.queue.batch = 2);
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
    std::thread::sleep(Duration::from_millis(120));
    server.join();
    let statuses: Vec<_> = asked.into_iter().map(|answer| answer.join().unwrap()).collect();
    assert!(statuses.iter().all(|status| matches!(status, Ok(200))), "{statuses:?}");
}

#[test]
fn models_are_loaded_when_asked_for_and_unloaded_for_others() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.preload = false;
        settings.memory = 1;
    });
    let loaded = |expected: &str| {
        let (_, text) = server.get("/metrics");
        assert!(text.contains(&format!("burnformer_loaded_models {expected}")), "{text}");
    };
    loaded("0");
    for (source, target) in [("de", "en"), ("en", "de"), ("de", "en")] {
        let (status, _) =
            server.post("/translate", json!({"q": "a", "source": source, "target": target}));
        assert_eq!(status, 200);
        loaded("1");
    }
}
