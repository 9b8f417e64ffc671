//! The doors of Burnformer, for a fuzzer that is guided by coverage.
//!
//! A door is a place through which text or a file from outside enters. Any bytes may enter: a door
//! refuses them with an error or reads them, never panics, and holds memory in proportion to their
//! number. `cargo xtask fuzz` builds a program of all doors with libFuzzer. `tests/corpus.rs` lets
//! the kept inputs in `corpus/` enter in every ordinary test run.
//!
//! The trade-off: one program has all doors. It is built and linked once, and in exchange the
//! counters of every door are read after each input.

mod documents;
mod languages;
#[path = "../memory.rs"]
mod memory;
mod metrics;
mod models;
mod office;
mod sentencepiece;
mod terms;
mod text;
mod tokenizers;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

pub use memory::within;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// A place through which text or a file enters.
pub struct Door {
    /// The name, which is also that of the folder of kept inputs.
    pub name: String,
    /// Valid files in this repository to begin with.
    pub seeds: Vec<PathBuf>,
    /// Reads the bytes. Panics if the door breaks a promise.
    pub enter: Enter,
}

/// A function that reads bytes from outside.
pub type Enter = Box<dyn Fn(&[u8]) + Send + Sync>;

impl Door {
    fn new(name: impl Into<String>, enter: impl Fn(&[u8]) + Send + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            seeds: Vec::new(),
            enter: Box::new(enter),
        }
    }

    /// A door for text. Bytes that are not UTF-8 are replaced.
    fn of_text(name: &str, enter: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::new(name, move |bytes| enter(&lossy(bytes)))
    }

    /// Adds a seed, by its path from the root of the repository.
    fn with_seed(mut self, path: impl AsRef<Path>) -> Self {
        self.seeds.push(repository().join(path));
        self
    }

    /// The folder of the inputs that are kept for this door.
    pub fn corpus(&self) -> PathBuf {
        repository().join("tests/fuzz/corpus").join(&self.name)
    }
}

/// Every door.
pub fn doors() -> Vec<Door> {
    let groups = [
        text::doors(),
        languages::doors(),
        terms::doors(),
        documents::doors(),
        office::doors(),
        metrics::doors(),
        sentencepiece::doors(),
        tokenizers::doors(),
        models::doors(),
    ];
    groups.into_iter().flatten().collect()
}

/// The root of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// Divides a text into two at its first line end, or a third from its start.
fn halves(text: &str) -> (&str, &str) {
    text.split_once('\n')
        .unwrap_or_else(|| text.split_at(text.floor_char_boundary(text.len() / 3)))
}
