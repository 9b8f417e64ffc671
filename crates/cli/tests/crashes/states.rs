//! The states in which a crash can leave a folder.
//!
//! A killed process leaves every change so far. A power failure also leaves those that were
//! flushed; of each other one it leaves all, a part or nothing, in any order.

use std::collections::{BTreeMap, BTreeSet};

use crate::disk::{Change, Disk, Inode, Share};
use crate::record::Recording;

/// What of the changes that were not flushed is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Everything: the process was killed.
    All,
    /// Nothing.
    Nothing,
    /// Names, and no content.
    Names,
    /// Names and lengths, with zeros as content.
    NamesAndZeros,
    /// Names, and half of each write.
    NamesAndHalves,
    /// Content, and no names.
    Content,
    /// All but the names of one change.
    AllButNames(usize),
    /// The names of one change, and content.
    OneNameAndContent(usize),
    /// All but the content of one file.
    AllButFile(Inode),
    /// All, but zeros instead of one write.
    AllButWrite(usize),
}

/// The state after the first `calls` changes.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub calls: usize,
    pub left: Left,
}

/// For each change, the number of the flush that makes it last; `None` if there is none.
pub fn flushes(changes: &[Change]) -> Vec<Option<usize>> {
    let flush_of = |(index, change): (usize, &Change)| {
        let folders: BTreeSet<Inode> = match change {
            Change::Names(entries) => entries.iter().map(|entry| entry.folder).collect(),
            Change::Write { file, .. } | Change::Length { file, .. } => [*file].into(),
            Change::Flush(_) => return Some(index),
        };
        let flush = |inode: &Inode| {
            (index..changes.len()).find(
                |&later| matches!(changes[later], Change::Flush(flushed) if flushed == *inode),
            )
        };
        let all: Option<Vec<usize>> = folders.iter().map(flush).collect();
        all?.into_iter().max()
    };
    changes.iter().enumerate().map(flush_of).collect()
}

/// The kinds of states after any call.
const ALWAYS: [Left; 6] = [
    Left::All,
    Left::Nothing,
    Left::Names,
    Left::NamesAndZeros,
    Left::NamesAndHalves,
    Left::Content,
];

/// All states of a recording, in the order of its calls. Single names and files are left out after
/// each rename and each flush, because a program begins to rely there on what it wrote before.
pub fn states(recording: &Recording, flushes: &[Option<usize>]) -> Vec<State> {
    let mut states = Vec::new();
    let mut disk = recording.before.clone();
    for calls in 0..=recording.changes.len() {
        let of_calls = |left| State { calls, left };
        states.extend(ALWAYS.map(of_calls));
        let Some(last) = calls.checked_sub(1) else {
            continue;
        };
        let last = &recording.changes[last];
        disk.apply(last, Share::All);
        let is_moment = match last {
            Change::Names(entries) => entries.len() > 1,
            Change::Flush(_) => true,
            _ => false,
        };
        if is_moment || calls == recording.changes.len() {
            let singles = singles(recording, flushes, calls, &disk);
            states.extend(singles.into_iter().map(of_calls));
        }
    }
    states
}

/// The kinds of states that concern single changes. What has no name any more, on `disk` or after a
/// power failure, does not matter.
fn singles(
    recording: &Recording,
    flushes: &[Option<usize>],
    calls: usize,
    disk: &Disk,
) -> Vec<Left> {
    let flushed = State {
        calls,
        left: Left::Nothing,
    };
    let mut named = disk.named();
    named.extend(flushed.disk(recording, flushes).named());
    let mut singles = Vec::new();
    let mut files = BTreeMap::new();
    for (index, change) in recording.changes[..calls].iter().enumerate() {
        if flushes[index].is_some_and(|flush| flush < calls) {
            continue;
        }
        match change {
            Change::Names(entries) if entries.iter().any(|it| named.contains(&it.folder)) => {
                singles.push(Left::AllButNames(index));
                singles.push(Left::OneNameAndContent(index));
            }
            Change::Write { file, .. } | Change::Length { file, .. } if named.contains(file) => {
                files.entry(*file).or_insert(index);
            }
            _ => {}
        }
    }
    for (file, first) in files {
        singles.push(Left::AllButFile(file));
        singles.push(Left::AllButWrite(first));
    }
    singles
}

impl State {
    /// Says what the state is, with the names of its files.
    pub fn describe(self, recording: &Recording) -> String {
        let last = self.calls.checked_sub(1);
        let last = last.map_or("nothing".into(), |last| recording.describe(last));
        let of_change = match self.left {
            Left::AllButNames(index)
            | Left::OneNameAndContent(index)
            | Left::AllButWrite(index) => recording.describe(index),
            _ => String::new(),
        };
        format!(
            "after call {} ({last}), {:?} {of_change}",
            self.calls, self.left
        )
    }

    /// The disk in this state.
    pub fn disk(self, recording: &Recording, flushes: &[Option<usize>]) -> Disk {
        let mut disk = recording.before.clone();
        for (index, change) in recording.changes[..self.calls].iter().enumerate() {
            let is_flushed = flushes[index].is_some_and(|flush| flush < self.calls);
            let share = if is_flushed {
                Share::All
            } else {
                self.left.share(index, change)
            };
            disk.apply(change, share);
        }
        disk
    }
}

impl Left {
    /// How much is left of a change that was not flushed.
    fn share(self, index: usize, change: &Change) -> Share {
        let all_if = |condition| {
            if condition {
                Share::All
            } else {
                Share::Nothing
            }
        };
        match change {
            Change::Names(_) => match self {
                Self::Nothing | Self::Content => Share::Nothing,
                Self::AllButNames(without) => all_if(without != index),
                Self::OneNameAndContent(only) => all_if(only == index),
                _ => Share::All,
            },
            Change::Write { file, .. } | Change::Length { file, .. } => match self {
                Self::Nothing | Self::Names => Share::Nothing,
                Self::NamesAndZeros => Share::Zeros,
                Self::NamesAndHalves => Share::Half,
                Self::AllButFile(without) => all_if(without != *file),
                Self::AllButWrite(without) if without == index => Share::Zeros,
                _ => Share::All,
            },
            Change::Flush(_) => Share::All,
        }
    }
}
