//! The program's server with its own models.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::{PATIENCE, SECOND, honest};

/// The longest time for a shutdown.
pub const END: Duration = Duration::from_secs(15);

pub struct Server {
    child: Child,
    pub address: String,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// A server that may open `files` at most.
    pub fn start(files: usize, options: &str) -> Self {
        let script =
            format!("ulimit -n {files}; exec \"$0\" serve --listen 0 --log json {options}");
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_burnformer")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening at http://")
            .unwrap()
            .to_owned();
        let log = Arc::new(Mutex::new(String::new()));
        let kept = log.clone();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        spawn(move || {
            stderr.lines().map_while(Result::ok).for_each(|line| {
                *kept.lock().unwrap() += &format!("{line}\n");
            });
        });
        let server = Self {
            child,
            address,
            log,
        };
        // Models are loaded before the first answer.
        while honest()
            .get(&server.address, "/health", 30 * SECOND)
            .is_err()
        {
            sleep(Duration::from_millis(50));
        }
        server
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, String) {
        honest()
            .post(&self.address, path, body, 30 * SECOND)
            .expect("an answer")
    }

    /// The value of `name` in `/metrics`.
    pub fn metric(&self, name: &str) -> f64 {
        let (_, text) = honest()
            .get(&self.address, "/metrics", PATIENCE)
            .expect("the metrics");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name} ")));
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
            .trim()
            .parse()
            .unwrap()
    }

    pub fn has_logged(&self, text: &str) -> bool {
        self.log.lock().unwrap().contains(text)
    }

    /// The processor time that the process has used.
    pub fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat
            .rsplit_once(')')
            .unwrap()
            .1
            .split_whitespace()
            .collect();
        let ticks: u64 = [11, 12]
            .map(|field| fields[field].parse::<u64>().unwrap())
            .iter()
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// The peak memory of the process in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Checks that the peak memory is below a gigabyte.
    pub fn check_memory(&self) {
        let memory = self.peak_memory();
        println!("memory: {} MB", memory >> 20);
        assert!(memory < 1 << 30, "{memory}");
    }

    /// Asks the server to end, and checks that it ends cleanly and in time.
    pub fn end(mut self) {
        let begun = Instant::now();
        let pid = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &pid])
                .status()
                .unwrap()
                .success()
        );
        let code = loop {
            match self.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if begun.elapsed() > 2 * END => break None,
                None => sleep(Duration::from_millis(20)),
            }
        };
        let took = begun.elapsed();
        println!("the end: {took:.2?}");
        assert!(took < END && code == Some(0), "{code:?} after {took:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
