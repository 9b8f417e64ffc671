//! Hostile clients of the program's server. Whatever they do, nobody else waits for more than five
//! seconds, `/health` answers within one, and the server ends within fifteen seconds of being asked
//! to.
#![cfg(all(target_os = "linux", feature = "serve"))]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The longest time that anybody may wait for a short text.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest time for `/health`.
const HEALTH: Duration = Duration::from_secs(1);
/// The longest time for the end.
const END: Duration = Duration::from_secs(15);
const SECOND: Duration = Duration::from_secs(1);

/// The program's server with its own models.
struct Server {
    child: Child,
    address: String,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// A server that may open `files` at most.
    fn start(files: usize, options: &str) -> Self {
        let script = format!(
            "ulimit -n {files}; exec \"$0\" serve --listen 0 --cache 0 --log json {options}"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_burnformer")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening at http://").unwrap().to_owned();
        let log = Arc::new(Mutex::new(String::new()));
        let (kept, stderr) = (log.clone(), BufReader::new(child.stderr.take().unwrap()));
        spawn(move || {
            stderr.lines().map_while(Result::ok).for_each(|line| {
                *kept.lock().unwrap() += &format!("{line}\n");
            });
        });
        let server = Self { child, address, log };
        // Models are loaded before the first answer.
        while request(&server.address, "GET", "/health", "", Duration::from_secs(30)).is_err() {
            sleep(Duration::from_millis(50));
        }
        server
    }

    fn post(&self, path: &str, body: &Value) -> (u16, String) {
        let limit = Duration::from_secs(30);
        request(&self.address, "POST", path, &body.to_string(), limit).expect("an answer")
    }

    /// The number that `/metrics` has under `name`.
    fn metric(&self, name: &str) -> f64 {
        let (_, text) =
            request(&self.address, "GET", "/metrics", "", PATIENCE).expect("the metrics");
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).trim().parse().unwrap()
    }

    /// The processor time that the process has used.
    fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = [11, 12].map(|field| fields[field].parse::<u64>().unwrap()).iter().sum();
        Duration::from_millis(ticks * 10)
    }

    /// The most bytes of memory that the process has had.
    fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Asks the server to end, and returns its exit code and how long that took.
    fn end(&mut self) -> (Option<i32>, Duration) {
        let begun = Instant::now();
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return (status.code(), begun.elapsed()),
                None if begun.elapsed() > 4 * END => return (None, begun.elapsed()),
                None => sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The bytes of a request that closes its connection.
fn bytes(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

/// The status and the text of the answer, or why there is none within `limit`.
fn request(
    address: &str,
    method: &str,
    path: &str,
    body: &str,
    limit: Duration,
) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(limit))?;
    stream.write_all(bytes(method, path, body).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, text) = answer.split_once("\r\n\r\n").ok_or(std::io::ErrorKind::InvalidData)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(std::io::ErrorKind::InvalidData)?, text.to_owned()))
}

/// A client that sends a request and leaves after `stay`.
fn visit(address: &str, path: &str, body: &Value, stay: Duration) -> JoinHandle<()> {
    let (address, bytes) = (address.to_owned(), bytes("POST", path, &body.to_string()));
    spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        sleep(stay);
    })
}

/// The method, the path and the body of the request with a number.
type Wish = fn(usize) -> (&'static str, &'static str, String);

