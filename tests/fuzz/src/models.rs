//! Files of models of other systems.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use burnformer_interop::Format;
use tempfile::TempDir;

use crate::{Door, repository, within};

/// The largest amount of memory that reading a model takes, as a multiple of the bytes of its
/// files: opcodes of a byte become values of 24 and entries of a map.
const MULTIPLE: usize = 64;
/// The memory of a reading that does not depend on the size of the files.
const SLACK: usize = 1 << 20;

/// The name of a door, its format, a folder of `crates/interop/tests/fixtures`, and the file in it
/// that is replaced.
const FILES: [(&str, Format, &str, &str); 14] = [
    (
        "hugging_face_config",
        Format::HuggingFace,
        "hugging_face/shared_swish",
        "config.json",
    ),
    (
        "hugging_face_generation",
        Format::HuggingFace,
        "hugging_face/shared_swish",
        "generation_config.json",
    ),
    (
        "hugging_face_safetensors",
        Format::HuggingFace,
        "hugging_face/shared_swish",
        "model.safetensors",
    ),
    (
        "hugging_face_zip",
        Format::HuggingFace,
        "hugging_face/gelu_unscaled",
        "pytorch_model.bin",
    ),
    (
        "hugging_face_pickle",
        Format::HuggingFace,
        "hugging_face/wide_relu",
        "pytorch_model.bin",
    ),
    (
        "m2m100_vocabulary",
        Format::HuggingFace,
        "m2m100/relu",
        "vocab.json",
    ),
    (
        "ctranslate2_config",
        Format::CTranslate2,
        "ctranslate2/int8",
        "config.json",
    ),
    (
        "ctranslate2_vocabulary",
        Format::CTranslate2,
        "ctranslate2/int8",
        "shared_vocabulary.json",
    ),
    (
        "ctranslate2_model",
        Format::CTranslate2,
        "ctranslate2/int8",
        "model.bin",
    ),
    (
        "marian_npz",
        Format::Marian,
        "marian/post_swish",
        "model.npz",
    ),
    (
        "marian_bin",
        Format::Marian,
        "marian/student",
        "model.int8.bin",
    ),
    (
        "marian_shortlist",
        Format::Marian,
        "marian/student",
        "lex.s2t.bin",
    ),
    (
        "marian_vocabulary",
        Format::Marian,
        "marian/ssru",
        "vocab.yml",
    ),
    (
        "marian_decoder",
        Format::Marian,
        "marian/ssru",
        "decoder.yml",
    ),
];

pub fn doors() -> Vec<Door> {
    FILES.into_iter().map(door).collect()
}

fn door((name, format, folder, file): (&str, Format, &'static str, &'static str)) -> Door {
    let fixture = Path::new("crates/interop/tests/fixtures").join(folder);
    let seed = fixture.join(file);
    // The folder is made by the first input: a program makes all doors and opens one.
    let copy: Mutex<Option<(TempDir, usize)>> = Mutex::new(None);
    let enter = move |bytes: &[u8]| {
        let mut copy = copy.lock().expect("no reading has panicked");
        let (folder, others) =
            copy.get_or_insert_with(|| copied(&repository().join(&fixture), file));
        read(format, folder.path(), file, bytes, *others);
    };
    Door::new(name, enter).with_seed(seed)
}

/// A copy of the folder `fixture`, and the bytes of its files besides `file`.
fn copied(fixture: &Path, file: &str) -> (TempDir, usize) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut others = 0;
    for entry in fs::read_dir(fixture).expect("the fixture is in the repository") {
        let entry = entry.expect("the fixture can be listed");
        let size = fs::copy(entry.path(), folder.path().join(entry.file_name()));
        let size = size.expect("the fixture can be copied") as usize;
        others += if entry.file_name() == file { 0 } else { size };
    }
    (folder, others)
}

/// Reads the model in `folder` with `bytes` as the content of `file`. What is read is a whole model.
fn read(format: Format, folder: &Path, file: &str, bytes: &[u8], others: usize) {
    fs::write(folder.join(file), bytes).expect("the copy can be written");
    let limit = MULTIPLE * (bytes.len() + others) + SLACK;
    let Ok(package) = within(limit, || format.read(folder)) else {
        return;
    };
    let sizes = package.weights.values().map(|tensor| tensor.values.len());
    assert_eq!(sizes.sum::<usize>(), package.config.parameter_count());
    assert!(package.generation.validate().is_ok());
}
