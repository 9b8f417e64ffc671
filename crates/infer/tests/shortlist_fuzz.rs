//! Hostile files: a typed error, never a panic, in bounded memory.

#[path = "../../../tests/fuzz/mod.rs"]
mod fuzz;

use std::path::Path;

use burnformer_infer::shortlist::{Shortlist, Vocabularies};
use fuzz::{damaged, within};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: fuzz::Counting = fuzz::Counting;

fn good() -> Vec<u8> {
    let lists = (0..20)
        .map(|id| (id..3 * id).step_by(3).collect())
        .collect();
    let shortlist = Shortlist::new(Vocabularies::of_sizes([25, 80]), vec![4, 5, 6], lists);
    shortlist.unwrap().to_bytes()
}

fn read(bytes: &[u8]) {
    let path = Path::new("shortlist.safetensors");
    if let Ok(shortlist) = within(1 << 20, || Shortlist::from_bytes(path, bytes)) {
        let [source, target] = shortlist.vocabularies().sizes;
        let all: Vec<u32> = (0..source as u32).collect();
        assert!(
            shortlist
                .tokens_for(&all)
                .iter()
                .all(|&id| (id as usize) < target)
        );
    }
}

crate::fuzz_test!(
    shortlist_file,
    prop_oneof![damaged(good()), prop::collection::vec(any::<u8>(), 0..64)],
    read
);
