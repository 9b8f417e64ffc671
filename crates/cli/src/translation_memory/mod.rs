//! Translation memories: files of segments with translations that people made.

mod read;

use std::path::PathBuf;

use anyhow::Result;
use burnformer_infer::TranslationMemory;

pub use read::{Counts, Pair, Unit, read};

/// A memory of `files` that answers segments and sentences, for [`read`]'s `languages`.
///
/// # Errors
/// The errors of [`read`].
pub fn load(files: &[PathBuf], languages: [Option<&str>; 2]) -> Result<TranslationMemory> {
    let mut memory = TranslationMemory::default();
    let mut add = |[source, target]: &Pair| memory.push(source, target);
    read(files, languages, &mut |unit| {
        unit.sentences.iter().filter(|_| unit.is_parallel).for_each(&mut add);
        // As the file has it, with its markup.
        add(&unit.whole);
    })?;
    Ok(memory)
}
