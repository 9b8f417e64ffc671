//! Translations as server-sent events.

use std::io::{BufRead, BufReader};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use burnformer_server::{Candidate, Choice, Engine, EngineError, Job};
use serde_json::{Value, json};

use crate::common::{Running, Shouting, agent};

/// Reports each letter of a sentence, after a while, and then returns it. Fails once, after two
/// letters, at a sentence that begins with "again", and always at one with "fail".
#[derive(Default)]
struct Letters {
    delay: Duration,
    failures: AtomicUsize,
    letters: Arc<AtomicUsize>,
}

impl Engine for Letters {
    fn translate(
        &self,
        jobs: &[&Job],
        _: Choice,
        cancelled: &[Arc<AtomicBool>],
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let mut all = Vec::new();
        for (job, cancelled) in jobs.iter().zip(cancelled) {
            let text = &job.sentence.text;
            for end in 1..=text.len() {
                if cancelled.load(Ordering::SeqCst) {
                    break;
                }
                let fails = text.contains("fail")
                    || text.starts_with("again")
                        && end == 3
                        && self.failures.fetch_add(1, Ordering::SeqCst) == 0;
                if fails {
                    return Err(EngineError::Request("asked to fail".into()));
                }
                self.letters.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(self.delay);
                if let Some(report) = &job.report {
                    report.call(&text[..end]);
                }
            }
            let text = text.clone();
            all.push(vec![Candidate {
                text,
                ..Candidate::default()
            }]);
        }
        Ok(all)
    }

    fn fits(&self, _: &str) -> bool {
        true
    }
}

/// The names and data of the events that the server sends for `sentences`, with their times.
fn events(server: &Running, sentences: Value) -> Vec<(String, Value, Instant)> {
    let body = json!({"sentences": sentences, "source": "de", "target": "en"});
    let mut response = agent()
        .post(format!("{}/v1/stream", server.address))
        .send_json(body)
        .expect("an answer");
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("text/event-stream"), "{kind}");
    let mut all = Vec::new();
    let mut name = String::new();
    for line in BufReader::new(response.body_mut().as_reader()).lines() {
        let line = line.expect("text");
        if let Some(event) = line.strip_prefix("event: ") {
            name = event.into();
        } else if let Some(data) = line.strip_prefix("data: ") {
            let data = serde_json::from_str(data).expect("JSON");
            all.push((std::mem::take(&mut name), data, Instant::now()));
        }
    }
    all
}

/// The parts of each sentence, joined.
fn joined(events: &[(String, Value, Instant)], count: usize) -> Vec<String> {
    let mut all = vec![String::new(); count];
    for (name, data, _) in events {
        if name.is_empty() {
            let sentence = data["sentence"].as_u64().expect("an index");
            all[sentence as usize] += data["text"].as_str().expect("text");
        }
    }
    all
}

#[test]
fn parts_come_as_soon_as_they_are_settled() {
    let engine = Letters {
        delay: Duration::from_millis(20),
        ..Letters::default()
    };
    let server = Running::start(Arc::new(engine), |_| {});
    let all = events(&server, json!(["hallo welt", "", "hallo welt", "du"]));
    assert_eq!(joined(&all, 4), ["hallo welt", "", "hallo welt", "du"]);
    let (name, answer, end) = all.last().unwrap();
    assert_eq!(name, "done");
    assert_eq!(answer["sentences"][0][0]["text"], "hallo welt");
    let (_, _, first) = &all[0];
    assert!(*end - *first > Duration::from_millis(100), "{all:?}");
    // The cache has no parts, and answers as a whole.
    let again = events(&server, json!(["hallo welt"]));
    assert_eq!(joined(&again, 1), ["hallo welt"]);
    assert_eq!(again.len(), 2, "{again:?}");
}

#[test]
fn a_sentence_that_is_translated_again_is_sent_once() {
    let server = Running::start(Arc::new(Letters::default()), |_| {});
    let all = events(&server, json!(["again and again", "du"]));
    assert_eq!(joined(&all, 2), ["again and again", "du"]);
}

#[test]
fn an_engine_without_reports_sends_whole_sentences() {
    let server = Running::start(Arc::new(Shouting::default()), |_| {});
    let all = events(&server, json!(["hallo", "du"]));
    assert_eq!(joined(&all, 2), ["HALLO", "DU"]);
    assert_eq!(all.len(), 3);
}

#[test]
fn errors_have_a_status_or_end_the_events() {
    let server = Running::start(Arc::new(Letters::default()), |_| {});
    let unknown = json!({"sentences": ["a"], "source": "de", "target": "xx"});
    let (status, answer) = server.post("/v1/stream", unknown);
    assert_eq!((status, &answer["field"]), (400, &json!("target")));
    let failing = json!({"sentences": ["fail"], "source": "de", "target": "en"});
    let (status, answer) = server.post("/v1/stream", failing);
    assert_eq!((status, &answer["error"]), (400, &json!("asked to fail")));
}

#[test]
fn a_client_that_leaves_ends_the_search() {
    let letters = Arc::new(AtomicUsize::new(0));
    let engine = Letters {
        delay: Duration::from_millis(20),
        letters: letters.clone(),
        ..Letters::default()
    };
    let server = Running::start(Arc::new(engine), |_| {});
    let body = json!({"sentences": ["x".repeat(500)], "source": "de", "target": "en"});
    let mut response = agent()
        .post(format!("{}/v1/stream", server.address))
        .send_json(body)
        .expect("an answer");
    let mut line = String::new();
    let mut reader = BufReader::new(response.body_mut().as_reader());
    reader.read_line(&mut line).expect("a line");
    drop(reader);
    drop(response);
    std::thread::sleep(Duration::from_millis(500));
    let then = letters.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(letters.load(Ordering::SeqCst), then, "the search goes on");
    assert!(then < 100, "{then}");
}
