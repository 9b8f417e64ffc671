//! An error at every call, and calls that do only a part.

use std::ops::Range;
use std::process::Output;
use std::time::Instant;

use crate::case::{Case, End, has_strace, script};
use crate::cases::Inputs;
use crate::common::stderr;
use crate::compare::{Files, comparable, difference, files, without_clocks};
use crate::report::{Row, spread, table};
use crate::steps::{CALLS, Step, steps};

/// What happens to a command.
#[derive(Clone, Debug)]
enum Fault {
    /// A call returns an error.
    Error { step: Step, error: &'static str },
    /// From the call `call` with this number on, all calls of its name find a full disk, in each
    /// thread.
    FullDisk { call: &'static str, number: usize },
    /// No file may have more than this many blocks of 512 bytes: the last write is short.
    SmallFiles { blocks: usize },
    /// Each read and write transfers at most this many bytes.
    ShortTransfers { most: usize },
    /// No memory is given after so many writes.
    NoMemory { writes: usize },
    /// The whole process has this much address space.
    LittleMemory { kilobytes: usize },
    /// No thread can be started.
    NoThreads,
}

/// The columns of the table: tries, those in which the fault happened, and of these the ends by a
/// panic or a signal, the ends that lost something, and the messages without a sentence, a path or
/// a remedy.
const COLUMNS: [&str; 5] = ["tries", "struck", "panics", "losses", "unclear"];

/// A list of faults of a command with these steps, which makes `files`.
type Faults = fn(steps: &[Step], files: &Files) -> Vec<Fault>;

/// Errors of the calls of the first thread, full disks, and files that cannot grow.
fn errors(steps: &[Step], files: &Files) -> Vec<Fault> {
    let mut faults = Vec::new();
    for step in steps.iter().filter(|step| step.is_first_thread) {
        faults.extend(errors_of(step));
        if step.is_write && step.call != "openat" {
            faults.push(Fault::FullDisk {
                call: step.call,
                number: step.number_in_thread,
            });
        }
    }
    let largest = files.values().map(Vec::len).max().unwrap_or(0);
    faults.extend((0..largest.div_ceil(512)).map(|blocks| Fault::SmallFiles { blocks }));
    faults
}

/// Errors of the calls of other threads.
fn errors_of_other_threads(steps: &[Step], _: &Files) -> Vec<Fault> {
    let others = steps.iter().filter(|step| !step.is_first_thread);
    others.flat_map(errors_of).collect()
}

fn errors_of(step: &Step) -> impl Iterator<Item = Fault> {
    let errors = step.errors.iter();
    let errors = errors.filter(|error| step.is_write || !["ENOSPC", "EDQUOT"].contains(error));
    errors.map(|&error| Fault::Error {
        step: step.clone(),
        error,
    })
}

/// Reads and writes that transfer a part, and memory that ends.
fn shortages(steps: &[Step], _: &Files) -> Vec<Fault> {
    let mut faults: Vec<Fault> = [1, 1000]
        .map(|most| Fault::ShortTransfers { most })
        .to_vec();
    faults.push(Fault::NoThreads);
    let writes = steps.iter().filter(|step| step.call == "write").count();
    faults.extend((1..=writes).map(|writes| Fault::NoMemory { writes }));
    // A program with every device takes 115 MB itself.
    faults.extend((15..70).map(|part| Fault::LittleMemory {
        kilobytes: 10_000 * part,
    }));
    faults
}

impl Fault {
    /// Runs the command with the fault. Returns its output and whether the fault happened.
    fn strike(&self, case: &Case) -> (Output, bool) {
        match self {
            Self::Error { step, error } => {
                let (number, threads) = if step.is_first_thread {
                    (step.number_in_thread, &[][..])
                } else {
                    // strace counts only calls on the path then.
                    (step.number, &["-f", "--seccomp-bpf", "-P", &step.path][..])
                };
                let injection = format!("inject={}:error={error}:when={number}", step.call);
                injected(case, step.call, &injection, threads)
            }
            Self::FullDisk { call, number } => {
                let injection = format!("inject={call}:error=ENOSPC:when={number}+");
                injected(case, call, &injection, &["-f", "--seccomp-bpf"])
            }
            Self::SmallFiles { blocks } => (case.limited("-f", *blocks), true),
            Self::ShortTransfers { most } => case.with_shortage("BURNFORMER_MOST", *most),
            Self::NoMemory { writes } => case.with_shortage("BURNFORMER_WRITES", *writes),
            Self::LittleMemory { kilobytes } => {
                let output = case.limited("-v", *kilobytes);
                let is_refused = !output.status.success();
                (output, is_refused)
            }
            Self::NoThreads => {
                let output = case.without_threads();
                let is_refused = !output.status.success();
                (output, is_refused)
            }
        }
    }

    /// Returns whether a command that failed says why: in one sentence, with a path and a remedy.
    fn is_explained(&self, said: &str, place: &str) -> bool {
        let subject = match self {
            // Where nothing can be written, no message can be written either.
            Self::FullDisk { call: "write", .. } => return true,
            Self::NoMemory { .. } | Self::LittleMemory { .. } => "memory",
            Self::NoThreads => "thread",
            _ => place,
        };
        let errors: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with("error: "))
            .collect();
        errors.len() == 1 && errors[0].contains(subject) && said.contains("\nhint: ")
    }
}

/// Runs the command with an error that strace injects.
fn injected(case: &Case, call: &str, injection: &str, more: &[&str]) -> (Output, bool) {
    let trace = format!("trace={call}");
    let options = ["-qq", "-e", &trace, "-e", injection];
    let (output, log) = case.traced(&[&options, more].concat());
    (output, log.contains("(INJECTED)"))
}

/// A command and what it does without a fault.
struct Trial<'a> {
    case: &'a Case,
    expected: Files,
    steps: Vec<Step>,
    /// The files after the command.
    new: Files,
}

