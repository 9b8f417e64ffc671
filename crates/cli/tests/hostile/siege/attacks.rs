//! The attacks of a siege. Each runs in a thread of its own, again and again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answers::fault;
use super::phase::Clock;
use crate::client::{Client, SECOND};
use crate::connections::halves;
use crate::documents::{glossary, many_fields};
use crate::searches::long_sentences;

/// A round of an attack: its number differs from round to round.
type Attack = fn(&Camp, u64);

const ATTACKS: [(&str, Attack); 15] = [
    ("byte by byte", drip),
    ("answers that nobody reads", unread),
    ("half requests", stop_midway),
    ("many connections", flood),
    ("searches that are cancelled", cancel),
    ("wide searches", search),
    ("streams that are left", leave_stream),
    ("documents of every format", send_document),
    ("files of every format", send_file),
    ("office files", send_office),
    ("glossaries", send_glossary),
    ("stored glossaries", store_glossary),
    ("translation memories", ask_memory),
    ("a damaged model", ask_damaged),
    ("bodies that cannot be read", send_nonsense),
];

/// The clients that attack.
const CLIENTS: [Client; 4] = [
    Client("10.0.2.1"),
    Client("10.0.2.2"),
    Client("10.0.2.3"),
    Client("10.0.2.4"),
];

/// The longest wait for an answer.
const LONGEST: Duration = Duration::from_secs(60);
/// The pause between the bytes of a slow client.
const DRIP: Duration = Duration::from_millis(50);

/// The name of the format of each extension, and a file of it with the text "Guten Morgen!".
const FORMATS: &str = include_str!("../../it/formats.json");
const LETTER: &[u8] = include_bytes!("../../../../server/tests/fixtures/letter.docx");
/// A file that unpacks to a thousand times its size.
const BOMB: &[u8] = include_bytes!("../../../../server/tests/fixtures/large.docx");

/// What the attacks share.
pub struct Camp {
    address: String,
    clock: Arc<Clock>,
    formats: BTreeMap<String, [String; 2]>,
    /// How often each attack had each outcome.
    counts: Mutex<BTreeMap<(&'static str, String), usize>>,
    faults: Mutex<Vec<String>>,
}

impl Camp {
    pub fn new(address: &str, clock: &Arc<Clock>) -> Arc<Self> {
        Arc::new(Self {
            address: address.into(),
            clock: clock.clone(),
            formats: serde_json::from_str(FORMATS).unwrap(),
            counts: Mutex::default(),
            faults: Mutex::default(),
        })
    }

    /// Starts every attack.
    pub fn attack(self: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let attack = |(_, attack): (&str, Attack)| {
            let camp = self.clone();
            spawn(move || {
                let rounds = (0..).take_while(|_| !camp.clock.is_over());
                rounds.for_each(|round| attack(&camp, round));
            })
        };
        ATTACKS.into_iter().map(attack).collect()
    }

    /// A table of all outcomes.
    pub fn table(&self) -> String {
        let mut table = String::new();
        for ((attack, outcome), count) in self.counts.lock().unwrap().iter() {
            writeln!(table, "    {attack}: {count} × {outcome}").unwrap();
        }
        table
    }

    /// The answers that are neither a translation nor a refusal with a reason.
    pub fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap().clone()
    }

    fn count(&self, attack: &'static str, outcome: impl Into<String>) {
        let mut counts = self.counts.lock().unwrap();
        *counts.entry((attack, outcome.into())).or_default() += 1;
    }

    /// Sends a request, and judges its answer.
    fn ask(&self, attack: &'static str, request: &[u8]) {
        let answer = TcpStream::connect(&self.address).and_then(|mut stream| {
            // The server may refuse before it has read everything.
            let sent = stream.write_all(request);
            let answer = self.answer(stream);
            if answer.is_err() {
                sent?;
            }
            answer
        });
        self.judge(attack, answer);
    }

