//! Where results go.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::error::ErrorKind;

/// Results on their way to a file or to standard output.
pub struct Output {
    name: String,
    writer: Box<dyn Write + Send>,
}

impl Output {
    /// A new file, or standard output for `None`.
    ///
    /// # Errors
    /// If the file cannot be made, or is one of `inputs`, which would be emptied before it is read.
    pub fn create(path: Option<&Path>, inputs: &[&Path]) -> Result<Self> {
        let Some(path) = path else {
            let writer = Box::new(BufWriter::new(std::io::stdout()));
            return Ok(Self { name: "standard output".into(), writer });
        };
        let same =
            |input: &&&Path| matches!((real(input), real(path)), (Some(a), Some(b)) if a == b);
        if let Some(input) = inputs.iter().find(same) {
            let message = format!(
                "{}: is both input and output, and would be emptied before it is read; name another output",
                input.display()
            );
            return Err(wrong_usage(message));
        }
        let name = path.display().to_string();
        let file = File::create(path).with_context(|| unwritable(&name))?;
        Ok(Self { name, writer: Box::new(BufWriter::new(file)) })
    }

    /// Writes one line.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn line(&mut self, line: impl Display) -> Result<()> {
        writeln!(self.writer, "{line}").with_context(|| unwritable(&self.name))
    }

    /// Hands over what is still buffered.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush().with_context(|| unwritable(&self.name))
    }
}

fn real(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok().filter(|path| path.is_file())
}

fn unwritable(name: &str) -> String {
    format!("{name}: cannot be written; check the folder, its permissions and the free space")
}

/// Prints one result, of one line or several, to standard output.
///
/// # Errors
/// If the system refuses; `println!` would panic.
pub fn print(text: impl Display) -> Result<()> {
    let mut output = Output::create(None, &[])?;
    output.line(text)?;
    output.flush()
}

/// The error for options that make no sense together, which exits with 2 as clap's own do.
pub fn wrong_usage(message: impl Display) -> anyhow::Error {
    clap::Error::raw(ErrorKind::ValueValidation, format!("{message}\n")).into()
}
