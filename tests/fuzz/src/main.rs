//! Lets the inputs of libFuzzer enter the door that `BURNFORMER_DOOR` names. Without a name, prints
//! a line for each door: its name and its seeds, separated by tabs.

#![no_main]

use std::process;
use std::sync::LazyLock;

use burnformer_fuzz::{Door, doors};
use libfuzzer_sys::fuzz_target;

static DOOR: LazyLock<Door> = LazyLock::new(|| {
    let name = std::env::var("BURNFORMER_DOOR").unwrap_or_default();
    let found = doors().into_iter().find(|door| door.name == name);
    found.unwrap_or_else(|| {
        list();
        process::exit(i32::from(!name.is_empty()));
    })
});

fn list() {
    for door in doors() {
        let seeds: String = door
            .seeds
            .iter()
            .map(|path| format!("\t{}", path.display()))
            .collect();
        println!("{}{seeds}", door.name);
    }
}

fuzz_target!(
    init: {
        LazyLock::force(&DOOR);
    },
    |bytes: &[u8]| (DOOR.enter)(bytes)
);
