//! A worker on this machine's CPU, with which tests of remote devices compute.

use std::env;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Stops with its owner.
pub struct Worker {
    child: Child,
    /// Where it listens, as Burn names it.
    pub url: String,
}

impl Worker {
    /// Starts the binary that the tests have built beside this program.
    pub fn start() -> io::Result<Self> {
        let binary = env::current_exe()?
            .with_file_name("burnformer")
            .with_extension(env::consts::EXE_EXTENSION);
        let mut command = Command::new(binary);
        command.args(["worker", "--device", "cpu", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is a pipe")).read_line(&mut line)?;
        let address = line.split_whitespace().last().unwrap_or_default();
        Ok(Self { child, url: format!("ws://{address}") })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
