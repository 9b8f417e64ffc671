//! Work grows with the length of a text, whatever the text is.
//!
//! Each crate's `tests/growth.rs` takes this file in by its path and names the doors through which
//! text enters the crate. `cargo xtask growth` runs them in a program that counts its steps. Other
//! runs ignore them.
#![allow(dead_code, reason = "each crate uses its share")]

mod branches;

use std::hint::black_box;

pub use branches::{are_counted, count, nanoseconds};

/// Largest ratio of the steps for a text of twice the length. It allows n log n.
pub const LIMIT: f64 = 2.5;
/// Largest ratio of the processor times, which also has what the compiler does not count.
const TIME_LIMIT: f64 = 3.2;
/// Where the ratio is larger, texts four times as long show whether it grows, up to this length.
const SURE: f64 = 2.1;
const LONGEST: usize = 256_000;
/// The bytes of one piece that is repeated, and of two.
const LONG: usize = 16_000;
const SHORT: usize = 1_000;

/// Pieces of text with a meaning for some rule.
pub const PIECES: &[&str] = &[
    "a",
    "B",
    "a ",
    " ",
    "1",
    "1 ",
    ".",
    ",",
    "-",
    "a. B ",
    "1,",
    "1/",
    "%",
    "%1$",
    "{",
    "}",
    "{a}",
    "{a, plural, other {",
    "$",
    "<",
    ">",
    "<b>",
    "&amp;",
    "@",
    "a@b.c",
    "http://a/",
    "\\",
    "'",
    "\"",
    "“",
    "(",
    ")",
    "[",
    "*",
    ":",
    "\u{301}",
    "\u{200d}",
    "\u{ad}",
    "👩\u{200d}",
    "日",
    "。",
    "가은",
    "ก",
    "ß",
    "\n",
    "\t",
    "one ",
    "January ",
    "II ",
    "x1",
    "½ ",
    "_",
    "]",
    "|",
];

/// What is known of a door after its texts.
#[derive(Default)]
struct Seen {
    texts: usize,
    largest: f64,
    of: String,
    slowest: f64,
    at: String,
    faults: Vec<String>,
}

/// Asserts that `work` on a text takes steps in proportion to the length of the text, for each of
/// `pieces` repeated, each two of them in turn, and each two nested.
pub fn grows_in_proportion(door: &str, pieces: &[&str], work: impl Fn(&str)) {
    let mut seen = Seen::new();
    // What is built on first use is not counted.
    work("a 1 {b} <c> 2.5 d@e.f — “g”");
    for one in pieces {
        let text = |bytes: usize| one.repeat(times(bytes, one.len()));
        seen.grow(&format!("{one:?}"), LONG, &text, &work);
    }
    for [one, two, is_nested] in spread(twos(pieces)) {
        let text = |bytes: usize| {
            let times = times(bytes, one.len() + two.len());
            if is_nested.is_empty() {
                (one.to_string() + two).repeat(times)
            } else {
                one.repeat(times) + &two.repeat(times)
            }
        };
        seen.grow(&format!("{one:?} {two:?} {is_nested}"), SHORT, &text, &work);
    }
    seen.report(door);
}

/// Returns how often a piece of `size` bytes is in a text of `bytes` bytes. In each text the number is
/// a multiple of twelve: bytes of an encoding in pairs would otherwise be whole only in some.
fn times(bytes: usize, size: usize) -> usize {
    (bytes / size).next_multiple_of(12)
}

/// Returns `BURNFORMER_TRIES` of `all`, spread over all; all if it is not set.
pub fn spread<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let tries = std::env::var("BURNFORMER_TRIES").ok();
    let tries = tries.and_then(|tries| tries.parse().ok());
    let step = all.len().div_ceil(tries.unwrap_or(all.len()).max(1));
    all.into_iter().step_by(step.max(1))
}