/// Clients with short wishes, and what they waited for at most.
struct Honest {
    done: Arc<AtomicBool>,
    threads: Vec<JoinHandle<(&'static str, Duration)>>,
}

impl Honest {
    fn start(server: &Server) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let health = |_| ("GET", "/health", String::new());
        let text = |number| {
            let body = json!({"q": format!("Das Haus hat {number} Fenster."), "source": "de", "target": "en"});
            ("POST", "/translate", body.to_string())
        };
        let click = |number| {
            let sentences = [format!("Der Hund hat {number} Katzen gesehen.")];
            let body = json!({"sentences": sentences, "source": "de", "target": "en", "alternatives": 3, "links": true});
            ("POST", "/v1/sentences", body.to_string())
        };
        let wishes: [Wish; 3] = [health, text, click];
        let client = |wish: Wish| {
            let (done, address) = (done.clone(), server.address.clone());
            spawn(move || {
                let (mut longest, mut number) = (Duration::ZERO, 0);
                while !done.load(Ordering::Relaxed) {
                    number += 1;
                    let (method, path, body) = wish(number);
                    let begun = Instant::now();
                    let (status, text) = request(&address, method, path, &body, 4 * PATIENCE)
                        .unwrap_or_else(|error| panic!("{path}: {error}"));
                    assert_eq!(status, 200, "{path}: {text}");
                    longest = longest.max(begun.elapsed());
                    sleep(Duration::from_millis(50));
                }
                (wish(0).1, longest)
            })
        };
        let threads = wishes.into_iter().map(client).collect();
        Self { done, threads }
    }

    /// Checks that nobody waited too long during `attack`.
    fn check(self, attack: &str) {
        self.done.store(true, Ordering::Relaxed);
        for thread in self.threads {
            let (path, longest) = thread.join().unwrap_or_else(|_| panic!("during: {attack}"));
            println!("{attack}: {path} {longest:.2?}");
            let limit = if path == "/health" { HEALTH } else { PATIENCE };
            assert!(longest < limit, "{attack}: {path} took {longest:?}");
        }
    }
}

/// Runs `attack` while others ask, and for a second afterwards.
fn during(server: &Server, name: &str, attack: impl FnOnce()) {
    let honest = Honest::start(server);
    attack();
    sleep(Duration::from_secs(1));
    honest.check(name);
}

/// A sentence of a thousand letters without sense.
fn letters(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    let letter = |number: u64| {
        if number.is_multiple_of(7) { ' ' } else { (b'a' + (number % 26) as u8).into() }
    };
    (0..1000).map(|_| letter(next())).collect()
}

fn long_sentences(seed: u64) -> Value {
    let sentences: Vec<String> = (0..190).map(|number| letters(seed * 1000 + number)).collect();
    json!({"sentences": sentences, "source": "de", "target": "en", "beam": 10, "alternatives": 10, "links": true})
}

/// 499 terms that begin alike, and a text of their first word.
fn glossary() -> Value {
    let term = |number: usize| [format!("{}x{number}", "a ".repeat(96)), "b".to_owned()];
    let terms: Vec<[String; 2]> = (0..499).map(term).collect();
    json!({"sentences": ["a ".repeat(40_000)], "source": "de", "target": "en", "glossary": terms})
}

fn document(text: String, format: &str) -> Value {
    json!({"q": text, "source": "de", "target": "en", "format": format})
}

/// Each test measures how long others wait, so the two run one after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

