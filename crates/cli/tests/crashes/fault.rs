//! An error at every call.

use std::collections::BTreeMap;
use std::process::Output;

use crate::case::{Case, End, has_strace, script};
use crate::common::stderr;
use crate::compare::{Files, comparable, difference, files, without_clocks};
use crate::report::{Row, SAMPLE, table};

/// Calls that concern files, each with the errors that it may return.
const CALLS: [(&str, &[&str]); 18] = [
    ("openat", &["EIO", "ENOSPC", "EDQUOT", "EACCES", "EINTR"]),
    ("read", &["EIO", "EINTR"]),
    ("getdents64", &["EIO"]),
    ("statx", &["EIO", "EACCES"]),
    ("mmap", &["EACCES"]),
    ("flock", &["EIO", "EINTR"]),
    ("lseek", &["EIO"]),
    ("write", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("copy_file_range", &["EIO", "ENOSPC", "EDQUOT"]),
    ("ftruncate", &["EIO", "EINTR"]),
    ("fallocate", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("fsync", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("mkdir", &["EIO", "ENOSPC", "EDQUOT", "EACCES"]),
    ("rename", &["EIO", "ENOSPC", "EDQUOT", "EACCES"]),
    ("renameat2", &["EIO", "ENOSPC", "EDQUOT", "EACCES"]),
    ("unlink", &["EIO", "EACCES"]),
    ("unlinkat", &["EIO", "EACCES"]),
    ("rmdir", &["EIO", "EACCES"]),
];

/// What happens to a command.
#[derive(Clone, Debug)]
enum Fault {
    /// The call `call` with this number among calls of its name returns an error.
    Error {
        call: &'static str,
        number: usize,
        error: &'static str,
    },
    /// From this call on, all calls of its name find a full disk.
    FullDisk { call: &'static str, number: usize },
    /// No file may have more than this many blocks of 512 bytes: the last write is short.
    ShortWrite { blocks: usize },
}

/// A call of a command that concerns its folder.
struct Step {
    call: &'static str,
    /// The number among the calls of this name.
    number: usize,
    errors: &'static [&'static str],
    is_write: bool,
    /// Returns whether the main thread makes the call: strace counts the calls of each thread.
    is_main: bool,
}

/// The columns of the table: tries, and of these the ends by a panic or a signal, the ends that
/// lost something, and the messages without a sentence, a path or a remedy.
const COLUMNS: [&str; 4] = ["tries", "panics", "losses", "unclear"];

/// The steps in the log of `strace -f -y`.
fn steps(log: &str, place: &str) -> Vec<Step> {
    let mut counts = BTreeMap::new();
    let mut steps = Vec::new();
    let main = log.split_whitespace().next().unwrap_or_default();
    for line in log.lines() {
        let (thread, rest) = line.split_once(' ').unwrap_or_default();
        let rest = rest.trim_start();
        let known = CALLS.iter().find(|(call, _)| {
            rest.strip_prefix(call)
                .is_some_and(|rest| rest.starts_with('('))
        });
        let Some(&(call, errors)) = known else {
            continue;
        };
        let number = counts.entry((thread.to_owned(), call)).or_insert(0);
        *number += 1;
        let is_reading = ["read", "getdents64", "statx", "mmap", "flock", "lseek"].contains(&call)
            || (call == "openat" && !rest.contains("O_CREAT"));
        if rest.contains(place) {
            steps.push(Step {
                call,
                number: *number,
                errors,
                is_write: !is_reading,
                is_main: thread == main,
            });
        }
    }
    steps
}

/// All faults of a command.
fn faults(steps: &[Step], files: &Files) -> Vec<Fault> {
    let mut faults = Vec::new();
    for step in steps.iter().filter(|step| step.is_main) {
        let Step { call, number, .. } = *step;
        let of_disk = ["ENOSPC", "EDQUOT"];
        let errors = step
            .errors
            .iter()
            .filter(|error| step.is_write || !of_disk.contains(error));
        for &error in errors {
            faults.push(Fault::Error {
                call,
                number,
                error,
            });
        }
        if step.is_write && call != "openat" {
            faults.push(Fault::FullDisk { call, number });
        }
    }
    let largest = files.values().map(Vec::len).max().unwrap_or(0);
    faults.extend((0..largest.div_ceil(512)).map(|blocks| Fault::ShortWrite { blocks }));
    faults
}

impl Fault {
    /// Runs the command with the fault.
    fn strike(&self, case: &Case) -> Output {
        let (call, injection) = match self {
            Self::Error {
                call,
                number,
                error,
            } => (call, format!("inject={call}:error={error}:when={number}")),
            Self::FullDisk { call, number } => {
                (call, format!("inject={call}:error=ENOSPC:when={number}+"))
            }
            Self::ShortWrite { blocks } => return case.with_small_files(*blocks),
        };
        let trace = format!("trace={call}");
        case.traced(&["-qq", "-e", &trace, "-e", &injection]).0
    }
}

fn try_faults(case: &Case, most: usize) -> Row {
    let place = case.place().display().to_string();
    let expected = case.expected();
    let new = files(&case.place());
    case.begin();
    let trace = format!("trace={}", CALLS.map(|(call, _)| call).join(","));
    let (_, log) = case.traced(&["-f", "-qq", "-y", "-e", &trace]);
    let steps = steps(&log, &place);
    let all = faults(&steps, &new);
    let mut row = Row::default();
    for fault in all.iter().step_by(all.len().div_ceil(most).max(1)) {
        row.count("tries");
        try_fault(case, fault, &expected, &mut row);
    }
    row
}

fn try_fault(case: &Case, fault: &Fault, expected: &Files, row: &mut Row) {
    case.begin();
    let output = fault.strike(case);
    let said = stderr(&output);
    let at = format!("{}: {fault:?}: {said}", case.name);
    let code = output.status.code();
    if said.contains("panicked") || !matches!(code, Some(0 | 1)) {
        row.fault("panics", &format!("{at} {}", output.status));
    }
    // Where nothing can be written, no message can be written either.
    let is_mute = matches!(fault, Fault::FullDisk { call: "write", .. });
    if code == Some(1) && !is_mute && !is_clear(&said, &case.place().display().to_string()) {
        row.fault("unclear", &at);
    }
    check_results(case, code == Some(0), &at, expected, row);
    match case.again(expected) {
        End::Same => {}
        End::Different(how) => row.fault("losses", &format!("{at} then {how}")),
        End::Refused(why) => row.fault("losses", &format!("{at} then {why}")),
    }
}

/// Checks that each result is the new one, or the old one unless the command succeeded.
fn check_results(case: &Case, is_success: bool, at: &str, expected: &Files, row: &mut Row) {
    let before = without_clocks(&case.before);
    let found = comparable(&case.place());
    for result in &case.results {
        let [new, old, found] = [expected, &before, &found].map(|all| part(all, result));
        let from_new = difference(&new, &found);
        let from_old = difference(&old, &found);
        match (from_new, from_old) {
            (Some(how), _) if is_success => {
                row.fault("losses", &format!("{at} no error, but {how}"))
            }
            (Some(_), Some(how)) => row.fault("losses", &format!("{at} {how}")),
            _ => {}
        }
    }
}

/// The files of one result, which is a file or a folder.
fn part(files: &Files, result: &str) -> Files {
    let is_of_result = |name: &str| {
        name.strip_prefix(result)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let of_result = files.iter().filter(|(name, _)| is_of_result(name));
    of_result
        .map(|(name, content)| (name.clone(), content.clone()))
        .collect()
}

/// Returns whether the message is one sentence with a path and a remedy.
fn is_clear(said: &str, place: &str) -> bool {
    let errors: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("error: "))
        .collect();
    errors.len() == 1 && errors[0].contains(place) && said.contains("\nhint: ")
}

#[test]
fn a_command_whose_call_fails_says_so_and_can_be_repeated() {
    table(&COLUMNS, SAMPLE, try_faults);
}

#[test]
#[ignore = "many minutes: every call of every command fails in every way"]
fn a_command_of_which_any_call_fails_says_so_and_can_be_repeated() {
    table(&COLUMNS, usize::MAX, try_faults);
}

#[test]
fn a_program_that_hides_an_error_or_leaves_a_half_is_found() {
    if !has_strace() {
        return;
    }
    let row = |steps| try_faults(&script(steps), usize::MAX);
    let right = row("printf text > $half && mv $half $new || \
        { rm -f $half; echo error: $new: not written >&2; echo hint: try again >&2; exit 1; }");
    assert_eq!(right.number("losses") + right.number("unclear"), 0);
    let hiding = row("printf text > $new; true");
    assert!(hiding.number("losses") > 0);
    let mute = row("printf text > $half && mv $half $new || { rm -f $half; exit 1; }");
    assert!(mute.number("unclear") > 0);
}
