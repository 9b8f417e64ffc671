//! The waiting times of honest clients during attacks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{PATIENCE, SECOND, exchange, honest};
use crate::server::Server;

/// The longest time for `/health` and `/ready`.
pub const HEALTH: Duration = SECOND;

/// The bytes of the request with a number.
type Wish = fn(usize) -> String;

/// The requests of honest clients, each with its path.
const WISHES: [(&str, Wish); 5] = [
    ("/health", |_| honest().bytes("GET", "/health", "", "")),
    ("/ready", |_| honest().bytes("GET", "/ready", "", "")),
    ("/translate", |number| {
        let text = format!("Das Haus hat {number} Fenster.");
        honest().json(
            "/translate",
            &json!({"q": text, "source": "de", "target": "en"}),
        )
    }),
    ("a document", |number| {
        let text = format!("<p>Das Haus.</p><p>Haus {number}.</p>") + &" <!-- a -->".repeat(2_000);
        let body = json!({"q": text, "source": "de", "target": "en", "format": "html"});
        honest().json("/translate", &body)
    }),
    ("/v1/sentences", |number| {
        let sentences = [format!("Der Hund hat {number} Katzen gesehen.")];
        let body = json!({"sentences": sentences, "source": "de", "target": "en", "alternatives": 3, "links": true});
        honest().json("/v1/sentences", &body)
    }),
];

/// Runs `attack` while honest clients ask, and for a second afterwards. Checks that none of them
/// waits too long.
pub fn during(server: &Server, name: &str, attack: impl FnOnce()) {
    let done = Arc::new(AtomicBool::new(false));
    let client = |(path, wish): (&'static str, Wish)| {
        let done = done.clone();
        let address = server.address.clone();
        spawn(move || longest_wait(&address, path, wish, &done))
    };
    let clients: Vec<JoinHandle<Duration>> = WISHES.into_iter().map(client).collect();
    let begun = Instant::now();
    attack();
    sleep(SECOND);
    done.store(true, Ordering::Relaxed);
    println!("{name}: {:.1?}", begun.elapsed());
    for (client, (path, _)) in clients.into_iter().zip(WISHES) {
        let longest = client.join().unwrap_or_else(|_| panic!("during: {name}"));
        println!("    {path} {longest:.2?}");
        let limit = if ["/health", "/ready"].contains(&path) {
            HEALTH
        } else {
            PATIENCE
        };
        assert!(longest < limit, "{name}: {path} took {longest:?}");
    }
}

/// The longest wait of the client with this request until all is `done`.
fn longest_wait(address: &str, path: &str, wish: Wish, done: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    for number in 0.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let begun = Instant::now();
        let (status, text) = exchange(address, &wish(number), 4 * PATIENCE)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(status, 200, "{path}: {text}");
        longest = longest.max(begun.elapsed());
        sleep(SECOND / 20);
    }
    longest
}