/// Each two of `pieces`, in turn (then the third text is empty) and nested.
fn twos<'a>(pieces: &[&'a str]) -> Vec<[&'a str; 3]> {
    let mut twos = Vec::new();
    for (index, one) in pieces.iter().enumerate() {
        for (number, two) in pieces.iter().enumerate() {
            if number > index {
                twos.push([one, two, ""]);
            }
            if number != index {
                twos.push([one, two, "nested"]);
            }
        }
    }
    twos
}

/// Asserts that `work` on a text takes steps in proportion to the length of the text, where `text`
/// makes a text of about so many bytes.
pub fn grows_with(door: &str, bytes: usize, text: impl Fn(usize) -> String, work: impl Fn(&str)) {
    let mut seen = Seen::new();
    work(&text(bytes / 4));
    seen.grow("", bytes, &text, &work);
    seen.report(door);
}

impl Seen {
    fn new() -> Self {
        assert!(
            are_counted(),
            "no steps are counted here; run cargo xtask growth"
        );
        Self::default()
    }

    /// Measures `text` with `bytes` bytes and with twice as many; again with a longer text if the
    /// work grows faster.
    fn grow(
        &mut self,
        name: &str,
        bytes: usize,
        text: &dyn Fn(usize) -> String,
        work: &dyn Fn(&str),
    ) {
        self.texts += 1;
        let mut tried = Vec::new();
        let mut bytes = bytes;
        loop {
            let growth = Growth::of(&text(bytes), &text(2 * bytes), work);
            if self.slowest == 0.0 || growth.speed < self.slowest {
                (self.slowest, self.at) = (growth.speed, name.to_owned());
            }
            let is_sure = growth.steps <= SURE && growth.time <= TIME_LIMIT;
            tried.push(growth);
            bytes *= 4;
            if is_sure || bytes > LONGEST {
                break;
            }
        }
        let last = tried.last().expect("one was tried");
        if last.steps > LIMIT || last.time > TIME_LIMIT {
            let tried = tried.iter().map(Growth::shown).collect::<Vec<_>>();
            self.faults.push(format!("{name}: {}", tried.join(", ")));
        } else if last.steps > self.largest {
            (self.largest, self.of) = (last.steps, name.to_owned());
        }
    }

    /// Prints a row of the table in docs/reliability.md.
    fn report(self, door: &str) {
        let [kilobytes, faults] = [self.slowest / 1e3, self.faults.len() as f64];
        println!(
            "| {door} | {} | {:.2} ({}) | {kilobytes:.0} KB/s ({}) |",
            self.texts, self.largest, self.of, self.at
        );
        let shown: Vec<String> = self.faults.into_iter().take(40).collect();
        assert!(
            shown.is_empty(),
            "{door}: the work grows faster than {faults} of the texts:\n{}",
            shown.join("\n")
        );
    }
}

/// The work on a text of twice the length, divided by that on the text.
struct Growth {
    steps: f64,
    /// The ratio of the processor times; 0 where it is too short.
    time: f64,
    /// Bytes per second.
    speed: f64,
}

impl Growth {
    fn of(short: &str, long: &str, work: &dyn Fn(&str)) -> Self {
        let of_short = measured(short, work);
        let of_long = measured(long, work);
        let [steps, mut time] = [0, 1].map(|unit| of_long[unit] / of_short[unit].max(1.0));
        if short.len() < LONG / 2 {
            time = 0.0;
        } else if steps <= LIMIT && time > TIME_LIMIT {
            // The processor is shared: the shortest of several times counts.
            let least = |text: &str| {
                (0..4)
                    .map(|_| measured(text, work)[1])
                    .fold(f64::MAX, f64::min)
            };
            time = least(long) / least(short);
        }
        Self {
            steps,
            time,
            speed: long.len() as f64 / of_long[1].max(1.0) * 1e9,
        }
    }

    fn shown(&self) -> String {
        format!("{:.2} ({:.2} in time)", self.steps, self.time)
    }
}

/// Returns the steps and the nanoseconds that `work` takes on `text`.
fn measured(text: &str, work: &dyn Fn(&str)) -> [f64; 2] {
    let before = [count(), nanoseconds()];
    work(black_box(text));
    [count() - before[0], nanoseconds() - before[1]].map(|difference| difference as f64)
}
