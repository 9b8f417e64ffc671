//! Parts shared by the fuzz tests: damage to good input, a bound on memory, and found cases kept as
//! files.
//!
//! Each crate's `tests/fuzz.rs` takes this file in by its path. Ordinary runs try a few hundred
//! cases; `cargo test --release --test fuzz -- --ignored` tries `FUZZ_CASES` of each, 100,000
//! unless told otherwise.
#![allow(dead_code, reason = "each crate uses its share")]

mod memory;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

pub use memory::{Counting, within};

/// Cases of an ordinary run.
pub const FEW: u32 = 300;

/// Cases of an opt-in run.
pub fn many() -> u32 {
    std::env::var("FUZZ_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(100_000)
}

/// One thing that happens to bytes.
#[derive(Clone, Debug)]
pub enum Damage {
    Flip(u16, u8),
    Truncate(u16),
    Remove(u16, u8),
    Repeat(u16, u8, u8),
    Insert(u16, Vec<u8>),
    Number(u16, u8),
}

/// Numbers that an attacker would write.
const NUMBERS: [&str; 12] = [
    "0",
    "-1",
    "1e9",
    "1e400",
    "nan",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999999",
    "0.5",
];

/// Snippets that parsers treat specially.
const SNIPPETS: [&[u8]; 16] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"\\u0000",
    b"null",
    b",",
    b"=",
    b"\n",
    b"\0",
    b"\xff",
    b"\r\n",
    b"\xe2\x80\xa8",
    b"[[[[[[[[[[[[[[[[",
    b"1e999",
];

fn damage() -> impl Strategy<Value = Damage> {
    let snippet = prop_oneof![
        prop::sample::select(SNIPPETS.to_vec()).prop_map(<[u8]>::to_vec),
        prop::collection::vec(any::<u8>(), 1..9),
    ];
    prop_oneof![
        (any::<u16>(), 1..=255u8).prop_map(|(at, with)| Damage::Flip(at, with)),
        any::<u16>().prop_map(Damage::Truncate),
        (any::<u16>(), any::<u8>()).prop_map(|(at, len)| Damage::Remove(at, len)),
        (any::<u16>(), any::<u8>(), 1..9u8).prop_map(|(at, n, t)| Damage::Repeat(at, n, t)),
        (any::<u16>(), snippet).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (any::<u16>(), any::<u8>()).prop_map(|(at, which)| Damage::Number(at, which)),
    ]
}

impl Damage {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let offset = |at: u16| at as usize * (bytes.len() + 1) / (1 << 16);
        let within = |start: usize, len: u8| start..(start + len as usize).min(bytes.len());
        match self {
            &Self::Flip(at, with) => {
                let at = offset(at);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= with;
                }
            }
            &Self::Truncate(at) => bytes.truncate(offset(at)),
            &Self::Remove(at, len) => drop(bytes.drain(within(offset(at), len))),
            &Self::Repeat(at, len, times) => {
                let range = within(offset(at), len);
                let end = range.end;
                let piece = bytes[range].repeat(times as usize);
                drop(bytes.splice(end..end, piece));
            }
            Self::Insert(at, new) => {
                let at = offset(*at);
                drop(bytes.splice(at..at, new.iter().copied()));
            }
            &Self::Number(at, which) => replace_number(bytes, offset(at), which),
        }
    }
}

/// Puts a hostile number instead of the first one at or behind `at`.
fn replace_number(bytes: &mut Vec<u8>, at: usize, which: u8) {
    let digit = |byte: &u8| byte.is_ascii_digit();
    if let Some(start) = bytes[at..].iter().position(digit).map(|offset| at + offset) {
        let len = bytes[start..].iter().take_while(|byte| digit(byte)).count();
        let number = NUMBERS[which as usize % NUMBERS.len()];
        drop(bytes.splice(start..start + len, number.bytes()));
    }
}

/// `good`, damaged one to five times.
pub fn damaged(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(damage(), 1..6).prop_map(move |all| {
        let mut bytes = good.clone();
        all.iter().for_each(|damage| damage.apply(&mut bytes));
        bytes
    })
}

/// Tries `cases` inputs from `strategy` on `test`, after the kept ones of
/// `tests/regressions/<name>`.
///
/// A case that fails is written to that folder, so that it stays.
pub fn fuzz(
    name: &str,
    cases: u32,
    strategy: impl Strategy<Value = Vec<u8>>,
    mut test: impl FnMut(&[u8]),
) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/regressions")
        .join(name);
    for path in kept(&folder) {
        test(&std::fs::read(path).unwrap());
    }
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let test = std::cell::RefCell::new(test);
    let tried = Cell::new(0);
    let start = std::time::Instant::now();
    let outcome = TestRunner::new(config).run(&strategy, |bytes| {
        tried.set(tried.get() + 1);
        let run = || (test.borrow_mut())(&bytes);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
            .map_err(|_| TestCaseError::fail("panicked, see above"))
    });
    if let Err(proptest::test_runner::TestError::Fail(why, bytes)) = outcome {
        let hash = bytes
            .iter()
            .fold(7u64, |h, &b| h.wrapping_mul(31).wrapping_add(b.into()));
        let path = folder.join(format!("{hash:016x}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        panic!(
            "{why}; kept as {}: {}",
            path.display(),
            String::from_utf8_lossy(&bytes)
        );
    }
    outcome.unwrap();
    assert_eq!(tried.get(), cases, "every case was tried");
    eprintln!(
        "{name}: {cases} cases in {:.1} s",
        start.elapsed().as_secs_f64()
    );
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// A fuzz test twice: a few cases always, many on demand.
#[macro_export]
macro_rules! fuzz_test {
    ($name:ident, $strategy:expr, $test:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn a_few_cases() {
                fuzz::fuzz(stringify!($name), fuzz::FEW, $strategy, $test);
            }

            #[test]
            #[ignore = "100,000 cases take minutes"]
            fn many_cases() {
                fuzz::fuzz(stringify!($name), fuzz::many(), $strategy, $test);
            }
        }
    };
}