    /// The status and the text of an answer. Bytes that are no text are replaced. Nobody waits for
    /// it after the siege.
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<(u16, String)> {
        stream.set_read_timeout(Some(SECOND / 4))?;
        let begun = Instant::now();
        let mut answer = Vec::new();
        while let Err(error) = stream.read_to_end(&mut answer) {
            let is_late = begun.elapsed() > LONGEST || self.clock.is_over();
            if error.kind() != ErrorKind::WouldBlock || is_late {
                return Err(error);
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        let (head, text) = answer
            .split_once("\r\n\r\n")
            .ok_or(ErrorKind::UnexpectedEof)?;
        let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
        Ok((status.ok_or(ErrorKind::InvalidData)?, text.to_owned()))
    }

    fn judge(&self, attack: &'static str, answer: std::io::Result<(u16, String)>) {
        match answer {
            Ok((status, text)) => {
                self.count(attack, status.to_string());
                let faults = fault(status, &text).map(|fault| format!("{attack}: {fault}"));
                self.faults.lock().unwrap().extend(faults);
            }
            Err(error) => self.count(attack, format!("no answer: {}", error.kind())),
        }
    }

    /// Sends a request, reads nothing and leaves after `stay`.
    fn visit(&self, attack: &'static str, request: &[u8], stay: Duration) {
        let Ok(mut stream) = TcpStream::connect(&self.address) else {
            return;
        };
        let timeout = Some(Duration::from_millis(100));
        stream.set_write_timeout(timeout).unwrap();
        let _ = stream.write_all(request);
        self.count(attack, "left");
        sleep(stay);
    }

    /// The extension, the name of the format and the content of a file, of another format in each
    /// round. One in four is as large as a request may be.
    fn file(&self, round: u64) -> (&str, &str, String) {
        let index = round as usize % self.formats.len();
        let (extension, [name, text]) = self.formats.iter().nth(index).unwrap();
        let count = if round.is_multiple_of(4) { 13_000 } else { 100 };
        let long = "Guten Morgen! ".repeat(count);
        (
            extension,
            name,
            text.replace("Guten Morgen!", long.trim_end()),
        )
    }
}

/// The client of a round.
fn client(round: u64) -> Client {
    CLIENTS[round as usize % CLIENTS.len()]
}

fn drip(camp: &Camp, round: u64) {
    let body = json!({"q": "Das Haus. ".repeat(20), "source": "de", "target": "en"});
    let request = client(round).json("/translate", &body);
    let open = (0..12).map(|_| TcpStream::connect(&camp.address).ok());
    let mut open: Vec<TcpStream> = open.flatten().collect();
    for byte in request.as_bytes() {
        open.retain_mut(|stream| stream.write_all(&[*byte]).is_ok());
        if camp.clock.is_over() {
            return;
        }
        sleep(DRIP);
    }
    for stream in open {
        camp.judge("byte by byte", camp.answer(stream));
    }
}

fn unread(camp: &Camp, round: u64) {
    let [.., pages] = halves();
    let open: Vec<_> = (0..8)
        .flat_map(|_| TcpStream::connect(&camp.address))
        .collect();
    for mut stream in &open {
        let timeout = Some(Duration::from_millis(20));
        stream.set_write_timeout(timeout).unwrap();
        let _ = stream.write_all(pages.as_bytes());
    }
    camp.count("answers that nobody reads", "left");
    sleep(SECOND * (1 + round as u32 % 5));
}

fn stop_midway(camp: &Camp, round: u64) {
    let [path, head, body, _] = halves();
    let half = [path, head, body].into_iter().nth(round as usize % 3);
    camp.visit("half requests", half.unwrap().as_bytes(), SECOND / 10);
}

fn flood(camp: &Camp, _: u64) {
    let open: Vec<_> = (0..60)
        .flat_map(|_| TcpStream::connect(&camp.address))
        .collect();
    camp.count("many connections", format!("{} open", open.len()));
    sleep(SECOND / 2);
}

fn cancel(camp: &Camp, round: u64) {
    let request = client(round).json("/v1/sentences", &long_sentences(round, 190));
    let stay = Duration::from_millis(100 * (round % 20));
    camp.visit("searches that are cancelled", request.as_bytes(), stay);
}

fn search(camp: &Camp, round: u64) {
    let request = client(round).json("/v1/sentences", &long_sentences(round, 2));
    camp.ask("wide searches", request.as_bytes());
}

fn leave_stream(camp: &Camp, round: u64) {
    let texts = vec!["Der Hund hat drei Katzen gesehen."; 300];
    let body = json!({"sentences": texts, "source": "de", "target": "en", "beam": 1});
    let request = client(round).json("/v1/stream", &body);
    let stay = Duration::from_millis(50 * (round % 10));
    camp.visit("streams that are left", request.as_bytes(), stay);
}

fn send_document(camp: &Camp, round: u64) {
    let (_, name, text) = camp.file(round);
    let body = json!({"q": text, "source": "auto", "target": "en", "format": name});
    let request = client(round).json("/translate", &body);
    camp.ask("documents of every format", request.as_bytes());
}

fn send_file(camp: &Camp, round: u64) {
    let (extension, _, text) = camp.file(round);
    let name = format!("a.{extension}");
    let request = upload(client(round), round, &name, text.as_bytes());
    camp.ask("files of every format", &request);
}

fn send_office(camp: &Camp, round: u64) {
    let damaged = &LETTER[..LETTER.len() / 2];
    let file = [LETTER, BOMB, damaged][round as usize % 3];
    let request = upload(client(round), round, "a.docx", file);
    camp.ask("office files", &request);
    sleep(SECOND / 10);
}

/// A form with a file, for LibreTranslate's interface or DeepL's.
fn upload(client: Client, round: u64, name: &str, file: &[u8]) -> Vec<u8> {
    let part = |head: &str, body: &str| {
        format!("--b\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}")
    };
    let (path, names) = match round % 2 {
        0 => ("/translate_file", ["source", "target"]),
        _ => ("/v2/document", ["source_lang", "target_lang"]),
    };
    let [from, to] = names.map(|name| format!("name=\"{name}\""));
    let head = [
        part(&from, "de\r\n"),
        part(&to, "en\r\n"),
        part(&format!("name=\"file\"; filename=\"{name}\""), ""),
    ];
    let body = [head.concat().as_bytes(), file, b"\r\n--b--\r\n"].concat();
    let kind = "multipart/form-data; boundary=b";
    let start = client.bytes("POST", path, kind, "");
    let start = start.replace(
        "content-length: 0",
        &format!("content-length: {}", body.len()),
    );
    [start.as_bytes(), &body].concat()
}

fn send_glossary(camp: &Camp, round: u64) {
    let request = client(round).json("/v1/sentences", &glossary());
    camp.ask("glossaries", request.as_bytes());
}

fn store_glossary(camp: &Camp, round: u64) {
    let terms: Vec<String> = (0..400)
        .map(|number| format!("Wort{round}x{number}\tword{number}"))
        .collect();
    let dictionary = json!({"source_lang": "de", "target_lang": "en", "entries": terms.join("\n"), "entries_format": "tsv"});
    let body = json!({"name": format!("terms {round}"), "dictionaries": [dictionary]});
    let request = client(round).json("/v3/glossaries", &body);
    camp.ask("stored glossaries", request.as_bytes());
    sleep(SECOND / 10);
}

/// Segments of the translation memory of the server, and a memory to translate.
fn ask_memory(camp: &Camp, round: u64) {
    let texts: Vec<String> = (0..900)
        .map(|number| format!("Satz Nummer {}.", (round * 900 + number) % 20_000))
        .collect();
    let body = json!({"q": texts, "source": "de", "target": "en"});
    let request = client(round).json("/translate", &body);
    camp.ask("translation memories", request.as_bytes());
    let unit = |text: &String| {
        format!(
            "<tu><tuv xml:lang=\"de\"><seg>{text}</seg></tuv><tuv xml:lang=\"en\"><seg/></tuv></tu>"
        )
    };
    let units: String = texts.iter().map(unit).collect();
    let memory = format!(
        "<tmx version=\"1.4\"><header srclang=\"de\"/><body>{}</body></tmx>",
        units.repeat(5)
    );
    let request = upload(client(round), round, "a.tmx", memory.as_bytes());
    camp.ask("translation memories", &request);
    sleep(SECOND / 10);
}

fn ask_damaged(camp: &Camp, round: u64) {
    let body = json!({"q": "Das Haus", "source": "de", "target": "fr"});
    camp.ask(
        "a damaged model",
        client(round).json("/translate", &body).as_bytes(),
    );
}

fn send_nonsense(camp: &Camp, round: u64) {
    let kind = "application/json";
    let client = client(round);
    let request = match round % 6 {
        0 => client.bytes("POST", "/translate", kind, &"[".repeat(1 << 20)),
        1 => many_fields(),
        2 => client.bytes("POST", &format!("/{}", "a".repeat(30_000)), kind, ""),
        3 => client.bytes("POST", "/translate", "text/x", "Das Haus"),
        4 => client.json("/translate", &Value::Null),
        _ => client.bytes("POST", "/translate", kind, &"a".repeat(5 << 20)),
    };
    camp.ask("bodies that cannot be read", request.as_bytes());
    sleep(SECOND / 10);
}