#[test]
fn hostile_clients_hold_up_nobody() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut server = Server::start(1024, "");
    let address = server.address.clone();
    let address = address.as_str();
    let second = SECOND;

    during(&server, "long sentences of clients that stay and leave", || {
        let clients =
            [1, 2].map(|seed| visit(address, "/v1/sentences", &long_sentences(seed), 4 * second));
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    sleep(second);
    assert_eq!(server.metric("burnformer_waiting_sentences"), 0.0);
    let before = server.processor_time();
    sleep(second);
    let used = server.processor_time() - before;
    assert!(used < second / 2, "nobody waits, but {used:?} were computed in a second");

    during(&server, "terms and documents", || {
        let clients: Vec<_> = (0..3)
            .flat_map(|_| {
                let html = document("<b>.</b>".repeat(24_000), "html");
                let hyphens = document("1-".repeat(16_000), "text");
                let backslashes = document("\\".repeat(60_000), "markdown");
                let texts = [html, hyphens, backslashes].map(|text| ("/translate", text));
                [texts.to_vec(), vec![("/v1/sentences", glossary())]].concat()
            })
            .map(|(path, body)| visit(address, path, &body, 4 * second))
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
    });

    during(&server, "a list of long texts", || {
        let texts: Vec<String> = (0..31)
            .map(|number| format!("Am Tag {number} ging ich nach Haus. ").repeat(30))
            .collect();
        let body = json!({"q": texts, "source": "de", "target": "en"});
        visit(address, "/translate", &body, 3 * second).join().unwrap();
    });

    let bad = json!({"sentences": ["Das Haus"], "source": "de", "target": "en", "glossary": [["Haus", "a\u{1}b"]]});
    let batches = server.metric("burnformer_batch_seconds_count");
    let (status, text) = server.post("/v1/sentences", &bad);
    assert_eq!(status, 400, "{text}");
    assert_eq!(server.metric("burnformer_batch_seconds_count"), batches, "it got into a batch");
    during(&server, "bad terms", || {
        let begun = Instant::now();
        while begun.elapsed() < second {
            assert_eq!(server.post("/v1/sentences", &bad).0, 400);
        }
    });

    let clients =
        [3, 4].map(|seed| visit(address, "/v1/sentences", &long_sentences(seed), 4 * END));
    let mut half = TcpStream::connect(address).unwrap();
    half.write_all(b"GET /health HT").unwrap();
    sleep(second);
    let (code, took) = server.end();
    println!("the end: {took:.2?}");
    assert!(took < END && code == Some(0), "{code:?} after {took:?}");
    assert!(server.log.lock().unwrap().contains("cut off"), "{}", server.log.lock().unwrap());
    drop(clients);
}

#[test]
fn clients_that_stop_in_the_middle_lock_out_nobody() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut server = Server::start(64, "");
    let address = server.address.clone();
    let body = long_sentences(5).to_string();
    let whole = bytes("POST", "/v1/sentences", &body);
    let page = bytes("GET", "/docs.js", "").replace("close", "keep-alive").repeat(500);
    let halves =
        ["GET /hea", "GET /health HTTP/1.1\r\nhost: a\r\n", &whole[..whole.len() / 2], &page];
    let mut open = Vec::new();
    during(&server, "half requests", || {
        for number in 0..70 {
            let mut stream = TcpStream::connect(&address).unwrap();
            // What has been closed for others, or is not read, cannot be written to.
            stream.set_write_timeout(Some(Duration::from_millis(20))).unwrap();
            let _ = stream.write_all(halves[number % halves.len()].as_bytes());
            open.push(stream);
        }
        sleep(Duration::from_secs(2));
    });
    assert!(server.log.lock().unwrap().contains("too many connections"));
    drop(open);

    // As many whole requests as there can be: the state is told, and others are told to come again.
    let mut long = long_sentences(6);
    long["sentences"].as_array_mut().unwrap().truncate(20);
    let clients: Vec<_> =
        (0..50).map(|_| visit(&address, "/v1/sentences", &long, 6 * SECOND)).collect();
    sleep(2 * SECOND);
    for _ in 0..5 {
        let begun = Instant::now();
        let (status, _) = request(&address, "GET", "/health", "", PATIENCE).expect("an answer");
        assert!(status == 200 && begun.elapsed() < HEALTH, "{status} in {:?}", begun.elapsed());
        let body = json!({"q": "Das Haus", "source": "de", "target": "en"}).to_string();
        let (status, text) = request(&address, "POST", "/translate", &body, PATIENCE).expect("one");
        assert_eq!(status, 503, "{text}");
    }
    assert!(server.log.lock().unwrap().contains("too many requests"));
    clients.into_iter().for_each(|client| client.join().unwrap());
    sleep(SECOND);
    let body = json!({"q": "Das Haus", "source": "de", "target": "en"});
    assert_eq!(server.post("/translate", &body).0, 200);
    let (code, took) = server.end();
    println!("the end: {took:.2?}");
    assert!(took < END && code == Some(0), "{code:?} after {took:?}");
}

