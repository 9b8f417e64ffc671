//! Files that unpack to more than they have.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Running, Shouting};

/// The unpacked document takes part of the room for request bodies. A client has at most half of
/// it.
#[test]
fn documents_that_unpack_to_more_than_there_is_room_for_are_refused() {
    let engine = Shouting {
        delay: Duration::from_secs(3),
        ..Shouting::default()
    };
    let server = Arc::new(Running::start(Arc::new(engine), |_| {}));
    let part = |name: &str, value: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let head = [
        part("source", "de"),
        part("target", "en"),
        part("file", "").replace("name=\"file\"", "name=\"file\"; filename=\"large.docx\""),
    ];
    let head = head.concat();
    // 40 MB of spaces are in 40 kB.
    let file = include_bytes!("../fixtures/large.docx");
    let body = [
        head.trim_end_matches("\r\n").as_bytes(),
        b"\r\n\r\n",
        file,
        b"\r\n--b--\r\n",
    ];
    let body = Arc::new(body.concat());
    let send = |_| {
        let (server, body) = (server.clone(), body.clone());
        std::thread::spawn(move || {
            let kind = "multipart/form-data; boundary=b";
            server.send("/translate_file", kind, &[], &body).0
        })
    };
    let sent: Vec<_> = (0..6).map(send).collect();
    let statuses: Vec<u16> = sent.into_iter().map(|sent| sent.join().unwrap()).collect();
    let count = |status| statuses.iter().filter(|&&found| found == status).count();
    assert!(
        (1..=2).contains(&count(200)) && count(200) + count(503) == 6,
        "{statuses:?}"
    );
}
