//! Programs of other frameworks that measure the same work, and how to read what they print.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// A program that measures the same work in another framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Training with PyTorch.
    TorchTrain,
    /// Decoding with CTranslate2.
    Ct2Decode,
    /// Translating a file with CTranslate2.
    Ct2Translate,
    /// Affine maps with PyTorch.
    TorchMatmul,
}

impl Peer {
    /// The program, and the Python packages that it needs; the first is the framework.
    fn program(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::TorchTrain => ("torch_train.py", &["torch", "sentencepiece"]),
            Self::Ct2Decode => ("ct2_decode.py", &["ctranslate2", "torch", "transformers"]),
            Self::Ct2Translate => ("ct2_translate.py", &["ctranslate2", "tokenizers"]),
            Self::TorchMatmul => ("torch_matmul.py", &["torch"]),
        }
    }
}

/// A Python program that prints those of its arguments that cannot be imported.
const MISSING: &str = "import importlib.util, sys
print(*[name for name in sys.argv[1:] if importlib.util.find_spec(name) is None])";

/// Returns an error if `python` does not run, or lacks a package that `peer` needs.
fn check_packages(python: &Path, peer: Peer) -> Result<()> {
    let shown = python.display();
    let packages = peer.program().1;
    let output = Command::new(python).args(["-c", MISSING]).args(packages).output();
    let output = output.with_context(|| {
        format!("--against {shown} does not start: give the path of a Python 3, for example --against python3")
    })?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "--against {shown} is not a Python 3 that works: {}",
        errors.trim()
    );
    let missing = String::from_utf8_lossy(&output.stdout).trim().to_string();
    ensure!(
        missing.is_empty(),
        "--against {shown} lacks what measuring {} needs: {}. Install it with: {shown} -m pip install {missing}",
        packages[0],
        missing.replace(' ', ", "),
    );
    Ok(())
}

/// The folder of the peers' programs in this repository.
fn folder() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR");
    Path::new(&own.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into())).join("../../benches/peers")
}

/// The program of a peer, and the Python that runs it.
pub struct Program {
    python: PathBuf,
    peer: Peer,
}

impl Program {
    /// The program of `peer`.
    ///
    /// # Errors
    /// If `python` does not run, or lacks the packages that `peer` needs.
    pub fn new(python: &Path, peer: Peer) -> Result<Self> {
        check_packages(python, peer)?;
        Ok(Self { python: python.to_path_buf(), peer })
    }

    /// The command that runs the program.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(folder().join(self.peer.program().0));
        command
    }
}

/// The field with the setting of a run, in words.
pub const NAME: &str = "setting_name";

/// The field with the compute type of a peer that offers several.
pub const TYPE: &str = "type";

/// One line that a run of either side printed.
#[derive(Clone, Debug)]
pub struct Run {
    /// The speed.
    pub figure: f64,
    /// The peak memory of the process in bytes, as the process reports it, or otherwise the system; 0 if neither does.
    pub peak_bytes: u64,
    /// All other fields.
    pub fields: Value,
}

impl Run {
    /// The text of the field `name`, or an empty text.
    pub fn text(&self, name: &str) -> &str {
        self.fields[name].as_str().unwrap_or_default()
    }

    /// This run with `setting` as its setting in words.
    pub fn named(mut self, setting: &str) -> Self {
        self.fields[NAME] = setting.into();
        self
    }
}

/// Runs `command`, which prints at least one JSON object with the field `figure`, one object per line.
pub fn measured(command: &mut Command, figure: &str) -> Result<Vec<Run>> {
    let shown = format!("{command:?}");
    let start = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
    let mut child = start.with_context(|| format!("cannot start {shown}"))?;
    let mut output = String::new();
    let mut pipe = child.stdout.take().expect("stdout is piped");
    std::io::Read::read_to_string(&mut pipe, &mut output)?;
    let (good, peak_bytes) = wait(&mut child)?;
    if !good {
        bail!("failed: {shown}");
    }
    let lines = output.lines().filter(|line| line.starts_with('{'));
    let runs = lines.map(|line| {
        let fields: Value = serde_json::from_str(line)?;
        let found = fields[figure].as_f64();
        let figure = found.with_context(|| format!("no {figure} from {shown}"))?;
        let peak_bytes = fields["peak_memory_bytes"].as_u64().unwrap_or(peak_bytes);
        Ok(Run { figure, peak_bytes, fields })
    });
    let runs: Vec<Run> = runs.collect::<Result<_>>()?;
    if runs.is_empty() {
        bail!("no JSON line from {shown}");
    }
    Ok(runs)
}

/// Whether `child` succeeded, and its peak memory in bytes (0 if the system does not report it).
#[cfg(target_os = "linux")]
fn wait(child: &mut std::process::Child) -> Result<(bool, u64)> {
    let pid = libc::pid_t::try_from(child.id())?;
    let mut status = 0;
    // SAFETY: rusage is plain numbers, for which zeros are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live local variables, and nobody else waits for this child.
    let waited = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
    if waited != pid {
        return Err(std::io::Error::last_os_error().into());
    }
    let good = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    Ok((good, 1024 * usage.ru_maxrss as u64))
}

#[cfg(not(target_os = "linux"))]
fn wait(child: &mut std::process::Child) -> Result<(bool, u64)> {
    Ok((child.wait()?.success(), 0))
}
