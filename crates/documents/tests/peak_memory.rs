//! The memory for a file is proportional to its size, whatever it contains.
//!
//! Files of each format are generated: at each string position stands a long text, and beside it
//! many small children of the enclosing part. Copying a large part for each of many small ones
//! would need gigabytes. The allocator counts the bytes held, and the calls that request them.

#[path = "peak_memory/counting.rs"]
mod counting;
#[path = "peak_memory/files.rs"]
mod files;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use burnformer_documents::{Cost, Document, PendingSentence, Translated, WholeFile};
use counting::{Counted, counted};
use files::{File, LONG, files, office, plain};

/// Translates a sentence into its words in reverse order and in capitals, so that every block is
/// rewritten.
fn reversed(sentence: &PendingSentence) -> Translated {
    let words: Vec<&str> = sentence.text.split(' ').rev().collect();
    Translated {
        text: words.join(" ").to_uppercase(),
        links: Vec::new(),
    }
}

/// Reads, translates and writes a file; returns the number of bytes that are written.
fn translate(bytes: Vec<u8>, kind: &str) -> usize {
    let languages = [Some("en"), Some("de")];
    let Ok(file) = WholeFile::read(bytes, kind) else {
        return 0;
    };
    let Ok(mut document) =
        Document::try_parse(&file.text, file.format, languages, &[], &|text: &str| {
            text.len() <= 400
        })
    else {
        return 0;
    };
    loop {
        let pending = document.pending();
        if pending.is_empty() {
            break;
        }
        document.accept(pending.iter().map(reversed).collect());
    }
    file.write(document.finish(), languages).len()
}

/// Returns what translating `file` takes.
fn count(file: &File) -> Counted {
    let bytes = file.bytes.clone();
    let (counted, _) = counted(|| translate(bytes, file.kind));
    counted
}

fn cost(file: &File) -> Cost {
    WholeFile::cost(&file.bytes, file.kind).unwrap_or_else(|error| panic!("{}: {error}", file.name))
}

/// Waits until no other test runs. Tests that share regular expressions allocate scratch space for
/// each other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fills the tables built once for all files, such as regular expressions.
fn warm_up() {
    for file in plain(2) {
        translate(file.bytes, file.kind);
    }
}

/// Fails if a file takes more memory than its price says. Prints the maximum number of bytes per
/// byte of text of each kind.
fn check(files: impl Iterator<Item = File>) {
    warm_up();
    let mut largest: BTreeMap<&str, (f64, String)> = BTreeMap::new();
    let mut faults = Vec::new();
    for file in files {
        let cost = cost(&file);
        let peak = count(&file).peak as u64;
        let ratio = peak as f64 / cost.unpacked as f64;
        if peak > cost.memory() {
            faults.push(format!("{}: {peak} bytes, {ratio:.0} for each", file.name));
        }
        let known = largest.entry(file.kind).or_default();
        if known.0 < ratio {
            *known = (ratio, file.name);
        }
    }
    for (kind, (ratio, name)) in largest {
        println!("{kind}: {ratio:.1} bytes for a byte: {name:?}");
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_long_text_is_not_copied_for_the_many_children_beside_it() {
    let _alone = alone();
    check(files(LONG, 4000));
}

#[test]
fn a_file_of_the_smallest_parts_takes_what_its_price_says() {
    let _alone = alone();
    check(plain(20_000));
}

#[test]
fn the_work_for_many_children_beside_a_long_text_grows_in_proportion() {
    let _alone = alone();
    warm_up();
    let short = files(LONG / 4, 1000);
    let long = files(LONG / 2, 2000);
    for (short, long) in short.zip(long) {
        let [before, after] = [&short, &long].map(count);
        let bytes = after.asked as f64 / before.asked as f64;
        assert!(bytes <= 2.5, "{}: {bytes:.1} times the bytes", long.name);
        let calls = after.calls as f64 / before.calls as f64;
        assert!(calls <= 2.5, "{}: {calls:.1} times the calls", long.name);
    }
}

#[test]
fn the_price_of_an_archive_is_known_without_unpacking_it() {
    let _alone = alone();
    let file = office("docx", "", &"a ".repeat(1 << 20), 1);
    assert!(file.bytes.len() < 20_000, "{}", file.bytes.len());
    let (counted, cost) = counted(|| cost(&file));
    assert!(cost.unpacked > 2 << 20, "{cost:?}");
    assert!(counted.peak < 100_000, "{}", counted.peak);
}
