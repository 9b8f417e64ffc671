//! A disk in memory: files, folders, and the changes that calls make to them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::compare::Files;

/// The number of a file or folder, which keeps it through every rename.
pub type Inode = usize;

/// The folder in which a command works.
pub const ROOT: Inode = 0;

/// A file or a folder.
#[derive(Clone, Debug)]
pub enum Node {
    File(Vec<u8>),
    Folder(BTreeMap<String, Inode>),
}

/// A new content of one entry of a folder; `None` if the entry goes.
#[derive(Clone, Debug)]
pub struct Entry {
    pub folder: Inode,
    pub name: String,
    pub inode: Option<Inode>,
}

/// What one call changes.
#[derive(Clone, Debug)]
pub enum Change {
    /// Entries of folders change in one step.
    Names(Vec<Entry>),
    Write {
        file: Inode,
        offset: usize,
        bytes: Vec<u8>,
    },
    Length {
        file: Inode,
        length: usize,
    },
    /// What was changed in a file or folder before stays from here on.
    Flush(Inode),
}

/// How much of a change is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    All,
    /// The first half of the bytes of a write.
    Half,
    /// The length of a file that a write makes, with zeros as content.
    Zeros,
    Nothing,
}

/// All files and folders, also those without a name.
#[derive(Clone, Debug)]
pub struct Disk {
    nodes: Vec<Node>,
}

impl Disk {
    /// A disk with the files of a folder.
    pub fn new(files: &Files) -> Self {
        let mut disk = Self {
            nodes: vec![Node::Folder(BTreeMap::new())],
        };
        for (path, content) in files {
            let mut folder = ROOT;
            let mut parts = path.split('/').peekable();
            while let Some(part) = parts.next().filter(|part| !part.is_empty()) {
                let node = match parts.peek() {
                    Some(_) => Node::Folder(BTreeMap::new()),
                    None => Node::File(content.clone()),
                };
                folder = match disk.find(folder, part) {
                    Some(found) => found,
                    None => {
                        let inode = disk.add(node);
                        disk.folder(folder).insert(part.into(), inode);
                        inode
                    }
                };
            }
        }
        disk
    }

    /// Adds a file or folder that has no name yet.
    pub fn add(&mut self, node: Node) -> Inode {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The entry `name` of a folder.
    pub fn find(&self, folder: Inode, name: &str) -> Option<Inode> {
        match &self.nodes[folder] {
            Node::Folder(entries) => entries.get(name).copied(),
            Node::File(_) => None,
        }
    }

    /// The number of bytes in a file.
    pub fn length(&self, file: Inode) -> usize {
        match &self.nodes[file] {
            Node::File(content) => content.len(),
            Node::Folder(_) => 0,
        }
    }

    /// The files and folders that have a name.
    pub fn named(&self) -> BTreeSet<Inode> {
        let mut named = BTreeSet::from([ROOT]);
        let mut folders = vec![ROOT];
        while let Some(folder) = folders.pop() {
            if let Node::Folder(entries) = &self.nodes[folder] {
                named.extend(entries.values());
                folders.extend(entries.values());
            }
        }
        named
    }

    fn folder(&mut self, inode: Inode) -> &mut BTreeMap<String, Inode> {
        match &mut self.nodes[inode] {
            Node::Folder(entries) => entries,
            Node::File(_) => panic!("{inode} is a file"),
        }
    }

    fn file(&mut self, inode: Inode) -> &mut Vec<u8> {
        match &mut self.nodes[inode] {
            Node::File(content) => content,
            Node::Folder(_) => panic!("{inode} is a folder"),
        }
    }

    /// Adds the empty files and folders that a recording makes, which have no names yet.
    pub fn add_nameless(&mut self, other: &Self) {
        for node in &other.nodes[self.nodes.len()..] {
            self.nodes.push(match node {
                Node::File(_) => Node::File(Vec::new()),
                Node::Folder(_) => Node::Folder(BTreeMap::new()),
            });
        }
    }

    /// Makes a share of a change.
    pub fn apply(&mut self, change: &Change, share: Share) {
        if share == Share::Nothing {
            return;
        }
        match change {
            Change::Names(entries) => {
                for entry in entries {
                    let folder = self.folder(entry.folder);
                    match entry.inode {
                        Some(inode) => folder.insert(entry.name.clone(), inode),
                        None => folder.remove(&entry.name),
                    };
                }
            }
            Change::Write {
                file,
                offset,
                bytes,
            } => {
                let count = if share == Share::Half {
                    bytes.len() / 2
                } else {
                    bytes.len()
                };
                let content = self.file(*file);
                content.resize(content.len().max(offset + count), 0);
                let place = &mut content[*offset..offset + count];
                if share == Share::Zeros {
                    place.fill(0);
                } else {
                    place.copy_from_slice(&bytes[..count]);
                }
            }
            Change::Length { file, length } => self.file(*file).resize(*length, 0),
            Change::Flush(_) => {}
        }
    }

    /// The files and folders with names. A folder is an entry that ends with a slash.
    pub fn files(&self) -> Files {
        let mut files = Files::new();
        let mut folders = vec![(String::new(), ROOT)];
        while let Some((path, inode)) = folders.pop() {
            let Node::Folder(entries) = &self.nodes[inode] else {
                continue;
            };
            for (name, &inode) in entries {
                let path = format!("{path}{name}");
                match &self.nodes[inode] {
                    Node::File(content) => files.insert(path, content.clone()),
                    Node::Folder(_) => {
                        folders.push((format!("{path}/"), inode));
                        files.insert(path + "/", Vec::new())
                    }
                };
            }
        }
        files
    }
}

/// Makes `folder` hold `files` and nothing else.
pub fn write(files: &Files, folder: &Path) {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    fs::create_dir(folder).unwrap();
    for (name, content) in files {
        let path = folder.join(name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
}