#[test]
fn a_long_request_does_not_keep_other_models_out() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(1024, "--lazy --memory 1");
    let mut body = long_sentences(7);
    body["sentences"].as_array_mut().unwrap().truncate(40);
    let (address, text) = (server.address.clone(), body.to_string());
    let long =
        spawn(move || request(&address, "POST", "/v1/sentences", &text, 100 * SECOND).unwrap());
    sleep(SECOND);
    let begun = Instant::now();
    let body = json!({"q": "house", "source": "en", "target": "de"});
    let (status, text) = server.post("/translate", &body);
    println!("another model: {:.2?}", begun.elapsed());
    assert_eq!(status, 200, "{text}");
    assert!(begun.elapsed() < 6 * SECOND, "{:?}", begun.elapsed());
    assert!(server.log.lock().unwrap().contains("requests wait"));
    let (status, text) = long.join().unwrap();
    assert_eq!(status, 200, "{text}");
}

/// Bytes of a form whose fields are as many as its length allows.
fn many_fields() -> String {
    let body = "q=&".repeat(699_000);
    bytes("POST", "/translate", &body)
        .replace("application/json", "application/x-www-form-urlencoded")
}

#[test]
fn side_paths_have_the_limits_of_the_main_path() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut server = Server::start(1024, "");
    let address = server.address.clone();
    let address = address.as_str();

    during(&server, "links of a sentence without end", || {
        let words = |count| json!({"sentences": ["Haus ".repeat(count)], "source": "de", "target": "en", "links": true, "alternatives": 10});
        let clients =
            [3_000, 33_000].map(|count| visit(address, "/v1/sentences", &words(count), 4 * SECOND));
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    during(&server, "a request of 49,000 lines", || {
        let client =
            visit(address, "/translate", &document("Das\n".repeat(49_000), "text"), 5 * SECOND);
        while !client.is_finished() {
            let (status, text) = request(address, "GET", "/ready", "", HEALTH).expect("an answer");
            assert_eq!(status, 200, "{text}");
            sleep(SECOND / 10);
        }
        client.join().unwrap();
    });
    during(&server, "forms of many fields", || {
        let clients: Vec<_> = (0..60)
            .map(|_| {
                let address = address.to_owned();
                spawn(move || {
                    let mut stream = TcpStream::connect(address).unwrap();
                    let _ = stream.write_all(many_fields().as_bytes());
                    sleep(2 * SECOND);
                })
            })
            .collect();
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    during(&server, "sixty documents", || {
        let html = document("<b>.</b>".repeat(24_000), "html");
        let clients: Vec<_> =
            (0..60).map(|_| visit(address, "/translate", &html, 6 * SECOND)).collect();
        sleep(SECOND);
        let begun = Instant::now();
        let (status, text) =
            server.post("/translate", &document("<p>Das Haus.</p>".repeat(1_200), "html"));
        println!("another document: {:.2?}", begun.elapsed());
        assert!(
            status == 200 && begun.elapsed() < PATIENCE,
            "{status} in {:?}: {}",
            begun.elapsed(),
            text.len()
        );
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    let memory = server.peak_memory();
    println!("memory: {} MB", memory >> 20);
    assert!(memory < 1 << 30, "{memory}");
    assert_eq!(server.end().0, Some(0));
}

#[test]
fn a_slow_upload_arrives_during_a_flood_of_connections() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start(64, "");
    let body = json!({"q": "Das Haus. ".repeat(1_000)}).to_string();
    let whole = bytes("POST", "/detect", &body);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let mut flood = Vec::new();
    for part in whole.as_bytes().chunks(whole.len().div_ceil(20)) {
        stream.write_all(part).expect("the upload goes on");
        for _ in 0..40 {
            flood.extend(TcpStream::connect(&server.address));
        }
        sleep(SECOND / 5);
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}
