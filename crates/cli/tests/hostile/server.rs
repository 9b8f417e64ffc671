//! The program's server with its own models.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
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
    /// The log without the lines of requests that were answered.
    log: Arc<Mutex<String>>,
}

/// The surroundings of a server.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The largest number of open files.
    pub files: usize,
    /// The socket that the server gets as systemd would pass it, otherwise it opens one.
    pub socket: Option<&'a TcpListener>,
    /// If true, the log is written to a full disk.
    pub is_disk_full: bool,
}

impl Server {
    /// A server that may open `files` at most.
    pub fn start(files: usize, options: &str) -> Self {
        let surroundings = Surroundings {
            files,
            socket: None,
            is_disk_full: false,
        };
        Self::start_in(surroundings, options)
    }

    /// A server in these surroundings.
    pub fn start_in(surroundings: Surroundings, options: &str) -> Self {
        let Surroundings {
            files,
            socket,
            is_disk_full,
        } = surroundings;
        let stdin = socket.map(|socket| Stdio::from(OwnedFd::from(socket.try_clone().unwrap())));
        let inherit = match socket {
            Some(_) => "exec 3<&0 0</dev/null; export LISTEN_FDS=1 LISTEN_PID=$$;",
            None => "",
        };
        let log = if is_disk_full { "2>/dev/full" } else { "" };
        let script = format!(
            "ulimit -n {files}; {inherit} exec \"$0\" serve --listen 0 --log json {options} {log}"
        );
        let mut child = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_burnformer")])
            .stdin(stdin.unwrap_or_else(Stdio::null))
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
            let lines = stderr.lines().map_while(Result::ok);
            for line in lines.filter(|line| !line.contains("\"answered\"")) {
                *kept.lock().unwrap() += &format!("{line}\n");
            }
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

    /// The lines of the log with `text`.
    pub fn logged(&self, text: &str) -> Vec<String> {
        let log = self.log.lock().unwrap();
        let lines = log.lines().filter(|line| line.contains(text));
        lines.map(str::to_owned).collect()
    }

    /// The number of the process.
    pub fn process(&self) -> u32 {
        self.child.id()
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
        memory(self.process(), "VmHWM:")
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

/// A size in bytes from the status of a process: `VmRSS:` is its memory, `VmHWM:` its peak.
pub fn memory(process: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
