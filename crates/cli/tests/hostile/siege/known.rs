//! Well-behaved clients, whose requests have known answers.

use std::sync::Arc;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answers::fault;
use super::phase::{Clock, Phase};
use crate::client::{Client, SECOND, exchange};

/// The different requests of each kind.
const COUNT: usize = 20;
/// The pause of a client between an answer and its next request.
const PAUSE: Duration = Duration::from_millis(30);
/// The longest wait for an answer: the time in which a stopped server ends, and more.
const PATIENCE: Duration = Duration::from_secs(60);

/// The bytes of the request with a number.
type Wish = fn(Client, usize) -> String;

/// The kinds of requests, each with its client.
const KINDS: [(&str, Client, Wish); 4] = [
    ("a sentence", Client("10.0.1.1"), sentence),
    ("a document", Client("10.0.1.2"), document),
    ("alternatives", Client("10.0.1.3"), alternatives),
    ("DeepL's interface", Client("10.0.1.4"), deepl),
];

fn text(number: usize) -> String {
    match number % 4 {
        0 => format!("Das Haus hat {number} Fenster."),
        1 => format!("Der Hund hat {number} Katzen gesehen."),
        2 => format!("Wir treffen uns um {number} Uhr am Bahnhof."),
        _ => format!("Tom hat gestern {number} Bücher gekauft, und Maria liest sie heute."),
    }
}

fn sentence(client: Client, number: usize) -> String {
    let body = json!({"q": text(number), "source": "de", "target": "en"});
    client.json("/translate", &body)
}

fn document(client: Client, number: usize) -> String {
    let page = format!(
        "<p>{}</p><p>Guten <b>Morgen</b>!</p>{}",
        text(number),
        " <!-- a -->".repeat(500)
    );
    let body = json!({"q": page, "source": "de", "target": "en", "format": "html"});
    client.json("/translate", &body)
}

fn alternatives(client: Client, number: usize) -> String {
    let body = json!({"sentences": [text(number)], "source": "de", "target": "en", "alternatives": 3, "links": true});
    client.json("/v1/sentences", &body)
}

fn deepl(client: Client, number: usize) -> String {
    let body =
        json!({"text": [text(number), "Guten Morgen!"], "source_lang": "DE", "target_lang": "EN"});
    client.json("/v2/translate", &body)
}

/// A request and its answer.
#[derive(PartialEq, Eq)]
pub struct Known {
    request: String,
    answer: String,
}

/// Requests each answer of each kind, from a server without other clients.
pub fn ask_all(address: &str) -> Vec<Vec<Known>> {
    let ask = |(name, client, wish): (&str, Client, Wish), number| {
        let request = wish(client, number);
        let (status, answer) = exchange(address, &request, PATIENCE).expect("an answer");
        assert_eq!(status, 200, "{name}: {answer}");
        Known { request, answer }
    };
    let kinds = KINDS.into_iter();
    kinds
        .map(|kind| (0..COUNT).map(|number| ask(kind, number)).collect())
        .collect()
}

/// The outcome of a known request.
pub enum Outcome {
    /// The known answer came.
    Same,
    /// The server was busy, and said so.
    Refused,
    /// Anything else.
    Wrong(String),
}

/// A request of a well-behaved client.
pub struct Sample {
    pub kind: &'static str,
    pub phase: Phase,
    pub took: Duration,
    pub outcome: Outcome,
}

/// Clients that ask until the siege is over, one of each kind.
pub fn start(
    address: &str,
    known: &Arc<Vec<Vec<Known>>>,
    clock: &Arc<Clock>,
) -> Vec<JoinHandle<Vec<Sample>>> {
    let client = |(index, (name, ..)): (usize, (&'static str, Client, Wish))| {
        let (address, known, clock) = (address.to_owned(), known.clone(), clock.clone());
        spawn(move || samples(&address, name, &known[index], &clock))
    };
    KINDS.into_iter().enumerate().map(client).collect()
}

fn samples(address: &str, kind: &'static str, known: &[Known], clock: &Clock) -> Vec<Sample> {
    let mut all = Vec::new();
    for known in known.iter().cycle() {
        let phase = clock.phase();
        if phase == Phase::End {
            break;
        }
        let begun = Instant::now();
        let outcome = outcome(known, exchange(address, &known.request, PATIENCE));
        let took = begun.elapsed();
        let is_refused = matches!(outcome, Outcome::Refused);
        all.push(Sample {
            kind,
            phase,
            took,
            outcome,
        });
        sleep(if is_refused { SECOND } else { PAUSE });
    }
    all
}

fn outcome(known: &Known, answer: std::io::Result<(u16, String)>) -> Outcome {
    match answer {
        Ok((200, text)) if without_numbers(&text) == without_numbers(&known.answer) => {
            Outcome::Same
        }
        Ok((503, text)) if fault(503, &text).is_none() => Outcome::Refused,
        Ok((status, text)) => {
            Outcome::Wrong(format!("{status} {text} instead of {}", known.answer))
        }
        Err(error) => Outcome::Wrong(error.to_string()),
    }
}

/// An answer without scores. Their last digits depend on the lengths of the sentences in a batch.
fn without_numbers(answer: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Number(_) => *value = Value::Null,
            Value::Array(values) => values.iter_mut().for_each(strip),
            Value::Object(fields) => fields.values_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(answer).unwrap_or_default();
    strip(&mut value);
    value
}
