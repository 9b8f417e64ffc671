//! A crash at every call.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::time::Instant;

use crate::case::{Case, End, has_strace, script};
use crate::compare::{Files, comparable};
use crate::disk::write;
use crate::report::{Row, SAMPLE, spread, table};
use crate::states::{Left, State, flushes, states};

/// The columns of the table: states that were built, states with different files, and of these the
/// states after which the repeated command ended with other files, or asked for a person. The last
/// one counts files that a power failure takes away although the command has ended.
const COLUMNS: [&str; 5] = ["states", "distinct", "different", "refused", "lost"];

/// Repeats `case` in `range` of its states, which are spread over all of them.
fn try_states(case: &Case, range: Range<usize>) -> Row {
    let start = Instant::now();
    let expected = case.expected();
    let recording = case.record();
    let flushes = flushes(&recording.changes);
    let all = states(&recording, &flushes);
    let mut row = Row::default();
    let mut seen = HashSet::new();
    for state in spread(&all, range) {
        row.count("states");
        row.print_sometimes(case.name, &COLUMNS, start);
        let files = state.disk(&recording, &flushes).files();
        if !seen.insert(hash(&files)) {
            continue;
        }
        row.count("distinct");
        write(&files, &case.place());
        let at = |what: &str| format!("{}: {}: {what}", case.name, state.describe(&recording));
        match case.again(&expected) {
            End::Same => {}
            End::Different(how) => row.fault("different", &at(&how)),
            End::Refused(why) => row.fault("refused", &at(&why)),
        }
    }
    let end = State {
        calls: recording.changes.len(),
        left: Left::Nothing,
    };
    write(&end.disk(&recording, &flushes).files(), &case.place());
    let kept = comparable(&case.place());
    for (name, content) in &expected {
        // The token cache is made again.
        if !name.starts_with("cache/") && kept.get(name) != Some(content) {
            row.fault("lost", &format!("{}: {name}", case.name));
        }
    }
    row
}

/// A hash of the files, without the content of logs: a run appends to them or makes them anew, and
/// reads none. States that differ only there are tried once.
fn hash(files: &Files) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (path, content) in files {
        path.hash(&mut hasher);
        if !is_log(path) {
            content.hash(&mut hasher);
        }
    }
    hasher.finish()
}

fn is_log(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == "train.log" || name.starts_with("events.out.")
}

#[test]
fn a_command_that_crashed_ends_the_same_when_it_is_repeated() {
    table(&COLUMNS, SAMPLE, try_states);
}

#[test]
#[ignore = "many minutes: every command crashes at every call"]
fn a_command_that_crashed_anywhere_ends_the_same_when_it_is_repeated() {
    table(&COLUMNS, 0..usize::MAX, try_states);
}

#[test]
fn a_program_that_flushes_too_little_or_renames_too_early_is_found() {
    if !has_strace() {
        return;
    }
    let different = |steps| try_states(&script(steps), 0..usize::MAX).number("different");
    let lost = |steps| try_states(&script(steps), 0..1).number("lost");
    let right = "printf text > $half; sync $half; sync $all; mv $half $new; sync $all";
    assert_eq!((different(right), lost(right)), (0, 0));
    assert_eq!(lost("printf text > $half; sync $half; mv $half $new"), 1);
    for wrong in [
        "printf text > $new; sync $new; sync $all",
        "printf text > $half; mv $half $new; sync $new; sync $all",
        "printf text > $half; sync $all; mv $half $new; sync $all",
        ": > $half; sync $half; mv $half $new; printf text > $new; sync $new; sync $all",
    ] {
        assert!(different(wrong) > 0, "{wrong}");
    }
}