impl<'a> Trial<'a> {
    fn new(case: &'a Case) -> Self {
        let expected = case.expected();
        let new = files(&case.place());
        case.begin();
        let trace = format!("trace={}", CALLS.map(|(call, _)| call).join(","));
        let (_, log) = case.traced(&["-f", "-qq", "-y", "-e", &trace]);
        Self {
            case,
            expected,
            steps: steps(&log, &case.place().display().to_string()),
            new,
        }
    }

    /// Tries `range` of the faults in a list.
    fn try_faults(&self, list: Faults, range: Range<usize>) -> Row {
        let start = Instant::now();
        let all = list(&self.steps, &self.new);
        let mut row = Row::default();
        for fault in spread(&all, range) {
            row.count("tries");
            try_fault(self.case, fault, &self.expected, &mut row);
            row.print_sometimes(self.case.name, &COLUMNS, start);
        }
        row
    }
}

fn try_fault(case: &Case, fault: &Fault, expected: &Files, row: &mut Row) {
    case.begin();
    let (output, is_struck) = fault.strike(case);
    if is_struck {
        row.count("struck");
    }
    let said = stderr(&output);
    let at = format!("{}: {fault:?}: {said}", case.name);
    let code = output.status.code();
    if said.contains("panicked") || !matches!(code, Some(0 | 1)) {
        row.fault("panics", &format!("{at} {}", output.status));
    }
    if code == Some(1) && !fault.is_explained(&said, &case.place().display().to_string()) {
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

/// Tries faults of every kind.
fn try_all(case: &Case, range: Range<usize>) -> Row {
    let trial = Trial::new(case);
    let lists: [Faults; 3] = [errors, errors_of_other_threads, shortages];
    let mut row = Row::default();
    for list in lists {
        row.add(&trial.try_faults(list, range.clone()));
    }
    row
}

#[test]
fn a_command_with_a_fault_says_so_and_can_be_repeated() {
    table(&COLUMNS, 0..2, try_all);
}

#[test]
#[ignore = "hours: every call of every command fails in every way"]
fn a_command_with_any_fault_says_so_and_can_be_repeated() {
    table(&COLUMNS, 0..usize::MAX, try_all);
}

#[test]
fn a_program_that_hides_an_error_or_leaves_a_half_is_found() {
    if !has_strace() {
        return;
    }
    let row = |steps| Trial::new(&script(steps)).try_faults(errors, 0..usize::MAX);
    let right = row("printf text > $half && mv $half $new || \
        { rm -f $half; echo error: $new: not written >&2; echo hint: try again >&2; exit 1; }");
    assert_eq!(right.number("losses") + right.number("unclear"), 0);
    let hiding = row("printf text > $new; true");
    assert!(hiding.number("losses") > 0);
    let mute = row("printf text > $half && mv $half $new || { rm -f $half; exit 1; }");
    assert!(mute.number("unclear") > 0);
}

#[test]
fn a_program_that_takes_a_part_for_the_whole_is_found() {
    if !has_strace() {
        return;
    }
    let losses = |steps: &str| {
        let case = script(steps);
        let trial = Trial::new(&case);
        let fault = Fault::ShortTransfers { most: 1 };
        let mut row = Row::default();
        try_fault(&case, &fault, &trial.expected, &mut row);
        assert_eq!(row.number("struck"), 1);
        row.number("losses")
    };
    let copying =
        |how| format!("printf text > $half; dd if=$half of=$new bs=4 count=1 {how}; rm $half");
    assert_eq!(losses(&copying("iflag=fullblock")), 0);
    assert!(losses(&copying("")) > 0);
}

#[test]
fn an_error_in_another_thread_that_a_program_hides_is_found() {
    if !has_strace() {
        return;
    }
    // A second process, which strace counts like a second thread.
    let case = script("(printf text > $new; sync $new); true");
    let trial = Trial::new(&case);
    let row = trial.try_faults(errors_of_other_threads, 0..usize::MAX);
    assert!(row.number("losses") > 0);
    assert_eq!(row.number("struck"), row.number("tries"));
}

#[test]
fn a_checkpoint_that_cannot_be_read_now_is_averaged_later() {
    if !has_strace() {
        return;
    }
    let inputs = Inputs::new();
    let cases = inputs.cases();
    let case = cases.iter().find(|case| case.name == "train");
    let trial = Trial::new(case.expect("the command"));
    // The average is of the updates 4 and 6.
    let reading = |steps: &[Step], _: &Files| -> Vec<Fault> {
        let path = "checkpoints/step-000004/optimizer.safetensors";
        let reading = steps.iter().filter(|step| step.path.ends_with(path));
        let mut reading = reading.filter(|step| step.call == "openat" && !step.is_write);
        let step = reading.next().expect("the file is read").clone();
        vec![Fault::Error { step, error: "EIO" }]
    };
    let row = trial.try_faults(reading, 0..1);
    assert_eq!((row.number("struck"), row.number("losses")), (1, 0));
}
