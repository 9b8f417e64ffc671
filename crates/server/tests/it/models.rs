//! Models are loaded on demand and unloaded when other languages are requested.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{Running, Shouting};
use crate::load::{ask, slow};
use serde_json::json;

#[test]
fn models_are_loaded_on_demand_and_unloaded_for_others() {
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.preload = false;
        settings.memory = 1;
    });
    let loaded = |expected: &str| {
        let (_, text) = server.get("/metrics");
        assert!(
            text.contains(&format!("burnformer_loaded_models {expected}")),
            "{text}"
        );
    };
    loaded("0");
    for (source, target) in [("de", "en"), ("en", "de"), ("de", "en")] {
        let (status, _) = server.post(
            "/translate",
            json!({"q": "a", "source": source, "target": target}),
        );
        assert_eq!(status, 200);
        loaded("1");
    }
}

#[test]
fn a_model_is_loaded_once_for_concurrent_requests() {
    let loads = Counter::default();
    let loading = Counter::default();
    let most = Counter::default();
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.preload = false;
        settings.memory = 1;
        for source in &mut settings.models {
            let loads = loads.clone();
            let loading = loading.clone();
            let most = most.clone();
            source.load = Arc::new(move || {
                loads.fetch_add(1, Ordering::SeqCst);
                most.fetch_max(loading.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(300));
                loading.fetch_sub(1, Ordering::SeqCst);
                Ok(Arc::new(Shouting::default()))
            });
        }
    });
    for (source, target) in [("de", "en"), ("en", "de"), ("de", "en")].repeat(3) {
        let body = json!({"q": "a", "source": source, "target": target}).to_string();
        leave(&server, &body, Duration::from_millis(20));
    }
    let (status, _) = server.post(
        "/translate",
        json!({"q": "a", "source": "de", "target": "en"}),
    );
    assert_eq!(status, 200);
    let count = |counter: &Counter| counter.load(Ordering::SeqCst);
    assert_eq!(count(&most), 1, "two were loaded at the same time");
    assert!(count(&loads) <= 3, "{} loads", count(&loads));
    // The load of a model finishes after its client has disconnected.
    let loaded = || {
        server
            .get("/metrics")
            .1
            .contains("burnformer_loaded_models 1")
    };
    let mut tries = 0;
    while !loaded() {
        tries += 1;
        assert!(tries < 100, "no model is loaded in the end");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_model_that_cannot_be_loaded_is_tried_again_after_a_while() {
    let loads = Counter::default();
    let counted = loads.clone();
    let server = Running::start(Arc::new(Shouting::default()), |settings| {
        settings.preload = false;
        settings.models[0].load = Arc::new(move || {
            let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            if is_first {
                return Err("damaged".into());
            }
            Ok(Arc::new(Shouting::default()))
        });
    });
    let body = json!({"q": "a", "source": "de", "target": "en"});
    let begun = std::time::Instant::now();
    for _ in 0..20 {
        let (status, answer) = server.post("/translate", body.clone());
        let error = answer["error"].as_str().unwrap();
        assert!(
            status == 500 && error.contains("cannot be loaded"),
            "{error}"
        );
    }
    assert!(begun.elapsed() < Duration::from_secs(4));
    assert_eq!(loads.load(Ordering::SeqCst), 1);
    assert_eq!(server.get("/ready").0, 503);
    std::thread::sleep(Duration::from_millis(5_200).saturating_sub(begun.elapsed()));
    assert_eq!(server.post("/translate", body).0, 200);
    assert_eq!(server.get("/ready").0, 200);
}

type Counter = Arc<AtomicUsize>;

/// Sends a request to `/translate` and closes the connection after `stay`.
pub fn leave(server: &Running, body: &str, stay: Duration) {
    use std::io::Write;
    let address = server.address.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "POST /translate HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    std::thread::sleep(stay);
}

#[test]
fn a_long_request_continues_after_its_model_is_reloaded() {
    let server = Arc::new(Running::start(Arc::new(slow(100)), |settings| {
        (settings.preload, settings.memory, settings.queue.batch) = (false, 1, 4);
    }));
    let lines: Vec<String> = (0..240).map(|line| format!("line {line}")).collect();
    let long = ask(&server, json!(lines));
    std::thread::sleep(Duration::from_millis(300));
    let begun = std::time::Instant::now();
    let body = json!({"q": "a", "source": "en", "target": "de"});
    assert_eq!(server.post("/translate", body).0, 200);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert!(!long.is_finished());
    let expected: Vec<String> = lines.iter().map(|line| line.to_uppercase()).collect();
    let (status, answer) = long.join().unwrap();
    assert_eq!((status, &answer["translatedText"]), (200, &json!(expected)));
}

#[test]
fn a_request_keeps_the_model_that_was_loaded_for_it() {
    let loads = Arc::new(AtomicUsize::new(0));
    let counted = loads.clone();
    let server = Arc::new(Running::start(Arc::new(slow(100)), move |settings| {
        (settings.preload, settings.memory, settings.queue.batch) = (false, 1, 4);
        settings.models[1].load = Arc::new(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            // While the text is parsed, the list below requests its model again.
            Ok(Arc::new(Shouting {
                fits_delay: Duration::from_millis(500),
                ..slow(0)
            }))
        });
    }));
    let lines: Vec<String> = (0..240).map(|line| format!("line {line}")).collect();
    let long = ask(&server, json!(lines));
    std::thread::sleep(Duration::from_millis(300));
    let body = json!({"q": "a", "source": "en", "target": "de"});
    assert_eq!(server.post("/translate", body).0, 200);
    assert_eq!(loads.load(Ordering::SeqCst), 1);
    assert_eq!(long.join().unwrap().0, 200);
}

#[test]
fn a_sentence_whose_translation_has_begun_outlives_requests_for_another_model() {
    let engine = Arc::new(slow(5_500));
    let server = Arc::new(Running::start(engine.clone(), |settings| {
        (settings.preload, settings.memory) = (false, 1);
        settings.models[1].load = Arc::new(|| Ok(Arc::new(Shouting::default())));
    }));
    let long = ask(&server, json!("langsam"));
    std::thread::sleep(Duration::from_millis(300));
    let body = json!({"q": "a", "source": "en", "target": "de"});
    assert_eq!(server.post("/translate", body).0, 200);
    assert_eq!(long.join().unwrap().1["translatedText"], "LANGSAM");
    assert_eq!(
        engine.sentences.load(Ordering::SeqCst),
        1,
        "it was begun again"
    );
}
