//! A table with a row for each command.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::case::{Case, has_strace};
use crate::cases::Inputs;

/// The number of tries of each command in the suite.
pub const SAMPLE: usize = 6;

/// The numbers of a row, by column.
#[derive(Default)]
pub struct Row {
    numbers: BTreeMap<&'static str, usize>,
    faults: usize,
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

    fn add(&mut self, other: &Self) {
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

/// Lets `try_case` fill a row for each command, and prints the table. It tries at most `most`
/// places of each.
///
/// `BURNFORMER_CASES` names the beginning of the commands to try, and `BURNFORMER_TRIES` replaces
/// `most`.
///
/// # Panics
/// If there is a fault.
pub fn table(columns: &[&'static str], most: usize, try_case: impl Fn(&Case, usize) -> Row) {
    if !has_strace() {
        return;
    }
    let only = std::env::var("BURNFORMER_CASES").unwrap_or_default();
    let tries = std::env::var("BURNFORMER_TRIES").ok();
    let most = tries.map_or(most, |tries| tries.parse().expect("a number of tries"));
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
            let row = try_case(&case, most);
            lines.push(row.line(case.name, columns, start));
            println!("{}", lines[lines.len() - 1]);
            all.add(&row);
        }
    }
    lines.push(all.line("all", columns, start));
    println!("{}", lines.join("\n"));
    assert_eq!(all.faults, 0, "faults, see above");
}
