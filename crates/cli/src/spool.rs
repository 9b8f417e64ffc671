//! Standard input as a corpus: training reads its text more than once, a pipe gives it once.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use burnformer_data::DataError;
use sha2::{Digest, Sha256};

/// `paths` with `-` replaced by a file in `cache` that holds what standard input gave, named by its
/// content, so that a resumed run finds it again.
///
/// # Errors
/// If standard input is named twice or cannot be read, or the file not be written.
pub fn standard_input_to_file(paths: &[PathBuf], cache: &Path) -> Result<Vec<PathBuf>> {
    if paths.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(DataError::StandardInputTwice.into());
    }
    let replace = |path: &PathBuf| match path.as_os_str() == "-" {
        true => spool(io::stdin().lock(), &cache.join("stdin")),
        false => Ok(path.clone()),
    };
    paths.iter().map(replace).collect()
}

fn spool(mut input: impl Read, folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
    let partial = folder.join(format!("{}.partial", std::process::id()));
    let mut copy = || -> io::Result<String> {
        let mut file = File::create(&partial)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            let count = input.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            file.write_all(&buffer[..count])?;
            hash.update(&buffer[..count]);
        }
        file.sync_all()?;
        Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    };
    let name = copy().with_context(|| format!("{}", partial.display()))?;
    let path = folder.join(name);
    fs::rename(&partial, &path).with_context(|| format!("{}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_input_has_the_same_file() {
        let folder = tempfile::tempdir().unwrap();
        let spool = |text: &str| spool(text.as_bytes(), folder.path()).unwrap();
        let (a, b, c) = (spool("x\ty\n"), spool("x\ty\n"), spool("other\n"));
        assert_eq!(a, b);
        assert_ne!(a, c);
        assert_eq!(fs::read_to_string(c).unwrap(), "other\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
