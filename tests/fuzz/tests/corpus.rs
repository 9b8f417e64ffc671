//! The inputs that are kept for each door, and its seeds, enter it.
//!
//! `BURNFORMER_CORPUS` names another folder of inputs: a folder for each door.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use burnformer_fuzz::{Door, doors, within};

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn inputs(door: &Door) -> Vec<PathBuf> {
    match std::env::var_os("BURNFORMER_CORPUS") {
        Some(folder) => files(&Path::new(&folder).join(&door.name)),
        None => [files(&door.corpus()), door.seeds.clone()].concat(),
    }
}

#[test]
fn every_kept_input_enters_its_door() {
    for door in doors() {
        let inputs = inputs(&door);
        assert!(!inputs.is_empty(), "nothing is kept for {}", door.name);
        for path in inputs {
            println!("{}", path.display());
            (door.enter)(&fs::read(&path).expect("the input is there"));
        }
    }
}

#[test]
fn every_kept_input_has_a_door() {
    let doors = doors();
    let names: BTreeSet<&str> = doors.iter().map(|door| door.name.as_str()).collect();
    assert_eq!(names.len(), doors.len(), "two doors have the same name");
    for folder in files(doors[0].corpus().parent().expect("a folder of folders")) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        assert!(names.contains(&*name), "no door is called {name}");
    }
}

#[test]
#[should_panic(expected = "were held")]
fn memory_beyond_the_bound_is_seen() {
    within(1000, || drop(std::hint::black_box(vec![1_u8; 1001])));
}
