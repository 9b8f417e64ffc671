//! The changes that a recorded command made in its folder.

use std::collections::HashMap;
use std::path::Path;

use crate::compare::Files;
use crate::disk::{Change, Disk, Entry, Inode, Node, ROOT};
use crate::trace::Call;

/// The number that stands for the current folder instead of a file.
const CURRENT_FOLDER: i64 = -100;

/// A command that ran once, call by call.
pub struct Recording {
    /// The folder before the command. All files and folders of the recording exist in it, at first
    /// without a name.
    pub before: Disk,
    pub changes: Vec<Change>,
    /// The folder after the command, by the changes.
    pub after: Disk,
}

/// An open file or folder.
#[derive(Clone, Copy)]
struct Open {
    inode: Inode,
    offset: usize,
    appends: bool,
}

struct Recorder<'a> {
    /// The path of the folder.
    place: &'a str,
    disk: Disk,
    changes: Vec<Change>,
    /// The open files of the folder, by their numbers. Copies of a number share one position.
    open: HashMap<i64, usize>,
    positions: Vec<Open>,
}

impl Recording {
    /// Reads what `calls` changed in the folder `place`, which held `before`.
    pub fn new(place: &Path, before: &Files, calls: &[Call]) -> Self {
        let disk = Disk::new(before);
        let mut recorder = Recorder {
            place: place.to_str().expect("a path in Unicode"),
            disk: disk.clone(),
            changes: Vec::new(),
            open: HashMap::new(),
            positions: Vec::new(),
        };
        for call in calls {
            recorder.record(call);
        }
        let mut before = disk;
        before.add_nameless(&recorder.disk);
        Self {
            before,
            changes: recorder.changes,
            after: recorder.disk,
        }
    }
}

impl Recording {
    /// Describes the change `index`, with the last name of the file.
    pub fn describe(&self, index: usize) -> String {
        let name_of = |inode: Inode| {
            let entries = self.changes.iter().rev().filter_map(|change| match change {
                Change::Names(entries) => Some(entries),
                _ => None,
            });
            let mut named = entries.flatten().filter(|entry| entry.inode == Some(inode));
            named.next().map_or("the folder", |entry| &entry.name)
        };
        match &self.changes[index] {
            Change::Names(entries) => {
                let names: Vec<String> = entries
                    .iter()
                    .map(|entry| match entry.inode {
                        Some(inode) => format!("{} becomes {}", name_of(inode), entry.name),
                        None => format!("{} goes", entry.name),
                    })
                    .collect();
                names.join(", ")
            }
            Change::Write { file, bytes, .. } => {
                format!("{} bytes are written to {}", bytes.len(), name_of(*file))
            }
            Change::Length { file, length } => format!("{} gets {length} bytes", name_of(*file)),
            Change::Flush(file) => format!("{} is flushed", name_of(*file)),
        }
    }
}

