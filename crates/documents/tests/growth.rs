//! Work grows with the length of a document, not with its square, whatever the document is.
//!
//! An ordinary run measures processor time, with a wide margin. Where the compiler counts branches,
//! in this crate and in all that it uses, the number is the same in each run, and the margin is
//! narrow:
//!
//! ```sh
//! RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-trace-pc-guard" \
//!     cargo test --release --target x86_64-unknown-linux-gnu --target-dir target/growth \
//!     -p burnformer-documents --test growth -- --test-threads 1 --include-ignored
//! ```

#![cfg(unix)]

#[path = "it/common/mod.rs"]
mod common;
#[path = "growth/pieces.rs"]
mod pieces;
#[path = "growth/valid_files.rs"]
mod valid_files;

use burnformer_documents::{Catalogue, Document, Format, PendingSentence, Translated};
use common::{Model, reverse, upper};
use pieces::{PIECES, STARTS, SUBTITLE};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use valid_files::{Filling, VALID_FILES, ValidFile};

/// Functions that the compiler calls at each branch, and once before. In Rust, such a function
/// would call itself at its own branches.
#[cfg(target_arch = "x86_64")]
mod branches {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    pub static ARE_COUNTED: AtomicBool = AtomicBool::new(false);
    pub static COUNT: AtomicU64 = AtomicU64::new(0);

    std::arch::global_asm!(
        ".globl __sanitizer_cov_trace_pc_guard",
        "__sanitizer_cov_trace_pc_guard:",
        "inc qword ptr [rip + {count}]",
        "ret",
        ".globl __sanitizer_cov_trace_pc_guard_init",
        "__sanitizer_cov_trace_pc_guard_init:",
        "mov byte ptr [rip + {counted}], 1",
        "ret",
        count = sym COUNT,
        counted = sym ARE_COUNTED,
    );
}

#[cfg(not(target_arch = "x86_64"))]
mod branches {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    pub static ARE_COUNTED: AtomicBool = AtomicBool::new(false);
    pub static COUNT: AtomicU64 = AtomicU64::new(0);
}

fn are_counted() -> bool {
    branches::ARE_COUNTED.load(std::sync::atomic::Ordering::Relaxed)
}

/// Returns the steps so far: branches, or nanoseconds of this thread's processor time.
fn steps() -> u64 {
    if are_counted() {
        return branches::COUNT.load(std::sync::atomic::Ordering::Relaxed);
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock exists, and `time` is written.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Translates `text` word by word, and into nothing. Sentences of 200 letters fit.
fn translate(text: &str, format: Format) {
    let fits = |part: &str| part.chars().filter(|c| c.is_alphanumeric()).count() <= 200;
    // A sentence that equals its translation would not be rewritten.
    let other = |sentence: &PendingSentence| {
        let Translated { text, links } = reverse(sentence);
        Translated {
            text: text.to_ascii_uppercase(),
            links,
        }
    };
    let models: [Model<'_>; 2] = [&other, &|_: &PendingSentence| Translated::default()];
    for model in models.into_iter().take(1 + usize::from(are_counted())) {
        let mut document = Document::parse(text, format, Some("en"), &fits);
        loop {
            let pending = document.pending();
            if pending.is_empty() {
                break;
            }
            document.accept(pending.iter().map(model).collect());
        }
        document.finish();
    }
}

/// Returns the bytes of the short document, the factor between both lengths, and the maximum ratio
/// of their steps. Text without sentences is read in parts of 4 KB, and work may grow faster within
/// them.
fn lengths() -> (usize, usize, f64) {
    if are_counted() {
        (16_000, 2, 2.5)
    } else {
        (5_000, 8, 20.0)
    }
}

/// Returns the ratio between the steps of the long document and of the short one with `bytes`
/// bytes.
fn growth(start: &str, piece: &str, format: Format, bytes: usize) -> f64 {
    let (_, times, _) = lengths();
    let [short, long] = [1, times].map(|times| {
        let text = start.to_string() + &piece.repeat(times * bytes / piece.len());
        let before = steps();
        translate(&text, format);
        steps() - before
    });
    long as f64 / short.max(1) as f64
}

/// Fails if the work of repeating `piece` after `start` grows faster than its length, at any
/// length: tried three times, and, where steps are counted, with documents four times as long each
/// time.
fn grows_in_proportion(start: &str, piece: &str, format: Format) -> Result<(), TestCaseError> {
    let (bytes, _, limit) = lengths();
    let longer = if are_counted() { 4 } else { 1 };
    let sizes = (0..3).map(|attempt| bytes * usize::pow(longer, attempt));
    let all: Vec<f64> = sizes
        .map(|bytes| growth(start, piece, format, bytes))
        .take_while(|&growth| growth > limit)
        .collect();
    prop_assert!(
        all.len() < 3,
        "{format} {start:?} {piece:?}: {all:.1?} times the work"
    );
    Ok(())
}

#[test]
fn the_work_of_a_longer_document_is_in_proportion_to_its_length() {
    println!(
        "{}",
        if are_counted() {
            "branches are counted"
        } else {
            "processor time is measured"
        }
    );
    for format in Format::all() {
        translate("a {b} 12,345 <b>c</b>. d", format);
        for piece in PIECES {
            let starts = if are_counted() { STARTS } else { &STARTS[1..2] };
            for start in starts
                .iter()
                .chain((format == Format::Srt).then_some(&SUBTITLE))
            {
                grows_in_proportion(start, piece, format).unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }
}

#[test]
#[ignore = "a search: FUZZ_CASES of them, 2,000 unless told otherwise"]
fn no_pieces_together_take_more_than_in_proportion() {
    let cases = std::env::var("FUZZ_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(2000);
    let pieces = prop::collection::vec(select(PIECES), 1..5);
    let starts = select([STARTS, &[SUBTITLE]].concat());
    let all = (starts, pieces, select(Format::all().collect::<Vec<_>>()));
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&all, |(start, pieces, format)| {
        grows_in_proportion(start, &pieces.concat(), format)
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}

/// Reads `text`, gives its plurals the categories of Russian, and writes it in capitals.
fn translate_file(text: &str, format: Format) {
    let languages = [Some("en"), Some("ru")];
    let Ok(mut document) = Document::try_parse(text, format, languages, &[], &|_| true) else {
        return;
    };
    let pending = document.pending();
    document.accept(pending.iter().map(upper).collect());
    document.finish();
}

/// Returns the ratio between the steps of a file of `times * bytes` bytes and a file of `bytes`
/// bytes.
fn growth_inside(file: &ValidFile, filling: &Filling<'_>, bytes: usize, times: usize) -> f64 {
    let [short, long] = [1, times].map(|times| {
        let text = file.filled(filling, times * bytes);
        let before = steps();
        translate_file(&text, file.format);
        steps() - before
    });
    long as f64 / short.max(1) as f64
}

#[test]
fn the_work_grows_with_a_valid_file_whichever_string_of_it_is_long() {
    let (bytes, times, limit) = lengths();
    for file in VALID_FILES {
        let text = file.filled(&Filling::default(), bytes);
        let catalogue = Catalogue::read(&text, file.format, [None; 2]);
        assert!(catalogue.is_ok(), "{catalogue:?}\n{text}");
        translate_file(&text, file.format);
        for filling in file.fillings() {
            let is_faster = (0..3).all(|attempt| {
                let bytes = (2 * bytes) << attempt;
                growth_inside(file, &filling, bytes, times) > limit
            });
            assert!(!is_faster, "{} {filling:?} of {}", file.format, file.unit);
        }
    }
}
