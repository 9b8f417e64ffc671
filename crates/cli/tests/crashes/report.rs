//! A table with a row for each command.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::case::{Case, has_strace};
use crate::cases::Inputs;

/// The tries of each command in the suite.
pub const SAMPLE: Range<usize> = 0..6;

/// The time between two lines of one row.
const PAUSE: Duration = Duration::from_secs(60);

/// The numbers of a row, by column.
#[derive(Default)]
pub struct Row {
    numbers: BTreeMap<&'static str, usize>,
    faults: usize,
    printed: Option<Instant>,
}

impl Row {
    /// Adds one to a column.
    pub fn count(&mut self, column: &'static str) {
        *self.numbers.entry(column).or_default() += 1;
    }

    /// Counts a fault and prints it at once, because a whole table takes long.
    pub fn fault(&mut self, column: &'static str, fault: &str) {
        println!("{column}: {fault}");
        self.count(column);
        self.faults += 1;
    }

    pub fn number(&self, column: &str) -> usize {
        self.numbers.get(column).copied().unwrap_or_default()
    }

    /// Prints the row so far if the last time was a while ago.
    pub fn print_sometimes(&mut self, name: &str, columns: &[&'static str], start: Instant) {
        if self.printed.unwrap_or(start).elapsed() > PAUSE {
            println!("{}", self.line(name, columns, start));
            self.printed = Some(Instant::now());
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (column, number) in &other.numbers {
            *self.numbers.entry(column).or_default() += number;
        }
        self.faults += other.faults;
    }

    fn line(&self, name: &str, columns: &[&'static str], start: Instant) -> String {
        let numbers = columns
            .iter()
            .map(|column| format!("  {:>1$}", self.number(column), column.len()));
        let seconds = start.elapsed().as_secs();
        format!("{name:<24}{}  {seconds:>7}", numbers.collect::<String>())
    }
}

/// `range` of `all` in an order in which the first ones are spread over all.
pub fn spread<T>(all: &[T], range: Range<usize>) -> impl Iterator<Item = &T> {
    let count = all.len();
    // The steps of the golden ratio never come close to each other.
    let step = (count * 618 / 1000..).find(|step| gcd(*step, count) == 1);
    let step = step.expect("a number without a common divisor");
    let range = range.start.min(count)..range.end.min(count);
    range.map(move |index| &all[index * step % count])
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The range in the variable `BURNFORMER_TRIES`.
fn tries(text: &str) -> Range<usize> {
    let (start, end) = text.split_once("..").unwrap_or(("0", text));
    let number = |text: &str| text.parse().expect("a number of tries");
    number(start)..number(end)
}

/// Lets `try_case` fill a row for each command with `range` of its tries, and prints the table.
///
/// `BURNFORMER_CASES` names the beginning of the commands to try. `BURNFORMER_TRIES` replaces the
/// range: `300` for the first 300 tries of each command, `300..600` for the next ones.
///
/// # Panics
/// If there is a fault.
pub fn table(
    columns: &[&'static str],
    range: Range<usize>,
    try_case: impl Fn(&Case, Range<usize>) -> Row,
) {
    if !has_strace() {
        return;
    }
    let only = std::env::var("BURNFORMER_CASES").unwrap_or_default();
    let asked = std::env::var("BURNFORMER_TRIES").ok();
    let range = asked.map_or(range, |asked| tries(&asked));
    let start = Instant::now();
    let mut all = Row::default();
    let mut lines = vec![format!(
        "{:<24}  {}  seconds",
        "command",
        columns.join("  ")
    )];
    let inputs = Inputs::new();
    for case in inputs.cases() {
        if case.name.starts_with(&only) {
            let start = Instant::now();
            let row = try_case(&case, range.clone());
            lines.push(row.line(case.name, columns, start));
            println!("{}", lines[lines.len() - 1]);
            all.add(&row);
        }
    }
    lines.push(all.line("all", columns, start));
    println!("{}", lines.join("\n"));
    assert_eq!(all.faults, 0, "faults, see above");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_takes_each_once_and_its_beginning_is_spread_as_well() {
        for count in 0..200 {
            let all: Vec<usize> = (0..count).collect();
            let mut taken: Vec<usize> = spread(&all, 0..usize::MAX).copied().collect();
            taken.sort_unstable();
            assert_eq!(taken, all);
        }
        let all: Vec<usize> = (0..1000).collect();
        let tenths: std::collections::BTreeSet<usize> =
            spread(&all, 0..20).map(|index| index / 100).collect();
        assert_eq!(tenths.len(), 10);
        assert_eq!((tries("30"), tries("30..60")), (0..30, 30..60));
    }
}
