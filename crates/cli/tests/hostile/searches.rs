//! Searches that are expensive.

use serde_json::{Value, json};

use crate::client::{PATIENCE, SECOND, exchange, hostile, join, visit};
use crate::server::Server;

/// A sentence of a thousand random letters.
fn letters(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 33
    };
    let letter = |number: u64| {
        if number.is_multiple_of(7) {
            ' '
        } else {
            (b'a' + (number % 26) as u8).into()
        }
    };
    (0..1000).map(|_| letter(next())).collect()
}

/// A request for this many long sentences, each with the widest search allowed.
pub fn long_sentences(seed: u64, count: u64) -> Value {
    let sentences: Vec<String> = (0..count)
        .map(|number| letters(seed * 1000 + number))
        .collect();
    json!({"sentences": sentences, "source": "de", "target": "en", "beam": 11, "alternatives": 10, "links": true})
}

/// Long sentences, sentences without end, lists and texts of many lines, of clients that stay for
/// four seconds and leave.
pub fn attack(server: &Server) {
    let words = |count| json!({"sentences": ["Haus ".repeat(count)], "source": "de", "target": "en", "links": true, "alternatives": 10});
    let list: Vec<String> = (0..31)
        .map(|number| format!("Am Tag {number} ging ich nach Haus. ").repeat(30))
        .collect();
    let lines = json!({"q": "Das\n".repeat(49_000), "source": "de", "target": "en"});
    let few = |number| json!({"sentences": [letters(number)], "source": "de", "target": "en", "beam": 10});
    let mut wishes = vec![
        ("/v1/sentences", long_sentences(1, 190)),
        ("/v1/sentences", long_sentences(2, 190)),
        ("/v1/sentences", words(3_000)),
        ("/v1/sentences", words(33_000)),
        (
            "/translate",
            json!({"q": list, "source": "de", "target": "en"}),
        ),
        ("/translate", lines),
    ];
    wishes.extend((0..60).map(|number| ("/v1/sentences", few(number))));
    join(
        wishes
            .iter()
            .map(|(path, body)| visit(&server.address, hostile().json(path, body), 4 * SECOND)),
    );
}

/// Searches end when their clients have left.
pub fn check_left(server: &Server) {
    std::thread::sleep(SECOND);
    assert_eq!(server.metric("burnformer_waiting_sentences"), 0.0);
    let before = server.processor_time();
    std::thread::sleep(SECOND);
    let used = server.processor_time() - before;
    assert!(
        used < SECOND / 2,
        "nobody waits, but {used:?} were computed in a second"
    );
}

/// A sentence that cannot be searched is refused before it gets into a batch with others.
pub fn check_bad_terms(server: &Server) {
    let bad = json!({"sentences": ["Das Haus"], "source": "de", "target": "en", "glossary": [["Haus", "a\u{1}b"]]});
    let bad = hostile().json("/v1/sentences", &bad);
    let batches = server.metric("burnformer_batch_seconds_count");
    for _ in 0..20 {
        let (status, text) = exchange(&server.address, &bad, PATIENCE).expect("an answer");
        assert_eq!(status, 400, "{text}");
    }
    assert_eq!(
        server.metric("burnformer_batch_seconds_count"),
        batches,
        "it got into a batch"
    );
}