impl Recorder<'_> {
    fn record(&mut self, call: &Call) {
        let Some(result) = call.result else {
            return;
        };
        match call.name.as_str() {
            "openat" => self.opened(call, result),
            "close" => drop(self.open.remove(&call.number(0))),
            "dup" | "dup2" | "dup3" => self.copied(call.number(0), result),
            "fcntl" if call.arguments[1].starts_with("F_DUPFD") => {
                self.copied(call.number(0), result);
            }
            "fcntl" => {}
            "read" | "readv" => self.moved(call.number(0), result),
            "lseek" => self.sought(call.number(0), result),
            "write" | "writev" => self.written(call, result, None),
            "pwrite64" => self.written(call, result, Some(call.number(3))),
            "ftruncate" => self.shortened(call),
            "fallocate" => self.reserved(call),
            "mkdir" | "mkdirat" => self.folder_made(call),
            "rename" | "renameat" | "renameat2" => self.renamed(call),
            "unlink" | "unlinkat" | "rmdir" => self.removed(call),
            "fsync" | "fdatasync" => {
                if let Some(open) = self.position(call.number(0)) {
                    let inode = open.inode;
                    self.change(Change::Flush(inode));
                }
            }
            _ => assert!(!self.concerns(call), "cannot record {call:?}"),
        }
    }

    /// Returns whether a call that cannot be recorded may change the folder.
    fn concerns(&self, call: &Call) -> bool {
        let is_private = ["MAP_PRIVATE", "PROT_READ, MAP_SHARED"]
            .iter()
            .any(|flags| call.arguments.join(", ").contains(flags));
        let has_path = call
            .strings
            .iter()
            .any(|string| string.starts_with(self.place.as_bytes()));
        let has_file = call
            .arguments
            .iter()
            .filter_map(|argument| argument.parse().ok())
            .any(|number: i64| self.open.contains_key(&number));
        !is_private && (has_path || (call.name != "mmap" && has_file))
    }

    fn change(&mut self, change: Change) {
        self.disk.apply(&change, crate::disk::Share::All);
        self.changes.push(change);
    }

    fn position(&mut self, number: i64) -> Option<&mut Open> {
        let index = *self.open.get(&number)?;
        Some(&mut self.positions[index])
    }

    /// The folder of the path and its last name; `None` outside of the recorded folder, and for
    /// that folder itself.
    fn place_of(&mut self, start: i64, path: &str) -> Option<(Inode, String)> {
        let mut folder = ROOT;
        let path = if path.starts_with('/') {
            path.strip_prefix(self.place)?.strip_prefix('/')?
        } else {
            folder = self.position(start)?.inode;
            path
        };
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            folder = self.disk.find(folder, part)?;
        }
        Some((folder, name.into()))
    }

    fn opened(&mut self, call: &Call, number: i64) {
        self.open.remove(&number);
        let path = call.path(0);
        let flags = call.arguments[2].clone();
        let found = if path == self.place {
            Some(ROOT)
        } else {
            let Some((folder, name)) = self.place_of(call.number(0), &path) else {
                return;
            };
            self.disk.find(folder, &name).or_else(|| {
                assert!(flags.contains("O_CREAT"), "{call:?} opens a missing file");
                Some(self.made(folder, name, Node::File(Vec::new())))
            })
        };
        let inode = found.expect("a file");
        if flags.contains("O_TRUNC") && self.disk.length(inode) > 0 {
            self.change(Change::Length {
                file: inode,
                length: 0,
            });
        }
        self.open.insert(number, self.positions.len());
        self.positions.push(Open {
            inode,
            offset: 0,
            appends: flags.contains("O_APPEND"),
        });
    }

    /// Makes a file or folder with the name `name`.
    fn made(&mut self, folder: Inode, name: String, node: Node) -> Inode {
        let inode = self.disk.add(node);
        self.change(Change::Names(vec![Entry {
            folder,
            name,
            inode: Some(inode),
        }]));
        inode
    }

    fn copied(&mut self, from: i64, to: i64) {
        match self.open.get(&from).copied() {
            Some(position) => self.open.insert(to, position),
            None => self.open.remove(&to),
        };
    }

    fn moved(&mut self, number: i64, count: i64) {
        if let Some(open) = self.position(number) {
            open.offset += count as usize;
        }
    }

    fn sought(&mut self, number: i64, offset: i64) {
        if let Some(open) = self.position(number) {
            open.offset = offset as usize;
        }
    }

    fn written(&mut self, call: &Call, count: i64, at: Option<i64>) {
        let Some(open) = self.position(call.number(0)).copied() else {
            return;
        };
        let end = self.disk.length(open.inode);
        let offset = match at {
            Some(at) => at as usize,
            None if open.appends => end,
            None => open.offset,
        };
        let bytes = call.strings.concat()[..count as usize].to_vec();
        if at.is_none()
            && let Some(open) = self.position(call.number(0))
        {
            open.offset = offset + bytes.len();
        }
        self.change(Change::Write {
            file: open.inode,
            offset,
            bytes,
        });
    }

    fn shortened(&mut self, call: &Call) {
        if let Some(open) = self.position(call.number(0)) {
            let file = open.inode;
            let length = call.number(1) as usize;
            self.change(Change::Length { file, length });
        }
    }

    fn reserved(&mut self, call: &Call) {
        let Some(open) = self.position(call.number(0)).copied() else {
            return;
        };
        assert_eq!(call.number(1), 0, "cannot record {call:?}");
        let length = (call.number(2) + call.number(3)) as usize;
        self.change(Change::Length {
            file: open.inode,
            length: self.disk.length(open.inode).max(length),
        });
    }

    fn folder_made(&mut self, call: &Call) {
        let start = if call.name == "mkdirat" {
            call.number(0)
        } else {
            CURRENT_FOLDER
        };
        if let Some((folder, name)) = self.place_of(start, &call.path(0)) {
            self.made(folder, name, Node::Folder(Default::default()));
        }
    }

    fn renamed(&mut self, call: &Call) {
        let starts = if call.name == "rename" {
            [CURRENT_FOLDER; 2]
        } else {
            [call.number(0), call.number(2)]
        };
        let from = self.place_of(starts[0], &call.path(0));
        let to = self.place_of(starts[1], &call.path(1));
        let (Some(from), Some(to)) = (from, to) else {
            assert!(!self.concerns(call), "cannot record {call:?}");
            return;
        };
        let inode = self.disk.find(from.0, &from.1);
        let exchanges = call.arguments.iter().any(|it| it == "RENAME_EXCHANGE");
        let other = self.disk.find(to.0, &to.1).filter(|_| exchanges);
        let entry = |(folder, name), inode| Entry {
            folder,
            name,
            inode,
        };
        self.change(Change::Names(vec![entry(from, other), entry(to, inode)]));
    }

    fn removed(&mut self, call: &Call) {
        let start = if call.name == "unlinkat" {
            call.number(0)
        } else {
            CURRENT_FOLDER
        };
        if let Some((folder, name)) = self.place_of(start, &call.path(0)) {
            self.change(Change::Names(vec![Entry {
                folder,
                name,
                inode: None,
            }]));
        }
    }
}
