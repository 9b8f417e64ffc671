//! Hostile models of every format: errors, never a panic, never memory beyond a multiple of what the files hold.

#[path = "../../../tests/fuzz/mod.rs"]
mod fuzz;

use std::path::{Path, PathBuf};

use burnformer_interop::Format;
use fuzz::{damaged, within};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: fuzz::Counting = fuzz::Counting;

/// How many times the bytes of its files a model may take while it is read: opcodes of a byte become values of 24 and
/// entries of a map.
const MULTIPLE: usize = 64;
/// What a reading may take whatever the size of the files.
const SLACK: usize = 1 << 20;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A folder of a fixture's files, of which one is replaced by each case.
struct Target {
    format: Format,
    folder: tempfile::TempDir,
    file: &'static str,
    /// Bytes of the other files.
    others: usize,
}

impl Target {
    fn new(format: Format, name: &str, file: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut others = 0;
        for entry in std::fs::read_dir(fixture(name)).unwrap() {
            let path = entry.unwrap().path();
            let to = folder.path().join(path.file_name().unwrap());
            others += std::fs::copy(&path, to).unwrap() as usize;
        }
        let own = std::fs::metadata(folder.path().join(file)).unwrap().len() as usize;
        Self { format, folder, file, others: others - own }
    }

    fn good(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join(self.file)).unwrap()
    }

    /// Reads the folder with `bytes` in the place of the file. What is read is a whole model.
    fn read(&self, bytes: &[u8]) {
        std::fs::write(self.folder.path().join(self.file), bytes).unwrap();
        let limit = MULTIPLE * (bytes.len() + self.others) + SLACK;
        let package = within(limit, || self.format.read(self.folder.path()));
        if let Ok(package) = package {
            let held: usize = package.weights.values().map(|tensor| tensor.values.len()).sum();
            assert_eq!(held, package.config.parameter_count());
            assert!(package.search.validate().is_ok());
        }
    }
}

fn cases(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        9 => damaged(good),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

/// A fuzz test of one file of a fixture.
macro_rules! target {
    ($name:ident, $format:ident, $folder:literal, $file:literal) => {
        crate::fuzz_test!($name, cases(Target::new(Format::$format, $folder, $file).good()), {
            let target = Target::new(Format::$format, $folder, $file);
            move |bytes: &[u8]| target.read(bytes)
        });
    };
}

target!(hugging_face_config, HuggingFace, "hugging_face/shared_swish", "config.json");
target!(
    hugging_face_generation,
    HuggingFace,
    "hugging_face/shared_swish",
    "generation_config.json"
);
target!(hugging_face_safetensors, HuggingFace, "hugging_face/shared_swish", "model.safetensors");
target!(hugging_face_zip, HuggingFace, "hugging_face/gelu_unscaled", "pytorch_model.bin");
target!(hugging_face_legacy, HuggingFace, "hugging_face/wide_relu", "pytorch_model.bin");
target!(ctranslate2_config, CTranslate2, "ctranslate2/int8", "config.json");
target!(ctranslate2_vocabulary, CTranslate2, "ctranslate2/int8", "shared_vocabulary.json");
target!(ctranslate2_int8, CTranslate2, "ctranslate2/int8", "model.bin");
target!(ctranslate2_int16, CTranslate2, "ctranslate2/int16", "model.bin");
target!(ctranslate2_first, CTranslate2, "opennmt/small-v1", "model.bin");
target!(ctranslate2_second, CTranslate2, "opennmt/small-v2", "model.bin");
target!(ctranslate2_lines, CTranslate2, "opennmt/small-v2", "source_vocabulary.txt");
target!(marian_npz, Marian, "marian/post_swish", "model.npz");
target!(marian_int8, Marian, "marian/student", "model.int8.bin");
target!(marian_float32, Marian, "marian/ssru", "model.float32.bin");
target!(marian_vocabulary, Marian, "marian/ssru", "vocab.yml");
target!(marian_decoder, Marian, "marian/ssru", "decoder.yml");
target!(m2m100_config, HuggingFace, "m2m100/relu", "config.json");
target!(m2m100_vocabulary, HuggingFace, "m2m100/relu", "vocab.json");
